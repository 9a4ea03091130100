//! Cancellation, tracing span and progress of a request to an actor.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use actix::prelude::*;
use tracing::Span;
use vademecum_mcp::{ProgressReporter, RequestContext};
use vademecum_model::{CancelFlag, SourceName};

/// Request to an actor with its call context.
#[derive(Debug)]
pub struct WithContext<M> {
    /// Message that the actor handles.
    pub request: M,
    /// Cancellation, tracing span and progress of the call.
    pub context: CallContext,
}

impl<M: Message> Message for WithContext<M> {
    type Result = M::Result;
}

/// Context of a call: cancellation, tracing span and progress.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Set when the result is no longer wanted.
    pub cancel: CancelFlag,
    /// Span for log lines of the call, because an actor has no request span of its own.
    pub(crate) span: Span,
    progress: Option<Arc<SearchProgress>>,
}

/// Progress of a search over its sources.
#[derive(Debug)]
struct SearchProgress {
    reporter: ProgressReporter,
    sources: Mutex<BTreeSet<SourceName>>,
}

impl Default for CallContext {
    fn default() -> Self {
        Self { cancel: CancelFlag::default(), span: Span::none(), progress: None }
    }
}

impl CallContext {
    /// Creates the context of a tool call.
    pub fn from_request(call: &RequestContext) -> Self {
        let status =
            |progress| Arc::new(SearchProgress { reporter: progress, sources: Mutex::default() });
        let progress = call.progress_reporter().map(status);
        Self { cancel: call.cancel.clone(), span: Span::current(), progress }
    }

    /// Reports that one of `total` sources is done, and its outcome, unless the call is cancelled.
    /// Each source is counted once, even if it is queried again.
    pub(crate) fn report_source(&self, source: SourceName, total: usize, outcome: &str) {
        let Some(status) = self.progress.as_ref().filter(|_| !self.cancel.is_cancelled()) else {
            return;
        };
        let mut sources = status.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.insert(source) {
            let count = |number| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
            let message = format!("{source} {outcome}");
            status.reporter.report(count(sources.len()), Some(count(total)), Some(&message));
        }
    }
}
