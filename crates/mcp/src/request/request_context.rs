//! Context of one request: principal, conversation, cancellation and the channel to the client.

use std::sync::Arc;

use serde_json::{Map, Value};
use vademecum_core::auth::Principal;
use vademecum_model::CancelFlag;

use crate::{
    Client, ClientCapabilities, Failure, InputRequired, ItemTrail, LogLevel, Outbound,
    ProgressReporter, RequestDefaults, ResultText, Scope, message::jsonrpc,
    session::session_channel::SessionChannel,
};

/// Context of one request, passed to the [`ServerHandler`](crate::ServerHandler).
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Authenticated caller.
    pub principal: Principal,
    /// Name of the client program; empty if unknown.
    pub client: Arc<str>,
    /// Conversation of the request. Without one, no state is kept between calls.
    pub scope: Option<Scope>,
    /// Whether the client names this conversation in its requests or by its connection. Otherwise it is
    /// the process that the client started, which may serve many conversations.
    pub scope_is_named: bool,
    /// Defaults for values that the arguments leave out.
    pub defaults: RequestDefaults,
    /// Signals that the result is no longer wanted.
    pub cancel: CancelFlag,
    /// Client input from an earlier attempt of this request.
    pub input: Input,
    /// Capabilities that the client declared.
    pub capabilities: ClientCapabilities,
    /// Items that the request shows or changes, for the audit log.
    pub items: ItemTrail,
    pub(crate) client_channel: ClientChannel,
}

/// Client input that comes with a retried request.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The client's responses, by request name.
    pub responses: Map<String, Value>,
    /// State that the server returned with the earlier attempt.
    pub state: Option<Value>,
}

/// Channel from a request back to its client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientChannel {
    pub(crate) outbound: Outbound,
    pub(crate) progress_token: Option<Value>,
    pub(crate) min_log_level: Option<LogLevel>,
    /// Session that receives responses to server requests, if the protocol revision has sessions.
    pub(crate) session_channel: Option<Arc<SessionChannel>>,
    /// The protocol revision returns server requests as the result of the client's request.
    pub(crate) input_via_result: bool,
}

impl RequestContext {
    /// Returns whether the client gets a text beside structured content: unless it asks for none, or is known to
    /// show its model only the structured content.
    pub fn sends_text(&self) -> bool {
        match self.defaults.text {
            Some(text) => text == ResultText::Lines,
            None => !Client { name: Arc::clone(&self.client) }.reads_structured_content(),
        }
    }

    /// Returns a progress reporter if the client sent a progress token.
    pub fn progress_reporter(&self) -> Option<ProgressReporter> {
        let token = self.client_channel.progress_token.clone()?;
        Some(ProgressReporter::new(self.client_channel.outbound.clone(), token))
    }

    /// Sends a log message if the client enabled this level.
    pub fn send_log(&self, level: LogLevel, data: &Value) {
        if self.client_channel.min_log_level.is_some_and(|min_level| level >= min_level) {
            let params = serde_json::json!({ "level": level, "logger": "vademecum", "data": data });
            self.client_channel
                .outbound
                .try_send(jsonrpc::notification("notifications/message", &params));
        }
    }

    /// Returns a copy of this context for background work: it cannot be cancelled, sends no
    /// messages to the client and is not audited.
    pub(crate) fn detached(&self) -> Self {
        Self {
            cancel: CancelFlag::default(),
            items: ItemTrail::default(),
            client_channel: ClientChannel::default(),
            ..self.clone()
        }
    }

    /// Sends requests to the client and returns its responses under the same names.
    ///
    /// Where the protocol revision has sessions, the requests are sent while this request is being
    /// processed. Otherwise this returns an error that ends the request, and the client retries it
    /// with its responses and `state`.
    pub async fn request_input(
        &self,
        requests: Map<String, Value>,
        state: Option<Value>,
    ) -> Result<Map<String, Value>, Failure> {
        for request in requests.values() {
            let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
            self.capabilities.require_method(method)?;
        }
        if self.client_channel.input_via_result {
            let given = &self.input.responses;
            if requests.keys().all(|name| given.contains_key(name)) {
                return Ok(given.clone());
            }
            return Err(Failure::input_required(InputRequired { requests, state }));
        }
        let Some(channel) = &self.client_channel.session_channel else {
            return Err(Failure::internal_error(
                "requests to the client need a session; open one with `initialize`",
            ));
        };
        let mut answers = Map::new();
        for (name, request) in requests {
            let answer = channel.request_client(&self.client_channel.outbound, request).await?;
            answers.insert(name, answer);
        }
        Ok(answers)
    }
}
