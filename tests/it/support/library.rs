//! A library in a temporary folder, and the program run on it.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Arc,
};

use serde_json::Value;
use tempfile::TempDir;
use vademecum_store::{Database, Store};

use super::{
    Server, StdioClient, follows_archive, open_data_folder, vademecum_command, wait_until,
};

/// The five sources, in the order in which they are listed.
pub(crate) const SOURCES: [&str; 5] = ["notes", "media", "chats", "characters", "prompts"];

/// A library whose folder is deleted with the last of its servers.
pub(crate) struct Library {
    folder: Arc<TempDir>,
}

/// The result of a finished command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// Exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        Self { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Library {
    /// Creates an empty folder without a library.
    pub(crate) fn new() -> Self {
        Self { folder: Arc::new(tempfile::tempdir().unwrap()) }
    }

    /// Creates a library from `fixtures`: a few items in each source, all with the word `lantern`.
    pub(crate) fn with_lanterns() -> Self {
        let library = Self::new();
        for kind in SOURCES {
            library.import_paths(kind, &[&fixture_folder(kind)], &[]);
        }
        library
    }

    /// Creates a library of notes from pairs of name and text.
    pub(crate) fn with_notes<N: AsRef<str>, T: AsRef<str>>(
        notes: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        let library = Self::new();
        for (name, text) in notes {
            library.write_file(&format!("notes/{}.md", name.as_ref()), text.as_ref());
        }
        library.import_paths("notes", &[&library.file_path("notes")], &[]);
        library
    }

    /// Returns the data folder.
    pub(crate) fn data_folder(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Opens a database of the user of single-user mode.
    pub(crate) fn store(&self, database: Database) -> Store {
        let (data, folder) = (open_data_folder(&self.data_folder()), "users/local");
        data.library_store(database, &self.data_folder().join(folder), "local")
    }

    /// Returns the path of an input file of this test.
    pub(crate) fn file_path(&self, name: &str) -> PathBuf {
        self.folder.path().join("files").join(name)
    }

    /// Writes an input file outside the data folder.
    pub(crate) fn write_file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file_path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes an input file that only its owner can read.
    pub(crate) fn write_private_file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write_file(name, content);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        path
    }

    /// Writes a file and imports it.
    pub(crate) fn import_file(&self, kind: &str, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write_file(name, content);
        self.import_paths(kind, &[&path], &[]);
        path
    }

    /// Writes a file and imports it into the library of `user`.
    pub(crate) fn import_for_user(&self, user: &str, kind: &str, name: &str, content: &str) {
        let path = self.write_file(&format!("{user}/{name}"), content);
        let users = self.data_folder().join("users");
        if users.read_dir().is_ok_and(|mut others| others.next().is_some()) {
            // The first library may be that of any user.
            let added = self.run(&["user", "add", user]);
            assert!(added.code == 0 || added.stderr.contains("already"), "{added:?}");
        }
        self.import_paths(kind, &[&path], &["--user", user]);
    }

    /// Imports one folder for each source, named after it.
    pub(crate) fn import_folders(&self) {
        for kind in SOURCES {
            self.import_paths(kind, &[&self.file_path(kind)], &[]);
        }
    }

    pub(crate) fn import_paths(&self, kind: &str, paths: &[&Path], more: &[&str]) {
        let paths = paths.iter().map(|path| path.to_str().unwrap());
        let arguments: Vec<&str> =
            ["import", kind].into_iter().chain(paths).chain(more.iter().copied()).collect();
        let done = self.run(&arguments);
        assert_eq!(done.code, 0, "{done:?}");
        assert!(!done.stderr.contains("skipped"), "{done:?}");
    }

    /// Runs a command that builds a collection. If data folders follow an archive, the claim of a build
    /// that was killed ends some seconds later.
    pub(crate) fn run_build(&self, arguments: &[&str]) -> CommandOutput {
        let mut done = self.run(arguments);
        wait_until("the end of the claim of a killed build", || {
            let is_claimed = follows_archive() && done.stderr.contains("is being built already");
            if is_claimed {
                done = self.run(arguments);
            }
            !is_claimed
        });
        done
    }

    /// Runs a command on this library and waits for its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        let output = vademecum_command()
            .args(arguments)
            .arg("--data")
            .arg(self.data_folder())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        output.into()
    }

    /// Runs a command on this library with a text as its standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> CommandOutput {
        let mut process = vademecum_command()
            .args(arguments)
            .arg("--data")
            .arg(self.data_folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = process.wait_with_output().unwrap();
        output.into()
    }

    /// Serves this library over HTTP.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// Serves this library with additional command-line arguments.
    pub(crate) fn serve_with(&self, arguments: &[&str]) -> Server {
        Server::start(&self.data_folder(), arguments, Arc::clone(&self.folder))
    }

    /// Serves this library with these settings.
    pub(crate) fn serve_with_settings(&self, settings: &str) -> Server {
        let file = self.write_file("settings.toml", settings);
        self.serve_with(&["--config", file.to_str().unwrap()])
    }

    /// Serves this library with a given command, which must end with the program's path, and these
    /// settings.
    pub(crate) fn serve_with_command(&self, command: &mut Command, settings: &str) -> Server {
        let file = self.write_file("settings.toml", settings);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(self.data_folder());
        Server::start_command(command.arg("--config").arg(file), Arc::clone(&self.folder))
    }

    /// Adds a user and creates an API key.
    pub(crate) fn create_key(&self, user: &str) -> String {
        self.create_key_with(user, &[])
    }

    /// Adds a user unless it exists, and creates an API key with additional arguments.
    pub(crate) fn create_key_with(&self, user: &str, more: &[&str]) -> String {
        let added = self.run(&["user", "add", user]);
        assert!(added.code == 0 || added.stderr.contains("already"), "{added:?}");
        let done = self.run(&[&["key", "create", "--user", user], more].concat());
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout.trim().to_owned()
    }

    /// Serves this library in multi-user mode, with additional settings in `[auth]` and after it.
    pub(crate) fn serve_multi_user(&self, settings: &str) -> Server {
        self.serve_with_settings(&format!("[auth]\nmode = \"multi\"\n{settings}"))
    }

    /// Serves this library over stdio.
    pub(crate) fn open_stdio(&self) -> StdioClient {
        self.open_stdio_with(&[])
    }

    /// Serves this library over stdio with additional command-line arguments.
    pub(crate) fn open_stdio_with(&self, arguments: &[&str]) -> StdioClient {
        StdioClient::start(&self.data_folder(), arguments, Arc::clone(&self.folder))
    }
}

impl CommandOutput {
    /// Parses standard output as JSON.
    pub(crate) fn parse_json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Returns the folder of the fixtures of one source.
fn fixture_folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(kind)
}
