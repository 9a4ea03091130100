//! Records the messages of the tests, so that `tests/wire` can check them against the protocol
//! schemas.
//!
//! If `VADEMECUM_WIRE` names a folder, every message is appended as a line of JSON to one file per
//! process; otherwise nothing is recorded. The reader determines the revision of a message and the
//! request that it answers.

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

/// The sender of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MessageSender {
    /// The test.
    Client,
    /// The program.
    Server,
}

/// Records the messages of a connection, or of one HTTP request and its response.
#[derive(Clone, Debug)]
pub(crate) struct WireRecorder {
    transport: &'static str,
    number: usize,
    test: String,
    session: Option<String>,
    version: Option<String>,
    status: Option<u16>,
}

impl WireRecorder {
    /// Creates a recorder with a new number for this transport.
    pub(crate) fn for_transport(transport: &'static str) -> Self {
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

    /// Sets the session of the following messages; `None` keeps the current one.
    pub(crate) fn in_session(mut self, id: Option<&str>) -> Self {
        self.session = id.map(ToOwned::to_owned).or(self.session);
        self
    }

    /// Sets the protocol version that the request's header names.
    pub(crate) fn with_version(mut self, version: Option<&str>) -> Self {
        self.version = version.map(ToOwned::to_owned);
        self
    }

    /// Sets the HTTP status of the response.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Records a message.
    pub(crate) fn record(&self, from: MessageSender, text: &str) {
        let Some(file) = log_file() else { return };
        let from = match from {
            MessageSender::Client => "client",
            MessageSender::Server => "server",
        };
        let line = json!({
            "test": self.test, "transport": self.transport, "line": self.number,
            "session": self.session, "version": self.version, "status": self.status,
            "from": from, "text": text,
        });
        file.lock().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// Returns the session id from the query string of a URL.
pub(crate) fn session_id_in_url(address: &str) -> Option<&str> {
    let (_, query) = address.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("mcp-session-id="))
}

/// Returns the file of this process, or `None` if recording is off.
fn log_file() -> Option<&'static Mutex<File>> {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let open = || {
        let folder = PathBuf::from(env::var_os("VADEMECUM_WIRE")?);
        create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}.jsonl", process::id()));
        Some(Mutex::new(File::create(path).unwrap()))
    };
    FILE.get_or_init(open).as_ref()
}
