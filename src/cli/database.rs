//! Shared by the commands that use the database of a profile.

use std::{
    io::{self, Read as _},
    process::{self, ExitCode},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    common::CommonOptions,
    output::{print_error, print_json},
    profile::{ProfileAccess, report_failure},
};
use vademecum_sql::{Databases, ProfileConnection, driver::finish_cancellations};

/// Maximum time to cancel a statement at the database when the program is interrupted.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs `work` with a connection to the database of a profile and returns the exit code. Without a
/// name, the only profile is used. Errors are printed, as JSON too if `is_json` is set.
pub(super) async fn run_with_connection(
    common: &CommonOptions,
    profile: Option<&str>,
    is_json: bool,
    work: impl AsyncFnOnce(ProfileConnection) -> Result<()>,
) -> Result<ExitCode> {
    let done = async {
        let connection = connect(common, profile).await?;
        // The connection stays open until the end, because a tunnel closes with it.
        run_until_interrupted(Box::pin(work(connection.clone()))).await
    };
    // Boxed, because the futures of database clients are large.
    match Box::pin(done).await {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => report_failure(&error, is_json),
    }
}

/// Runs `work`. When the program is interrupted or terminated, it cancels the statement at the
/// database, and ends with the usual exit code: 128 and the number of the signal.
async fn run_until_interrupted(work: impl Future<Output = Result<()>>) -> Result<()> {
    // The work is dropped with this statement, which begins the cancellation.
    let signal = tokio::select! {
        done = work => return done,
        signal = wait_for_signal() => signal,
    };
    finish_cancellations(CANCEL_TIMEOUT).await;
    print_error("interrupted; the statement was cancelled");
    // A thread may wait for standard output.
    process::exit(128 + signal)
}

/// Waits for a signal to end, and returns its number.
#[cfg(unix)]
async fn wait_for_signal() -> i32 {
    use tokio::signal::unix::{SignalKind, signal};

    let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
    let (Ok(mut interrupted), Ok(mut terminated)) = (signal(interrupt), signal(terminate)) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupted.recv() => interrupt.as_raw_value(),
        _ = terminated.recv() => terminate.as_raw_value(),
    }
}

/// Waits for a signal to end, and returns its number.
#[cfg(not(unix))]
async fn wait_for_signal() -> i32 {
    match tokio::signal::ctrl_c().await {
        Ok(()) => 2,
        Err(_) => std::future::pending().await,
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
