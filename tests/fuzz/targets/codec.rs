#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| shard_protocol::fuzz::codec(data));
