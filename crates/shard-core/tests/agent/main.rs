//! The agent through its handle: whole transcripts, with the model, the tools, the gate and the
//! clock in the hands of the test.

mod bench;
mod lines;
mod provider;
mod tools;

mod abort;
mod queue;
mod transcript;
