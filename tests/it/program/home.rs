//! A home of a user who has clients, in a temporary folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::{Done, program};

/// A home that no client of this machine knows of.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// An empty home.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Where a file of this home is.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// What is in a file.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The files of a folder, by name.
    pub(crate) fn list(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.file(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The path of this home.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command in this home to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        self.run_with(arguments, &[])
    }

    /// Runs a command in this home, with more in the environment.
    pub(crate) fn run_with(&self, arguments: &[&str], variables: &[(&str, &Path)]) -> Done {
        let mut command = program();
        self.furnish(&mut command).args(arguments).envs(variables.iter().copied());
        let output = command.stdin(Stdio::null()).output().unwrap();
        Done {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Lets a command run here and see no other home.
    pub(crate) fn furnish<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(self.path())
            .env("HOME", self.path())
            .env("USERPROFILE", self.path())
            .env("APPDATA", self.file("AppData/Roaming"))
            .env("LOCALAPPDATA", self.file("AppData/Local"))
            .env("XDG_CONFIG_HOME", self.file(".config"))
            .env("XDG_DATA_HOME", self.file(".local/share"))
            .env_remove("CODEX_HOME")
            .env_remove("CLAUDE_CONFIG_DIR")
    }
}
