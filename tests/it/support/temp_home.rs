//! A temporary home folder, for tests that read or write the settings of other clients.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::{CommandOutput, vademecum_command};

/// A home folder that is isolated from the clients installed on this machine.
pub(crate) struct TempHome {
    folder: TempDir,
}

impl TempHome {
    /// Creates an empty home folder.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns the path of a file in the home folder.
    pub(crate) fn file_path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn write_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file_path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Returns the content of a file.
    pub(crate) fn read_file(&self, name: &str) -> String {
        fs::read_to_string(self.file_path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the sorted file names of a folder.
    pub(crate) fn list_folder(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.file_path(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the path of the home folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command of the program in this home folder and waits for its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with(arguments, &[])
    }

    /// Runs a command in this home folder with additional environment variables.
    pub(crate) fn run_with(
        &self,
        arguments: &[&str],
        variables: &[(&str, &Path)],
    ) -> CommandOutput {
        let mut command = vademecum_command();
        self.isolate_command(&mut command).args(arguments).envs(variables.iter().copied());
        let output = command.stdin(Stdio::null()).output().unwrap();
        output.into()
    }

    /// Sets the working directory and all home variables of a command to this folder.
    pub(crate) fn isolate_command<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(self.path())
            .env("HOME", self.path())
            .env("USERPROFILE", self.path())
            .env("APPDATA", self.file_path("AppData/Roaming"))
            .env("LOCALAPPDATA", self.file_path("AppData/Local"))
            .env("XDG_CONFIG_HOME", self.file_path(".config"))
            .env("XDG_DATA_HOME", self.file_path(".local/share"))
            .env_remove("CODEX_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
            .env_remove("COPILOT_HOME")
    }
}
