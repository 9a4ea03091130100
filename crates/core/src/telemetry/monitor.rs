//! Metrics and readiness of the server for operators.

use std::{fmt, sync::Arc, time::SystemTime};

use prometheus::TextEncoder;

use super::{Gauge, Metrics, MetricsError, process};

type GaugeReader = Arc<dyn Fn() -> Vec<Gauge> + Send + Sync>;
type ReadinessCheck = Arc<dyn Fn() -> bool + Send + Sync>;

/// Metrics, gauge readers and readiness checks of the server.
#[derive(Clone)]
pub struct Monitor {
    metrics: Metrics,
    started_at: SystemTime,
    gauge_readers: Vec<GaugeReader>,
    checks: Vec<(&'static str, ReadinessCheck)>,
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
    /// Creates a monitor of these metrics and the process.
    pub fn new(metrics: Metrics) -> Self {
        let started = SystemTime::now();
        Self { metrics, started_at: started, gauge_readers: Vec::new(), checks: Vec::new() }
    }

    /// Adds gauges that are read on every scrape.
    #[must_use]
    pub fn with_gauges(mut self, read: impl Fn() -> Vec<Gauge> + Send + Sync + 'static) -> Self {
        self.gauge_readers.push(Arc::new(read));
        self
    }

    /// Adds a readiness check. `else_say` is the one-word reason when it fails.
    #[must_use]
    pub fn with_readiness_check(
        mut self,
        else_say: &'static str,
        holds: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        self.checks.push((else_say, Arc::new(holds)));
        self
    }

    /// Returns the event metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns all metrics in the Prometheus text format. Readers may access files.
    pub fn scrape(&self) -> Result<String, MetricsError> {
        let mut families = self.metrics.gather();
        let read = self.gauge_readers.iter().flat_map(|read| read());
        for figure in read.chain(process::process_gauges(self.started_at)) {
            families.extend(figure.collect()?);
        }
        Ok(TextEncoder::new().encode_to_string(&families)?)
    }

    /// Returns the reason of the first failing readiness check. Checks may access files.
    pub fn not_ready_reason(&self) -> Option<&'static str> {
        self.checks.iter().find(|(_, holds)| !holds()).map(|(reason, _)| *reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges_are_read_on_scrape() {
        let monitor = Monitor::default().with_gauges(|| {
            let profile = |name: &str| vec![("profile", name.to_owned())];
            vec![
                Gauge::from_count("sessions", "Sessions.", 3),
                Gauge::from_total("waits_total", "Waits.", 1.5),
                Gauge::with_labels(
                    "pool",
                    "Pools.",
                    vec![(profile("a\"b"), 1.0), (profile("c"), 2.0)],
                ),
                Gauge::with_labels("nothing", "Nothing.", Vec::new()),
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
    fn first_failing_check_is_reported() {
        let monitor = Monitor::default()
            .with_readiness_check("one", || true)
            .with_readiness_check("two", || false);
        assert_eq!(monitor.not_ready_reason(), Some("two"));
        assert_eq!(Monitor::default().not_ready_reason(), None);
    }
}
