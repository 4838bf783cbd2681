//! Where replies come from.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::reply::Reply;
use super::request::Request;

/// The source of replies.
pub(super) enum Script {
    List(VecDeque<Reply>),
    Closure(Box<dyn FnMut(&Request) -> Reply + Send>),
}

impl Script {
    /// The reply to the chat request with that number, or why there is none.
    pub(super) fn next(&mut self, number: usize, request: &Request) -> Result<Reply, String> {
        match self {
            Self::List(list) => list
                .pop_front()
                .ok_or_else(|| format!("no reply scripted for request {number}")),
            Self::Closure(closure) => {
                catch_unwind(AssertUnwindSafe(|| closure(request))).map_err(|panic| {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                    let text = text.unwrap_or("no message");
                    format!("the script panicked at request {number}: {text}")
                })
            }
        }
    }
}
