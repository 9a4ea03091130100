//! What is counted as it happens: with atomics, and with labels that were all known
//! before the first request.

use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    proto::MetricFamily,
};

/// Upper bounds of the classes that durations are counted in, in seconds: from a
/// ping to what takes as long as a source may.
const BOUNDS: [f64; 13] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// What is counted as it happens. The default counts nothing.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<Counted>>);

struct Counted {
    registry: Registry,
    methods: HashMap<&'static str, Arc<Meter>>,
    tools: HashMap<&'static str, Arc<Meter>>,
    sources: HashMap<&'static str, Arc<Meter>>,
    sockets: IntGauge,
}

/// Everything that a label can say: what is not in here makes no series.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The methods of the protocol.
    pub methods: Vec<&'static str>,
    /// The tools, by their canonical names.
    pub tools: Vec<&'static str>,
    /// The sources.
    pub sources: Vec<&'static str>,
}

/// The figures could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("the figures of /metrics could not be set up")]
pub struct MetricsError(#[from] prometheus::Error);

/// How something ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Ok,
    /// With an answer that says what was wrong with what was asked.
    Refused,
    /// Without an answer.
    Failed,
    /// Too late.
    Late,
    /// Nobody waited for the answer.
    #[default]
    Cancelled,
}

impl Outcome {
    const ALL: [Self; 5] = [Self::Ok, Self::Refused, Self::Failed, Self::Late, Self::Cancelled];

    /// How it is called in labels and logs.
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

/// Counts one kind of thing.
pub struct Meter {
    /// In the order of [`Outcome::ALL`].
    ended: [IntCounter; Outcome::ALL.len()],
    seconds: Option<Histogram>,
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
    /// Counts these, from zero.
    pub fn new(measured: &Measured) -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let gauge = |name, help| -> Result<IntGauge, MetricsError> {
            let gauge = IntGauge::new(name, help)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok(gauge)
        };
        let running = gauge("vademecum_tool_calls_running", "Calls of tools that are worked on.")?;
        let sockets = gauge("vademecum_websocket_connections", "WebSockets that are open.")?;
        let methods = Kind {
            label: "method",
            counter: ("vademecum_requests_total", "Requests of the protocol, by method."),
            // What listens to news lasts as long as somebody listens.
            histogram: None,
            running: None,
        };
        let tools = Kind {
            label: "tool",
            counter: ("vademecum_tool_calls_total", "Calls of tools."),
            histogram: Some((
                "vademecum_tool_call_duration_seconds",
                "How long calls of tools took.",
            )),
            running: Some(running),
        };
        let sources = Kind {
            label: "source",
            counter: ("vademecum_source_requests_total", "What sources were asked, one by one."),
            histogram: Some((
                "vademecum_source_request_duration_seconds",
                "How long sources took to answer, waiting included.",
            )),
            running: None,
        };
        let (methods, tools, sources) = (
            methods.meters(&registry, &measured.methods)?,
            tools.meters(&registry, &measured.tools)?,
            sources.meters(&registry, &measured.sources)?,
        );
        Ok(Self(Some(Arc::new(Counted { registry, methods, tools, sources, sockets }))))
    }

    /// What counts requests of a method.
    pub fn method(&self, name: &str) -> Option<Arc<Meter>> {
        self.0.as_ref()?.methods.get(name).cloned()
    }

    /// What counts calls of a tool.
    pub fn tool(&self, name: &str) -> Option<Arc<Meter>> {
        self.0.as_ref()?.tools.get(name).cloned()
    }

    /// What counts what a source is asked.
    pub fn source(&self, name: &str) -> Option<Arc<Meter>> {
        self.0.as_ref()?.sources.get(name).cloned()
    }

    /// Counts a WebSocket as open until this is dropped.
    pub fn socket(&self) -> Open {
        let sockets = self.0.as_ref().map(|counted| counted.sockets.clone());
        if let Some(sockets) = &sockets {
            sockets.inc();
        }
        Open(sockets)
    }

    pub(super) fn gather(&self) -> Vec<MetricFamily> {
        self.0.as_ref().map(|counted| counted.registry.gather()).unwrap_or_default()
    }
}

