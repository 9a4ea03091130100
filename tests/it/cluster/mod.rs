//! Several servers that follow one archive.

mod collections;
mod copies;
mod faults;
mod logins;
mod proxy;
mod sharing;

use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use uuid::Uuid;

use self::proxy::Proxy;
use crate::support::{HttpRequest, Library, McpClient, Server, TestDatabase};

/// Longest wait for something that must happen soon.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// An archive in a database of its own, reached through a proxy, and the data folders of servers that
/// follow it.
struct Cluster {
    database: TestDatabase,
    proxy: Proxy,
    nodes: Vec<Library>,
}

impl Cluster {
    /// Creates an archive for a number of servers.
    fn new(nodes: usize) -> Self {
        let database = TestDatabase::postgres();
        let proxy = Proxy::start(database.server().port);
        Self { database, proxy, nodes: (0..nodes).map(|_| Library::new()).collect() }
    }

    /// Returns settings with the archive and tools that write, and additional ones.
    fn settings(&self, more: &str) -> String {
        let server = self.database.server();
        let password = server.password.as_ref().unwrap().expose_secret();
        format!(
            "[archive]\nurl = \"postgres://{}:{password}@127.0.0.1:{}/{}\"\nallow_plaintext = true\n\
             tls = \"disable\"\n[tools]\nwrite = true\n{more}",
            server.user,
            self.proxy.port(),
            self.database.name()
        )
    }

    /// Serves a node in single-user mode.
    fn serve(&self, node: usize) -> Server {
        self.nodes[node].serve_with_settings(&self.settings(""))
    }

    /// Serves a node in multi-user mode.
    fn serve_users(&self, node: usize) -> Server {
        self.nodes[node].serve_with_settings(&self.settings("[auth]\nmode = \"multi\"\n"))
    }

    /// Adds a user at a node and returns an API key that may write.
    fn create_key(&self, node: usize, user: &str) -> String {
        let settings = self.nodes[node].write_file("admin.toml", self.settings(""));
        let settings = settings.to_str().unwrap();
        let added = self.nodes[node].run(&["user", "add", user, "--config", settings]);
        assert!(added.code == 0 || added.stderr.contains("already"), "{added:?}");
        let key = ["key", "create", "--user", user, "--scope", "write", "--config", settings];
        let done = self.nodes[node].run(&key);
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout.trim().to_owned()
    }
}

/// A client of the server at an address, which other threads can use.
struct AddressClient<'a>(&'a str);

impl McpClient for AddressClient<'_> {
    fn exchange(&self, request: &Value) -> Value {
        HttpRequest::new(self.0, "POST", "/mcp").json(request).send().json()
    }
}

impl AddressClient<'_> {
    /// Calls a tool of a server that may die. Returns the result; `None` if its answer is lost.
    fn try_tool(&self, tool: &str, arguments: &Value) -> Option<Value> {
        let params = json!({ "name": tool, "arguments": arguments });
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let request = ureq::post(format!("http://{}/mcp", self.0))
            .config()
            .timeout_global(Some(REPLY_TIMEOUT))
            .build()
            .header("content-type", "application/json");
        let answer = request.send(message.to_string()).ok()?.body_mut().read_to_string().ok()?;
        Some(serde_json::from_str::<Value>(&answer).ok()?["result"].take())
    }
}

/// Returns a word that occurs nowhere else.
fn unique_word() -> String {
    // Digits would divide it into several words.
    Uuid::new_v4().simple().to_string().replace(|it: char| it.is_ascii_digit(), "z")
}
