//! Something that a source is asked, as it is counted.

use std::sync::Arc;

use vademecum_kit::{model::Deadline, source::SourceError, store::StoreError};

use vademecum_core::telemetry::{Meter, Outcome, Running};

/// Something that a source is asked. When it goes unanswered, nobody waited for the
/// answer any more, or it came too late.
pub(super) struct Asked<'a> {
    running: Running,
    deadline: Option<&'a Deadline>,
}

impl<'a> Asked<'a> {
    /// Is asked now.
    pub(super) fn begin(meter: Option<Arc<Meter>>, deadline: Option<&'a Deadline>) -> Self {
        let mut asked = Self { running: Running::begin(meter), deadline };
        asked.running.ends(Outcome::Cancelled);
        asked
    }

    /// Passes the answer on.
    pub(super) fn over<T>(mut self, answer: Result<T, SourceError>) -> Result<T, SourceError> {
        let outcome = match &answer {
            Ok(_) => Some(Outcome::Ok),
            // Whose fault that is is seen below.
            Err(SourceError::Store(StoreError::TimeIsUp)) => None,
            Err(SourceError::Store(error)) if error.is_locked() => Some(Outcome::Late),
            Err(SourceError::Store(_) | SourceError::Unavailable(_)) => Some(Outcome::Failed),
            Err(SourceError::NotFound { .. } | SourceError::Refused(_)) => Some(Outcome::Refused),
        };
        if let Some(outcome) = outcome {
            self.deadline = None;
            self.running.ends(outcome);
        }
        answer
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.deadline.is_some_and(|deadline| deadline.is_over() && !deadline.is_cancelled()) {
            self.running.ends(Outcome::Late);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use vademecum_kit::model::Cancel;

    use super::*;
    use vademecum_core::telemetry::{Measured, Metrics, Monitor};

    #[test]
    fn what_goes_unanswered_was_late_or_not_waited_for() {
        let measured = Measured { sources: vec!["notes"], ..Measured::default() };
        let metrics = Metrics::new(&measured).unwrap();
        let begin = |deadline| Asked::begin(metrics.source("notes"), deadline);
        let late = Deadline::after(Duration::ZERO);
        let cancel = Cancel::default();
        let cancelled = Deadline::after(Duration::ZERO).unless(&cancel);
        cancel.cancel();
        drop(begin(Some(&late)));
        drop(begin(Some(&late)).over(Err::<(), _>(StoreError::TimeIsUp.into())));
        drop(begin(Some(&cancelled)));
        drop(begin(Some(&cancelled)).over(Err::<(), _>(StoreError::TimeIsUp.into())));
        drop(begin(None));
        drop(begin(Some(&late)).over(Ok(())));
        drop(begin(Some(&late)).over(Err::<(), _>(SourceError::Refused(String::new()))));
        drop(begin(None).over(Err::<(), _>(SourceError::Unavailable(String::new()))));
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
