//! Client capabilities.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Failure, client::app};

/// Capabilities that a client declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "capabilities are independent of each other")]
pub struct ClientCapabilities {
    /// The client can sample from its model.
    pub sampling: bool,
    /// The client can ask its user for input.
    pub elicitation: bool,
    /// The client can list its root folders.
    pub roots: bool,
    /// The client can show HTML documents beside the results of tools (MCP Apps).
    pub apps: bool,
}

impl ClientCapabilities {
    /// Reads the capabilities that a client declared. A capability counts if its value is an
    /// object.
    pub(crate) fn from_declaration(value: Option<&Value>) -> Self {
        let has = |name| value.is_some_and(|value| value.get(name).is_some_and(Value::is_object));
        Self {
            sampling: has("sampling"),
            elicitation: has("elicitation"),
            roots: has("roots"),
            apps: value.is_some_and(app::is_declared),
        }
    }

    /// Fails if the client lacks the capability for this server request.
    pub fn require_method(self, method: &str) -> Result<(), Failure> {
        let (name, has) = match method {
            "sampling/createMessage" => ("sampling", self.sampling),
            "elicitation/create" => ("elicitation", self.elicitation),
            "roots/list" => ("roots", self.roots),
            other => {
                return Err(Failure::internal_error(format!("`{other}` is not a server request")));
            }
        };
        if has {
            return Ok(());
        }
        Err(Failure::missing_capability(
            format!("this needs the client capability `{name}`, which the client did not declare"),
            &json!({ name: {} }),
        ))
    }
}
