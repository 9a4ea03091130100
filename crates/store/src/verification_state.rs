//! State of the verification of rows in the background.

use std::sync::{Mutex, atomic::AtomicUsize};

/// State of the verification in the background.
#[derive(Debug, Default)]
pub(super) struct BackgroundVerification {
    pub(super) position: Mutex<Option<Position>>,
    pub(super) damaged: AtomicUsize,
}

/// The row after which the verification goes on: that of this key, in the table with this number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) table: i64,
    pub(super) key: i64,
    pub(super) unsaved: u32,
}
