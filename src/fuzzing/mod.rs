//! Everything that reads what strangers write, by a name of its own, fed with
//! bytes that anybody may have made.
//!
//! The target in `tests/fuzz/` comes in here, and so does a test that reads their
//! seeds, changed at random, where there is no fuzzer. What a reader makes of the
//! bytes is thrown away: it must only end, within bounded time and memory.

mod library;
mod query;
mod readers;
mod server;
mod settings;
mod statement;

pub use readers::feed;
