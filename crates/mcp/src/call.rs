//! One call: who asks for it, in which conversation, and the way back.

use std::sync::Arc;

use serde_json::{Map, Value};
use vademecum_kit::model::Cancel;

use super::{
    Capabilities, Defaults, Failure, InputRequired, Level, Link, Progress, Scope, jsonrpc,
    live::Live,
};
use vademecum_core::auth::Principal;

/// Who calls, in which conversation, with which wishes.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who calls.
    pub principal: Principal,
    /// In which conversation; without one, nothing is remembered.
    pub scope: Option<Scope>,
    /// What holds unless the arguments say otherwise.
    pub defaults: Defaults,
    /// Says when nobody waits for the answer any more.
    pub cancel: Cancel,
    /// What the client knew to say when it was asked before.
    pub input: Input,
    /// What the client can do.
    pub capabilities: Capabilities,
    pub(crate) back: Back,
}

/// What comes along with a request that is sent once more.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The client's answers, by the names of our requests.
    pub responses: Map<String, Value>,
    /// What was to be known when the client comes back.
    pub state: Option<Value>,
}

/// The way back to the client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Back {
    pub(crate) link: Link,
    pub(crate) token: Option<Value>,
    pub(crate) level: Option<Level>,
    /// Where answers to requests of ours come in, if the revision has them.
    pub(crate) live: Option<Arc<Live>>,
    /// Whether requests of ours go out as the result of the client's.
    pub(crate) asks_by_result: bool,
}

impl Call {
    /// How to tell the client how far this has come, if it wants to know.
    pub fn progress(&self) -> Option<Progress> {
        let token = self.back.token.clone()?;
        Some(Progress::new(self.back.link.clone(), token))
    }

    /// Tells the client what is going on, if it wants to know.
    pub fn log(&self, level: Level, data: &Value) {
        if self.back.level.is_some_and(|least| level >= least) {
            let params = serde_json::json!({ "level": level, "logger": "vademecum", "data": data });
            self.back.link.offer(jsonrpc::notification("notifications/message", &params));
        }
    }

    /// The same call once nobody waits for an answer: news comes of it, no more.
    pub(crate) fn in_the_background(&self) -> Self {
        Self { cancel: Cancel::default(), back: Back::default(), ..self.clone() }
    }

    /// Asks the client, and gives back its answers under the same names.
    ///
    /// Some revisions ask while the request is being worked on; in others this
    /// ends it, and the client sends it once more with the answers and `state`.
    pub async fn ask(
        &self,
        requests: Map<String, Value>,
        state: Option<Value>,
    ) -> Result<Map<String, Value>, Failure> {
        for request in requests.values() {
            let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
            self.capabilities.require(method)?;
        }
        if self.back.asks_by_result {
            let given = &self.input.responses;
            if requests.keys().all(|name| given.contains_key(name)) {
                return Ok(given.clone());
            }
            return Err(Failure::input_required(InputRequired { requests, state }));
        }
        let Some(live) = &self.back.live else {
            return Err(Failure::internal(
                "the client can only be asked in a session; open one with `initialize`",
            ));
        };
        let mut answers = Map::new();
        for (name, request) in requests {
            let answer = live.ask(&self.back.link, request).await?;
            answers.insert(name, answer);
        }
        Ok(answers)
    }
}
