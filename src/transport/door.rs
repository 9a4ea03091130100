//! What every transport needs to know.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use super::Connections;
use vademecum_core::{
    auth::Authenticator,
    config::{Auth, Server},
    telemetry::Monitor,
};
use vademecum_mcp::Service;

/// What every transport needs to know.
#[derive(Clone, Debug)]
pub struct Door {
    /// The protocol.
    pub service: Service,
    /// Finds out who comes in.
    pub authenticator: Arc<Authenticator>,
    /// What clients are told about how to come in.
    pub auth: Auth,
    /// Where clients connect, and what they may send.
    pub server: Server,
    /// How many calls one connection works on at the same time.
    pub concurrent_calls: NonZeroU32,
    /// How long a call may take.
    pub longest_call: Duration,
    /// How many connections there are.
    pub connections: Connections,
    /// What those who look after the server are told.
    pub monitor: Monitor,
}
