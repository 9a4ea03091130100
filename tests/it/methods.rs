//! Every method in every protocol revision that has it, over every transport.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, claude_conversation, with_client_meta};

const SESSION_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Creates a library with a note and a conversation.
fn sample_library() -> Library {
    let library = Library::with_lanterns();
    let conversation = claude_conversation("Prisms", [("human", "What do prisms do?")]);
    library.import_file("chats", "chat.json", conversation.to_string());
    library
}

/// A wrapper that adds the metadata of the revision without sessions to each request, over any
/// transport.
struct StatelessWrapper<'a>(&'a dyn McpClient);

impl McpClient for StatelessWrapper<'_> {
    fn exchange(&self, request: &Value) -> Value {
        self.0.exchange(&with_client_meta(request))
    }
}

/// Initializes the connection with a protocol revision.
fn initialize(caller: &dyn McpClient, revision: &str) {
    let agreed = caller.call_method(
        "initialize",
        &json!({
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }),
    );
    assert_eq!(agreed["protocolVersion"], revision);
}

/// Calls the methods that all revisions have.
fn check_common_methods(caller: &dyn McpClient) {
    for (method, field) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert!(caller.call_method(method, &json!({}))[field].is_array(), "{method}");
    }
    let found = caller.call_tool("knowledge.search", &json!({ "query": "prisms" }));
    let uri = &found["results"][0]["uri"];
    let read = caller.call_method("resources/read", &json!({ "uri": uri }));
    assert_eq!(read["contents"][0]["uri"], *uri);
    let about = json!({
        "ref": { "type": "ref/resource", "uri": "notes://{id}" },
        "argument": { "name": "id", "value": "" },
    });
    let completed = caller.call_method("completion/complete", &about);
    assert!(completed["completion"]["values"].is_array(), "{completed}");
    let conversation =
        caller.call_tool("chats.search", &json!({ "query": "prisms" }))["results"][0].take();
    for prompt in caller.call_method("prompts/list", &json!({}))["prompts"].as_array().unwrap() {
        let given = prompt["arguments"].as_array().cloned().unwrap_or_default();
        let arguments: Value = given
            .iter()
            .map(|argument| match argument["name"].as_str().unwrap() {
                "id" => ("id".to_owned(), conversation["conversation_id"].clone()),
                name => (name.to_owned(), json!("prisms")),
            })
            .collect();
        let prompt_request = json!({ "name": prompt["name"], "arguments": arguments });
        assert!(
            caller.call_method("prompts/get", &prompt_request)["messages"].is_array(),
            "{prompt}"
        );
    }
    assert!(
        caller.expect_tool_error("knowledge.search", &json!({ "query": "" })).contains("query")
    );
    assert_eq!(caller.expect_error("odd", &json!({})).0, -32_601);
}

/// Calls the methods that only revisions with sessions have; `alone` must reject them.
fn check_session_methods(caller: &dyn McpClient, alone: &dyn McpClient) {
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({ "level": "warning" })),
        ("resources/subscribe", json!({ "uri": "media://types" })),
        ("resources/unsubscribe", json!({ "uri": "media://types" })),
    ] {
        assert_eq!(caller.call_method(method, &params), json!({}), "{method}");
        let (code, message) = alone.expect_error(method, &params);
        assert!(code == -32_601 && message.contains(method), "{message}");
    }
}

#[test]
fn websocket_serves_every_method_in_every_revision() {
    let server = sample_library().serve();
    for revision in SESSION_REVISIONS {
        let socket = server.open_websocket();
        initialize(&socket, revision);
        check_common_methods(&socket);
        check_session_methods(&socket, &StatelessWrapper(&socket));
    }
    let socket = server.open_websocket();
    check_common_methods(&StatelessWrapper(&socket));
    assert!(
        StatelessWrapper(&socket).call_method("server/discover", &json!({}))["supportedVersions"]
            .is_array()
    );
}

#[test]
fn stdio_serves_every_method_in_every_revision() {
    let library = sample_library();
    for revision in SESSION_REVISIONS {
        let pipe = library.open_stdio();
        initialize(&pipe, revision);
        check_common_methods(&pipe);
        check_session_methods(&pipe, &StatelessWrapper(&pipe));
    }
    let pipe = library.open_stdio();
    check_common_methods(&StatelessWrapper(&pipe));
    assert!(
        StatelessWrapper(&pipe).call_method("server/discover", &json!({}))["supportedVersions"]
            .is_array()
    );
}

#[test]
fn http_serves_every_method_in_every_revision() {
    let server = sample_library().serve();
    for revision in SESSION_REVISIONS {
        let client = server.open_session_with(&json!({
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }));
        check_common_methods(&client);
        check_session_methods(&client, &server.stateless_client());
    }
    check_common_methods(&server.stateless_client());
    assert!(
        server.stateless_client().call_method("server/discover", &json!({}))["supportedVersions"]
            .is_array()
    );
}

#[test]
fn subscription_is_acknowledged_first() {
    let server = sample_library().serve();
    let socket = server.open_websocket();
    let wishes = json!({ "notifications": { "resourceSubscriptions": ["media://types"] } });
    let listen = json!({ "jsonrpc": "2.0", "id": "news", "method": "subscriptions/listen", "params": wishes });
    socket.send_message(&with_client_meta(&listen));
    let acknowledgement = socket.read_message();
    assert_eq!(
        acknowledgement["method"], "notifications/subscriptions/acknowledged",
        "{acknowledgement}"
    );
    assert_eq!(
        acknowledgement["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "news"
    );
}
