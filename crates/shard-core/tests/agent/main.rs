//! The agent through its handle: whole transcripts, with the model, the tools, the gate and the
//! clock in the hands of the test.

mod bench;
mod lines;
mod provider;
mod tools;

mod abort;
mod asks;
mod calls;
mod direct;
mod disk;
mod extensions;
mod interleaving;
mod queue;
mod retry;
mod switching;
mod transcript;
