//! Observability of requests: metrics, one log line, one trace span and one audit entry per
//! request. Arguments are recorded only in the audit log, if its settings ask for them; results
//! never are.

use std::{
    cell::{Cell, OnceCell, RefCell},
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tracing::{Span, field::Empty};
use vademecum_core::{
    audit::{AuditEntry, AuditLog, AuditOutcome},
    telemetry::{CallOutcome, CallTimer, FinishedRequest, Metrics, SpanExporter, TraceContext},
};

use crate::{
    Client, FailureKind, ItemTrail, Peer, Reply, ReplyStatus, SessionId, message::jsonrpc::Request,
};

/// Method names used as metric and log labels; all other methods are recorded as [`OTHER_METHOD`].
const METHOD_LABELS: [&str; 20] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/directory/read",
    "resources/read",
    "skills/list",
    "skills/get",
    "vademecum/recall",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    OTHER_METHOD,
];

/// Label of unknown methods, because callers can invent any number of names.
const OTHER_METHOD: &str = "other";

/// Methods with an entry in the audit log: those that show or change a library.
const AUDITED_METHODS: [&str; 11] = [
    "tools/call",
    "resources/directory/read",
    "resources/read",
    "skills/get",
    "vademecum/recall",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// Maximum length of the parameters in the audit log, in bytes.
const MAX_AUDITED_ARGUMENT_BYTES: usize = 4 * 1_024;

/// Receivers of request observations. The default records nothing.
#[derive(Clone, Debug, Default)]
pub struct RequestObserver {
    /// Counters and timers.
    pub metrics: Metrics,
    /// Exports one span per request to an OpenTelemetry collector.
    pub exporter: Option<SpanExporter>,
    /// Records who called.
    pub audit: AuditLog,
}

impl RequestObserver {
    /// Method labels of the metrics, including the one for unknown methods.
    pub const METHOD_LABELS: &'static [&'static str] = &METHOD_LABELS;
}

/// Observation of one running request. Dropping it records the outcome.
pub(crate) struct RequestMetrics<'a> {
    observer: &'a RequestObserver,
    session: Option<&'a SessionId>,
    method: &'static str,
    method_timer: CallTimer,
    tool_timer: OnceCell<(&'static str, CallTimer)>,
    outcome: Cell<CallOutcome>,
    started_at: SystemTime,
    trace: Option<TraceContext>,
    /// Span of the request, in which it is processed.
    pub(crate) span: Span,
    /// Entry for the audit log; `None` if the request is not audited.
    audit_entry: RefCell<Option<AuditEntry>>,
    /// Items that the request shows or changes.
    pub(crate) items: ItemTrail,
}

impl<'a> RequestMetrics<'a> {
    /// Starts the timer and the span of a request, and its audit entry if it is audited.
    pub(crate) fn begin(
        observer: &'a RequestObserver,
        peer: &'a Peer,
        request: &Request<'_>,
    ) -> Self {
        let method = METHOD_LABELS
            .into_iter()
            .find(|known| *known == request.method)
            .unwrap_or(OTHER_METHOD);
        let audit_entry = begin_audit(observer, peer, method, request.params);
        let in_header = || peer.headers.as_ref().and_then(|headers| headers.trace);
        let received = trace_from_meta(request.params).or_else(in_header);
        let trace =
            received.or_else(|| observer.exporter.as_ref().map(|_| TraceContext::new_root()));
        let span =
            tracing::error_span!("call", method, tool = Empty, trace.id = Empty, span.id = Empty);
        if let Some(trace) = trace.filter(|_| !span.is_disabled()) {
            span.record("trace.id", trace.trace_id()).record("span.id", trace.span_id());
        }
        Self {
            observer,
            session: peer.session.as_ref(),
            method,
            method_timer: CallTimer::start(observer.metrics.method_meter(method)),
            tool_timer: OnceCell::new(),
            // A request that is dropped before it finishes was cancelled.
            outcome: Cell::new(CallOutcome::Cancelled),
            started_at: SystemTime::now(),
            trace,
            span,
            items: if audit_entry.is_some() {
                ItemTrail::recording()
            } else {
                ItemTrail::default()
            },
            audit_entry: RefCell::new(audit_entry),
        }
    }

