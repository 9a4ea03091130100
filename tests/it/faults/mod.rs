//! What goes wrong with machines: processes that are killed, disks that are full,
//! pages that are damaged, clocks that go back, many programs at once. Nothing that
//! was acknowledged may be lost, and whatever cannot be done is said.
//!
//! Moments are random, by a seed that is printed. `VADEMECUM_FAULT_SEED` repeats
//! them, `VADEMECUM_FAULT_ROUNDS` says how often each fault is tried.

#[cfg(unix)]
mod check;
mod clock;
mod damage;
#[cfg(target_os = "linux")]
mod disk;
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

/// How often a process is killed in each test, if nobody says.
const ROUNDS: u64 = 5;

/// How often a process is killed in each test.
fn rounds() -> u64 {
    let wanted = env::var_os("VADEMECUM_FAULT_ROUNDS");
    wanted.map_or(ROUNDS, |text| text.to_str().unwrap().parse().unwrap())
}

/// Thrown anew, or as the environment says.
#[expect(clippy::print_stdout, reason = "a test that fails tells how to repeat it")]
fn rng() -> SeededRng {
    let wanted = env::var_os("VADEMECUM_FAULT_SEED");
    let seed = wanted.map_or_else(
        || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            u64::from(now.subsec_nanos()) << 20 | u64::from(std::process::id())
        },
        |text| text.to_str().unwrap().parse().unwrap(),
    );
    println!("VADEMECUM_FAULT_SEED={seed}");
    SeededRng(seed)
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(2), "{what} never came");
        thread::yield_now();
    }
}

/// Kills a process once so many bytes lie below a folder, unless it has ended by
/// then. Nothing is asked of it first.
fn kill_at(process: &mut Child, folder: &Path, bytes: usize) {
    until("so much work", || process.try_wait().unwrap().is_some() || size(folder) >= bytes);
    process.kill().unwrap();
    process.wait().unwrap();
}

/// How many bytes lie below a folder. Files may come and go meanwhile.
fn size(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => size(&entry.path()),
        Ok(about) => usize::try_from(about.len()).unwrap(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// The lines of a check that begin so.
fn lines<'a>(done: &'a CommandOutput, level: &str) -> Vec<&'a str> {
    done.stdout.lines().filter(|line| line.starts_with(&format!("{level}: "))).collect()
}

/// Asserts that nothing is wrong, whatever may be left.
fn is_sound(done: &CommandOutput) {
    assert!(done.code == 0 && lines(done, "wrong").is_empty(), "{done:?}");
    assert!(!lines(done, "sound").is_empty(), "{done:?}");
}

/// Begins a command on a data folder.
fn begin(command: &mut Command, data: &Path) -> Child {
    let command = command.arg("--data").arg(data).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
