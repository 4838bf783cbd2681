//! One call: request out, events in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt, unfold};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use shard_contracts::{ProviderError, ProviderErrorKind as Kind, ProviderEvent};

use super::failure::{Target, chain};
use super::halves::Halves;
use super::http::{Link, body};
use super::sse::{Broken, Events};

/// Most that is read of an answer that came in one piece.
const MAX_WHOLE: usize = 16 << 20;

/// How long the end of an answer may take after its last event.
const DRAIN: Duration = Duration::from_millis(250);

/// Turns the data of a provider's events into ours. No I/O.
pub(super) trait Decode: Send + 'static {
    /// Takes the data of one event.
    fn push(&mut self, data: &str) -> Result<Vec<ProviderEvent>, ProviderError>;

    /// The stream is over. An error unless something said that the answer is whole.
    fn finish(&mut self) -> Result<Vec<ProviderEvent>, ProviderError>;

    /// Whether `Stop` was given out.
    fn ended(&self) -> bool;
}

/// What to send where, and who reads the answer.
pub(super) struct Call<D> {
    pub(super) path: &'static str,
    pub(super) model: String,
    pub(super) body: Value,
    pub(super) decoder: D,
}

/// Makes the call when the stream is polled. The stream ends after the first error.
pub(super) fn run<D: Decode>(
    link: Arc<Link>,
    call: Call<D>,
) -> BoxStream<'static, Result<ProviderEvent, ProviderError>> {
    let running = Running {
        link,
        call,
        stage: Stage::Unsent,
        halves: Halves::default(),
        ready: VecDeque::new(),
    };
    unfold(running, |mut running| async move {
        let item = running.next().await?;
        Some((item, running))
    })
    .boxed()
}

enum Stage {
    Unsent,
    Reading(Box<(Events, Target)>),
    Ended,
}

struct Running<D> {
    link: Arc<Link>,
    call: Call<D>,
    stage: Stage,
    halves: Halves,
    ready: VecDeque<ProviderEvent>,
}

impl<D: Decode> Running<D> {
    async fn next(&mut self) -> Option<Result<ProviderEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            let step = match std::mem::replace(&mut self.stage, Stage::Ended) {
                Stage::Unsent => self.open().await,
                Stage::Reading(reading) => self.read(reading).await,
                Stage::Ended => return None,
            };
            match step {
                Ok(stage) => self.stage = stage,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    async fn open(&mut self) -> Result<Stage, ProviderError> {
        let Call {
            path, model, body, ..
        } = &self.call;
        let (response, target) = self.link.post(path, model, body).await?;
        if comes_whole(&response) {
            self.whole(response, &target).await?;
            return Ok(Stage::Ended);
        }
        let events = Events::new(response.bytes_stream(), self.link.settings.stall_timeout);
        Ok(Stage::Reading(Box::new((events, target))))
    }

    async fn read(&mut self, mut reading: Box<(Events, Target)>) -> Result<Stage, ProviderError> {
        let (events, target) = &mut *reading;
        let decoder = &mut self.call.decoder;
        let data = events.next().await.map_err(|why| explain(target, &why))?;
        let data = data.map(|data| self.halves.join(data));
        let decoded = match &data {
            Some(data) => decoder.push(data),
            None => decoder.finish(),
        };
        self.ready
            .extend(decoded.map_err(|error| target.inside(&error))?);
        if decoder.ended() && data.is_some() {
            events.drain(DRAIN).await;
        }
        let over = decoder.ended() || data.is_none();
        Ok(if over {
            Stage::Ended
        } else {
            Stage::Reading(reading)
        })
    }

    /// A server that does not stream: its one JSON value is read as if it were the only event.
    async fn whole(&mut self, response: Response, target: &Target) -> Result<(), ProviderError> {
        let limit = self.link.settings.stall_timeout;
        let read = tokio::time::timeout(limit, body(response, MAX_WHOLE)).await;
        let text = read
            .map_err(|_| target.stalled(limit))?
            .map_err(|e| target.transport(&e))?;
        let value = serde_json::from_str::<Value>(&text).unwrap_or_default();
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(target.no_stream(&text));
        }
        let decoder = &mut self.call.decoder;
        let decoded = decoder.push(&text).and_then(|mut events| {
            events.extend(decoder.finish()?);
            Ok(events)
        });
        self.ready
            .extend(decoded.map_err(|_| target.no_stream(&text))?);
        Ok(())
    }
}

/// Whether the answer says of itself that it is no stream. Servers that say nothing are believed.
fn comes_whole(response: &Response) -> bool {
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|raw| raw.to_str().ok());
    kind.is_some_and(|kind| kind.contains("application/json") || kind.contains("text/html"))
}

fn explain(target: &Target, why: &Broken) -> ProviderError {
    let (kind, what) = match why {
        Broken::Stalled(after) => return target.stalled(*after),
        Broken::Transport(error) => {
            let what = format!("the connection broke: {}", chain(error.as_ref()));
            (Kind::Network, what)
        }
        Broken::TooLarge | Broken::Malformed(_) => (Kind::Malformed, why.to_string()),
    };
    target.inside(&ProviderError::new(kind, what))
}
