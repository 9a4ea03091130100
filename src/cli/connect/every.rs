//! `--all` of `vademecum connect` and `disconnect`: every client that is installed. Clients whose
//! settings cannot be changed are named, and do not stop the others.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    process::ExitCode,
};

use anyhow::{Result, bail};

use super::{
    command::{Connection, Mode},
    target::ClientTarget,
};
use crate::cli::output::{print_error, print_line};

/// Connects all installed clients. Without a mode, it shows the changes and asks for permission to
/// write them.
pub(super) fn connect_every(
    connection: &Connection,
    targets: impl Iterator<Item = ClientTarget>,
    mode: Option<Mode>,
) -> Result<ExitCode> {
    let found: Vec<ClientTarget> = targets.filter(|target| target.client.is_found()).collect();
    if found.is_empty() {
        bail!(
            "no client was found in your folders; `vademecum connect --help` lists those that can \
             be connected"
        );
    }
    let apply = |mode| {
        let mut round = Round::default();
        for target in &found {
            print_line(&format!("\n{}:", target.client.title));
            let outcome = connection.for_client(target.client).apply(target, mode);
            round.add(target, outcome);
        }
        round
    };
    if let Some(mode) = mode {
        return Ok(apply(mode).exit_code());
    }
    let shown = apply(Mode::DryRun);
    if shown.changed == 0 {
        return Ok(shown.exit_code());
    }
    if !io::stdin().is_terminal() {
        print_line("\nNothing was written. Run again with --yes to write these changes.");
        return Ok(shown.exit_code());
    }
    if !confirm("\nWrite these changes? [y/N] ")? {
        print_line("Nothing was written.");
        return Ok(ExitCode::FAILURE);
    }
    Ok(apply(Mode::Write).exit_code())
}

/// Disconnects all clients that have an entry of this server. `disconnect` returns false for a client
/// without one.
pub(super) fn disconnect_every(
    targets: impl Iterator<Item = ClientTarget>,
    disconnect: impl Fn(&ClientTarget) -> Result<bool>,
) -> ExitCode {
    let mut round = Round::default();
    for target in targets {
        let outcome = disconnect(&target);
        round.add(&target, outcome);
    }
    if round.changed == 0 && round.failed == 0 {
        print_line("Nothing to change: no client has this server in its settings.");
    }
    round.exit_code()
}

/// Numbers of the clients of one round.
#[derive(Debug, Default)]
struct Round {
    changed: usize,
    failed: usize,
}

impl Round {
    fn add(&mut self, target: &ClientTarget, outcome: Result<bool>) {
        match outcome {
            Ok(is_changed) => self.changed += usize::from(is_changed),
            Err(error) => {
                print_error(&format!("error: {}: {error:#}", target.client.title));
                self.failed += 1;
            }
        }
    }

    fn exit_code(&self) -> ExitCode {
        if self.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Asks on the terminal; only `y` and `yes` confirm.
fn confirm(question: &str) -> Result<bool> {
    let mut output = io::stdout().lock();
    output.write_all(question.as_bytes())?;
    output.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}
