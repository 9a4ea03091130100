//! What a client can do for us.

use serde_json::{Value, json};

use super::Failure;

/// What a client can do for us, as it declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Let its model speak.
    pub sampling: bool,
    /// Ask its user.
    pub elicitation: bool,
    /// Name its folders.
    pub roots: bool,
}

impl Capabilities {
    /// Reads what a client declares.
    pub(crate) fn declared(value: Option<&Value>) -> Self {
        let has = |name| value.is_some_and(|value| value.get(name).is_some_and(Value::is_object));
        Self { sampling: has("sampling"), elicitation: has("elicitation"), roots: has("roots") }
    }

    /// That the client can be sent this request.
    pub fn require(self, method: &str) -> Result<(), Failure> {
        let (name, has) = match method {
            "sampling/createMessage" => ("sampling", self.sampling),
            "elicitation/create" => ("elicitation", self.elicitation),
            "roots/list" => ("roots", self.roots),
            other => return Err(Failure::internal(format!("no client answers `{other}`"))),
        };
        if has {
            return Ok(());
        }
        Err(Failure::missing_capability(
            format!("this takes a client with the capability `{name}`, and it declared none"),
            &json!({ name: {} }),
        ))
    }
}
