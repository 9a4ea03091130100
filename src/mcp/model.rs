//! What passes between the protocol and what the product offers.

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, value::RawValue};

use super::{Catalog, Contents, Defaults, Failure, Resource, Scope, Template};
use crate::auth::Principal;

/// What the product offers; knows neither transport nor revision.
pub trait Offer: Send + Sync + 'static {
    /// The tools there are.
    fn tools(&self) -> &Catalog;

    /// Calls a tool, by its canonical name.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a RawValue,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Answer, Failure>>;

    /// The resources that are listed.
    fn resources(&self) -> Vec<Resource>;

    /// The families of resources.
    fn templates(&self) -> Vec<Template>;

    /// Reads a resource.
    fn read<'a>(
        &'a self,
        uri: &'a str,
        call: &'a Call,
    ) -> LocalBoxFuture<'a, Result<Contents, Failure>>;

    /// Forgets what a conversation left behind.
    fn forget(&self, principal: &Principal, scope: &Scope);
}

/// Who calls, in which conversation, with which wishes.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who calls.
    pub principal: Principal,
    /// In which conversation; without one, nothing is remembered.
    pub scope: Option<Scope>,
    /// What holds unless the arguments say otherwise.
    pub defaults: Defaults,
}

/// What a tool answers.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The answer as a JSON object.
    pub structured: Option<String>,
    /// The answer as text; without one, the JSON is the text.
    pub text: Option<String>,
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
