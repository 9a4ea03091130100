//! What commands that ask the database of a profile have in common.

use std::{
    io::{self, Read as _},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    command::Common,
    output::say,
    profile::{Desk, failed},
};
use vademecum_sql::{Connection, Databases};

/// Does something with the database of a profile; without a name, of the only one. What
/// goes wrong is told, as JSON too if that is what the answer is, and ends with its code.
pub(super) async fn with(
    common: &Common,
    profile: Option<&str>,
    is_json: bool,
    work: impl AsyncFnOnce(Connection) -> Result<()>,
) -> Result<ExitCode> {
    let done = async { work(connect(common, profile).await?).await };
    // Boxed: what talks to databases is large, and commands are rare.
    match Box::pin(done).await {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => failed(&error, is_json),
    }
}

async fn connect(common: &Common, profile: Option<&str>) -> Result<Connection> {
    let settings = common.settings()?;
    let needed: Vec<String> = match profile {
        Some(name) => vec![name.to_owned()],
        None => settings.profiles.keys().map(|name| name.as_str().to_owned()).collect(),
    };
    let desk = Desk::of(settings, &needed.iter().map(String::as_str).collect::<Vec<_>>())?;
    let databases = Databases::new(desk.profiles);
    Ok(databases.connect(&desk.owner, profile).await?)
}

/// Prints something in the envelope of the tool `query`.
pub(super) fn tell_json(data: &Value) -> Result<()> {
    let answer = json!({ "ok": true, "schema_version": 1, "data": data });
    say(&serde_json::to_string_pretty(&answer)?);
    Ok(())
}

/// A statement as it is written on the command line; `-` is all of standard input.
pub(super) fn statement(words: &[String]) -> Result<String> {
    let text = match words {
        [dash] if dash == "-" => {
            let mut text = String::new();
            let read = io::stdin().read_to_string(&mut text);
            read.context("cannot read the statement from standard input")?;
            text
        }
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        bail!("there is no statement; write one in quotes, or send it to `-`");
    }
    Ok(text)
}
