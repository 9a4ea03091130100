//! Observability: metrics, readiness, logs and traces.
//!
//! Nothing here ever holds a query, content, a key or the name of a user. [`Metrics`] counts events
//! as they happen, [`Gauge`]s are read on request, and a [`Monitor`] combines both.

mod flat_json;
mod gauge;
mod log;
mod metrics;
mod monitor;
mod otlp;
mod process;
mod request_id;
mod trace;

pub use gauge::Gauge;
pub use log::init_logging;
pub use metrics::{CallOutcome, CallTimer, Meter, MetricLabels, Metrics, MetricsError, OpenGuard};
pub use monitor::Monitor;
pub use otlp::{ExporterError, FinishedRequest, SpanExporter};
pub use request_id::RequestId;
pub use trace::TraceContext;
