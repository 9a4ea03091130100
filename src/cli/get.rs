//! `vademecum get`.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use vademecum_kit::model::Uri;

use super::{command::Common, output::say};
use crate::app::App;

/// Reads an item of the library.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum get notes://6f9619ff-8b86-d011-b42d-00c04fc964ff
  vademecum get --mode snippet media://3
  vademecum get --json prompts://7")]
pub(super) struct Get {
    /// What to read: the URI of a search result
    uri: Uri,
    /// How much: snippet, chunk, `chunk_with_siblings`, full or auto
    #[arg(long, default_value = "full")]
    mode: String,
    /// Budget in tokens
    #[arg(long)]
    max_tokens: Option<usize>,
    /// Where to begin to read, in characters
    #[arg(long, default_value_t = 0)]
    offset: usize,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

impl Get {
    pub(super) async fn run(self, common: &Common) -> Result<ExitCode> {
        let mut retrieval = json!({ "mode": self.mode, "offset": self.offset });
        if let Some(tokens) = self.max_tokens {
            retrieval["max_tokens"] = tokens.into();
        }
        let arguments = json!({
            "source": self.uri.source,
            "id": self.uri.to_string(),
            "retrieval": retrieval,
        });
        let item = call(&common.app()?, "knowledge.get", &arguments).await?;
        if self.json {
            say(&serde_json::to_string_pretty(&item)?);
            return Ok(ExitCode::SUCCESS);
        }
        match &item["content"] {
            Value::String(text) => say(text),
            object => say(&serde_json::to_string_pretty(object)?),
        }
        if let Some(next) = item["range"]["next_offset"].as_u64() {
            say(&format!("… go on with --offset {next}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Calls a tool as a client does, and gives back its answer.
pub(super) async fn call(app: &App, tool: &str, arguments: &Value) -> Result<Value> {
    let answer = app.ask(&message(tool, arguments)).await.context("the server gave no answer")?;
    answer_of(&answer)
}

/// The message that calls a tool.
pub(super) fn message(tool: &str, arguments: &Value) -> String {
    let message = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    });
    message.to_string()
}

/// The structured answer in a message, or what went wrong.
pub(super) fn answer_of(message: &str) -> Result<Value> {
    let mut message: Value = serde_json::from_str(message)?;
    if let Some(problem) = message["error"]["message"].as_str() {
        bail!("{problem}");
    }
    if message["result"]["isError"] == true {
        bail!("{}", message["result"]["content"][0]["text"].as_str().unwrap_or("refused"));
    }
    Ok(message["result"]["structuredContent"].take())
}
