//! Spans for an OpenTelemetry collector: one for each request.
//!
//! They are written as OTLP has it in JSON, over HTTP, by a thread of their own. It
//! is little enough to be written here: the SDK would bring its own machinery for
//! spans, batches and protocol buffers.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value, json};

use super::{Figure, Outcome, Trace};
use crate::config::OtlpEndpoint;

/// Spans that wait to be sent; beyond, they are dropped and counted.
const WAITING: usize = 2_048;
/// Spans that are sent together at most.
const TOGETHER: usize = 512;
/// How long spans are gathered before they are sent.
const GATHERING: Duration = Duration::from_secs(1);
/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the log says that the collector does not answer.
const COMPLAINTS: Duration = Duration::from_mins(1);
/// How long the end of the process waits for the last spans.
const FAREWELL: Duration = Duration::from_secs(1);

/// A request that is over, as a collector is told of it.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Where it stands in its trace.
    pub trace: Trace,
    /// Its method.
    pub method: &'static str,
    /// The tool it called, if it did.
    pub tool: Option<&'static str>,
    /// When it began.
    pub begun: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub outcome: Outcome,
}

/// Spans could not be sent at all.
#[derive(Debug, thiserror::Error)]
#[error("no thread can be started to send spans")]
pub struct ExporterError(#[from] std::io::Error);

/// Sends spans to a collector. What is offered never waits: a collector that is slow
/// or not there costs spans, and a line in the log.
#[derive(Clone)]
pub struct Exporter(Arc<Line>);

struct Line {
    spans: Option<SyncSender<Finished>>,
    dropped: AtomicU32,
    /// Ends when everything is sent.
    done: Mutex<Receiver<()>>,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exporter").finish_non_exhaustive()
    }
}

impl Exporter {
    /// Sends to this collector.
    pub fn start(endpoint: &OtlpEndpoint) -> Result<Self, ExporterError> {
        let (spans, waiting) = sync_channel(WAITING);
        let (is_done, done) = sync_channel(0);
        let mut config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE));
        if endpoint.is_here() {
            // This machine needs no proxy.
            config = config.proxy(None);
        }
        let (agent, address) = (ureq::Agent::from(config.build()), endpoint.traces());
        thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            send_all(&waiting, |body| {
                let request = agent.post(&address).header("content-type", "application/json");
                request.send(body.to_string().as_bytes()).map(drop)
            });
            drop(is_done);
        })?;
        Ok(Self(Arc::new(Line {
            spans: Some(spans),
            dropped: AtomicU32::new(0),
            done: Mutex::new(done),
        })))
    }

    /// Tells the collector, if it keeps up.
    pub fn offer(&self, span: Finished) {
        let is_sent = self.0.spans.as_ref().is_some_and(|spans| spans.try_send(span).is_ok());
        if !is_sent {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many spans found no room.
    pub fn dropped(&self) -> u32 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// The same, as a figure.
    pub fn figure(&self) -> Figure {
        let help = "Spans that were dropped because the collector did not keep up.";
        Figure::total("vademecum_spans_dropped_total", help, self.dropped().into())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.spans.take());
        // Whatever was not sent by then is lost.
        let done = self.done.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _is_done = done.recv_timeout(FAREWELL);
    }
}

/// Sends what comes, in batches, until nobody is left who could offer more.
fn send_all(waiting: &Receiver<Finished>, send: impl Fn(&Value) -> Result<(), ureq::Error>) {
    let mut complained: Option<Instant> = None;
    while let Ok(first) = waiting.recv() {
        let batch = gather(first, waiting);
        if let Err(error) = send(&request(&batch))
            && complained.is_none_or(|before| before.elapsed() >= COMPLAINTS)
        {
            // The address may hold a password, and an error may hold the address.
            let reason = match error {
                ureq::Error::StatusCode(code) => format!("it answers {code}"),
                ureq::Error::Timeout(_) => "it takes too long".to_owned(),
                _ => "it cannot be reached".to_owned(),
            };
            tracing::warn!(reason, spans = batch.len(), "a collector does not take spans");
            complained = Some(Instant::now());
        }
    }
}

