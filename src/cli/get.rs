//! `vademecum get`.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use vademecum_model::Uri;

use super::{
    common::CommonOptions,
    local_server::ask_server,
    output::{print_exact, print_json, print_line},
};

/// Time that a running server has beyond that of a call.
const EXTRA_TIME: Duration = Duration::from_secs(5);

/// Print an item of the library
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum get notes://6f9619ff-8b86-d011-b42d-00c04fc964ff
  vademecum get \"Rye bread\"
  vademecum get \"Rye bread#Crust\"
  vademecum get --mode snippet media://3
  vademecum get --as-of 2026-03-01 notes://6f9619ff-8b86-d011-b42d-00c04fc964ff
  vademecum get --json prompts://7

Characters that control a terminal are shown as \u{fffd}; --raw and --json keep them.")]
pub(super) struct Get {
    /// URI of the item, as in a search result, or its title, file name or alias; with #Heading, a section
    item: String,
    /// Part to print: snippet, chunk, `chunk_with_siblings`, full or auto
    #[arg(long, default_value = "full")]
    mode: String,
    /// Maximum number of tokens
    #[arg(long)]
    max_tokens: Option<usize>,
    /// Number of characters to skip
    #[arg(long, default_value_t = 0)]
    offset: usize,
    /// Print the item as it was at this time, or its version of this number
    #[arg(long, value_name = "DATE|VERSION")]
    as_of: Option<String>,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    /// Print the text unchanged, also the characters that control a terminal
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

impl Get {
    pub(super) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let mut retrieval = json!({ "mode": self.mode, "offset": self.offset });
        if let Some(tokens) = self.max_tokens {
            retrieval["max_tokens"] = tokens.into();
        }
        let mut arguments = json!({
            "retrieval": retrieval,
            // JSON escapes the characters that control a terminal.
            "raw": self.raw || self.json,
        });
        match self.item.parse::<Uri>() {
            Ok(uri) => {
                arguments["source"] = json!(uri.source);
                arguments["id"] = json!(uri.to_string());
            }
            Err(error) if self.item.contains("://") => bail!("{error}"),
            Err(_) => arguments["title"] = json!(self.item),
        }
        if let Some(as_of) = self.as_of {
            arguments["as_of"] = as_of.into();
        }
        let item = call_tool(common, "knowledge.get", &arguments).await?;
        if self.json {
            print_json(&item)?;
            return Ok(ExitCode::SUCCESS);
        }
        match &item["content"] {
            Value::String(text) if self.raw => print_exact(text),
            Value::String(text) => print_line(text),
            object => print_json(object)?,
        }
        if let Some(next) = item["range"]["next_offset"].as_u64() {
            print_line(&format!("… continue with --offset {next}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Calls a tool that only reads, through the protocol as a client does, and returns its structured
/// content. The running server answers; if none runs, this process does. What the settings deny to
/// agents exists for the commands of the user, so that such a server is not asked.
pub(super) async fn call_tool(
    common: &CommonOptions,
    tool: &str,
    arguments: &Value,
) -> Result<Value> {
    let settings = common.load_settings()?;
    let message = tool_call_message(tool, arguments);
    let time_limit = settings.limits.call_timeout() + EXTRA_TIME;
    if settings.deny.is_empty()
        && let Ok(answer) = ask_server(&settings, &message, Some(time_limit))
    {
        return parse_tool_reply(&answer);
    }
    let app = common.create_app()?;
    let answer = app.handle_message(&message).await.context("the server sent no reply")?;
    parse_tool_reply(&answer)
}

/// Returns the JSON-RPC message of a tool call.
pub(super) fn tool_call_message(tool: &str, arguments: &Value) -> String {
    request_message("tools/call", &json!({ "name": tool, "arguments": arguments }))
}

/// Returns the JSON-RPC message of a request.
pub(super) fn request_message(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// Returns the structured content of a reply. A protocol error or a tool error becomes an error.
pub(super) fn parse_tool_reply(message: &str) -> Result<Value> {
    let mut message: Value = serde_json::from_str(message)?;
    if let Some(problem) = message["error"]["message"].as_str() {
        bail!("{problem}");
    }
    if message["result"]["isError"] == true {
        bail!("{}", message["result"]["content"][0]["text"].as_str().unwrap_or("refused"));
    }
    Ok(message["result"]["structuredContent"].take())
}