    /// Records the client program in the audit entry.
    pub(crate) fn record_client(&self, client: &Client) {
        if let Some(entry) = &mut *self.audit_entry.borrow_mut() {
            entry.client = Arc::clone(&client.name);
        }
    }

    /// Records the tool that the request calls. The name is from the catalog.
    pub(crate) fn record_tool(&self, tool: &'static str) {
        self.tool_timer
            .get_or_init(|| (tool, CallTimer::start(self.observer.metrics.tool_meter(tool))));
        self.span.record("tool", tool);
        if let Some(entry) = &mut *self.audit_entry.borrow_mut() {
            entry.tool = Some(tool);
        }
    }

    /// Records that the reply is a tool error (`isError: true`).
    pub(crate) fn record_tool_error(&self) {
        self.outcome.set(CallOutcome::Refused);
    }

    /// Records that the reply is a JSON-RPC error.
    pub(crate) fn record_failure(&self, code: i32, kind: &FailureKind) {
        self.outcome.set(CallOutcome::Failed);
        if let Some(entry) = &mut *self.audit_entry.borrow_mut() {
            entry.code = Some(code);
            entry.outcome = match kind {
                FailureKind::Forbidden(_) => AuditOutcome::Denied,
                FailureKind::TooMany(_) | FailureKind::Busy(_) => AuditOutcome::Limited,
                FailureKind::ParseError
                | FailureKind::InvalidRequest
                | FailureKind::MethodNotFound
                | FailureKind::InvalidParams
                | FailureKind::InvalidMeta
                | FailureKind::InternalError
                | FailureKind::ResourceNotFound
                | FailureKind::HeaderMismatch
                | FailureKind::MissingCapability
                | FailureKind::UnsupportedVersion
                | FailureKind::InputRequired(_) => AuditOutcome::Error,
            };
        }
    }

    /// Records that processing finished with this reply.
    pub(crate) fn record_reply(&self, reply: &Reply) {
        let outcome = match reply.status {
            // A reply with status `Ok` may still be an error that was recorded before.
            ReplyStatus::Ok => match self.outcome.get() {
                CallOutcome::Cancelled => CallOutcome::Ok,
                recorded => recorded,
            },
            ReplyStatus::Accepted => CallOutcome::Cancelled,
            ReplyStatus::BadRequest
            | ReplyStatus::NotFound
            | ReplyStatus::Forbidden(_)
            | ReplyStatus::TooMany(_)
            | ReplyStatus::Busy(_) => CallOutcome::Failed,
        };
        self.outcome.set(outcome);
        if let Some(entry) = &mut *self.audit_entry.borrow_mut() {
            entry.bytes = reply.message.as_ref().map_or(0, String::len);
        }
    }

    /// Queues the entry for the audit log, if the request is audited.
    fn finish_audit(&self, duration: Duration) {
        let Some(mut entry) = self.audit_entry.take() else { return };
        entry.items = self.items.take();
        entry.duration = duration;
        entry.outcome = match (self.outcome.get(), entry.outcome) {
            (CallOutcome::Ok, _) => AuditOutcome::Ok,
            (CallOutcome::Refused, _) => AuditOutcome::ToolError,
            // The kind of failure is known if the reply is a JSON-RPC error.
            (CallOutcome::Failed | CallOutcome::Late, AuditOutcome::Ok) => AuditOutcome::Error,
            (CallOutcome::Failed | CallOutcome::Late, recorded) => recorded,
            (CallOutcome::Cancelled, _) => AuditOutcome::Cancelled,
        };
        self.observer.audit.record(entry);
    }
}

