//! Server-sent events of an answer, with bounds: on silence, and on the size of one event.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt, unfold};
use sse_stream::{Error as SseError, Sse, SseStream};

/// Most bytes that may come between two events. A tool call that writes a large file in one piece
/// fits; a server that never ends a line does not fill the memory.
const MAX_EVENT: usize = 16 << 20;

/// Why there are no more events.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The connection broke.
    #[error("{0}")]
    Transport(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Nothing came for this long.
    #[error("silence for {0:?}")]
    Stalled(Duration),
    /// One event grew too large.
    #[error("one event is larger than {MAX_EVENT} bytes")]
    TooLarge,
    /// The bytes are no event stream.
    #[error("not an event stream: {0}")]
    Malformed(String),
}

/// The events of one answer.
pub(super) struct Events {
    events: BoxStream<'static, Result<Sse, SseError>>,
    /// Bytes since the last event.
    pending: Arc<AtomicUsize>,
}

impl Events {
    /// Comments count as signs of life: the silence is measured between chunks, not events.
    pub(super) fn new<S, E>(chunks: S, stall: Duration) -> Self
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: std::error::Error + Send + Sync + 'static,
    {
        let pending = Arc::new(AtomicUsize::new(0));
        let bounded = bounded(chunks.boxed(), stall, Arc::clone(&pending));
        Self {
            events: SseStream::from_bytes_stream(lines(bounded.boxed())).boxed(),
            pending,
        }
    }

    /// The data of the next event; `None` at the end of the stream. Events without data are
    /// skipped. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Option<String>, Broken> {
        while let Some(event) = self.events.next().await {
            let event = event.map_err(broken)?;
            self.pending.store(0, Ordering::Relaxed);
            if let Some(data) = event.data.filter(|data| !data.trim().is_empty()) {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Reads on for a moment after the last event that matters: a connection goes back to the
    /// pool only when its answer was read to the end.
    pub(super) async fn drain(&mut self, patience: Duration) {
        let rest = async { while let Ok(Some(_)) = self.next().await {} };
        let _ = tokio::time::timeout(patience, rest).await;
    }
}

fn bounded<E>(
    chunks: BoxStream<'static, Result<Bytes, E>>,
    stall: Duration,
    pending: Arc<AtomicUsize>,
) -> impl Stream<Item = Result<Bytes, Broken>> + Send
where
    E: std::error::Error + Send + Sync + 'static,
{
    unfold((chunks, pending), move |(mut chunks, pending)| async move {
        let item = match tokio::time::timeout(stall, chunks.next()).await {
            Err(_) => Err(Broken::Stalled(stall)),
            Ok(None) => return None,
            Ok(Some(Err(error))) => Err(Broken::Transport(Box::new(error))),
            Ok(Some(Ok(chunk))) => {
                let before = pending.fetch_add(chunk.len(), Ordering::Relaxed);
                let fits = before + chunk.len() <= MAX_EVENT;
                if fits {
                    Ok(chunk)
                } else {
                    Err(Broken::TooLarge)
                }
            }
        };
        Some((item, (chunks, pending)))
    })
}

/// Line by line: the parser drops what it has read of a chunk when a line of that chunk is bad, so
/// how much of an answer is seen would depend on where it was cut.
fn lines(
    chunks: BoxStream<'static, Result<Bytes, Broken>>,
) -> impl Stream<Item = Result<Bytes, Broken>> + Send {
    unfold(
        (chunks, Bytes::new()),
        |(mut chunks, mut rest)| async move {
            while rest.is_empty() {
                match chunks.next().await? {
                    Ok(chunk) => rest = chunk,
                    Err(broken) => return Some((Err(broken), (chunks, rest))),
                }
            }
            let end = memchr::memchr2(b'\n', b'\r', &rest).map_or(rest.len(), |at| at + 1);
            let line = rest.split_to(end);
            Some((Ok(line), (chunks, rest)))
        },
    )
}

fn broken(error: SseError) -> Broken {
    match error {
        SseError::Body(inner) => match inner.downcast::<Broken>() {
            Ok(broken) => *broken,
            Err(other) => Broken::Transport(other),
        },
        other => Broken::Malformed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream::iter;

    use super::*;

    async fn events(chunks: Vec<Bytes>) -> Result<Vec<String>, Broken> {
        let chunks = iter(chunks.into_iter().map(Ok::<_, Infallible>));
        let mut events = Events::new(chunks, Duration::from_secs(60));
        let mut seen = Vec::new();
        while let Some(data) = events.next().await? {
            seen.push(data);
        }
        Ok(seen)
    }

    #[tokio::test]
    async fn a_stream_reads_the_same_wherever_it_is_split() {
        let stream = ": keep-alive\r\n\r\nevent: x\r\ndata: {\"a\":\"ä€\"}\r\n\r\n\
                      id: 7\ndata: one\ndata: two\n\n:\n\ndata: [DONE]\n\n";
        let whole = events(vec![Bytes::from(stream)]).await.expect("whole");
        assert_eq!(whole, ["{\"a\":\"ä€\"}", "one\ntwo", "[DONE]"]);
        for cut in 0..stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            let parts = vec![
                Bytes::from_static(b""),
                Bytes::copy_from_slice(head),
                Bytes::copy_from_slice(tail),
            ];
            let parts = parts.into_iter().filter(|p| !p.is_empty()).collect();
            assert_eq!(events(parts).await.expect("split"), whole, "cut at {cut}");
        }
        let bytes = stream
            .bytes()
            .map(|b| Bytes::copy_from_slice(&[b]))
            .collect();
        assert_eq!(events(bytes).await.expect("single bytes"), whole);
    }

    #[tokio::test]
    async fn a_bad_line_takes_nothing_from_the_events_before_it() {
        let chunks = vec![Bytes::from("data: one\n\ndata: two\n\nno field\n\n")];
        let mut events = Events::new(
            iter(chunks.into_iter().map(Ok::<_, Infallible>)),
            Duration::from_secs(60),
        );
        for want in ["one", "two"] {
            assert_eq!(
                events.next().await.expect("before it").as_deref(),
                Some(want)
            );
        }
        assert!(matches!(events.next().await, Err(Broken::Malformed(_))));
    }

    #[tokio::test]
    async fn an_endless_event_is_refused() {
        let line = Bytes::from(vec![b'x'; 1 << 20]);
        let mut chunks = vec![Bytes::from_static(b"data: ")];
        chunks.extend(std::iter::repeat_n(line, 17));
        assert!(matches!(events(chunks).await, Err(Broken::TooLarge)));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_measured_between_chunks() {
        let chunk = |n: u32| async move {
            tokio::time::sleep(Duration::from_secs(if n < 3 { 9 } else { 11 })).await;
            Some((
                Ok::<_, Infallible>(Bytes::from_static(b": alive\n\n")),
                n + 1,
            ))
        };
        let mut events = Events::new(unfold(0, chunk), Duration::from_secs(10));
        assert!(matches!(events.next().await, Err(Broken::Stalled(_))));
    }
}
