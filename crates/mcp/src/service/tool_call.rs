//! Calls of tools by the program itself, for contracts that are not MCP.

use serde_json::{Value, json};

use crate::{Outbound, Peer, ReplyStatus, Service};

/// A call of a tool that gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolCallError {
    /// Outcome of the message. It is `Ok` if the tool itself reports the error.
    pub status: ReplyStatus,
    /// The problem, for the caller.
    pub message: String,
}

impl Service {
    /// Calls a tool, as a message of the peer does, and returns its structured result. Rights,
    /// limits, metrics and the audit log are those of any call.
    pub async fn call_tool_as(
        &self,
        peer: &Peer,
        tool: &str,
        arguments: &Value,
    ) -> Result<Value, ToolCallError> {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        });
        let reply = self.handle(peer, &message.to_string(), &Outbound::default()).await;
        let fail =
            |message: &str| ToolCallError { status: reply.status, message: message.to_owned() };
        let text = reply.message.as_deref().unwrap_or_default();
        let mut message: Value =
            serde_json::from_str(text).map_err(|_| fail("there is no reply"))?;
        if let Some(problem) = message["error"]["message"].as_str() {
            return Err(fail(problem));
        }
        if message["result"]["isError"] == true {
            let text = message["result"]["content"][0]["text"].as_str();
            return Err(fail(text.unwrap_or("refused")));
        }
        Ok(message["result"]["structuredContent"].take())
    }
}
