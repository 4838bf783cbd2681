//! What must hold for every stream that a server may send.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::iter;
use shard_contracts::{ProviderError, ProviderEvent};
use tokio::runtime::{Builder, Runtime};

use super::blocks::CallIds;
use super::call::Decode;
use super::sse::Events;
use super::{anthropic, openai, responses};

/// The bytes of an answer. Wherever they are cut on their way, the same events come of them, for
/// every wire format, and they make sense.
///
/// # Panics
/// When that does not hold.
pub fn sse(data: &[u8]) {
    let whole = texts(vec![Bytes::copy_from_slice(data)]);
    for width in [1, 2, 3, 7] {
        let pieces = data.chunks(width).map(Bytes::copy_from_slice).collect();
        assert_eq!(texts(pieces), whole, "in pieces of {width} bytes");
    }
    assert_eq!(texts(scattered(data)), whole, "in pieces of many sizes");
    make_sense(&whole, openai::Decoder::new(CallIds::default()));
    make_sense(&whole, anthropic::Decoder::new(CallIds::default()));
    make_sense(&whole, responses::Decoder::new(CallIds::default()));
}

/// The data of all events, and how the stream ended.
type Texts = (Vec<String>, Option<String>);

fn texts(chunks: Vec<Bytes>) -> Texts {
    thread_local! {
        static RUNTIME: std::io::Result<Runtime> = Builder::new_current_thread().enable_time().build();
    }
    let read = async {
        let chunks = iter(chunks.into_iter().map(Ok::<_, Infallible>));
        let mut events = Events::new(chunks, Duration::from_secs(60));
        let mut texts = Vec::new();
        loop {
            match events.next().await {
                Ok(Some(text)) => texts.push(text),
                Ok(None) => return (texts, None),
                Err(broken) => return (texts, Some(broken.to_string())),
            }
        }
    };
    RUNTIME.with(|runtime| {
        let runtime = runtime.as_ref().expect("a runtime without I/O");
        runtime.block_on(read)
    })
}

/// Pieces of sizes that depend on what is in them, so that any change cuts elsewhere.
fn scattered(data: &[u8]) -> Vec<Bytes> {
    let mut left = data;
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mut pieces = Vec::new();
    while !left.is_empty() {
        for byte in &left[..left.len().min(16)] {
            state = (state ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
        let size = 1 + usize::try_from(state >> 32).unwrap_or_default() % left.len().min(64);
        let (piece, rest) = left.split_at(size);
        pieces.push(Bytes::copy_from_slice(piece));
        left = rest;
    }
    pieces
}

/// What a block is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call,
}

/// Blocks open in the order of their numbers and stay of one kind, calls have ids of their own,
/// and nothing follows the end.
fn make_sense((texts, _): &Texts, mut decoder: impl Decode) {
    let mut events = Vec::new();
    let mut read = || -> Result<(), ProviderError> {
        for text in texts {
            events.extend(decoder.push(text)?);
        }
        events.extend(decoder.finish()?);
        Ok(())
    };
    let whole = read().is_ok();
    let mut blocks: Vec<Kind> = Vec::new();
    let mut ids = HashMap::new();
    let mut stopped = false;
    for event in &events {
        assert!(!stopped, "{event:?} after the end");
        let (block, kind) = match event {
            ProviderEvent::Text { block, .. } => (*block, Kind::Text),
            ProviderEvent::Thinking { block, .. } | ProviderEvent::Signature { block, .. } => {
                (*block, Kind::Thinking)
            }
            ProviderEvent::ToolCall { block, id, .. } => {
                assert_eq!(*block as usize, blocks.len(), "{event:?} opens no block");
                assert_eq!(ids.insert(id, block), None, "two calls have one id");
                (*block, Kind::Call)
            }
            ProviderEvent::ToolArgs { block, .. } => {
                assert!((*block as usize) < blocks.len(), "{event:?} of no call");
                (*block, Kind::Call)
            }
            ProviderEvent::Stop(_) => {
                stopped = true;
                continue;
            }
            _ => continue,
        };
        if block as usize == blocks.len() {
            blocks.push(kind);
        }
        assert_eq!(blocks.get(block as usize), Some(&kind), "{event:?}");
    }
    assert_eq!(stopped, whole, "{events:?}");
}
