//! The agent through its handle: whole transcripts, with the model, the tools, the gate and the
//! clock in the hands of the test.

#![expect(
    clippy::unwrap_used,
    reason = "in a test a wrong assumption is to panic"
)]

mod abort;
mod asks;
mod bench;
mod calls;
mod compaction;
mod direct;
mod disk;
mod extensions;
mod interleaving;
mod lines;
mod modes;
mod provider;
mod queue;
mod reasoning;
mod retry;
mod side_by_side;
mod switching;
mod tools;
mod transcript;
