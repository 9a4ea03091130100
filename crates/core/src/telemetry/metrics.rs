//! Event metrics: atomic counters and histograms. The labels are fixed at startup, except for the
//! tools of the settings.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    proto::MetricFamily,
};

/// Upper bounds of the duration histogram buckets in seconds, from a ping to the longest source
/// timeout.
const DURATION_BUCKETS_SECS: [f64; 13] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Counters and histograms of events. The default counts nothing.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<RegisteredMetrics>>);

struct RegisteredMetrics {
    registry: Registry,
    methods: HashMap<&'static str, Arc<Meter>>,
    tools: RwLock<HashMap<&'static str, Arc<Meter>>>,
    tool_meters: MeterFactory,
    sources: HashMap<&'static str, Arc<Meter>>,
    sockets: IntGauge,
}

/// Allowed label values; unknown values create no time series.
#[derive(Clone, Debug, Default)]
pub struct MetricLabels {
    /// Protocol methods.
    pub methods: Vec<&'static str>,
    /// Canonical tool names.
    pub tools: Vec<&'static str>,
    /// Source names.
    pub sources: Vec<&'static str>,
}

/// Error of registering metrics.
#[derive(Debug, thiserror::Error)]
#[error("metrics could not be registered")]
pub struct MetricsError(#[from] prometheus::Error);

/// Outcome of a request, tool call or source call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallOutcome {
    /// Success.
    Ok,
    /// Tool error or rejected query.
    Refused,
    /// Failure without a result.
    Failed,
    /// Deadline exceeded.
    Late,
    /// Result no longer wanted.
    #[default]
    Cancelled,
}

impl CallOutcome {
    const ALL: [Self; 5] = [Self::Ok, Self::Refused, Self::Failed, Self::Late, Self::Cancelled];

    /// Returns the name used in labels and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Late => "late",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Metrics of one label value.
pub struct Meter {
    /// Counters in the order of [`CallOutcome::ALL`].
    outcomes: [IntCounter; CallOutcome::ALL.len()],
    durations: Option<Histogram>,
    running: Option<IntGauge>,
}

impl fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Meter").finish_non_exhaustive()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Registers all metrics with value zero.
    pub fn new(measured: &MetricLabels) -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let gauge = |name, help| -> Result<IntGauge, MetricsError> {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok(gauge)
        };
        let running = gauge("vademecum_tool_calls_running", "Tool calls that are running.")?;
        let sockets = gauge("vademecum_websocket_connections", "Open WebSocket connections.")?;
        let methods = MeterGroup {
            label: "method",
            counter: ("vademecum_requests_total", "Protocol requests by method."),
            // Subscriptions last as long as the client likes, so their duration means nothing.
            histogram: None,
            running: None,
        };
        let tools = MeterGroup {
            label: "tool",
            counter: ("vademecum_tool_calls_total", "Calls of tools."),
            histogram: Some(("vademecum_tool_call_duration_seconds", "Duration of tool calls.")),
            running: Some(running),
        };
        let sources = MeterGroup {
            label: "source",
            counter: ("vademecum_source_requests_total", "Requests to sources."),
            histogram: Some((
                "vademecum_source_request_duration_seconds",
                "Duration of source requests, queueing included.",
            )),
            running: None,
        };
        let (methods, tool_meters, sources) = (
            methods.register(&registry)?.create_meters(&measured.methods),
            tools.register(&registry)?,
            sources.register(&registry)?.create_meters(&measured.sources),
        );
        let tools = RwLock::new(tool_meters.create_meters(&measured.tools));
        let metrics = RegisteredMetrics { registry, methods, tools, tool_meters, sources, sockets };
        Ok(Self(Some(Arc::new(metrics))))
    }

    /// Adds tools to those that are measured. The names must come from the settings, not from
    /// clients, who could invent any number of them.
    pub fn add_tools(&self, names: &[&'static str]) {
        let Some(metrics) = &self.0 else { return };
        let mut tools = metrics.tools.write().unwrap_or_else(PoisonError::into_inner);
        let added: Vec<&'static str> =
            names.iter().copied().filter(|name| !tools.contains_key(name)).collect();
        tools.extend(metrics.tool_meters.create_meters(&added));
    }

    /// Returns the meter of a protocol method, if it is a known label.
    pub fn method_meter(&self, name: &str) -> Option<Arc<Meter>> {
        self.0.as_ref()?.methods.get(name).cloned()
    }

    /// Returns the meter of a tool, if it is a known label.
    pub fn tool_meter(&self, name: &str) -> Option<Arc<Meter>> {
        let tools = self.0.as_ref()?.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.get(name).cloned()
    }

    /// Returns the meter of a source, if it is a known label.
    pub fn source_meter(&self, name: &str) -> Option<Arc<Meter>> {
        self.0.as_ref()?.sources.get(name).cloned()
    }

    /// Counts a WebSocket as open until the returned guard is dropped.
    pub fn track_websocket(&self) -> OpenGuard {
        let sockets = self.0.as_ref().map(|counted| counted.sockets.clone());
        if let Some(sockets) = &sockets {
            sockets.inc();
        }
        OpenGuard(sockets)
    }

    pub(super) fn gather(&self) -> Vec<MetricFamily> {
        self.0.as_ref().map(|counted| counted.registry.gather()).unwrap_or_default()
    }
}

