//! Writes down what is said in the tests, for `tests/wire` to check.
//!
//! Where `VADEMECUM_WIRE` names a folder, every message becomes a line of JSON
//! in a file of this process; else nothing happens. What a message means (its
//! revision, the request that it answers) is for the reader to find out.

use std::{
    env,
    fs::{File, create_dir_all},
    io::Write,
    path::PathBuf,
    process,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::json;

/// Who sent a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum From {
    /// The test.
    Client,
    /// The program.
    Server,
}

/// Where messages pass: a connection, or one HTTP request with its response.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    transport: &'static str,
    number: usize,
    test: String,
    session: Option<String>,
    version: Option<String>,
    status: Option<u16>,
}

impl Line {
    /// A line of its own, over a transport of that name.
    pub(crate) fn over(transport: &'static str) -> Self {
        static LINES: AtomicUsize = AtomicUsize::new(0);
        Self {
            transport,
            number: LINES.fetch_add(1, Ordering::Relaxed),
            test: thread::current().name().unwrap_or_default().to_owned(),
            session: None,
            version: None,
            status: None,
        }
    }

    /// The session that is spoken in from now on, if there is one.
    pub(crate) fn in_session(mut self, id: Option<&str>) -> Self {
        self.session = id.map(ToOwned::to_owned).or(self.session);
        self
    }

    /// The revision that a header names.
    pub(crate) fn of_version(mut self, version: Option<&str>) -> Self {
        self.version = version.map(ToOwned::to_owned);
        self
    }

    /// The status of what comes back.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Writes a message down, whatever it is.
    pub(crate) fn record(&self, from: From, text: &str) {
        let Some(file) = file() else { return };
        let from = match from {
            From::Client => "client",
            From::Server => "server",
        };
        let line = json!({
            "test": self.test, "transport": self.transport, "line": self.number,
            "session": self.session, "version": self.version, "status": self.status,
            "from": from, "text": text,
        });
        file.lock().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// Reads the session out of an address, where it is named in the query.
pub(crate) fn session_in(address: &str) -> Option<&str> {
    let (_, query) = address.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("mcp-session-id="))
}

/// The file of this process, if there is to be one.
fn file() -> Option<&'static Mutex<File>> {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let open = || {
        let folder = PathBuf::from(env::var_os("VADEMECUM_WIRE")?);
        create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}.jsonl", process::id()));
        Some(Mutex::new(File::create(path).unwrap()))
    };
    FILE.get_or_init(open).as_ref()
}
