//! Command that starts a child process.

use std::{
    path::Path,
    process::{Command, Stdio},
};

/// Returns a command that runs `subcommand` of `program` without the environment of this process,
/// with pipes for standard input, output and error.
pub fn child_command(program: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(program);
    // Passwords may be in variables. Windows needs some of them to start a process.
    if cfg!(unix) {
        command.env_clear();
    }
    command
        .arg(subcommand)
        // Each further arena of the allocator would reserve address space.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
