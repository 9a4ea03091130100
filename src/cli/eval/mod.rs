//! `vademecum eval`: measures search quality on a judged collection, compared with a single plain
//! FTS5 table.
//!
//! Start with `run`.

mod corpus_import;
mod folder;
mod fts5_baseline;
mod judged_collection;
mod metrics;
mod report;
mod run;

pub(super) use run::Eval;
