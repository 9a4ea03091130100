//! A library in a temporary folder, and the program run on it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    rc::Rc,
};

use serde_json::Value;
use tempfile::TempDir;

use super::{Pipe, Server, program};

/// The five sources, as they are listed.
pub(crate) const SOURCES: [&str; 5] = ["notes", "media", "chats", "characters", "prompts"];

/// A library that goes when the last of its servers does.
pub(crate) struct Library {
    folder: Rc<TempDir>,
}

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Done {
    /// What it ended with.
    pub(crate) code: i32,
    /// What it printed to standard output.
    pub(crate) stdout: String,
    /// What it printed to standard error.
    pub(crate) stderr: String,
}

impl Library {
    /// A library that does not exist yet: nothing was brought in.
    pub(crate) fn new() -> Self {
        Self { folder: Rc::new(tempfile::tempdir().unwrap()) }
    }

    /// A library with a few items in each source; all of them have the word
    /// `lantern`. The files are in `fixtures`.
    pub(crate) fn lanterns() -> Self {
        let library = Self::new();
        for kind in SOURCES {
            library.bring_in(kind, &[&fixture(kind)], &[]);
        }
        library
    }

    /// A library of notes: name and text.
    pub(crate) fn of_notes<N: AsRef<str>, T: AsRef<str>>(
        notes: impl IntoIterator<Item = (N, T)>,
    ) -> Self {
        let library = Self::new();
        for (name, text) in notes {
            library.write(&format!("notes/{}.md", name.as_ref()), text.as_ref());
        }
        library.bring_in("notes", &[&library.file("notes")], &[]);
        library
    }

    /// The folder that knowledge is kept in.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Where a file of this test is.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("files").join(name)
    }

    /// Writes a file beside the library.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a file beside the library that only its owner can read.
    pub(crate) fn write_private(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, content);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        path
    }

    /// Writes a file and brings it in.
    pub(crate) fn import(&self, kind: &str, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.write(name, content);
        self.bring_in(kind, &[&path], &[]);
        path
    }

    /// Writes a file and brings it into the library of `user`.
    pub(crate) fn import_for(&self, user: &str, kind: &str, name: &str, content: &str) {
        let path = self.write(&format!("{user}/{name}"), content);
        self.bring_in(kind, &[&path], &["--user", user]);
    }

    /// Brings in a folder for each source, named after it.
    pub(crate) fn import_folders(&self) {
        for kind in SOURCES {
            self.bring_in(kind, &[&self.file(kind)], &[]);
        }
    }

    fn bring_in(&self, kind: &str, paths: &[&Path], more: &[&str]) {
        let paths = paths.iter().map(|path| path.to_str().unwrap());
        let arguments: Vec<&str> =
            ["import", kind].into_iter().chain(paths).chain(more.iter().copied()).collect();
        let done = self.run(&arguments);
        assert_eq!(done.code, 0, "{done:?}");
        assert!(!done.stderr.contains("skipped"), "{done:?}");
    }

    /// Runs a command on this library to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        let output = program()
            .args(arguments)
            .arg("--data")
            .arg(self.data())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Done {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Serves this library.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// Serves this library, with more on the command line.
    pub(crate) fn serve_with(&self, arguments: &[&str]) -> Server {
        Server::start(&self.data(), arguments, Rc::clone(&self.folder))
    }

    /// Serves this library with these settings.
    pub(crate) fn serve_set(&self, settings: &str) -> Server {
        let file = self.write("settings.toml", settings);
        self.serve_with(&["--config", file.to_str().unwrap()])
    }

    /// Serves this library by a command that ends in that of the program: with these
    /// settings, on its data folder.
    pub(crate) fn serve_by(&self, command: &mut Command, settings: &str) -> Server {
        let file = self.write("settings.toml", settings);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(self.data());
        Server::start_as(command.arg("--config").arg(file), Rc::clone(&self.folder))
    }

    /// Adds a user, and makes a key for them.
    pub(crate) fn key(&self, user: &str) -> String {
        self.key_with(user, &[])
    }

    /// Adds a user if need be, and makes a key with more on the command line.
    pub(crate) fn key_with(&self, user: &str, more: &[&str]) -> String {
        let added = self.run(&["user", "add", user]);
        assert!(added.code == 0 || added.stderr.contains("already"), "{added:?}");
        let done = self.run(&[&["key", "create", "--user", user], more].concat());
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout.trim().to_owned()
    }

    /// Serves this library for many users, with more in `[auth]` and after it.
    pub(crate) fn serve_many(&self, settings: &str) -> Server {
        self.serve_set(&format!("[auth]\nmode = \"multi\"\n{settings}"))
    }

    /// Serves this library over a pipe.
    pub(crate) fn pipe(&self) -> Pipe {
        self.pipe_with(&[])
    }

    /// Serves this library over a pipe, with more on the command line.
    pub(crate) fn pipe_with(&self, arguments: &[&str]) -> Pipe {
        Pipe::start(&self.data(), arguments, Rc::clone(&self.folder))
    }
}

impl Done {
    /// What it printed, as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The folder of the fixtures of one kind.
fn fixture(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(kind)
}
