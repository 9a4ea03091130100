//! A request together with who waits for the answer.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use actix::prelude::*;
use tracing::Span;
use vademecum_kit::model::{Cancel, SourceName};

use vademecum_mcp::{Call, Progress};

/// A request, and who waits for the answer.
#[derive(Debug)]
pub struct Awaited<M> {
    /// What is asked.
    pub request: M,
    /// Who waits.
    pub waiting: Waiting,
}

impl<M: Message> Message for Awaited<M> {
    type Result = M::Result;
}

/// Who waits for an answer: until when, and whether it wants to hear how far
/// the work has come.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Set when nobody waits any more.
    pub cancel: Cancel,
    /// What is logged on the way is logged in there: an actor has no request of its own.
    pub(crate) span: Span,
    progress: Option<Arc<Told>>,
}

/// What has been told of the progress of a search.
#[derive(Debug)]
struct Told {
    progress: Progress,
    sources: Mutex<BTreeSet<SourceName>>,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { cancel: Cancel::default(), span: Span::none(), progress: None }
    }
}

impl Waiting {
    /// Whoever waits for the answer to a call.
    pub fn of(call: &Call) -> Self {
        let told = |progress| Arc::new(Told { progress, sources: Mutex::default() });
        let progress = call.progress().map(told);
        Self { cancel: call.cancel.clone(), span: Span::current(), progress }
    }

    /// Tells that one of `total` sources is done, and how it went, unless nobody
    /// waits any more. A source that is asked again is done once.
    pub(crate) fn tell(&self, source: SourceName, total: usize, outcome: &str) {
        let Some(told) = self.progress.as_ref().filter(|_| !self.cancel.is_cancelled()) else {
            return;
        };
        let mut sources = told.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.insert(source) {
            let count = |number| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
            let message = format!("{source} {outcome}");
            told.progress.report(count(sources.len()), Some(count(total)), Some(&message));
        }
    }
}
