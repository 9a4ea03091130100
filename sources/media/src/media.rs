//! The type of the source; `lib.rs` implements it.

/// The media of one user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Media;
