//! `vademecum eval`: how well questions are answered, measured on a judged
//! collection, next to what anybody gets from one plain FTS5 table.
//!
//! Start reading at `run`.

mod collection;
mod folder;
mod measures;
mod plain;
mod report;
mod run;
mod scatter;

pub(super) use run::Eval;
