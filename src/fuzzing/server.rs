//! Messages, answered by the whole server without its sockets.
#![expect(clippy::expect_used, reason = "what fails is what is looked for")]

use actix::SystemRunner;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::library;
use crate::app::App;
use vademecum_core::{
    auth::{Principal, desktop},
    config::{Limits, Settings, Storage, Tools},
};
use vademecum_mcp::{Defaults, Link, Mirror, Peer, Service};

/// The server, what its actors run on, and the folder that is removed after it.
struct Server {
    runner: SystemRunner,
    service: Service,
    principal: Principal,
    _folder: TempDir,
}

thread_local! {
    static SERVER: Server = Server::start();
}

/// Hands over one message: by HTTP, and on a connection of its own.
pub(super) fn message(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    SERVER.with(|server| {
        server.answer(text, Some(Mirror::default()));
        server.answer(text, None);
    });
}

/// Calls the tool that the first line names with the arguments on the others.
pub(super) fn arguments(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (tool, arguments) = text.split_once('\n').unwrap_or(("knowledge.search", text));
    // What is no JSON is no message: it never comes this far.
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else { return };
    let params = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    SERVER.with(|server| server.answer(&call.to_string(), Some(Mirror::default())));
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let storage = Storage { data: Some(folder.path().to_owned()), ..Storage::default() };
        library::filled(&folder.path().join("users").join(&storage.user));
        let user = storage.user.parse().expect("the user that there is by default");
        let settings = Settings {
            storage,
            tools: Tools { write: true, ..Tools::default() },
            limits: Limits {
                requests_per_minute: 0,
                calls_per_tool_per_minute: 0,
                ..Limits::default()
            },
            ..Settings::default()
        };
        let runner = actix::System::new();
        let door = runner.block_on(async { App::new(settings).and_then(|app| app.door()) });
        let service = door.expect("the server of one user").service;
        Self { runner, service, principal: desktop(user), _folder: folder }
    }

    /// Answers a message. Where there are no headers, it comes on a connection.
    fn answer(&self, text: &str, mirror: Option<Mirror>) {
        let session = mirror.is_none().then(|| self.service.connect(&self.principal));
        let peer = Peer {
            principal: self.principal.clone(),
            session,
            defaults: Defaults::default(),
            names: None,
            mirror,
            turns: None,
        };
        let link = Link::default();
        let reply = self.runner.block_on(self.service.handle(&peer, text, &link));
        for session in peer.session.iter().chain(&reply.opened) {
            self.service.end(session, &self.principal);
        }
        let Some(answer) = reply.message else { return };
        let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
        let is_message = |message: &Value| message["jsonrpc"] == "2.0";
        let whole = answer.as_array().map_or(is_message(&answer), |all| all.iter().all(is_message));
        assert!(whole, "an answer is made of messages: {answer}");
    }
}
