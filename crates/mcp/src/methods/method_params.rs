//! Parameters of the MCP methods, as clients send them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use crate::{CompletionReference, LogLevel, PartialArgument};

#[derive(Deserialize)]
pub(crate) struct InitializeParams {
    #[serde(rename = "protocolVersion")]
    pub(crate) protocol_version: String,
    #[serde(default, rename = "clientInfo")]
    pub(crate) client_info: Option<ClientInfo>,
    #[serde(default)]
    pub(crate) capabilities: Option<Value>,
    #[serde(default)]
    pub(crate) config: Option<Value>,
}

#[derive(Deserialize)]
pub(crate) struct ClientInfo {
    #[serde(default)]
    pub(crate) name: String,
}

#[derive(Default, Deserialize)]
pub(crate) struct ListParams {
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

/// Fields of a retried request.
#[derive(Deserialize)]
pub(crate) struct RetryParams {
    #[serde(default, rename = "inputResponses")]
    pub(crate) responses: Option<Map<String, Value>>,
    #[serde(default, rename = "requestState")]
    pub(crate) state: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct CallToolParams<'a> {
    pub(crate) name: String,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(crate) struct ResourceParams {
    pub(crate) uri: String,
}

#[derive(Deserialize)]
pub(crate) struct RecallParams {
    pub(crate) prompt: String,
}

#[derive(Deserialize)]
pub(crate) struct GetPromptParams {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
pub(crate) struct CompleteParams {
    #[serde(rename = "ref")]
    pub(crate) reference: CompletionReference,
    pub(crate) argument: PartialArgument,
    #[serde(default)]
    pub(crate) context: Option<CompletionContext>,
}

#[derive(Deserialize)]
pub(crate) struct CompletionContext {
    #[serde(default)]
    pub(crate) arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
pub(crate) struct SetLevelParams {
    pub(crate) level: LogLevel,
}

#[derive(Deserialize)]
pub(crate) struct ListenParams {
    pub(crate) notifications: SubscriptionFilter,
}

/// Notifications that a client subscribes to.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubscriptionFilter {
    /// Subscribes to changes of the list of tools; off by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tools_list_changed: bool,
    /// URIs of resources to watch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_subscriptions: Vec<String>,
}
