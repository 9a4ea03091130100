//! Every method, in every revision that has it, over every transport.

use serde_json::{Value, json};

use crate::program::{Caller, Library, conversation, with_meta};

const WITH_SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A library with a note and a conversation.
fn library() -> Library {
    let library = Library::lanterns();
    let talk = conversation("Prisms", [("human", "What do prisms do?")]);
    library.import("chats", "chat.json", talk.to_string());
    library
}

/// A caller whose every request stands for itself, whatever it is connected by.
struct Alone<'a>(&'a dyn Caller);

impl Caller for Alone<'_> {
    fn exchange(&self, request: &Value) -> Value {
        self.0.exchange(&with_meta(request))
    }
}

/// Agrees on a revision.
fn shake_hands(caller: &dyn Caller, revision: &str) {
    let agreed = caller.ask(
        "initialize",
        &json!({
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }),
    );
    assert_eq!(agreed["protocolVersion"], revision);
}

/// What all revisions have.
fn ask_for_everything(caller: &dyn Caller) {
    for (method, field) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert!(caller.ask(method, &json!({}))[field].is_array(), "{method}");
    }
    let found = caller.call("knowledge.search", &json!({ "query": "prisms" }));
    let uri = &found["results"][0]["uri"];
    let read = caller.ask("resources/read", &json!({ "uri": uri }));
    assert_eq!(read["contents"][0]["uri"], *uri);
    let about = json!({
        "ref": { "type": "ref/resource", "uri": "notes://{id}" },
        "argument": { "name": "id", "value": "" },
    });
    let completed = caller.ask("completion/complete", &about);
    assert!(completed["completion"]["values"].is_array(), "{completed}");
    let talk = caller.call("chats.search", &json!({ "query": "prisms" }))["results"][0].take();
    for prompt in caller.ask("prompts/list", &json!({}))["prompts"].as_array().unwrap() {
        let given = prompt["arguments"].as_array().cloned().unwrap_or_default();
        let arguments: Value = given
            .iter()
            .map(|argument| match argument["name"].as_str().unwrap() {
                "id" => ("id".to_owned(), talk["conversation_id"].clone()),
                name => (name.to_owned(), json!("prisms")),
            })
            .collect();
        let asked = json!({ "name": prompt["name"], "arguments": arguments });
        assert!(caller.ask("prompts/get", &asked)["messages"].is_array(), "{prompt}");
    }
    assert!(caller.refuses("knowledge.search", &json!({ "query": "" })).contains("query"));
    assert_eq!(caller.fails("odd", &json!({})).0, -32_601);
}

/// What only revisions with sessions have.
fn ask_for_what_sessions_have(caller: &dyn Caller, alone: &dyn Caller) {
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({ "level": "warning" })),
        ("resources/subscribe", json!({ "uri": "media://types" })),
        ("resources/unsubscribe", json!({ "uri": "media://types" })),
    ] {
        assert_eq!(caller.ask(method, &params), json!({}), "{method}");
        let (code, message) = alone.fails(method, &params);
        assert!(code == -32_601 && message.contains(method), "{message}");
    }
}

#[test]
fn every_method_is_answered_in_every_revision_over_a_websocket() {
    let server = library().serve();
    for revision in WITH_SESSIONS {
        let socket = server.socket();
        shake_hands(&socket, revision);
        ask_for_everything(&socket);
        ask_for_what_sessions_have(&socket, &Alone(&socket));
    }
    let socket = server.socket();
    ask_for_everything(&Alone(&socket));
    assert!(Alone(&socket).ask("server/discover", &json!({}))["supportedVersions"].is_array());
}

#[test]
fn every_method_is_answered_in_every_revision_over_a_pipe() {
    let library = library();
    for revision in WITH_SESSIONS {
        let pipe = library.pipe();
        shake_hands(&pipe, revision);
        ask_for_everything(&pipe);
        ask_for_what_sessions_have(&pipe, &Alone(&pipe));
    }
    let pipe = library.pipe();
    ask_for_everything(&Alone(&pipe));
    assert!(Alone(&pipe).ask("server/discover", &json!({}))["supportedVersions"].is_array());
}

#[test]
fn every_method_is_answered_in_every_revision_over_http() {
    let server = library().serve();
    for revision in WITH_SESSIONS {
        let client = server.session_with(&json!({
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }));
        ask_for_everything(&client);
        ask_for_what_sessions_have(&client, &server.alone());
    }
    ask_for_everything(&server.alone());
    assert!(server.alone().ask("server/discover", &json!({}))["supportedVersions"].is_array());
}

#[test]
fn who_listens_is_told_first_what_will_be_told() {
    let server = library().serve();
    let socket = server.socket();
    let wishes = json!({ "notifications": { "resourceSubscriptions": ["media://types"] } });
    let listen = json!({ "jsonrpc": "2.0", "id": "news", "method": "subscriptions/listen", "params": wishes });
    socket.send(&with_meta(&listen));
    let told = socket.message();
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged", "{told}");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "news");
}
