//! Shared by the commands that use the database of a profile.

use std::{
    io::{self, Read as _},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    common::CommonOptions,
    output::print_json,
    profile::{ProfileAccess, report_failure},
};
use vademecum_sql::{Databases, ProfileConnection};

/// Runs `work` with a connection to the database of a profile and returns the exit code. Without a
/// name, the only profile is used. Errors are printed, as JSON too if `is_json` is set.
pub(super) async fn run_with_connection(
    common: &CommonOptions,
    profile: Option<&str>,
    is_json: bool,
    work: impl AsyncFnOnce(ProfileConnection) -> Result<()>,
) -> Result<ExitCode> {
    let done = async { work(connect(common, profile).await?).await };
    // Boxed, because the futures of database clients are large.
    match Box::pin(done).await {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => report_failure(&error, is_json),
    }
}

async fn connect(common: &CommonOptions, profile: Option<&str>) -> Result<ProfileConnection> {
    let settings = common.load_settings()?;
    let needed: Vec<String> = match profile {
        Some(name) => vec![name.to_owned()],
        None => settings.profiles.keys().map(|name| name.as_str().to_owned()).collect(),
    };
    let access =
        ProfileAccess::open(settings, &needed.iter().map(String::as_str).collect::<Vec<_>>())?;
    let databases = Databases::new(access.profiles);
    Ok(databases.connect(&access.owner, profile).await?)
}

/// Prints `data` in the same JSON envelope as the tool `query`.
pub(super) fn print_json_envelope(data: &Value) -> Result<()> {
    let answer = json!({ "ok": true, "schema_version": 1, "data": data });
    print_json(&answer)?;
    Ok(())
}

/// Joins the words of a statement on the command line; a single `-` reads standard input instead.
/// An empty statement is an error.
pub(super) fn read_statement(words: &[String]) -> Result<String> {
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
        bail!("no statement given; write one in quotes, or use `-` and standard input");
    }
    Ok(text)
}
