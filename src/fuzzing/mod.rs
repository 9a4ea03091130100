//! Fuzz entry points of everything that reads untrusted input, by name.
//!
//! The fuzz target in `tests/fuzz/` calls [`feed`]; so does a test that runs mutated seeds where no
//! fuzzer is available. Results are discarded: a reader only has to return, within bounded time and
//! memory.

mod fuzz_targets;
mod query;
mod sample_library;
mod server;
mod settings;
mod statement;

pub use fuzz_targets::feed;
