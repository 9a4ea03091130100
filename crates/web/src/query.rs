//! Query parameters of the MCP URL: `?config=…&tool_names=…&mcp-session-id=…`.

use actix_web::{HttpMessage, HttpRequest, http::header::HeaderValue, web};
use serde::Deserialize;
use vademecum_core::telemetry::TraceContext;
use vademecum_mcp::{
    MessageHeaders, NameStyle, Peer, PeerConnection, ReadConfig, RequestDefaults, SessionId,
};

use super::{credentials::AuthenticatedCaller, wire_names::SESSION_HEADER};

#[derive(Debug, Default, Deserialize)]
struct QueryParams {
    config: Option<String>,
    tool_names: Option<String>,
    #[serde(rename = "mcp-session-id", alias = "mcp_session_id")]
    session: Option<String>,
}

/// Reads the peer from query string, headers and authentication. `transport` is its name in the
/// audit log.
pub(crate) fn read_peer(request: &HttpRequest, transport: &'static str) -> Result<Peer, String> {
    let address = web::Query::<QueryParams>::from_query(request.query_string())
        .map_err(|error| format!("invalid query string: {error}"))?
        .into_inner();
    let config = match address.config.as_deref() {
        Some(text) => RequestDefaults::from_base64(text).map_err(|error| error.to_string())?,
        None => ReadConfig::default(),
    };
    let names = match address.tool_names.as_deref() {
        None | Some("auto") => None,
        Some("dotted") => Some(NameStyle::Dotted),
        Some("underscored") => Some(NameStyle::Underscored),
        Some(other) => {
            return Err(format!("`tool_names` is `{other}`, expected auto, dotted or underscored"));
        }
    };
    let header = match request.headers().get(SESSION_HEADER) {
        Some(value) => Some(
            value
                .to_str()
                .map_err(|_| format!("{SESSION_HEADER} must be visible ASCII"))?
                .to_owned(),
        ),
        None => None,
    };
    let session = header.or(address.session).map(|id| SessionId::from_client(&id));
    let admitted = request
        .extensions()
        .get::<AuthenticatedCaller>()
        .map(|caller| (caller.principal().clone(), caller.address()));
    let (principal, address) = admitted.ok_or("the request is not authenticated")?;
    let replica = Some(read_headers(request));
    Ok(Peer {
        principal,
        session,
        defaults: config.defaults,
        ignored_config: config.ignored,
        name_style: names,
        headers: replica,
        call_permits: None,
        connection: Some(PeerConnection { transport, address }),
    })
}

/// Reads the MCP headers of a request.
fn read_headers(request: &HttpRequest) -> MessageHeaders {
    let text = |value: &HeaderValue| value.to_str().ok().map(|text| text.trim().to_owned());
    let named = |name: &str| request.headers().get(name).and_then(text);
    let parameters = request.headers().iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix("mcp-param-")?;
        Some((name.to_owned(), text(value)))
    });
    MessageHeaders {
        version: named("mcp-protocol-version"),
        method: named("mcp-method"),
        name: named("mcp-name"),
        parameters: parameters.collect(),
        trace: named("traceparent").as_deref().and_then(TraceContext::parse),
    }
}
