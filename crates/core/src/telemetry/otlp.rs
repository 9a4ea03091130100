//! Export of request spans to an OpenTelemetry collector.
//!
//! A dedicated thread sends them as OTLP/JSON over HTTP. The format is written by hand, because the
//! SDK would add its own machinery for spans, batches and protocol buffers.

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

use super::{CallOutcome, Gauge, TraceContext};
use crate::config::OtlpEndpoint;

/// Maximum number of queued spans; further spans are dropped and counted.
const MAX_QUEUED_SPANS: usize = 2_048;
/// Maximum number of spans per export request.
const MAX_BATCH_SPANS: usize = 512;
/// Time to collect spans before sending a batch.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of an export request.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum interval between warnings about failed exports.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);
/// Time to wait for the last spans at process exit.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Finished request to export as a span.
#[derive(Clone, Debug)]
pub struct FinishedRequest {
    /// Trace and span id of the request, and its parent span, if any.
    pub trace: TraceContext,
    /// Protocol method.
    pub method: &'static str,
    /// Canonical name of the called tool.
    pub tool: Option<&'static str>,
    /// Start; a time before 1970 is exported as 1970-01-01.
    pub started_at: SystemTime,
    /// Duration.
    pub duration: Duration,
    /// Outcome, which also decides the status of the span.
    pub outcome: CallOutcome,
}

/// Error of starting the export thread.
#[derive(Debug, thiserror::Error)]
#[error("span export thread could not be started")]
pub struct ExporterError(#[from] std::io::Error);

/// Exporter of spans. It never blocks: if the collector is slow or unreachable, spans are dropped
/// and a warning is logged.
#[derive(Clone)]
pub struct SpanExporter(Arc<SpanQueue>);

struct SpanQueue {
    spans: Option<SyncSender<FinishedRequest>>,
    dropped: AtomicU32,
    /// Disconnects once all spans are sent.
    done: Mutex<Receiver<()>>,
}

impl fmt::Debug for SpanExporter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exporter").finish_non_exhaustive()
    }
}

impl SpanExporter {
    /// Starts the export thread for this collector.
    pub fn start(endpoint: &OtlpEndpoint) -> Result<Self, ExporterError> {
        let (spans, waiting) = sync_channel(MAX_QUEUED_SPANS);
        let (is_done, done) = sync_channel(0);
        let mut config = ureq::Agent::config_builder().timeout_global(Some(EXPORT_TIMEOUT));
        if endpoint.is_loopback() {
            // A collector on this machine needs no proxy.
            config = config.proxy(None);
        }
        let (agent, address) = (ureq::Agent::from(config.build()), endpoint.traces_url());
        thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            export_batches(&waiting, |body| {
                let request = agent.post(&address).header("content-type", "application/json");
                request.send(body.to_string().as_bytes()).map(drop)
            });
            drop(is_done);
        })?;
        Ok(Self(Arc::new(SpanQueue {
            spans: Some(spans),
            dropped: AtomicU32::new(0),
            done: Mutex::new(done),
        })))
    }

    /// Queues a span, or drops it if the queue is full.
    pub fn queue_span(&self, span: FinishedRequest) {
        let is_sent = self.0.spans.as_ref().is_some_and(|spans| spans.try_send(span).is_ok());
        if !is_sent {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of dropped spans.
    pub fn dropped_spans(&self) -> u32 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Returns the number of dropped spans as a metric.
    pub fn dropped_gauge(&self) -> Gauge {
        let help = "Spans dropped because the export queue was full.";
        Gauge::from_total("vademecum_spans_dropped_total", help, self.dropped_spans().into())
    }
}

impl Drop for SpanQueue {
    fn drop(&mut self) {
        drop(self.spans.take());
        // Spans that are not sent within the timeout are lost.
        let done = self.done.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _is_done = done.recv_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// Sends spans in batches until all senders are dropped.
fn export_batches(
    waiting: &Receiver<FinishedRequest>,
    send: impl Fn(&Value) -> Result<(), ureq::Error>,
) {
    let mut complained: Option<Instant> = None;
    while let Ok(first) = waiting.recv() {
        let batch = collect_batch(first, waiting);
        if let Err(error) = send(&export_request(&batch))
            && complained.is_none_or(|before| before.elapsed() >= WARNING_INTERVAL)
        {
            // The URL may contain a password, and the error may contain the URL.
            let reason = match error {
                ureq::Error::StatusCode(code) => format!("status {code}"),
                ureq::Error::Timeout(_) => "timeout".to_owned(),
                _ => "unreachable".to_owned(),
            };
            tracing::warn!(reason, spans = batch.len(), "span export failed");
            complained = Some(Instant::now());
        }
    }
}

fn collect_batch(
    first: FinishedRequest,
    waiting: &Receiver<FinishedRequest>,
) -> Vec<FinishedRequest> {
    let until = Instant::now() + FLUSH_INTERVAL;
    let mut batch = vec![first];
    while batch.len() < MAX_BATCH_SPANS {
        match waiting.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(next) => batch.push(next),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    batch
}

/// Builds an `ExportTraceServiceRequest`.
fn export_request(batch: &[FinishedRequest]) -> Value {
    let spans: Vec<Value> = batch.iter().map(build_span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            string_attribute("service.name", "vademecum"),
            string_attribute("service.version", env!("CARGO_PKG_VERSION")),
        ]},
        "scopeSpans": [{ "scope": { "name": "vademecum" }, "spans": spans }],
    }]})
}

