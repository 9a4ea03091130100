//! What a source is asked by the benches. Every `Ask` is made here.

use std::{sync::Arc, time::Duration};

use vademecum_kit::{model::Ask, retrieve::FtsQuery};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_mins(10);

/// The default limit of `knowledge.search`, and one to know whether there is more.
pub const DEPTH: usize = 21;

/// A way in which a source can be asked to rank.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// What it is called in tables.
    pub name: &'static str,
    /// Asks for the first so many matches of a query.
    pub ask: fn(Arc<FtsQuery>, usize) -> Ask,
}

/// The ways that are measured against each other; the first is what
/// `knowledge.search` does.
pub const WAYS: [Way; 1] = [Way { name: "ours", ask }];

fn ask(query: Arc<FtsQuery>, take: usize) -> Ask {
    Ask { query, take, ..Ask::default() }
}
