//! `vademecum eval`: measures search quality on a judged collection, compared with a single plain
//! FTS5 table.
//!
//! Start with `run`.

mod corpus_import;
mod folder;
mod memory;
mod run;

pub(super) use run::Eval;
