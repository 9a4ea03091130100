//! The import ledger: the result of every imported file of a user. It shows which files must be
//! read again, have changed or have been deleted.

mod entry;
mod store;

pub use self::{
    entry::{ImportOutcome, LedgerEntry},
    store::{Ledger, TwoWayFolder},
};