/// Returns the entry for a request that begins, if it is audited.
fn begin_audit(
    observer: &RequestObserver,
    peer: &Peer,
    method: &'static str,
    params: Option<&RawValue>,
) -> Option<AuditEntry> {
    let connection = peer.connection.filter(|_| observer.audit.is_enabled())?;
    if !AUDITED_METHODS.contains(&method) {
        return None;
    }
    let arguments = params.filter(|_| observer.audit.records_arguments()).map(|params| {
        let text = params.get();
        let end = text.floor_char_boundary(MAX_AUDITED_ARGUMENT_BYTES);
        text.get(..end).unwrap_or_default().to_owned()
    });
    Some(AuditEntry {
        user: Some(peer.principal.user().clone()),
        key: peer.principal.key().cloned(),
        address: connection.address,
        arguments,
        ..AuditEntry::new(method, connection.transport, AuditOutcome::Ok)
    })
}

impl Drop for RequestMetrics<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.get();
        let duration = self.method_timer.elapsed();
        self.finish_audit(duration);
        self.method_timer.set_outcome(outcome);
        let tool = self.tool_timer.get_mut().map(|(tool, running)| {
            running.set_outcome(outcome);
            *tool
        });
        self.span.in_scope(|| {
            tracing::info!(
                outcome = outcome.as_str(),
                duration_ms = milliseconds(duration),
                session.id = self.session.map(hash_session_id),
                "`{}` has ended",
                self.method
            );
        });
        let exported = self.observer.exporter.as_ref().zip(self.trace);
        if let Some((exporter, trace)) = exported.filter(|(_, trace)| trace.is_sampled()) {
            let (method, started_at) = (self.method, self.started_at);
            exporter.queue_span(FinishedRequest {
                trace,
                method,
                tool,
                started_at,
                duration,
                outcome,
            });
        }
    }
}

/// Returns the trace context from `_meta.traceparent`.
fn trace_from_meta(params: Option<&RawValue>) -> Option<TraceContext> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Meta<'a>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow)]
        traceparent: &'a str,
    }
    // Most requests have none, which saves parsing the parameters twice.
    let params = params.map(RawValue::get).filter(|params| params.contains("\"traceparent\""))?;
    let params: Params<'_> = serde_json::from_str(params).ok()?;
    TraceContext::parse(params.meta.traceparent)
}

/// Returns the duration in milliseconds, rounded to the microsecond.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

/// Returns a hash of the session id for logs, so that log readers cannot use the session.
fn hash_session_id(session: &SessionId) -> String {
    let digest = Sha256::digest(session.as_str());
    digest.first_chunk().map_or_else(String::new, |it| format!("{:016x}", u64::from_be_bytes(*it)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProtocolVersion;

    #[test]
    fn methods_that_differ_between_revisions_have_labels() {
        let everywhere = |method: &&str| {
            ProtocolVersion::NEWEST_WITH_SESSIONS.has_method(method)
                && ProtocolVersion::V2026_07_28.has_method(method)
        };
        let both = METHOD_LABELS.iter().filter(|method| everywhere(method)).count();
        assert_eq!(
            METHOD_LABELS.len() - both,
            7,
            "five are of one kind of revision, two of the other"
        );
    }

    #[test]
    fn trace_is_read_from_meta() {
        let of = |params: &str| {
            let params: Box<RawValue> = serde_json::from_str(params).unwrap();
            trace_from_meta(Some(&params)).map(|trace| trace.trace_id())
        };
        let (id, rest) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7-01");
        let trace =
            of(&format!(r#"{{"name":"x","_meta":{{"a":1,"traceparent":"00-{id}-{rest}"}}}}"#));
        assert_eq!(trace.as_deref(), Some(id));
        for params in [
            "{}",
            r#"{"_meta":{"traceparent":7}}"#,
            r#"{"_meta":{"traceparent":"00-x"}}"#,
            r#"{"arguments":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}"#,
            r#"["traceparent"]"#,
        ] {
            assert_eq!(of(params), None, "{params}");
        }
        assert_eq!(trace_from_meta(None), None);
    }

    #[test]
    fn session_is_logged_as_hash() {
        let session = SessionId::from_client("0123456789abcdef0123456789abcdef");
        let hash = hash_session_id(&session);
        assert_eq!(hash.len(), 16);
        assert!(!session.as_str().contains(&hash));
    }
}
