//! What a server tells those who look after it.

use std::{fmt, sync::Arc, time::SystemTime};

use prometheus::TextEncoder;

use super::{Figure, Metrics, MetricsError, process};

type Read = Arc<dyn Fn() -> Vec<Figure> + Send + Sync>;
type Check = Arc<dyn Fn() -> bool + Send + Sync>;

/// What a server tells those who look after it.
#[derive(Clone)]
pub struct Monitor {
    metrics: Metrics,
    started: SystemTime,
    readings: Vec<Read>,
    checks: Vec<(&'static str, Check)>,
}

impl Default for Monitor {
    fn default() -> Self {
        Self::new(Metrics::default())
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Monitor").finish_non_exhaustive()
    }
}

impl Monitor {
    /// Tells what is counted there, and of the process.
    pub fn new(metrics: Metrics) -> Self {
        let started = SystemTime::now();
        Self { metrics, started, readings: Vec::new(), checks: Vec::new() }
    }

    /// Reads these figures as well when it is asked.
    #[must_use]
    pub fn reading(mut self, read: impl Fn() -> Vec<Figure> + Send + Sync + 'static) -> Self {
        self.readings.push(Arc::new(read));
        self
    }

    /// Takes the server for ready only while this holds; `else_say` is why, in a word.
    #[must_use]
    pub fn checking(
        mut self,
        else_say: &'static str,
        holds: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((else_say, Arc::new(holds)));
        self
    }

    /// What is counted as it happens.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// All figures, as Prometheus reads them. May look into files.
    pub fn scrape(&self) -> Result<String, MetricsError> {
        let mut families = self.metrics.gather();
        let read = self.readings.iter().flat_map(|read| read());
        for figure in read.chain(process::figures(self.started)) {
            families.extend(figure.collect()?);
        }
        Ok(TextEncoder::new().encode_to_string(&families)?)
    }

    /// Why the server is not ready, in a word, if so. May look into files.
    pub fn ailment(&self) -> Option<&'static str> {
        self.checks.iter().find(|(_, holds)| !holds()).map(|(reason, _)| *reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_when_they_are_asked_for() {
        let monitor = Monitor::default().reading(|| {
            let profile = |name: &str| vec![("profile", name.to_owned())];
            vec![
                Figure::count("sessions", "Sessions.", 3),
                Figure::total("waits_total", "Waits.", 1.5),
                Figure::labelled(
                    "pool",
                    "Pools.",
                    vec![(profile("a\"b"), 1.0), (profile("c"), 2.0)],
                ),
                Figure::labelled("nothing", "Nothing.", Vec::new()),
            ]
        });
        let text = monitor.scrape().unwrap();
        for line in [
            "# TYPE sessions gauge",
            "sessions 3",
            "# TYPE waits_total counter",
            "waits_total 1.5",
            "pool{profile=\"a\\\"b\"} 1",
            "pool{profile=\"c\"} 2",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        assert!(text.contains("vademecum_build_info{version=") && !text.contains("nothing"));
    }

    #[test]
    fn the_first_thing_that_does_not_hold_is_named() {
        let monitor = Monitor::default().checking("one", || true).checking("two", || false);
        assert_eq!(monitor.ailment(), Some("two"));
        assert_eq!(Monitor::default().ailment(), None);
    }
}
