//! Prompts on their way in, while their pictures are made fit.
//!
//! That takes a thread that may block, one prompt at a time. What is sent after such a prompt stays
//! behind it; everything else that a person can do goes on meanwhile. Nothing of a prompt is kept
//! before its pictures are known to be fit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use shard_protocol::ErrorBody;
use shard_types::{ErrorCode, Image};
use tokio_util::sync::CancellationToken;

use super::commands::{Incoming, refuse};
use super::handle::{Reply, Wish};
use super::queue::picture_bytes;
use super::session::AgentSession;
use crate::picture::Picture;

/// How many prompts may be on their way in.
const ARRIVING: usize = 50;
/// How much base64 of pictures may be on its way in, unless it is one prompt.
const ARRIVING_BYTES: usize = 32 * 1024 * 1024;
/// How many pictures one prompt may have.
const PICTURES: usize = 20;
/// How much a prompt with pictures may have once they are fit, in bytes of JSON: clients are shown
/// all of it in one message. A small file may be a larger picture.
const PROMPT_BYTES: usize = 15 * 1024 * 1024;
const ABORTED: &str = "aborted while the pictures of a prompt were looked at; send it again";

/// Prompts in the order in which they came.
#[derive(Default)]
pub(super) struct Arrivals {
    /// The pictures of the first are with the thread that makes them fit.
    waiting: VecDeque<(Incoming, Reply)>,
    /// The number of the first.
    first: u64,
    /// Base64 of all that wait, as it was sent.
    bytes: usize,
    /// Ends the work on the first.
    working: CancellationToken,
    /// Held for one picture, which takes up to some hundred MiB: a thread whose prompt was sent
    /// back ends with the picture that it is at.
    decoding: Arc<Mutex<()>>,
}

impl AgentSession {
    pub(super) fn take_prompt(&mut self, incoming: Incoming, reply: Reply) {
        let bytes = picture_bytes(&incoming.images);
        let arrivals = &mut self.arrivals;
        if incoming.images.is_empty() && arrivals.waiting.is_empty() {
            return self.admit(incoming, reply);
        }
        let full = arrivals.waiting.len() >= ARRIVING
            || (arrivals.bytes > 0 && arrivals.bytes + bytes > ARRIVING_BYTES);
        if full {
            let message = "too many pictures are on their way in; send this again in a moment";
            return reply(Err(refuse(ErrorCode::Conflict, message)));
        }
        arrivals.bytes += bytes;
        arrivals.waiting.push_back((incoming, reply));
        if arrivals.waiting.len() == 1 {
            self.fit_next();
        }
    }

    /// Admits prompts up to the first one with pictures, and has those made fit.
    fn fit_next(&mut self) {
        let (message, images) = loop {
            match self.arrivals.waiting.front_mut() {
                None => return self.arrivals.bytes = 0,
                Some((incoming, _)) if !incoming.images.is_empty() => {
                    break (
                        incoming.message.clone(),
                        std::mem::take(&mut incoming.images),
                    );
                }
                Some(_) => self.admit_first(),
            }
        };
        let (arrival, wishes) = (self.arrivals.first, self.wishes.clone());
        self.arrivals.bytes -= picture_bytes(&images);
        let working = self.arrivals.working.clone();
        let decoding = Arc::clone(&self.arrivals.decoding);
        tokio::spawn(async move {
            let fitting = move || fit(&message, &images, &working, &decoding);
            let fit = tokio::task::spawn_blocking(fitting).await;
            let images = fit.unwrap_or_else(|_| {
                let message = "a picture could not be looked at, which is a bug in Shard";
                Err(refuse(ErrorCode::InternalError, message))
            });
            if let Some(wishes) = wishes.upgrade() {
                _ = wishes.send(Wish::PicturesFit { arrival, images }).await;
            }
        });
    }

    fn admit_first(&mut self) {
        if let Some((incoming, reply)) = self.arrivals.pop() {
            self.admit(incoming, reply);
        }
    }

    pub(super) fn pictures_fit(&mut self, arrival: u64, fit: Result<Vec<Image>, ErrorBody>) {
        if arrival != self.arrivals.first {
            return; // an abort has sent it back
        }
        if let Some((mut incoming, reply)) = self.arrivals.pop() {
            match fit {
                Ok(images) => {
                    incoming.images = images;
                    self.admit(incoming, reply);
                }
                Err(error) => reply(Err(error)),
            }
        }
        self.fit_next();
    }

    /// An abort leaves nothing to start.
    pub(super) fn refuse_arrivals(&mut self) {
        while let Some((_, reply)) = self.arrivals.pop() {
            reply(Err(refuse(ErrorCode::Conflict, ABORTED)));
        }
        self.arrivals.bytes = 0;
        std::mem::take(&mut self.arrivals.working).cancel();
    }
}

impl Arrivals {
    fn pop(&mut self) -> Option<(Incoming, Reply)> {
        let first = self.waiting.pop_front()?;
        self.first += 1;
        Some(first)
    }
}

/// The pictures of one prompt, fit for every provider.
fn fit(
    message: &str,
    images: &[Image],
    working: &CancellationToken,
    decoding: &Mutex<()>,
) -> Result<Vec<Image>, ErrorBody> {
    let invalid = |message: String| refuse(ErrorCode::InvalidRequest, message);
    if images.len() > PICTURES {
        let count = images.len();
        return Err(invalid(format!(
            "`images`: {count} pictures are too many for one prompt; send at most {PICTURES}"
        )));
    }
    let mut bytes = serde_json::to_string(message).map_or(message.len(), |json| json.len());
    let fit = images.iter().enumerate().map(|(at, image)| {
        let _alone = decoding.lock().unwrap_or_else(PoisonError::into_inner);
        if working.is_cancelled() {
            return Err(refuse(ErrorCode::Conflict, ABORTED));
        }
        let fit = Picture::fit_base64(&image.data)
            .map_err(|error| invalid(format!("`images[{at}]` {error}")))?;
        bytes += fit.image.data.len();
        match bytes > PROMPT_BYTES {
            true => Err(invalid(format!(
                "the pictures are too large for one prompt, {} MiB with its text; send them in several",
                PROMPT_BYTES >> 20
            ))),
            false => Ok(fit.image),
        }
    });
    fit.collect()
}
