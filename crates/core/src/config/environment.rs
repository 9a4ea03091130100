//! Paths and variables from the environment of the process.

use std::{env, ffi::OsString, io, path::PathBuf};

/// Returns the path of the running executable.
pub fn current_program() -> io::Result<PathBuf> {
    env::current_exe()
}

/// Returns the first argument of the command line.
pub fn first_argument() -> Option<OsString> {
    env::args_os().nth(1)
}

/// Returns the path by which this process starts a child of the same program. On Linux it stays
/// valid after the executable was replaced by a newer version.
pub fn child_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { current_program() }
}

/// Returns the operating system and the processor architecture of this build.
pub fn platform() -> (&'static str, &'static str) {
    (env::consts::OS, env::consts::ARCH)
}

/// Returns the folder of Codex, if `CODEX_HOME` is set.
pub fn codex_home() -> Option<PathBuf> {
    path_variable("CODEX_HOME")
}

/// Returns the settings folder of Claude Code, if `CLAUDE_CONFIG_DIR` is set.
pub fn claude_code_folder() -> Option<PathBuf> {
    path_variable("CLAUDE_CONFIG_DIR")
}

/// Returns the folders of programs whose sessions are read, where an environment variable moves them.
pub fn moved_agent_folders() -> Vec<(&'static str, PathBuf)> {
    let variables = [
        ("claude-code", "CLAUDE_CONFIG_DIR"),
        ("codex", "CODEX_HOME"),
        ("gemini-cli", "GEMINI_CLI_HOME"),
        ("cursor-cli", "CURSOR_CONFIG_DIR"),
        ("cline", "CLINE_SESSION_DATA_DIR"),
        ("kimi", "KIMI_CODE_HOME"),
    ];
    variables.into_iter().filter_map(|(name, it)| Some((name, path_variable(it)?))).collect()
}

/// Returns the folders of the user below which programs keep their data: the home folder, that of
/// settings, and that of data (`XDG_DATA_HOME`, else `~/.local/share`, on every system).
pub fn user_folders() -> Option<[PathBuf; 3]> {
    let home = home_folder()?;
    let settings = dirs::config_dir().unwrap_or_else(|| home.join(".config"));
    let data = path_variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
    Some([home, settings, data])
}

/// Returns the socket of the SSH agent, if `SSH_AUTH_SOCK` is set.
pub fn ssh_agent_socket() -> Option<PathBuf> {
    path_variable("SSH_AUTH_SOCK")
}

/// Returns the folders in which programs are searched, if `PATH` is set.
pub fn program_folders() -> Option<OsString> {
    env::var_os("PATH")
}

/// Returns the command of the user's editor, from `VISUAL` or `EDITOR`.
pub fn editor() -> Option<String> {
    text_variable("VISUAL").or_else(|| text_variable("EDITOR"))
}

/// Returns the time zone of the process, if `TZ` is set; the system has a default.
pub fn time_zone() -> Option<String> {
    text_variable("TZ")
}

/// Returns the secret in an environment variable that the user named.
pub fn secret_variable(name: &str) -> Option<String> {
    text_variable(name)
}

/// Returns the home folder of the user.
pub(super) fn home_folder() -> Option<PathBuf> {
    dirs::home_dir()
}

/// Returns the value of an environment variable, or `None` if it is unset, empty or not UTF-8.
pub(super) fn text_variable(name: &str) -> Option<String> {
    env::var_os(name)?.into_string().ok().filter(|text| !text.is_empty())
}

/// Returns the path in an environment variable, or `None` if it is unset or empty.
fn path_variable(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}
