//! Logging. It goes to standard error: standard output belongs to answers.

use tracing_subscriber::EnvFilter;

/// Starts logging at `level`, such as `info` or `vademecum=debug`.
///
/// Starting it a second time changes nothing.
pub fn start(level: &str) {
    let filter = EnvFilter::try_new(level).unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .finish();
    // Fails only if logging has begun already, as in tests.
    drop(tracing::subscriber::set_global_default(log));
}
