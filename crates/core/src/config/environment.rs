//! Paths and variables from the environment of the process.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// Returns the path of the running executable.
fn current_program() -> io::Result<PathBuf> {
    env::current_exe()
}

/// Returns the absolute path by which this program was called. A package manager that links the
/// program into a folder of the search path replaces the target of the link at each upgrade, so that
/// only the link is a path that stays. It is that of the executable if the call names another file.
pub fn called_program() -> io::Result<PathBuf> {
    let executable = current_program()?;
    let called = env::args_os().next().unwrap_or_default();
    let search_path = program_folders().unwrap_or_default();
    Ok(called_path(Path::new(&called), &search_path, &executable).unwrap_or(executable))
}

/// Returns the path that `called` names: itself if it has a folder, else the file of that name in
/// the first folder of `search_path` that has one. Returns `None` if that is not `executable`.
fn called_path(called: &Path, search_path: &OsString, executable: &Path) -> Option<PathBuf> {
    let executable = fs::canonicalize(executable).ok()?;
    let is_executable = |path: &PathBuf| fs::canonicalize(path).is_ok_and(|it| it == executable);
    if called.components().count() > 1 {
        return std::path::absolute(called).ok().filter(is_executable);
    }
    let mut name = called.file_name()?.to_owned();
    if called.extension().is_none() {
        name.push(env::consts::EXE_SUFFIX);
    }
    let folders = env::split_paths(search_path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&name)).find(|path| path.is_file()).filter(is_executable)
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

/// Returns the folder of the Copilot CLI, if `COPILOT_HOME` is set.
pub fn copilot_home() -> Option<PathBuf> {
    path_variable("COPILOT_HOME")
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn called_path_is_the_link_and_not_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["cellar", "bin", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("cellar/vademecum-0.2"), "").unwrap();
        fs::write(at("other/vademecum"), "").unwrap();
        symlink("../cellar/vademecum-0.2", at("bin/vademecum")).unwrap();
        let executable = at("cellar/vademecum-0.2");
        let called = |name: &Path, folders: &[&str]| {
            let folders = env::join_paths(folders.iter().map(|it| at(it))).unwrap();
            called_path(name, &folders, &executable)
        };
        assert_eq!(called(Path::new("vademecum"), &["bin", "cellar"]), Some(at("bin/vademecum")));
        assert_eq!(called(&at("bin/vademecum"), &[]), Some(at("bin/vademecum")));
        assert_eq!(called(Path::new("vademecum-0.2"), &["cellar"]), Some(executable.clone()));
        // Another program of that name comes first, or the name is that of a login shell.
        assert_eq!(called(Path::new("vademecum"), &["other", "bin"]), None);
        assert_eq!(called(&at("other/vademecum"), &["bin"]), None);
        assert_eq!(called(Path::new("-vademecum"), &["bin"]), None);
        assert_eq!(called(Path::new(""), &["bin"]), None);
    }
}
