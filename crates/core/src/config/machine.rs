//! Where things are on this machine, as far as the environment says so.

use std::{env, io, path::PathBuf};

/// This program.
pub fn program() -> io::Result<PathBuf> {
    env::current_exe()
}

/// The operating system and the processor that this program was built for.
pub fn platform() -> (&'static str, &'static str) {
    (env::consts::OS, env::consts::ARCH)
}

/// The folder that Codex was told to keep its settings in.
pub fn codex_home() -> Option<PathBuf> {
    folder("CODEX_HOME")
}

/// The folder that Claude Code was told to keep its settings in.
pub fn claude_code_folder() -> Option<PathBuf> {
    folder("CLAUDE_CONFIG_DIR")
}

/// The socket of the SSH agent that keeps this user's keys.
pub fn ssh_agent() -> Option<PathBuf> {
    folder("SSH_AUTH_SOCK")
}

/// The folder of this user.
pub(super) fn home() -> Option<PathBuf> {
    dirs::home_dir()
}

/// What an environment variable says, if it is set to some text.
pub(super) fn variable(name: &str) -> Option<String> {
    env::var_os(name)?.into_string().ok().filter(|text| !text.is_empty())
}

/// The path that a variable names; an empty one names none.
fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}
