//! A server that runs as long as a test needs it.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    rc::Rc,
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Alone, Caller, Client, Request, Socket, program};

/// A server on a port of its own. It is stopped when the test is over.
pub(crate) struct Server {
    process: Child,
    address: String,
    log: Option<JoinHandle<String>>,
    _folder: Rc<TempDir>,
}

impl Server {
    /// Starts serving, and comes back when the server says where.
    pub(crate) fn start(data: &Path, arguments: &[&str], folder: Rc<TempDir>) -> Self {
        let mut command = program();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(arguments);
        Self::start_as(&mut command, folder)
    }

    /// Starts a command that serves, and comes back when it says where.
    pub(crate) fn start_as(command: &mut Command, folder: Rc<TempDir>) -> Self {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix("/mcp"))
            .unwrap_or_else(|| panic!("the server did not start: {line}"))
            .to_owned();
        // Whoever logs must find somebody who reads.
        let log = thread::spawn(move || {
            let mut text = Vec::new();
            log.read_to_end(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        });
        Self { process, address, log: Some(log), _folder: folder }
    }

    /// The number of the process.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Waits until the process ends by itself; what it ends with.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }

    /// Stops it; what it has logged.
    pub(crate) fn stop(mut self) -> String {
        self.process.kill().unwrap();
        self.log.take().unwrap().join().unwrap()
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A request to be filled and sent.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request<'_> {
        Request::new(&self.address, method, path)
    }

    /// A client without a session.
    pub(crate) fn client(&self) -> Client<'_> {
        Client::new(self)
    }

    /// A client whose every request stands for itself.
    pub(crate) fn alone(&self) -> Alone<'_> {
        Alone::new(self)
    }

    /// A client that has shaken hands, and has a session.
    pub(crate) fn session(&self) -> Client<'_> {
        self.session_of("test")
    }

    /// A session of a client of that name.
    pub(crate) fn session_of(&self, name: &str) -> Client<'_> {
        self.session_with(&json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": name, "version": "1" },
        }))
    }

    /// A session that begins with these parameters of `initialize`.
    pub(crate) fn session_with(&self, params: &Value) -> Client<'_> {
        let response = self.client().send(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params,
        }));
        let id = response.header("mcp-session-id").unwrap_or_else(|| panic!("{response:?}"));
        self.client().in_session(id)
    }

    /// A WebSocket.
    pub(crate) fn socket(&self) -> Socket {
        self.socket_at("")
    }

    /// A WebSocket with this query in its address.
    pub(crate) fn socket_at(&self, query: &str) -> Socket {
        Socket::open(&format!("ws://{}/mcp/ws{query}", self.address), &[])
    }

    /// A WebSocket that shows a key or a token.
    pub(crate) fn socket_of(&self, token: &str) -> Socket {
        let bearer = format!("Bearer {token}");
        let url = format!("ws://{}/mcp/ws", self.address);
        Socket::open(&url, &[("authorization", &bearer)])
    }

    /// Asserts that the server is there and answers.
    pub(crate) fn is_alive(&self) {
        assert_eq!(self.client().ask("ping", &json!({})), json!({}));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.process.kill());
        self.process.wait().unwrap();
    }
}
