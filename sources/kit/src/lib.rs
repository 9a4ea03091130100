//! What a source stands on: the model it speaks, the store it reads and
//! writes, and the retrieval that is the same for all of them.
//!
//! Start with [`source`], which says what a source must be able to do.

pub mod model;
pub mod retrieve;
pub mod source;
pub mod store;
