//! The import ledger: the result of every imported file of a user.

mod store;

pub use self::store::{FileStamp, ImportOutcome, Ledger, LedgerEntry, TwoWayFolder};
