//! State shared by all transports.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use vademecum_accounts::Authenticator;
use vademecum_core::{
    config::{Auth, Server},
    telemetry::Monitor,
};
use vademecum_mcp::Service;
use vademecum_oauth::AuthorizationServer;

use super::{ConnectionCount, PageServices};

/// State shared by all transports.
#[derive(Clone, Debug)]
pub struct ServerState {
    /// Protocol service.
    pub service: Service,
    /// Authenticator of callers.
    pub authenticator: Arc<Authenticator>,
    /// Authorization server, if this server is one for clients.
    pub oauth: Option<Arc<AuthorizationServer>>,
    /// Logins of browsers, for the pages and for the authorization server; `None` if there are
    /// neither.
    pub logins: Option<Arc<AuthorizationServer>>,
    /// What the pages show; `None` without pages.
    pub pages: Option<PageServices>,
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
