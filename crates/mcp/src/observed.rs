//! A request as those who look after the server see it: counted, timed, one line in
//! the log, one span for a collector. What it asks and what is answered stays out.

use std::{
    cell::{Cell, OnceCell},
    time::{Duration, SystemTime},
};

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tracing::{Instrument as _, Span, field::Empty};

use super::{Link, Peer, Reply, Service, SessionId, Status, jsonrpc::Request};
use vademecum_core::telemetry::{Exporter, Finished, Metrics, Outcome, Running, Trace};

/// The methods that are known by name to figures and logs; all others are one.
const METHODS: [&str; 16] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    OTHER,
];

/// What a method is called that does not exist: callers make up names without end.
const OTHER: &str = "other";

/// Who is told of requests. The default tells nobody.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    /// What counts them.
    pub metrics: Metrics,
    /// What sends a span of each to a collector.
    pub exporter: Option<Exporter>,
}

impl Observer {
    /// The methods that have figures of their own, and what stands for all others.
    pub const METHODS: &'static [&'static str] = &METHODS;
}

/// A request that is worked on. When it goes, it is over, and whoever is to know is
/// told.
pub(super) struct Observed<'a> {
    observer: &'a Observer,
    session: Option<&'a SessionId>,
    method: &'static str,
    request: Running,
    tool: OnceCell<(&'static str, Running)>,
    outcome: Cell<Outcome>,
    begun: SystemTime,
    trace: Option<Trace>,
    span: Span,
}

impl<'a> Observed<'a> {
    fn begin(observer: &'a Observer, peer: &'a Peer, request: &Request<'_>) -> Self {
        let method = METHODS.into_iter().find(|known| *known == request.method).unwrap_or(OTHER);
        let in_header = || peer.mirror.as_ref().and_then(|mirror| mirror.trace);
        let said = traceparent(request.params).or_else(in_header);
        let trace = said.or_else(|| observer.exporter.as_ref().map(|_| Trace::begin()));
        let span =
            tracing::error_span!("call", method, tool = Empty, trace.id = Empty, span.id = Empty);
        if let Some(trace) = trace.filter(|_| !span.is_disabled()) {
            span.record("trace.id", trace.trace_id()).record("span.id", trace.span_id());
        }
        Self {
            observer,
            session: peer.session.as_ref(),
            method,
            request: Running::begin(observer.metrics.method(method)),
            tool: OnceCell::new(),
            // What is dropped before it ends was given up.
            outcome: Cell::new(Outcome::Cancelled),
            begun: SystemTime::now(),
            trace,
            span,
        }
    }

    /// It calls this tool, which is one of the catalogue.
    pub(super) fn calls(&self, tool: &'static str) {
        self.tool.get_or_init(|| (tool, Running::begin(self.observer.metrics.tool(tool))));
        self.span.record("tool", tool);
    }

    /// What is answered says what was wrong with what was asked.
    pub(super) fn refused(&self) {
        self.outcome.set(Outcome::Refused);
    }

    /// It has no answer.
    pub(super) fn failed(&self) {
        self.outcome.set(Outcome::Failed);
    }

    /// It is over, with this reply.
    fn over(&self, reply: &Reply) {
        let outcome = match reply.status {
            // What is answered says by itself whether it is what was asked for.
            Status::Ok => match self.outcome.get() {
                Outcome::Cancelled => Outcome::Ok,
                said => said,
            },
            Status::Accepted => Outcome::Cancelled,
            Status::BadRequest
            | Status::NotFound
            | Status::Forbidden(_)
            | Status::TooMany(_)
            | Status::Busy(_) => Outcome::Failed,
        };
        self.outcome.set(outcome);
    }
}

impl Drop for Observed<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome.get();
        let took = self.request.elapsed();
        self.request.ends(outcome);
        let tool = self.tool.get_mut().map(|(tool, running)| {
            running.ends(outcome);
            *tool
        });
        self.span.in_scope(|| {
            tracing::info!(
                outcome = outcome.as_str(),
                duration_ms = milliseconds(took),
                session.id = self.session.map(hashed),
                "`{}` has ended",
                self.method
            );
        });
        let exported = self.observer.exporter.as_ref().zip(self.trace);
        if let Some((exporter, trace)) = exported.filter(|(_, trace)| trace.is_sampled()) {
            let (method, begun) = (self.method, self.begun);
            exporter.offer(Finished { trace, method, tool, begun, took, outcome });
        }
    }
}

impl Service {
    /// The same, with somebody who is told of requests.
    #[must_use]
    pub fn observed_by(mut self, observer: Observer) -> Self {
        self.observer = observer;
        self
    }

    /// Answers a request, and tells whoever is to know.
    pub(super) async fn observe(&self, peer: &Peer, request: Request<'_>, link: &Link) -> Reply {
        let observed = Observed::begin(&self.observer, peer, &request);
        let span = observed.span.clone();
        let reply = self.request(peer, request, link, &observed).instrument(span).await;
        observed.over(&reply);
        reply
    }
}

/// The trace that a request says in its `_meta` that it belongs to.
fn traceparent(params: Option<&RawValue>) -> Option<Trace> {
    #[derive(Deserialize)]
    struct Said<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Meta<'a>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow)]
        traceparent: &'a str,
    }
    // Most say nothing of it, and need not be read twice.
    let params = params.map(RawValue::get).filter(|params| params.contains("\"traceparent\""))?;
    let said: Said<'_> = serde_json::from_str(params).ok()?;
    Trace::parse(said.meta.traceparent)
}

/// As logs have it: to the microsecond.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

/// A session as a log may name it: whoever reads the log shall not be able to speak
/// in it.
fn hashed(session: &SessionId) -> String {
    let digest = Sha256::digest(session.as_str());
    digest.first_chunk().map_or_else(String::new, |it| format!("{:016x}", u64::from_be_bytes(*it)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Revision;

    #[test]
    fn every_method_that_differs_between_revisions_is_known_by_name() {
        let everywhere = |method: &&str| {
            Revision::NEWEST_WITH_SESSIONS.has(method) && Revision::V2026_07_28.has(method)
        };
        let both = METHODS.iter().filter(|method| everywhere(method)).count();
        assert_eq!(METHODS.len() - both, 7, "five are of one kind of revision, two of the other");
    }

    #[test]
    fn the_trace_of_a_request_stands_in_its_meta() {
        let of = |params: &str| {
            let params: Box<RawValue> = serde_json::from_str(params).unwrap();
            traceparent(Some(&params)).map(|trace| trace.trace_id())
        };
        let (id, rest) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7-01");
        let said =
            of(&format!(r#"{{"name":"x","_meta":{{"a":1,"traceparent":"00-{id}-{rest}"}}}}"#));
        assert_eq!(said.as_deref(), Some(id));
        for params in [
            "{}",
            r#"{"_meta":{"traceparent":7}}"#,
            r#"{"_meta":{"traceparent":"00-x"}}"#,
            r#"{"arguments":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}"#,
            r#"["traceparent"]"#,
        ] {
            assert_eq!(of(params), None, "{params}");
        }
        assert_eq!(traceparent(None), None);
    }

    #[test]
    fn a_session_is_not_logged_by_its_name() {
        let session = SessionId::named("0123456789abcdef0123456789abcdef");
        let hash = hashed(&session);
        assert_eq!(hash.len(), 16);
        assert!(!session.as_str().contains(&hash));
    }
}
