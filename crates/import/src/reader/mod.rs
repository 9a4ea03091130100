//! Parsing of files in child processes.
//!
//! A file may be made to overflow the stack of a parser, to keep it busy forever or to fill the
//! memory. [`ReaderPool`] therefore has each file parsed by a child process of the same program
//! ([`run_reader`]), with limits of time and memory, without network and without access to
//! files: the parent opens the file and its neighbours
//! (`vademecum_sandbox`). A child that dies costs only the file that it was parsing, and is replaced.
//!
//! Parent and child exchange lines of JSON (`message`). See
//! `docs/adr/0024-reader-process.md`.

mod child;
mod limits;
mod message;
mod pool;
mod program;
mod turns;

pub use child::run_reader;
pub use limits::{Continuation, ReaderLimits};
pub use pool::{FileRequest, ReaderPool};
pub use program::{probe_sandbox, set_reader_program};
pub use turns::Turn;
