//! A server process that runs for the duration of a test.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    HttpClient, HttpRequest, McpClient, StatelessClient, WebSocketClient, vademecum_command,
    wait_until,
};

/// A server on its own port. Dropping it kills the process.
pub(crate) struct Server {
    process: Child,
    address: String,
    log: Arc<Mutex<String>>,
    log_reader: Option<JoinHandle<()>>,
    _folder: Arc<TempDir>,
}

impl Server {
    /// Starts the program and returns when it has printed its address.
    pub(crate) fn start(data: &Path, arguments: &[&str], folder: Arc<TempDir>) -> Self {
        let mut command = vademecum_command();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(arguments);
        Self::start_command(&mut command, folder)
    }

    /// Starts a command that serves, and returns when it has printed its address.
    pub(crate) fn start_command(command: &mut Command, folder: Arc<TempDir>) -> Self {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stderr.take().unwrap());
        let mut start = String::new();
        let address = loop {
            let begin = start.len();
            let length = output.read_line(&mut start).unwrap();
            let line = start[begin..].trim();
            let listening = line.strip_prefix("listening on http://");
            match listening.and_then(|rest| rest.strip_suffix("/mcp")) {
                Some(address) => {
                    let address = address.to_owned();
                    start.truncate(begin);
                    break address;
                }
                // A warning may come first, the error of a custom tool, or the trace of a statement.
                None if [" WARN ", " ERROR ", " TRACE "].iter().any(|it| line.contains(it)) => {}
                None => panic!("the server did not start, {length}: {start}"),
            }
        };
        // Reads the log continuously, so that the server never blocks on a full pipe.
        let log = Arc::new(Mutex::new(start));
        let text = Arc::clone(&log);
        let log_reader = Some(thread::spawn(move || {
            for line in output.lines() {
                *text.lock().unwrap() += &(line.unwrap() + "\n");
            }
        }));
        Self { process, address, log, log_reader, _folder: folder }
    }

    /// Returns the process id.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Waits until the process exits and returns its exit code.
    pub(crate) fn wait_for_exit(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    /// Waits until the log contains a text.
    pub(crate) fn wait_for_log(&self, text: &str) {
        wait_until(text, || self.log.lock().unwrap().contains(text));
    }

    /// Kills the process and returns its log.
    pub(crate) fn kill_and_read_log(mut self) -> String {
        self.process.kill().unwrap();
        self.log_reader.take().unwrap().join().unwrap();
        std::mem::take(&mut self.log.lock().unwrap())
    }

    /// Returns host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns a request to this server that can be extended and sent.
    pub(crate) fn request(&self, method: &str, path: &str) -> HttpRequest<'_> {
        HttpRequest::new(&self.address, method, path)
    }

    /// Returns an HTTP client without a session.
    pub(crate) fn client(&self) -> HttpClient<'_> {
        HttpClient::new(self)
    }

    /// Returns a client for the protocol revision without sessions.
    pub(crate) fn stateless_client(&self) -> StatelessClient<'_> {
        StatelessClient::new(self)
    }

    /// Returns an HTTP client with an initialized session.
    pub(crate) fn open_session(&self) -> HttpClient<'_> {
        self.open_session_named("test")
    }

    /// Opens a session for a client with this name.
    pub(crate) fn open_session_named(&self, name: &str) -> HttpClient<'_> {
        self.open_session_with(&json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": name, "version": "1" },
        }))
    }

    /// Opens a session with these parameters of `initialize`.
    pub(crate) fn open_session_with(&self, params: &Value) -> HttpClient<'_> {
        let response = self.client().send(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params,
        }));
        let id = response.header("mcp-session-id").unwrap_or_else(|| panic!("{response:?}"));
        self.client().in_session(id)
    }

    /// Opens a WebSocket.
    pub(crate) fn open_websocket(&self) -> WebSocketClient {
        self.open_websocket_at("")
    }

    /// Opens a WebSocket with this query string in its URL.
    pub(crate) fn open_websocket_at(&self, query: &str) -> WebSocketClient {
        WebSocketClient::open(&format!("ws://{}/mcp/ws{query}", self.address), &[])
    }

    /// Opens a WebSocket with an API key or token.
    pub(crate) fn open_websocket_with_token(&self, token: &str) -> WebSocketClient {
        let bearer = format!("Bearer {token}");
        let url = format!("ws://{}/mcp/ws", self.address);
        WebSocketClient::open(&url, &[("authorization", &bearer)])
    }

    /// Asserts that the server answers a ping.
    pub(crate) fn assert_alive(&self) {
        assert_eq!(self.client().call_method("ping", &json!({})), json!({}));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have exited already.
        drop(self.process.kill());
        self.process.wait().unwrap();
    }
}
