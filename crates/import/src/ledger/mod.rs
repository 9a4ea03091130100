//! The import ledger: the result of every imported file of a user. It shows which files must be
//! read again, have changed or have been deleted.

mod entry;
mod partial_document;
mod store;

pub use self::{
    entry::{ImportOutcome, LedgerEntry},
    partial_document::PartialDocument,
    store::{LastImport, Ledger, TwoWayFolder},
};
