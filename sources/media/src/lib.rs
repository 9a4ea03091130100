//! The media.
