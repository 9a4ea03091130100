//! What passes between the protocol and what the product offers.

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, value::RawValue};
use tokio::sync::watch;

use super::{
    Block, Call, Catalog, Completion, Contents, Failure, Messages, Prompt, PromptArguments,
    Resource, Scope, Template, Toolset, Unfinished,
};
use vademecum_core::auth::Principal;

/// What the product offers; knows neither transport nor revision.
pub trait Offer: Send + Sync + 'static {
    /// The tools there are.
    fn tools(&self) -> &Catalog;

    /// Whether there is something for a set of tools to do.
    fn has(&self, _toolset: Toolset, _principal: &Principal) -> bool {
        true
    }

    /// Says in a tool as it is listed what holds for this principal alone.
    fn fit(&self, _tool: &mut Value, _principal: &Principal) {}

    /// Calls a tool, by its canonical name.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a RawValue,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Answer, Failure>>;

    /// The resources that are listed for somebody.
    fn resources(&self, principal: &Principal) -> Vec<Resource>;

    /// The families of resources.
    fn templates(&self) -> Vec<Template>;

    /// Reads a resource.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Contents, Failure>>;

    /// The prompts there are, in an order that stays.
    fn prompts<'a>(&'a self, call: &'a Call) -> LocalBoxFuture<'a, Result<Vec<Prompt>, Failure>>;

    /// A prompt with its gaps filled.
    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a PromptArguments,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Messages, Failure>>;

    /// What an argument that is being typed may become. What it does not know
    /// has no completions, which is no failure.
    fn complete<'a>(
        &'a self,
        unfinished: &'a Unfinished,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Completion, Failure>>;

    /// Changes whenever something that this principal can read may have changed.
    fn changes(&self, principal: &Principal) -> watch::Receiver<u64>;

    /// Forgets what a conversation left behind.
    fn forget(&self, principal: &Principal, scope: &Scope);
}

/// What a tool answers.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The answer as a JSON object.
    pub structured: Option<String>,
    /// The answer as text; without one, the JSON is the text.
    pub text: Option<String>,
    /// The answer in pieces; if there are any, they take the place of the text.
    pub blocks: Vec<Block>,
    /// Whether the members of the JSON object are members of the result as well.
    pub is_bare: bool,
    /// Whether the tool could not do what it was asked.
    pub is_error: bool,
    /// What is said about the answer.
    pub meta: Option<Map<String, Value>>,
}

impl Answer {
    /// An answer that is this JSON object.
    pub fn json(structured: String, meta: Option<Map<String, Value>>) -> Self {
        Self { structured: Some(structured), meta, ..Self::default() }
    }

    /// Says what was wrong with what was asked, for the model to read.
    pub fn refusal(text: String) -> Self {
        Self { text: Some(text), is_error: true, ..Self::default() }
    }
}
