//! The characters.
