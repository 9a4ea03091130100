//! A server with the fixtures of the MCP conformance suite, on the protocol and the transports of
//! the product.
//!
//! Prints its address to standard error, as `vademecum serve` does.

mod fixtures;
mod input_requests;
mod prompts;
mod resources;
mod tools;

use std::{net::TcpListener, num::NonZeroU32, sync::Arc, time::Duration};

use anyhow::Result;
use vademecum_accounts::Authenticator;
use vademecum_core::{
    auth::local_principal,
    config::{Auth, Server},
    telemetry::Monitor,
};
use vademecum_mcp::{Service, ServiceOptions};
use vademecum_web::{ConnectionCount, ServerState, serve};

/// Image of the fixtures: a single red pixel, as base64 of a PNG.
pub(crate) const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// Sound of the fixtures: silence, as base64 of a WAV.
pub(crate) const WAV_BASE64: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

fn main() -> Result<()> {
    actix::System::new().block_on(async {
        let fixtures = Arc::new(fixtures::Fixtures::new());
        let service = Service::new(fixtures, ServiceOptions::default());
        let server_state = ServerState {
            oauth: None,
            logins: None,
            pages: None,
            service,
            authenticator: Arc::new(Authenticator::single(local_principal("conformance".parse()?))),
            auth: Auth::default(),
            server: Server::default(),
            max_concurrent_calls: NonZeroU32::MIN.saturating_add(15),
            call_timeout: Duration::from_mins(2),
            connection_count: ConnectionCount::default(),
            monitor: Monitor::default(),
        };
        let listener = TcpListener::bind("127.0.0.1:0")?;
        print_address(&format!("listening on http://{}/mcp", listener.local_addr()?));
        Ok(serve(server_state, listener.into(), None).await?)
    })
}

#[expect(clippy::print_stderr, reason = "the suite reads the address from standard error")]
fn print_address(line: &str) {
    eprintln!("{line}");
}