/// Guard that counts a connection as open until it is dropped.
#[derive(Debug)]
pub struct OpenGuard(Option<IntGauge>);

impl Drop for OpenGuard {
    fn drop(&mut self) {
        if let Some(open) = &self.0 {
            open.dec();
        }
    }
}

/// Metric names and help texts of one group of meters.
struct MeterGroup {
    label: &'static str,
    counter: (&'static str, &'static str),
    histogram: Option<(&'static str, &'static str)>,
    running: Option<IntGauge>,
}

/// Metrics of one group, which creates the meter of each label value.
struct MeterFactory {
    ended: IntCounterVec,
    seconds: Option<HistogramVec>,
    running: Option<IntGauge>,
}

impl MeterGroup {
    /// Registers the counter and, if there is one, the histogram. Fails if a name is taken.
    fn register(self, registry: &Registry) -> Result<MeterFactory, MetricsError> {
        let (name, help) = self.counter;
        let ended = IntCounterVec::new(Opts::new(name, help), &[self.label, "outcome"])?;
        registry.register(Box::new(ended.clone()))?;
        let histogram = |(name, help)| -> Result<HistogramVec, MetricsError> {
            let options = HistogramOpts::new(name, help).buckets(DURATION_BUCKETS_SECS.to_vec());
            let seconds = HistogramVec::new(options, &[self.label])?;
            registry.register(Box::new(seconds.clone()))?;
            Ok(seconds)
        };
        let seconds = self.histogram.map(histogram).transpose()?;
        Ok(MeterFactory { ended, seconds, running: self.running })
    }
}

impl MeterFactory {
    /// Creates a meter for each label value.
    fn create_meters(&self, names: &[&'static str]) -> HashMap<&'static str, Arc<Meter>> {
        let Self { ended, seconds, running } = self;
        let meter = |name: &&'static str| {
            let meter = Meter {
                outcomes: CallOutcome::ALL.map(|it| ended.with_label_values(&[*name, it.as_str()])),
                durations: seconds.as_ref().map(|seconds| seconds.with_label_values(&[*name])),
                running: running.clone(),
            };
            (*name, Arc::new(meter))
        };
        names.iter().map(meter).collect()
    }
}

/// Timer of a running call. Dropping it records duration and outcome; without
/// [`set_outcome`](Self::set_outcome) the outcome is `cancelled`.
#[derive(Debug)]
pub struct CallTimer {
    meter: Option<Arc<Meter>>,
    started_at: Instant,
    outcome: CallOutcome,
}

impl CallTimer {
    /// Starts the timer. Without a meter nothing is recorded.
    pub fn start(meter: Option<Arc<Meter>>) -> Self {
        if let Some(running) = meter.as_ref().and_then(|meter| meter.running.as_ref()) {
            running.inc();
        }
        Self { meter, started_at: Instant::now(), outcome: CallOutcome::default() }
    }

    /// Sets the outcome to record; a later call overrides it.
    pub fn set_outcome(&mut self, outcome: CallOutcome) {
        self.outcome = outcome;
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started_at.elapsed()
    }
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        let Some(meter) = &self.meter else { return };
        for (counter, outcome) in meter.outcomes.iter().zip(CallOutcome::ALL) {
            if outcome == self.outcome {
                counter.inc();
            }
        }
        if let Some(seconds) = &meter.durations {
            seconds.observe(self.started_at.elapsed().as_secs_f64());
        }
        if let Some(running) = &meter.running {
            running.dec();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Monitor;

    #[test]
    fn unknown_labels_create_no_series() {
        let measured = MetricLabels { tools: vec!["knowledge.search"], ..MetricLabels::default() };
        let metrics = Metrics::new(&measured).unwrap();
        assert!(metrics.tool_meter("knowledge.search").is_some());
        assert!(metrics.tool_meter("telltale").is_none() && metrics.method_meter("ping").is_none());
        drop(CallTimer::start(metrics.tool_meter("telltale")));
        let text = Monitor::new(metrics).scrape().unwrap();
        assert!(text.contains("knowledge.search") && !text.contains("telltale"), "{text}");
    }

    #[test]
    fn call_without_outcome_counts_as_cancelled() {
        let measured = MetricLabels { tools: vec!["a", "b"], ..MetricLabels::default() };
        let metrics = Metrics::new(&measured).unwrap();
        let cancelled = CallTimer::start(metrics.tool_meter("a"));
        let mut done = CallTimer::start(metrics.tool_meter("a"));
        let monitor = Monitor::new(metrics);
        let has = |line: &str| monitor.scrape().unwrap().lines().any(|it| it == line);
        assert!(has("vademecum_tool_calls_running 2"));
        done.set_outcome(CallOutcome::Ok);
        drop((cancelled, done));
        assert!(has("vademecum_tool_calls_running 0"));
        assert!(has(r#"vademecum_tool_calls_total{outcome="cancelled",tool="a"} 1"#));
        assert!(has(r#"vademecum_tool_calls_total{outcome="ok",tool="a"} 1"#));
        assert!(has(r#"vademecum_tool_calls_total{outcome="ok",tool="b"} 0"#));
        assert!(has(r#"vademecum_tool_call_duration_seconds_count{tool="a"} 2"#));
    }
}
