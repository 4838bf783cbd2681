//! Plays one reply onto a connection.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use super::dialect::{self, Dialect};
use super::http::Connection;
use super::log::Signed;
use super::reply::{Reply, Shape};
use super::request::{Provider, Request};
use super::server::Shared;
use super::step::{CallId, HttpError, Signature, Step, Text, Thinking, Tool, Usage, text};

/// Reported when the script says nothing about tokens.
const USUAL_USAGE: Usage = Usage {
    input: 100,
    output: 10,
    cached: 0,
    cache_write: 0,
};

/// What is to become of the connection after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// It takes another request.
    Keep,
    /// It is closed.
    Close,
}

/// Plays the reply to its end. An error means that the client went away.
pub(super) async fn play(
    provider: Provider,
    request: &Request,
    reply: Reply,
    shared: &Shared,
    connection: &mut Connection,
) -> io::Result<After> {
    let usage = reply.steps.iter().find_map(|step| match step {
        Step::Usage(usage) => Some(*usage),
        _ => None,
    });
    let usage = usage.unwrap_or(USUAL_USAGE);
    let mut player = Player {
        dialect: dialect::for_reply(provider, request, &reply.shape, usage),
        model: request.model(),
        shape: reply.shape,
        shared,
        connection,
        begun: false,
    };
    for step in reply.steps {
        if let ControlFlow::Break(after) = player.step(step).await? {
            return Ok(after);
        }
    }
    player.close().await
}

struct Player<'a> {
    dialect: Box<dyn Dialect>,
    model: &'a str,
    shape: Shape,
    shared: &'a Shared,
    connection: &'a mut Connection,
    begun: bool,
}

impl Player<'_> {
    async fn step(&mut self, step: Step) -> io::Result<ControlFlow<After>> {
        match step {
            Step::Usage(_) => {} // taken at the start: the formats have their own places for it
            Step::Error(error) => return self.refuse(&error).await.map(ControlFlow::Break),
            Step::Pause(time) => self.wait(tokio::time::sleep(time)).await?,
            Step::Hold(hold) => {
                if !hold.silent {
                    self.begin().await?;
                }
                self.wait(hold.gate.pass()).await?;
            }
            Step::Cut => {
                self.begin().await?;
                self.connection.reset_on_drop();
                return Ok(ControlFlow::Break(After::Close));
            }
            Step::HangUp => {
                self.begin().await?;
                return Ok(ControlFlow::Break(After::Close));
            }
            Step::ErrorEvent { kind, message } => {
                let events = self.dialect.error_event(&kind, &message);
                self.send(events, Duration::ZERO).await?;
                return Ok(ControlFlow::Break(self.end().await));
            }
            Step::Comment(text) => self.write(format!(": {text}\n\n").as_bytes()).await?,
            Step::Raw(bytes) => self.write(&bytes).await?,
            Step::Text(text) => self.text(&text).await?,
            Step::Stamp(since) => {
                let passed = since.elapsed().as_micros();
                self.text(&text(format!("{passed} "))).await?;
            }
            Step::Thinking(thinking) => self.thinking(&thinking).await?,
            Step::Tool(tool) => self.tool(&tool).await?,
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn text(&mut self, text: &Text) -> io::Result<()> {
        let events = self.dialect.text(text);
        self.send(events, text.delay).await
    }

    async fn thinking(&mut self, thinking: &Thinking) -> io::Result<()> {
        let signature = match &thinking.signature {
            Signature::Fresh => Some(format!("signature-{}", self.shared.fresh_number())),
            Signature::Given(signature) => Some(signature.clone()),
            Signature::Missing => None,
        };
        if let Some(signature) = &signature {
            let signed = Signed {
                signature: signature.clone(),
                model: self.model.to_owned(),
                text: thinking.text.clone(),
            };
            self.shared.log.send_modify(|log| log.signed.push(signed));
        }
        let events = self.dialect.thinking(thinking, signature.as_deref());
        self.send(events, Duration::ZERO).await
    }

    async fn tool(&mut self, tool: &Tool) -> io::Result<()> {
        let id = match &tool.id {
            CallId::Fresh => Some(format!("call_{}", self.shared.fresh_number())),
            CallId::Given(id) => Some(id.clone()),
            CallId::Missing => None,
        };
        let events = self.dialect.tool(tool, id.as_deref());
        self.send(events, Duration::ZERO).await
    }

    /// Answers with a status. After the stream began it is too late for one: that is a mistake
    /// of the script, which the test should hear of.
    async fn refuse(&mut self, error: &HttpError) -> io::Result<After> {
        if self.begun {
            let text = format!(
                "the script has status {} after the stream began",
                error.status
            );
            self.shared.violation(text);
            return Ok(After::Close);
        }
        let retry_after = error.retry_after.as_deref();
        let body = error.to_body();
        self.connection
            .respond(error.status, retry_after, &body)
            .await?;
        Ok(After::Keep)
    }

    async fn close(&mut self) -> io::Result<After> {
        self.begin().await?;
        if !self.shape.unfinished {
            let events = self.dialect.close();
            self.send(events, Duration::ZERO).await?;
        }
        Ok(self.end().await)
    }

    /// Ends the body. Many clients leave at the last event and do not wait for this; for them
    /// the reply was played all the same.
    async fn end(&mut self) -> After {
        match self.connection.end().await {
            Ok(()) => After::Keep,
            Err(_) => After::Close,
        }
    }

    /// Waits, unless the client goes away first.
    async fn wait(&mut self, something: impl Future<Output = ()>) -> io::Result<()> {
        tokio::select! {
            () = something => Ok(()),
            () = self.connection.gone() => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    async fn send(&mut self, events: Vec<String>, delay: Duration) -> io::Result<()> {
        for event in events {
            self.write(event.as_bytes()).await?;
            if !delay.is_zero() {
                self.wait(tokio::time::sleep(delay)).await?;
            }
        }
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.begin().await?;
        self.write_body(bytes).await
    }

    async fn begin(&mut self) -> io::Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        self.connection.begin().await?;
        for event in self.dialect.open() {
            self.write_body(event.as_bytes()).await?;
        }
        Ok(())
    }

    async fn write_body(&mut self, bytes: &[u8]) -> io::Result<()> {
        let size = self.shape.slice.unwrap_or(bytes.len()).max(1);
        for slice in bytes.chunks(size) {
            self.connection.chunk(slice).await?;
        }
        Ok(())
    }
}