/// Something that is open, and counted as such until this is dropped.
#[derive(Debug)]
pub struct Open(Option<IntGauge>);

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(open) = &self.0 {
            open.dec();
        }
    }
}

/// A kind of thing that is counted: names and words.
struct Kind {
    label: &'static str,
    counter: (&'static str, &'static str),
    histogram: Option<(&'static str, &'static str)>,
    running: Option<IntGauge>,
}

impl Kind {
    /// A meter for each name.
    fn meters(
        self,
        registry: &Registry,
        names: &[&'static str],
    ) -> Result<HashMap<&'static str, Arc<Meter>>, MetricsError> {
        let (name, help) = self.counter;
        let ended = IntCounterVec::new(Opts::new(name, help), &[self.label, "outcome"])?;
        registry.register(Box::new(ended.clone()))?;
        let histogram = |(name, help)| -> Result<HistogramVec, MetricsError> {
            let options = HistogramOpts::new(name, help).buckets(BOUNDS.to_vec());
            let seconds = HistogramVec::new(options, &[self.label])?;
            registry.register(Box::new(seconds.clone()))?;
            Ok(seconds)
        };
        let seconds = self.histogram.map(histogram).transpose()?;
        let meter = |name: &&'static str| {
            let meter = Meter {
                ended: Outcome::ALL.map(|it| ended.with_label_values(&[*name, it.as_str()])),
                seconds: seconds.as_ref().map(|seconds| seconds.with_label_values(&[*name])),
                running: self.running.clone(),
            };
            (*name, Arc::new(meter))
        };
        Ok(names.iter().map(meter).collect())
    }
}

/// Something that goes on. It is counted when it is dropped, as cancelled unless
/// somebody said how it ended.
#[derive(Debug)]
pub struct Running {
    meter: Option<Arc<Meter>>,
    begun: Instant,
    outcome: Outcome,
}

impl Running {
    /// Begins now; without a meter, nothing is counted.
    pub fn begin(meter: Option<Arc<Meter>>) -> Self {
        if let Some(running) = meter.as_ref().and_then(|meter| meter.running.as_ref()) {
            running.inc();
        }
        Self { meter, begun: Instant::now(), outcome: Outcome::default() }
    }

    /// Says how it ends, unless something else is said later.
    pub fn ends(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }

    /// How long it has gone on.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(meter) = &self.meter else { return };
        for (counter, outcome) in meter.ended.iter().zip(Outcome::ALL) {
            if outcome == self.outcome {
                counter.inc();
            }
        }
        if let Some(seconds) = &meter.seconds {
            seconds.observe(self.begun.elapsed().as_secs_f64());
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
    fn only_what_was_known_before_makes_series() {
        let measured = Measured { tools: vec!["knowledge.search"], ..Measured::default() };
        let metrics = Metrics::new(&measured).unwrap();
        assert!(metrics.tool("knowledge.search").is_some());
        assert!(metrics.tool("telltale").is_none() && metrics.method("ping").is_none());
        drop(Running::begin(metrics.tool("telltale")));
        let text = Monitor::new(metrics).scrape().unwrap();
        assert!(text.contains("knowledge.search") && !text.contains("telltale"), "{text}");
    }

    #[test]
    fn what_nobody_said_the_end_of_was_cancelled() {
        let measured = Measured { tools: vec!["a", "b"], ..Measured::default() };
        let metrics = Metrics::new(&measured).unwrap();
        let cancelled = Running::begin(metrics.tool("a"));
        let mut done = Running::begin(metrics.tool("a"));
        let monitor = Monitor::new(metrics);
        let has = |line: &str| monitor.scrape().unwrap().lines().any(|it| it == line);
        assert!(has("vademecum_tool_calls_running 2"));
        done.ends(Outcome::Ok);
        drop((cancelled, done));
        assert!(has("vademecum_tool_calls_running 0"));
        assert!(has(r#"vademecum_tool_calls_total{outcome="cancelled",tool="a"} 1"#));
        assert!(has(r#"vademecum_tool_calls_total{outcome="ok",tool="a"} 1"#));
        assert!(has(r#"vademecum_tool_calls_total{outcome="ok",tool="b"} 0"#));
        assert!(has(r#"vademecum_tool_call_duration_seconds_count{tool="a"} 2"#));
    }
}
