//! What a client may say in the address: `?config=…&tool_names=…&mcp-session-id=…`.

use actix_web::{HttpMessage, HttpRequest, http::header::HeaderValue, web};
use serde::Deserialize;

use super::credentials::Admitted;
use vademecum_core::telemetry::Trace;
use vademecum_mcp::{Defaults, Mirror, NameStyle, Peer, SessionId};

/// The header that names a session.
pub(crate) const SESSION: &str = "mcp-session-id";

#[derive(Debug, Default, Deserialize)]
struct Address {
    config: Option<String>,
    tool_names: Option<String>,
    #[serde(rename = "mcp-session-id", alias = "mcp_session_id")]
    session: Option<String>,
}

/// Who is at the other end, as far as the request says.
pub(crate) fn peer(request: &HttpRequest) -> Result<Peer, String> {
    let address = web::Query::<Address>::from_query(request.query_string())
        .map_err(|error| format!("the address is not right: {error}"))?
        .into_inner();
    let defaults = match address.config.as_deref() {
        Some(text) => Defaults::from_base64(text).map_err(|error| error.to_string())?,
        None => Defaults::default(),
    };
    let names = match address.tool_names.as_deref() {
        None | Some("auto") => None,
        Some("dotted") => Some(NameStyle::Dotted),
        Some("underscored") => Some(NameStyle::Underscored),
        Some(other) => {
            return Err(format!("`tool_names` is `{other}`, expected auto, dotted or underscored"));
        }
    };
    let header = match request.headers().get(SESSION) {
        Some(value) => {
            Some(value.to_str().map_err(|_| format!("{SESSION} must be visible ASCII"))?.to_owned())
        }
        None => None,
    };
    let session = header.or(address.session).map(|id| SessionId::named(&id));
    let admitted = request.extensions().get::<Admitted>().map(Admitted::principal).cloned();
    let principal = admitted.ok_or("nobody has been let in here")?;
    let mirror = Some(mirror(request));
    Ok(Peer { principal, session, defaults, names, mirror, turns: None })
}

/// What the headers say of the message.
fn mirror(request: &HttpRequest) -> Mirror {
    let text = |value: &HeaderValue| value.to_str().ok().map(|text| text.trim().to_owned());
    let named = |name: &str| request.headers().get(name).and_then(text);
    let parameters = request.headers().iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix("mcp-param-")?;
        Some((name.to_owned(), text(value)))
    });
    Mirror {
        version: named("mcp-protocol-version"),
        method: named("mcp-method"),
        name: named("mcp-name"),
        parameters: parameters.collect(),
        trace: named("traceparent").as_deref().and_then(Trace::parse),
    }
}
