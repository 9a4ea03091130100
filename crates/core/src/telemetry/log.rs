//! Logging. It goes to standard error: standard output belongs to answers.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::{EnvFilter, fmt::format::JsonFields};

use super::json::Json;
use crate::config::{Log, LogFormat};

/// Starts logging as the settings say.
///
/// Starting it a second time changes nothing.
pub fn start(settings: &Log) {
    let filter = EnvFilter::try_new(&settings.level).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .with_target(false);
    // Fails only if logging has begun already, as in tests.
    drop(match settings.format {
        LogFormat::Text => tracing::subscriber::set_global_default(log.finish()),
        LogFormat::Json => {
            let log = log.fmt_fields(JsonFields::new()).event_format(Json);
            tracing::subscriber::set_global_default(log.finish())
        }
    });
}
