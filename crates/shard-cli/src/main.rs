//! Shard.
fn main() {}
