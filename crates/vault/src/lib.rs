//! What keeps a library whole: the journal of its changes, and the links between its items.

pub mod journal;
pub mod links;
