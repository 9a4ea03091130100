//! Machines that exchange their changes by a folder become equal, and lose nothing.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step fails the test")]
#![expect(clippy::print_stdout, reason = "the seed is needed to repeat a failed test")]

mod conflicts;
mod exchange;
mod folders;
mod machines;
mod random;
