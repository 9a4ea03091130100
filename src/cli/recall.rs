//! `vademecum recall`: the hook that gives a client the items of the library that a prompt is about.
//!
//! A hook must never delay or fail a prompt. The work is done in a thread with a time limit; after it,
//! and after any error, the program prints nothing and exits with 0.

use std::{
    io::{self, Read as _, Write as _},
    process::ExitCode,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use vademecum_core::config::secret_variable;

use super::{
    common::CommonOptions,
    connect::{EnvVarName, ServerUrl},
    get::request_message,
    local_server::ask_server,
};
use crate::app::App;

/// Time limit of the work. With the start and the end of the process, a prompt waits for less than
/// 100 ms.
const TIME_LIMIT: Duration = Duration::from_millis(80);
/// Time limit of a running server, so that the library can still be asked.
const SERVER_TIME_LIMIT: Duration = Duration::from_millis(60);
/// Maximum size of the hook's input, in bytes.
const MAX_INPUT_BYTES: u64 = 64 * 1_024 * 1_024;
/// Length of each end of a prompt that is used, in characters.
const PROMPT_EDGE_CHARS: usize = 1_000;
/// Maximum size of a server's answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 64 * 1_024;

/// Print what the library has about a prompt, for the hook that `connect --recall` installs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads the JSON of a UserPromptSubmit hook from standard input, and prints JSON with at most 1,500
characters of context, or nothing. It takes at most 100 ms and never fails.

Example:
  echo '{\"prompt\": \"when does rye bread rise\"}' | vademecum recall")]
pub(super) struct Recall {
    /// Ask the server at this address only
    #[arg(long, value_name = "URL")]
    http: Option<ServerUrl>,
    /// Environment variable that holds the key for the server
    #[arg(long, value_name = "NAME", requires = "http")]
    key_env: Option<EnvVarName>,
}

/// Input of the hook.
#[derive(Deserialize)]
struct HookInput {
    prompt: String,
}

impl Recall {
    /// Runs the command. `begun` is the time at which the program began.
    pub(super) fn run(self, common: CommonOptions, begun: Instant) -> ExitCode {
        let (sender, answer) = mpsc::channel();
        let worker = thread::Builder::new().spawn(move || {
            if let Ok(Some(text)) = self.recall(&common) {
                sender.send(text).ok();
            }
        });
        if worker.is_ok()
            && let Ok(text) = answer.recv_timeout(TIME_LIMIT.saturating_sub(begun.elapsed()))
        {
            let output = json!({
                "hookSpecificOutput": {
                    "hookEventName": "UserPromptSubmit",
                    "additionalContext": text,
                }
            });
            // A client that has closed the pipe does not wait for it.
            writeln!(io::stdout(), "{output}").ok();
        }
        ExitCode::SUCCESS
    }

    fn recall(&self, common: &CommonOptions) -> Result<Option<String>> {
        let prompt = read_prompt()?;
        let message = request_message("vademecum/recall", &json!({ "prompt": prompt }));
        if let Some(url) = &self.http {
            let key = self.key_env.as_ref().map(|name| secret_variable(name.as_str()));
            let key =
                key.map(|key| key.context("the variable of the key is not set")).transpose()?;
            return context_of(&ask_url(url.as_str(), key.as_deref(), &message)?);
        }
        let settings = common.load_settings()?;
        if let Ok(answer) = ask_server(&settings, &message, Some(SERVER_TIME_LIMIT)) {
            return context_of(&answer);
        }
        if !settings.storage.data_folder()?.is_dir() {
            return Ok(None);
        }
        let answer = actix::System::new().block_on(async move {
            let app = App::new(settings)?;
            app.handle_client_message(&message).await.context("the server sent no reply")
        });
        context_of(&answer?)
    }
}

/// Reads the prompt from standard input, both ends of it if it is long.
fn read_prompt() -> Result<String> {
    let mut input = Vec::new();
    io::stdin().take(MAX_INPUT_BYTES).read_to_end(&mut input)?;
    let HookInput { prompt } = serde_json::from_slice(&input)?;
    if prompt.chars().nth(2 * PROMPT_EDGE_CHARS).is_none() {
        return Ok(prompt);
    }
    let head: String = prompt.chars().take(PROMPT_EDGE_CHARS).collect();
    let tail = prompt.char_indices().nth_back(PROMPT_EDGE_CHARS - 1).map_or(0, |(at, _)| at);
    Ok(head + " " + prompt.get(tail..).unwrap_or_default())
}

/// Asks the server at a URL that the user named.
fn ask_url(url: &str, key: Option<&str>, message: &str) -> Result<String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(SERVER_TIME_LIMIT)).build();
    let agent: ureq::Agent = config.into();
    let mut request = agent
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut answer = request.send(message)?;
    Ok(answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string()?)
}

/// Returns the text in an answer of the server.
fn context_of(answer: &str) -> Result<Option<String>> {
    let answer: Value = serde_json::from_str(answer)?;
    Ok(answer["result"]["context"].as_str().map(str::to_owned))
}