fn gather(first: Finished, waiting: &Receiver<Finished>) -> Vec<Finished> {
    let until = Instant::now() + GATHERING;
    let mut batch = vec![first];
    while batch.len() < TOGETHER {
        match waiting.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(next) => batch.push(next),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    batch
}

/// An `ExportTraceServiceRequest`.
fn request(batch: &[Finished]) -> Value {
    let spans: Vec<Value> = batch.iter().map(span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            text("service.name", "vademecum"),
            text("service.version", env!("CARGO_PKG_VERSION")),
        ]},
        "scopeSpans": [{ "scope": { "name": "vademecum" }, "spans": spans }],
    }]})
}

/// A span, named as OpenTelemetry's conventions for MCP have it.
fn span(finished: &Finished) -> Value {
    let Finished { trace, method, tool, begun, took, outcome } = finished;
    let begun = begun.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let name = tool.map_or_else(|| (*method).to_owned(), |tool| format!("{method} {tool}"));
    let mut attributes =
        vec![text("mcp.method.name", method), text("vademecum.outcome", outcome.as_str())];
    attributes.extend(tool.map(|tool| text("gen_ai.tool.name", tool)));
    let failed = match outcome {
        Outcome::Ok | Outcome::Cancelled => false,
        Outcome::Refused | Outcome::Failed | Outcome::Late => true,
    };
    let mut span = json!({
        "traceId": trace.trace_id(),
        "spanId": trace.span_id(),
        "name": name,
        // A server's.
        "kind": 2,
        "startTimeUnixNano": begun.as_nanos().to_string(),
        "endTimeUnixNano": (begun + *took).as_nanos().to_string(),
        "attributes": attributes,
        "status": if failed { json!({ "code": 2 }) } else { json!({}) },
    });
    if let Some(parent) = trace.parent_id() {
        span["parentSpanId"] = parent.into();
    }
    span
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_span_as_collectors_read_it() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let finished = Finished {
            trace: Trace::parse(parent).unwrap(),
            method: "tools/call",
            tool: Some("knowledge.search"),
            begun: SystemTime::UNIX_EPOCH + Duration::from_secs(2),
            took: Duration::from_millis(5),
            outcome: Outcome::Refused,
        };
        let told = request(&[finished.clone(), Finished { outcome: Outcome::Ok, ..finished }]);
        let spans = &told["resourceSpans"][0]["scopeSpans"][0]["spans"];
        let span = &spans[0];
        assert_eq!(span["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(span["parentSpanId"], "00f067aa0ba902b7");
        assert_eq!(span["name"], "tools/call knowledge.search");
        assert_eq!(span["startTimeUnixNano"], "2000000000");
        assert_eq!(span["endTimeUnixNano"], "2005000000");
        assert_eq!((&span["status"]["code"], &spans[1]["status"]), (&json!(2), &json!({})));
        let tool =
            json!({ "key": "gen_ai.tool.name", "value": { "stringValue": "knowledge.search" } });
        assert!(span["attributes"].as_array().unwrap().contains(&tool), "{span}");
    }

    #[test]
    fn a_collector_that_is_not_there_holds_nobody_up() {
        let endpoint: crate::config::Telemetry =
            toml::from_str("otlp_endpoint = \"http://127.0.0.1:1\"").unwrap();
        let exporter = Exporter::start(&endpoint.otlp_endpoint.unwrap()).unwrap();
        let finished = Finished {
            trace: Trace::begin(),
            method: "ping",
            tool: None,
            begun: SystemTime::now(),
            took: Duration::ZERO,
            outcome: Outcome::Ok,
        };
        let many = 3 * u32::try_from(WAITING).unwrap();
        (0..many).for_each(|_| exporter.offer(finished.clone()));
        assert!(exporter.dropped() <= many - u32::try_from(WAITING).unwrap());
    }
}
