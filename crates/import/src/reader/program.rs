//! The program that the reader processes run.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The program whose command `reader` calls [`run_reader`](super::run_reader).
static READER_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program whose command `reader` calls [`run_reader`](super::run_reader), once for this process. Without
/// one, as in tests and benches that call this library, files are parsed in this process, without
/// limits of memory.
pub fn set_reader_program(program: PathBuf) {
    READER_PROGRAM.set(program).ok();
}

/// Returns the program that the reader processes run, if it is set.
pub(super) fn reader_program() -> Option<&'static Path> {
    READER_PROGRAM.get().map(PathBuf::as_path)
}