/// Builds a span according to the OpenTelemetry conventions for MCP.
fn build_span(finished: &FinishedRequest) -> Value {
    let FinishedRequest { trace, method, tool, started_at: begun, duration: took, outcome } =
        finished;
    let begun = begun.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let name = tool.map_or_else(|| (*method).to_owned(), |tool| format!("{method} {tool}"));
    let mut attributes = vec![
        string_attribute("mcp.method.name", method),
        string_attribute("vademecum.outcome", outcome.as_str()),
    ];
    attributes.extend(tool.map(|tool| string_attribute("gen_ai.tool.name", tool)));
    let failed = match outcome {
        CallOutcome::Ok | CallOutcome::Cancelled => false,
        CallOutcome::Refused | CallOutcome::Failed | CallOutcome::Late => true,
    };
    let mut span = json!({
        "traceId": trace.trace_id(),
        "spanId": trace.span_id(),
        "name": name,
        // `SPAN_KIND_SERVER`
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

fn string_attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_encoded_as_otlp_span() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let finished = FinishedRequest {
            trace: TraceContext::parse(parent).unwrap(),
            method: "tools/call",
            tool: Some("knowledge.search"),
            started_at: SystemTime::UNIX_EPOCH + Duration::from_secs(2),
            duration: Duration::from_millis(5),
            outcome: CallOutcome::Refused,
        };
        let export = export_request(&[
            finished.clone(),
            FinishedRequest { outcome: CallOutcome::Ok, ..finished },
        ]);
        let spans = &export["resourceSpans"][0]["scopeSpans"][0]["spans"];
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
    fn unreachable_collector_does_not_block() {
        let endpoint: crate::config::Telemetry =
            toml::from_str("otlp_endpoint = \"http://127.0.0.1:1\"").unwrap();
        let exporter = SpanExporter::start(&endpoint.otlp_endpoint.unwrap()).unwrap();
        let finished = FinishedRequest {
            trace: TraceContext::new_root(),
            method: "ping",
            tool: None,
            started_at: SystemTime::now(),
            duration: Duration::ZERO,
            outcome: CallOutcome::Ok,
        };
        let many = 3 * u32::try_from(MAX_QUEUED_SPANS).unwrap();
        (0..many).for_each(|_| exporter.queue_span(finished.clone()));
        assert!(exporter.dropped_spans() <= many - u32::try_from(MAX_QUEUED_SPANS).unwrap());
    }
}
