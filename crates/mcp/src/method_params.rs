//! Parameters of the MCP methods, as clients send them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{CompletionReference, LogLevel, PartialArgument};

#[derive(Deserialize)]
pub(super) struct InitializeParams {
    #[serde(rename = "protocolVersion")]
    pub(super) protocol_version: String,
    #[serde(default, rename = "clientInfo")]
    pub(super) client_info: Option<ClientInfo>,
    #[serde(default)]
    pub(super) capabilities: Option<Value>,
    #[serde(default)]
    pub(super) config: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct ClientInfo {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Default, Deserialize)]
pub(super) struct ListParams {
    #[serde(default)]
    pub(super) cursor: Option<String>,
}

/// Fields of a retried request.
#[derive(Deserialize)]
pub(super) struct RetryParams {
    #[serde(default, rename = "inputResponses")]
    pub(super) responses: Option<Map<String, Value>>,
    #[serde(default, rename = "requestState")]
    pub(super) state: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct CallToolParams<'a> {
    pub(super) name: String,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct ResourceParams {
    pub(super) uri: String,
}

#[derive(Deserialize)]
pub(super) struct RecallParams {
    pub(super) prompt: String,
}

#[derive(Deserialize)]
pub(super) struct GetPromptParams {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
pub(super) struct CompleteParams {
    #[serde(rename = "ref")]
    pub(super) reference: CompletionReference,
    pub(super) argument: PartialArgument,
    #[serde(default)]
    pub(super) context: Option<CompletionContext>,
}

#[derive(Deserialize)]
pub(super) struct CompletionContext {
    #[serde(default)]
    pub(super) arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
pub(super) struct SetLevelParams {
    pub(super) level: LogLevel,
}

#[derive(Deserialize)]
pub(super) struct ListenParams {
    pub(super) notifications: SubscriptionFilter,
}

/// Notifications that a client subscribes to.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) tools_list_changed: bool,
    /// URIs of resources to watch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) resource_subscriptions: Vec<String>,
}
