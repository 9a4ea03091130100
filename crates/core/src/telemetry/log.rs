//! Log setup. Logs go to standard error, because standard output is reserved for replies.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::{EnvFilter, fmt::format::JsonFields};

use super::flat_json::FlatJson;
use crate::config::{Log, LogFormat};

/// Installs the global logger according to the settings.
///
/// Later calls have no effect.
pub fn init_logging(settings: &Log) {
    let filter = EnvFilter::try_new(&settings.level).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .with_target(false);
    // Fails only if a logger is already installed, as in tests.
    drop(match settings.format {
        LogFormat::Text => tracing::subscriber::set_global_default(log.finish()),
        LogFormat::Json => {
            let log = log.fmt_fields(JsonFields::new()).event_format(FlatJson);
            tracing::subscriber::set_global_default(log.finish())
        }
    });
}
