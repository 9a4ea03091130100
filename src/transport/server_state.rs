//! State shared by all transports.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use super::ConnectionCount;
use vademecum_core::{
    auth::Authenticator,
    config::{Auth, Server},
    telemetry::Monitor,
};
use vademecum_mcp::Service;

/// State shared by all transports.
#[derive(Clone, Debug)]
pub struct ServerState {
    /// Protocol service.
    pub service: Service,
    /// Authenticator of callers.
    pub authenticator: Arc<Authenticator>,
    /// Authentication settings.
    pub auth: Auth,
    /// Server settings.
    pub server: Server,
    /// Maximum number of concurrent calls per connection.
    pub max_concurrent_calls: NonZeroU32,
    /// Maximum duration of a call.
    pub call_timeout: Duration,
    /// Count of open connections.
    pub connection_count: ConnectionCount,
    /// Metrics and readiness checks.
    pub monitor: Monitor,
}
