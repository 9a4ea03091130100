//! Metrics of one source call.

use std::sync::Arc;

use vademecum_core::telemetry::{CallOutcome, CallTimer, Meter};
use vademecum_model::Deadline;
use vademecum_source::SourceError;
use vademecum_store::StoreError;

/// Running source call. If it is dropped without a result, it counts as late after the deadline and
/// as cancelled before.
pub(super) struct SourceCall<'a> {
    timer: CallTimer,
    deadline: Option<&'a Deadline>,
}

impl<'a> SourceCall<'a> {
    /// Starts timing a call.
    pub(super) fn start(meter: Option<Arc<Meter>>, deadline: Option<&'a Deadline>) -> Self {
        let mut call = Self { timer: CallTimer::start(meter), deadline };
        call.timer.set_outcome(CallOutcome::Cancelled);
        call
    }

    /// Records the outcome and returns the result unchanged.
    pub(super) fn finish<T>(mut self, answer: Result<T, SourceError>) -> Result<T, SourceError> {
        let outcome = match &answer {
            Ok(_) => Some(CallOutcome::Ok),
            // Dropping the call decides between late and cancelled.
            Err(SourceError::Store(StoreError::DeadlineExceeded)) => None,
            Err(SourceError::Store(error)) if error.is_locked() => Some(CallOutcome::Late),
            Err(SourceError::Fetching(_)) => Some(CallOutcome::Late),
            Err(SourceError::Store(_) | SourceError::Unavailable(_)) => Some(CallOutcome::Failed),
            Err(SourceError::NotFound { .. } | SourceError::Refused(_)) => {
                Some(CallOutcome::Refused)
            }
        };
        if let Some(outcome) = outcome {
            self.deadline = None;
            self.timer.set_outcome(outcome);
        }
        answer
    }
}

impl Drop for SourceCall<'_> {
    fn drop(&mut self) {
        if self.deadline.is_some_and(|deadline| deadline.has_passed() && !deadline.is_cancelled()) {
            self.timer.set_outcome(CallOutcome::Late);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vademecum_core::telemetry::{MetricLabels, Metrics, Monitor};
    use vademecum_model::CancelFlag;

    use super::*;

    #[test]
    fn unanswered_call_counts_as_late_or_cancelled() {
        let measured = MetricLabels { sources: vec!["notes"], ..MetricLabels::default() };
        let metrics = Metrics::new(&measured).unwrap();
        let begin = |deadline| SourceCall::start(metrics.source_meter("notes"), deadline);
        let late = Deadline::after(Duration::ZERO);
        let cancel = CancelFlag::default();
        let cancelled = Deadline::after(Duration::ZERO).with_cancellation(&cancel);
        cancel.cancel();
        drop(begin(Some(&late)));
        drop(begin(Some(&late)).finish(Err::<(), _>(StoreError::DeadlineExceeded.into())));
        drop(begin(Some(&cancelled)));
        drop(begin(Some(&cancelled)).finish(Err::<(), _>(StoreError::DeadlineExceeded.into())));
        drop(begin(None));
        drop(begin(Some(&late)).finish(Ok(())));
        drop(begin(Some(&late)).finish(Err::<(), _>(SourceError::Refused(String::new()))));
        drop(begin(None).finish(Err::<(), _>(SourceError::Unavailable(String::new()))));
        let text = Monitor::new(metrics).scrape().unwrap();
        for (outcome, count) in
            [("late", 2), ("cancelled", 3), ("ok", 1), ("refused", 1), ("failed", 1)]
        {
            let line = format!(
                "vademecum_source_requests_total{{outcome=\"{outcome}\",source=\"notes\"}} {count}"
            );
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
    }
}
