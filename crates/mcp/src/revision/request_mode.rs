//! Protocol version of a request. It is determined per request, because one URL or connection may
//! carry several versions.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{MessageHeaders, ProtocolVersion};
use crate::{ClientCapabilities, Failure, FailureKind, LogLevel};

/// Fields of a request's `_meta`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RequestMeta {
    #[serde(default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
    #[serde(default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<Value>,
    #[serde(default, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<ClientName>,
    #[serde(default, rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) level: Option<LogLevel>,
    #[serde(default, rename = "progressToken")]
    pub(crate) token: Option<Value>,
    #[serde(default, rename = "openai/session")]
    pub(crate) openai_session: Option<String>,
}

/// Client information with the program's name.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct ClientName {
    #[serde(default)]
    pub(crate) name: String,
}

#[derive(Deserialize)]
struct WithMeta {
    #[serde(default, rename = "_meta")]
    meta: Option<RequestMeta>,
}

/// How a request relates to sessions.
#[derive(Clone, Debug)]
pub(crate) enum RequestMode {
    /// The request belongs to a session and uses its version, or to none and uses this version.
    Session(ProtocolVersion),
    /// The request is stateless and describes its client itself.
    Stateless { capabilities: ClientCapabilities, client: ClientName },
}

impl RequestMeta {
    /// Reads `_meta` from the parameters of a request. Parameters without it give the default.
    pub(crate) fn from_params(params: Option<&RawValue>) -> Result<Self, Failure> {
        let Some(params) = params.filter(|params| params.get().starts_with('{')) else {
            return Ok(Self::default());
        };
        let read: WithMeta = serde_json::from_str(params.get())
            .map_err(|error| Failure::invalid_params(format!("params._meta: {error}")))?;
        Ok(read.meta.unwrap_or_default())
    }

    fn is_stateless(&self) -> bool {
        self.version.is_some() || self.capabilities.is_some() || self.client.is_some()
    }
}

/// Determines the mode of a request and checks that required fields and headers are present.
pub(crate) fn detect_request_mode(
    method: &str,
    params: Option<&RawValue>,
    meta: &mut RequestMeta,
    headers: Option<&MessageHeaders>,
) -> Result<RequestMode, (ProtocolVersion, Failure)> {
    const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;
    let header = headers.and_then(|headers| headers.version.as_deref());
    let in_header = header.and_then(ProtocolVersion::from_date);
    if method == "initialize" && meta.version.is_none() && in_header != Some(STATELESS) {
        // The handshake names its version in the parameters.
        return Ok(RequestMode::Session(ProtocolVersion::NEWEST_WITH_SESSIONS));
    }
    let only_stateless = !ProtocolVersion::NEWEST_WITH_SESSIONS.has_method(method);
    let is_stateless = meta.is_stateless() || in_header == Some(STATELESS) || only_stateless;
    if !is_stateless {
        return match (header, in_header) {
            (Some(unknown), None) => {
                Err((ProtocolVersion::NEWEST_WITH_SESSIONS, unsupported_version(unknown)))
            }
            (_, version) => {
                Ok(RequestMode::Session(version.unwrap_or(ProtocolVersion::NEWEST_WITH_SESSIONS)))
            }
        };
    }
    let refuse = |failure| Err((STATELESS, failure));
    let Some(version) = meta.version.take() else {
        return refuse(Failure::invalid_meta(
            "params._meta[\"io.modelcontextprotocol/protocolVersion\"] is missing: name the \
             version of this request, or open a session with `initialize`",
        ));
    };
    if let Some(headers) = headers
        && let Err(failure) = headers.check_message(&version, method, params)
    {
        return refuse(failure);
    }
    match ProtocolVersion::from_date(&version) {
        None => return refuse(unsupported_version(&version)),
        // An older version named here is used without a session.
        Some(older) if older.has_sessions() => return Ok(RequestMode::Session(older)),
        Some(_) => {}
    }
    let Some(Value::Object(_)) = &meta.capabilities else {
        return refuse(Failure::invalid_meta(
            "params._meta[\"io.modelcontextprotocol/clientCapabilities\"] is missing: declare \
             the client's capabilities, {} if it has none",
        ));
    };
    Ok(RequestMode::Stateless {
        capabilities: ClientCapabilities::from_declaration(meta.capabilities.as_ref()),
        client: meta.client.take().unwrap_or_default(),
    })
}

/// Error for an unsupported version; its data lists the supported ones.
fn unsupported_version(version: &str) -> Failure {
    let supported = ProtocolVersion::dates();
    Failure {
        kind: FailureKind::UnsupportedVersion,
        message: format!(
            "unsupported protocol version `{version}`; supported are: {}",
            supported.join(", ")
        ),
        data: Some(json!({ "supported": supported, "requested": version })),
    }
}
