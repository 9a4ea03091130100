//! A tool is a value: a name, what it is for, what it takes, what it answers
//! and how it is called.

use std::fmt;

use futures_util::future::LocalBoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};

use super::{Toolbox, schema};
use crate::{
    actors::CallError,
    auth::Right,
    mcp::{Answer, Call, Entry, Schemas, Toolset},
};

/// What a tool promises.
pub trait Contract: 'static {
    /// The canonical name, with dots.
    const NAME: &'static str;
    /// What people see.
    const TITLE: &'static str;
    /// What it does and when to use it, for the model.
    const DESCRIPTION: &'static str;
    /// To which set of tools it belongs.
    const TOOLSET: Toolset = Toolset::Knowledge;
    /// What a principal must be allowed to call it.
    const RIGHT: Right = Right::Read;
    /// What it takes.
    type Input: DeserializeOwned + JsonSchema;
    /// What it answers.
    type Output: Serialize + JsonSchema;

    /// Does it.
    fn call(
        toolbox: &Toolbox,
        input: Self::Input,
        call: &Call,
    ) -> impl Future<Output = Result<Replied<Self::Output>, CallError>>;
}

/// What a tool answered, and what is said about the answer.
#[derive(Clone, Debug)]
pub struct Replied<T> {
    /// The answer.
    pub output: T,
    /// What is said about it.
    pub meta: Option<Map<String, Value>>,
}

impl<T> From<T> for Replied<T> {
    fn from(output: T) -> Self {
        Self { output, meta: None }
    }
}

type Run = for<'a> fn(
    &'a Toolbox,
    &'a RawValue,
    &'a Call,
) -> LocalBoxFuture<'a, Result<Answer, CallError>>;

/// A tool that can be listed and called.
#[derive(Clone)]
pub struct Tool {
    entry: Entry,
    run: Run,
}

impl fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tool").field("name", &self.entry.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// The tool that keeps this contract.
    pub fn of<T: Contract>() -> Self {
        let entry = Entry {
            name: T::NAME,
            title: T::TITLE,
            description: T::DESCRIPTION,
            toolset: T::TOOLSET,
            right: T::RIGHT,
            schemas: Schemas {
                input: schema::input::<T::Input>(),
                output: Some(schema::output::<T::Output>()),
            },
        };
        Self { entry, run: |toolbox, arguments, call| Box::pin(run::<T>(toolbox, arguments, call)) }
    }

    /// How it is listed.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Calls it.
    pub async fn call(
        &self,
        toolbox: &Toolbox,
        arguments: &RawValue,
        call: &Call,
    ) -> Result<Answer, CallError> {
        (self.run)(toolbox, arguments, call).await
    }
}

async fn run<T: Contract>(
    toolbox: &Toolbox,
    arguments: &RawValue,
    call: &Call,
) -> Result<Answer, CallError> {
    let replied = T::call(toolbox, parse::<T>(arguments)?, call).await?;
    let structured = serde_json::to_string(&replied.output).map_err(|error| {
        tracing::error!(tool = T::NAME, %error, "an answer could not be written");
        CallError::Unavailable
    })?;
    Ok(Answer::json(structured, replied.meta))
}

/// Reads arguments, and says where they are wrong.
fn parse<T: Contract>(arguments: &RawValue) -> Result<T::Input, CallError> {
    let text = match arguments.get() {
        "null" => "{}",
        text => text,
    };
    if text.contains('[') {
        schema::refuse_lists_for_objects::<T::Input>(text)?;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        let reason = reason(error.inner());
        CallError::Invalid(match place.as_str() {
            "." => reason,
            place => format!("{place}: {reason}"),
        })
    })
}

/// The error without its line and column, which nobody who sends JSON knows.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}
