//! What those who look after a server are told: figures, health, logs, traces.
//!
//! Nothing here ever holds a query, a content, a key or the name of a user. What is
//! counted as it happens is in [`Metrics`]; what is read when somebody asks comes as
//! [`Figure`]s; a [`Monitor`] answers with both.

mod figure;
mod json;
mod log;
mod metrics;
mod monitor;
mod otlp;
mod process;
mod request_id;
mod trace;

pub use figure::Figure;
pub use log::start;
pub use metrics::{Measured, Meter, Metrics, MetricsError, Open, Outcome, Running};
pub use monitor::Monitor;
pub use otlp::{Exporter, ExporterError, Finished};
pub use request_id::RequestId;
pub use trace::Trace;
