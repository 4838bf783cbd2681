//! The agent end to end: the real binary, real files and processes, a scripted model that is as
//! strict as real ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad_input;
mod crash;
mod damage;
mod full_disk;
mod refusals;
mod resources;
mod sessions;
mod whole_task;
