//! Fault injection tests: killed processes, full disks, damaged pages, clocks that are set back,
//! and many processes at once. Acknowledged writes must never be lost, and every operation that is
//! impossible must report an error.
//!
//! Kill moments are random with a seed that is printed. `VADEMECUM_FAULT_SEED` repeats a run, and
//! `VADEMECUM_FAULT_ROUNDS` sets the number of kills in each test.

#[cfg(unix)]
mod check;
mod clock;
mod damage;
#[cfg(target_os = "linux")]
mod disk;
mod flips;
mod kill;
mod processes;

use std::{
    env, fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::support::{CommandOutput, SeededRng};

/// Default number of kills in each test.
const DEFAULT_ROUNDS: u64 = 5;

/// Returns the number of kills in each test.
pub(crate) fn round_count() -> u64 {
    let rounds = env::var_os("VADEMECUM_FAULT_ROUNDS");
    rounds.map_or(DEFAULT_ROUNDS, |text| text.to_str().unwrap().parse().unwrap())
}

/// Returns a generator with a new seed, or with the seed from the environment, and prints the seed.
#[expect(clippy::print_stdout, reason = "the seed is needed to repeat a failed test")]
pub(crate) fn rng() -> SeededRng {
    let seed_text = env::var_os("VADEMECUM_FAULT_SEED");
    let seed = seed_text.map_or_else(
        || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            u64::from(now.subsec_nanos()) << 20 | u64::from(std::process::id())
        },
        |text| text.to_str().unwrap().parse().unwrap(),
    );
    println!("VADEMECUM_FAULT_SEED={seed}");
    SeededRng(seed)
}

/// Kills a process as soon as the folder contains this number of bytes, unless the process has
/// ended by then. The process has no chance to clean up.
fn kill_at_size(process: &mut Child, folder: &Path, bytes: usize) {
    let begun = Instant::now();
    // Without a pause, which would be longer than many writes.
    while process.try_wait().unwrap().is_none() && folder_size(folder) < bytes {
        assert!(begun.elapsed() < Duration::from_mins(2), "the folder stays smaller");
        thread::yield_now();
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Returns the number of bytes below a folder, where files may come and go meanwhile.
fn folder_size(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => folder_size(&entry.path()),
        Ok(about) => usize::try_from(about.len()).unwrap(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Returns the lines of a `check` report that have this level.
fn report_lines<'a>(done: &'a CommandOutput, level: &str) -> Vec<&'a str> {
    done.stdout.lines().filter(|line| line.starts_with(&format!("{level}: "))).collect()
}

/// Asserts that `check` reports no error. Warnings are allowed.
fn assert_healthy(done: &CommandOutput) {
    assert!(done.code == 0 && report_lines(done, "error").is_empty(), "{done:?}");
    assert!(!report_lines(done, "ok").is_empty(), "{done:?}");
}

/// Starts a command on a data folder, without input and output.
fn spawn_command(command: &mut Command, data: &Path) -> Child {
    let command = command.arg("--data").arg(data).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
