//! Which revision a request speaks. It is decided for each by itself: one
//! address, one connection may carry several.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{Mirror, Revision};
use crate::{Capabilities, Failure, Level, error::Kind};

/// What a request says of itself in `_meta`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Meta {
    #[serde(default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
    #[serde(default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<Value>,
    #[serde(default, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<Named>,
    #[serde(default, rename = "io.modelcontextprotocol/logLevel")]
    pub(crate) level: Option<Level>,
    #[serde(default, rename = "progressToken")]
    pub(crate) token: Option<Value>,
    #[serde(default, rename = "openai/session")]
    pub(crate) openai_session: Option<String>,
}

/// A program that says what it is called.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Named {
    #[serde(default)]
    pub(crate) name: String,
}

#[derive(Deserialize)]
struct WithMeta {
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
}

/// What a request says of itself.
#[derive(Clone, Debug)]
pub(crate) enum Era {
    /// It belongs to a session, or to nothing at all; the revision is that of
    /// the session, else this.
    Session(Revision),
    /// It stands for itself.
    Alone {
        /// What the client can do.
        capabilities: Capabilities,
        /// What the client is called.
        client: Named,
    },
}

impl Meta {
    /// What the parameters of a request say of it.
    pub(crate) fn of(params: Option<&RawValue>) -> Result<Self, Failure> {
        let Some(params) = params.filter(|params| params.get().starts_with('{')) else {
            return Ok(Self::default());
        };
        let read: WithMeta = serde_json::from_str(params.get())
            .map_err(|error| Failure::parameters(format!("params._meta: {error}")))?;
        Ok(read.meta.unwrap_or_default())
    }

    fn is_alone(&self) -> bool {
        self.version.is_some() || self.capabilities.is_some() || self.client.is_some()
    }
}

/// Decides which revision a request speaks, and that it says what this takes.
pub(crate) fn decide(
    method: &str,
    params: Option<&RawValue>,
    meta: &mut Meta,
    mirror: Option<&Mirror>,
) -> Result<Era, (Revision, Failure)> {
    const ALONE: Revision = Revision::V2026_07_28;
    let header = mirror.and_then(|mirror| mirror.version.as_deref());
    let in_header = header.and_then(Revision::dated);
    if method == "initialize" && meta.version.is_none() && in_header != Some(ALONE) {
        // The handshake says in its parameters what it wants to speak.
        return Ok(Era::Session(Revision::NEWEST_WITH_SESSIONS));
    }
    let only_alone = !Revision::NEWEST_WITH_SESSIONS.has(method);
    let is_alone = meta.is_alone() || in_header == Some(ALONE) || only_alone;
    if !is_alone {
        return match (header, in_header) {
            (Some(unknown), None) => Err((Revision::NEWEST_WITH_SESSIONS, unsupported(unknown))),
            (_, spoken) => Ok(Era::Session(spoken.unwrap_or(Revision::NEWEST_WITH_SESSIONS))),
        };
    }
    let refuse = |failure| Err((ALONE, failure));
    let Some(version) = meta.version.take() else {
        return refuse(Failure::meta(
            "params._meta[\"io.modelcontextprotocol/protocolVersion\"] is missing: say which \
             revision this request speaks, or open a session with `initialize`",
        ));
    };
    if let Some(mirror) = mirror
        && let Err(failure) = mirror.check(&version, method, params)
    {
        return refuse(failure);
    }
    match Revision::dated(&version) {
        None => return refuse(unsupported(&version)),
        // Said here, an older revision is spoken without a session.
        Some(older) if older.has_sessions() => return Ok(Era::Session(older)),
        Some(_) => {}
    }
    let Some(Value::Object(_)) = &meta.capabilities else {
        return refuse(Failure::meta(
            "params._meta[\"io.modelcontextprotocol/clientCapabilities\"] is missing: say what \
             the client can do, {} if nothing",
        ));
    };
    Ok(Era::Alone {
        capabilities: Capabilities::declared(meta.capabilities.as_ref()),
        client: meta.client.take().unwrap_or_default(),
    })
}

/// A revision that is not spoken here.
fn unsupported(version: &str) -> Failure {
    let supported = Revision::dates();
    Failure {
        kind: Kind::UnsupportedVersion,
        message: format!(
            "the revision `{version}` is not spoken here; these are: {}",
            supported.join(", ")
        ),
        data: Some(json!({ "supported": supported, "requested": version })),
    }
}
