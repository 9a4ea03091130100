//! A tool is a value: a name, what it is for, what it takes, what it answers
//! and how it is called.

use std::fmt;

use futures_util::future::LocalBoxFuture;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Toolbox,
    arguments::{parse, read_strictly},
    schema,
};
use crate::actors::CallError;
use vademecum_core::auth::Right;
use vademecum_mcp::{Answer, Call, Effect, Entry, Failure, Schemas, Toolset};
use vademecum_sql::{ErrorCode, SqlError};

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
    /// What a call leaves behind.
    const EFFECT: Effect = Effect::Reads;
    /// How it answers.
    const FORM: Form = Form::Told;
    /// What it takes.
    type Input: DeserializeOwned + JsonSchema;
    /// What it answers.
    type Output: Serialize + JsonSchema + Send + 'static;

    /// Does it.
    fn call(
        toolbox: &Toolbox,
        input: Self::Input,
        call: &Call,
    ) -> impl Future<Output = Result<Replied<Self::Output>, CallError>>;
}

/// How a tool answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// What is wrong with a call is for the model to read, so that it can do better
    /// (`docs/adr/0004-tool-errors.md`).
    Told,
    /// The same, but a URI at which there is nothing is a failure of the request, as it
    /// is in `resources/read`.
    Located,
    /// The same as told, as JSON with a code.
    Coded,
    /// The same, in the envelope `{ok, schema_version, error}`.
    Enveloped,
    /// For programs that know nothing of results of tools: the members of the answer
    /// are members of the result as well, and what is wrong is a failure of the
    /// request.
    Bare,
}

/// What a tool answered, and what is said about the answer.
#[derive(Clone, Debug)]
pub struct Replied<T> {
    /// The answer.
    pub output: T,
    /// The answer as a model reads it; without one, the answer is written as JSON.
    pub text: Option<String>,
    /// What is said about it.
    pub meta: Option<Map<String, Value>>,
}

impl<T> From<T> for Replied<T> {
    fn from(output: T) -> Self {
        Self { output, text: None, meta: None }
    }
}

/// An answer is written on the event loop if its text is no longer than that, in bytes:
/// then it takes less time than to have somebody else do it.
const SHORT_TEXT: usize = 16 * 1_024;

/// The version of the envelope of `query`.
pub(crate) const SCHEMA_VERSION: u8 = 1;

type Run = for<'a> fn(
    &'a Toolbox,
    &'a RawValue,
    &'a Value,
    &'a Call,
) -> LocalBoxFuture<'a, Result<Answer, CallError>>;

/// A tool that can be listed and called.
#[derive(Clone)]
pub struct Tool {
    entry: Entry,
    form: Form,
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
        let mut input = schema::input::<T::Input>();
        if T::TOOLSET == Toolset::DeepResearch {
            // Its clients compare it with what they know, to the letter.
            input["additionalProperties"] = false.into();
        }
        let entry = Entry {
            name: T::NAME,
            title: T::TITLE,
            description: T::DESCRIPTION,
            toolset: T::TOOLSET,
            right: T::RIGHT,
            effect: T::EFFECT,
            schemas: Schemas { input, output: Some(schema::output::<T::Output>()) },
        };
        Self {
            entry,
            form: T::FORM,
            run: |toolbox, arguments, schema, call| {
                Box::pin(run::<T>(toolbox, arguments, schema, call))
            },
        }
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
    ) -> Result<Answer, Failure> {
        let answer = (self.run)(toolbox, arguments, &self.entry.schemas.input, call).await;
        match (self.form, answer) {
            (Form::Told | Form::Located | Form::Coded | Form::Enveloped, Ok(answer)) => Ok(answer),
            (Form::Bare, Ok(answer)) => Ok(Answer { is_bare: true, ..answer }),
            (Form::Located, Err(error @ CallError::NotFound(_))) => Err(Failure::from(&error)),
            (Form::Told | Form::Located, Err(error)) => Ok(Answer::refusal(error.to_string())),
            (Form::Coded, Err(error)) => Ok(Answer::refusal(coded(&error))),
            (Form::Enveloped, Err(error)) => Ok(Answer::refusal(enveloped(error))),
            (Form::Bare, Err(error)) => Err(failure(self.entry.name, &error)),
        }
    }
}

/// An error as JSON with a code.
fn coded(error: &CallError) -> String {
    let code = match error {
        CallError::Invalid(_) | CallError::UnknownSession(_) => "INVALID_ARGUMENT",
        CallError::TooMuch(_) => "LIMIT_EXCEEDED",
        CallError::NotConfigured(_) => "NOT_CONFIGURED",
        CallError::NotFound(_) => "NOT_FOUND",
        CallError::Refused(_) => "FAILED_PRECONDITION",
        CallError::TooLate => "DEADLINE_EXCEEDED",
        CallError::Sql(error) => return json!({ "error": error.to_json() }).to_string(),
        CallError::NoAnswer(_) | CallError::Store(_) | CallError::Unavailable => "INTERNAL",
    };
    json!({ "error": { "code": code, "message": error.to_string() } }).to_string()
}

/// An error in the envelope of `query`.
fn enveloped(error: CallError) -> String {
    let error = match error {
        CallError::Sql(error) => error,
        CallError::Unavailable | CallError::Store(_) | CallError::NoAnswer(_) => {
            SqlError::new(ErrorCode::XsqlInternal, error.to_string())
        }
        CallError::TooLate => SqlError::new(ErrorCode::XsqlDbExecFailed, error.to_string()),
        CallError::Invalid(_)
        | CallError::NotFound(_)
        | CallError::TooMuch(_)
        | CallError::NotConfigured(_)
        | CallError::Refused(_)
        | CallError::UnknownSession(_) => {
            SqlError::new(ErrorCode::XsqlCfgInvalid, error.to_string())
        }
    };
    json!({ "ok": false, "schema_version": SCHEMA_VERSION, "error": error.to_json() }).to_string()
}

/// An error as a failure of the request.
fn failure(tool: &str, error: &CallError) -> Failure {
    match error {
        CallError::Invalid(_) | CallError::TooMuch(_) => Failure::from(error),
        CallError::NotFound(_)
        | CallError::Refused(_)
        | CallError::NotConfigured(_)
        | CallError::UnknownSession(_)
        | CallError::Sql(_)
        | CallError::NoAnswer(_)
        | CallError::TooLate
        | CallError::Store(_)
        | CallError::Unavailable => {
            let what = if tool == "rag_search" { "RAG search" } else { tool };
            Failure::internal(format!("{what} failed: {error}"))
        }
    }
}

async fn run<T: Contract>(
    toolbox: &Toolbox,
    arguments: &RawValue,
    schema: &Value,
    call: &Call,
) -> Result<Answer, CallError> {
    let input = match T::FORM {
        Form::Told | Form::Located => parse(arguments, schema)?,
        Form::Coded | Form::Enveloped | Form::Bare => read_strictly(arguments, schema)?,
    };
    let Replied { output, text, meta } = T::call(toolbox, input, call).await?;
    let structured = match text {
        // As long as its text, or longer.
        Some(ref text) if text.len() > SHORT_TEXT => {
            toolbox.beside(call, move || serde_json::to_string(&output)).await?
        }
        _ => serde_json::to_string(&output),
    };
    let structured = structured.map_err(|error| {
        tracing::error!(tool = T::NAME, %error, "an answer could not be written");
        CallError::Unavailable
    })?;
    Ok(Answer { text, ..Answer::json(structured, meta) })
}
