//! Fuzzing of messages with the complete server except its sockets.
#![expect(clippy::expect_used, reason = "a panic is a finding of the fuzzer")]

use actix::SystemRunner;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::sample_library;
use crate::app::App;
use vademecum_core::{
    auth::{Principal, local_principal},
    config::{Limits, PublicUrl, Settings, Storage, Tools},
};
use vademecum_mcp::{MessageHeaders, Outbound, Peer, RequestDefaults, Service};

/// The server, the actor system it runs in, and its temporary data folder.
struct FuzzedServer {
    runner: SystemRunner,
    service: Service,
    principal: Principal,
    _folder: TempDir,
}

thread_local! {
    static SERVER: FuzzedServer = FuzzedServer::start();
}

/// Sends one message twice: over HTTP, and on a stateful connection.
pub(super) fn fuzz_message(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    SERVER.with(|server| {
        server.check_reply(text, Some(MessageHeaders::default()));
        server.check_reply(text, None);
    });
}

/// Calls the tool named in the first line with the arguments in the other lines.
pub(super) fn fuzz_arguments(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (tool, arguments) = text.split_once('\n').unwrap_or(("knowledge.search", text));
    // Input that is not JSON never reaches a tool.
    let Ok(arguments) = serde_json::from_str::<Value>(arguments) else { return };
    let params = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    SERVER.with(|server| server.check_reply(&call.to_string(), Some(MessageHeaders::default())));
}

impl FuzzedServer {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let storage = Storage { data: Some(folder.path().to_owned()), ..Storage::default() };
        sample_library::create_sources(&folder.path().join("users").join(&storage.user));
        let user = storage.user.parse().expect("the default user is valid");
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
        let server_state = runner.block_on(async {
            App::new(settings).and_then(|app| app.server_state(PublicUrl::localhost()))
        });
        let service = server_state.expect("the server of one user").service;
        Self { runner, service, principal: local_principal(user), _folder: folder }
    }

    /// Sends a message and asserts that the reply consists of JSON-RPC messages. Without `replica`,
    /// it is sent on a connection with a session.
    fn check_reply(&self, text: &str, replica: Option<MessageHeaders>) {
        let session = replica.is_none().then(|| self.service.connect_session(&self.principal));
        let peer = Peer {
            principal: self.principal.clone(),
            session,
            defaults: RequestDefaults::default(),
            ignored_config: Vec::new(),
            name_style: None,
            headers: replica,
            call_permits: None,
            connection: None,
        };
        let link = Outbound::default();
        let reply = self.runner.block_on(self.service.handle(&peer, text, &link));
        for session in peer.session.iter().chain(&reply.opened_session) {
            self.service.end_session(session, &self.principal);
        }
        let Some(answer) = reply.message else { return };
        let answer: Value = serde_json::from_str(&answer).expect("the reply is JSON");
        let is_message = |message: &Value| message["jsonrpc"] == "2.0";
        let whole = answer.as_array().map_or(is_message(&answer), |all| all.iter().all(is_message));
        assert!(whole, "the reply consists of messages: {answer}");
    }
}
