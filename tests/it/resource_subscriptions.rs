//! End-to-end tests of resource subscriptions: subscribers are notified of a change, even if
//! another process makes it, as in all tests here.

use serde_json::{Value, json};

use crate::support::{
    EventStream, HttpClient, Library, McpClient, Server, StdioClient, WebSocketClient,
    json_rpc_request, with_client_meta,
};

/// Reads messages that a server sends without a request.
trait NotificationReader {
    /// Returns the next message.
    fn next_message(&mut self) -> Value;

    /// Reads the next message, which must be an update notification, and returns the URI in it.
    fn next_changed_uri(&mut self) -> String {
        let news = self.next_message();
        assert_eq!(news["method"], "notifications/resources/updated", "{news}");
        news["params"]["uri"].as_str().unwrap().to_owned()
    }
}

impl NotificationReader for EventStream {
    fn next_message(&mut self) -> Value {
        self.expect_message()
    }
}

impl NotificationReader for &WebSocketClient {
    fn next_message(&mut self) -> Value {
        self.read_message()
    }
}

impl NotificationReader for &StdioClient {
    fn next_message(&mut self) -> Value {
        self.read_message()
    }
}

/// Creates a library of media documents with the ids 1 to `count`.
fn numbered_documents(count: usize) -> Library {
    let library = Library::new();
    for number in 1..=count {
        write_document(&library, number, "A pebble.");
    }
    library
}

/// Creates or replaces the document with this number.
fn write_document(library: &Library, number: usize, text: &str) {
    library.import_file("media", &format!("{number}.txt"), format!("Beach {number}: {text}"));
}

fn uri_params(number: usize) -> Value {
    json!({ "uri": format!("media://{number}") })
}

/// Subscribes to two of three documents and asserts that the expected notifications arrive.
fn assert_subscription_notifications(
    library: &Library,
    caller: &impl McpClient,
    mut listener: impl NotificationReader,
) {
    for number in [1, 3] {
        assert_eq!(caller.call_method("resources/subscribe", &uri_params(number)), json!({}));
    }
    write_document(library, 1, "Sand.");
    assert_eq!(listener.next_changed_uri(), "media://1");
    // Document 2 has no subscription, and importing identical content is not a change.
    write_document(library, 2, "Sand.");
    write_document(library, 1, "Sand.");
    write_document(library, 3, "Sand.");
    assert_eq!(listener.next_changed_uri(), "media://3");
    assert_eq!(caller.call_method("resources/unsubscribe", &uri_params(1)), json!({}));
    write_document(library, 1, "Water.");
    write_document(library, 3, "Water.");
    assert_eq!(listener.next_changed_uri(), "media://3");
    write_document(library, 3, "Wind.");
    assert_eq!(listener.next_changed_uri(), "media://3");
}

#[test]
fn session_stream_receives_subscribed_changes() {
    let library = numbered_documents(3);
    let server = library.serve();
    let session = server.open_session();
    assert_subscription_notifications(&library, &session, session.open_notification_stream());
}

#[test]
fn socket_receives_subscribed_changes() {
    let library = numbered_documents(3);
    let server = library.serve();
    let socket = server.open_websocket();
    assert_subscription_notifications(&library, &socket, &socket);
}

#[test]
fn pipe_receives_subscribed_changes() {
    let library = numbered_documents(3);
    let pipe = library.open_stdio();
    assert_subscription_notifications(&library, &pipe, &pipe);
    assert_eq!(pipe.close_input(), (vec![], Some(0)));
}

#[test]
fn creation_notifies_item_and_list_subscribers() {
    let library = Library::new();
    let server = library.serve();
    let session = server.open_session();
    let mut news = session.open_notification_stream();
    session.call_method("resources/subscribe", &uri_params(1));
    session.call_method("resources/subscribe", &json!({ "uri": "media://types" }));
    write_document(&library, 1, "A pebble.");
    let mut changed = [news.next_changed_uri(), news.next_changed_uri()];
    changed.sort();
    assert_eq!(changed, ["media://1", "media://types"]);
    library.import_file("prompts", "one.csv", "act,prompt\n\"Beach\",\"A pebble.\"\n");
    session.call_method("resources/subscribe", &json!({ "uri": "prompts://1" }));
    library.import_file("prompts", "one.csv", "act,prompt\n\"Beach\",\"Sand.\"\n");
    assert_eq!(news.next_changed_uri(), "prompts://1");
}

fn listen_request(id: &str, numbers: &[usize]) -> Value {
    let uris: Vec<String> = numbers.iter().map(|number| format!("media://{number}")).collect();
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": {
        "notifications": { "resourceSubscriptions": uris },
    }})
}

/// Asserts that the listener is notified of one of two documents under the subscription `id`.
fn assert_listen_notifications(library: &Library, id: &str, mut listener: impl NotificationReader) {
    let about = json!({ "io.modelcontextprotocol/subscriptionId": id });
    let agreed = listener.next_message();
    assert_eq!(agreed["method"], "notifications/subscriptions/acknowledged", "{agreed}");
    assert_eq!(agreed["params"]["_meta"], about);
    for text in ["Sand.", "Water."] {
        write_document(library, 2, text);
        write_document(library, 1, text);
        let news = listener.next_message();
        assert_eq!(news["params"], json!({ "uri": "media://1", "_meta": about }), "{news}");
    }
}

#[test]
fn http_listener_is_notified_until_disconnect() {
    let library = numbered_documents(2);
    let server = library.serve();
    assert_listen_notifications(
        &library,
        "a",
        server.stateless_client().stream(&listen_request("a", &[1])),
    );
    server.assert_alive();
}

#[test]
fn pipe_and_socket_listeners_notified_until_cancelled() {
    let library = numbered_documents(2);
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "a" },
    });
    let ping = json!({ "jsonrpc": "2.0", "id": "b", "method": "tools/list", "params": {} });
    let pipe = library.open_stdio();
    pipe.write_line(&with_client_meta(&listen_request("a", &[1])).to_string());
    assert_listen_notifications(&library, "a", &pipe);
    pipe.write_line(&cancelled.to_string());
    write_document(&library, 1, "Wind.");
    assert_eq!(pipe.exchange(&with_client_meta(&ping))["id"], "b");
    let server: Server = library.serve();
    let socket = server.open_websocket();
    socket.send_message(&with_client_meta(&listen_request("a", &[1])));
    assert_listen_notifications(&library, "a", &socket);
    socket.send_message(&cancelled);
    write_document(&library, 1, "Rain.");
    assert_eq!(socket.exchange(&with_client_meta(&ping))["id"], "b");
}

#[test]
fn servers_notify_only_about_own_user() {
    let library = Library::new();
    let (ada, eve) =
        (library.serve_with(&["--user", "ada"]), library.serve_with(&["--user", "eve"]));
    assert_separate_notifications(&library, &ada.open_session(), &eve.open_session());
}

#[test]
fn shared_server_notifies_users_separately() {
    let library = Library::new();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("");
    let session = |key: &str| server.client().with_bearer_token(key).initialize_session();
    assert_separate_notifications(&library, &session(&ada), &session(&eve));
}

#[test]
fn session_subscriptions_are_limited_per_session_and_user() {
    let library = numbered_documents(1);
    let server = library
        .serve_with_settings("[limits]\nsubscriptions_per_session = 3\nsubscriptions_per_user = 5");
    let (one, other) = (server.open_session(), server.open_session());
    for number in [1, 2, 3, 3, 1] {
        assert_eq!(one.call_method("resources/subscribe", &uri_params(number)), json!({}));
    }
    let refusal = |session: &HttpClient<'_>, number| {
        let request = json_rpc_request("resources/subscribe", &uri_params(number));
        let response = session.send(&request);
        assert_eq!(response.status, 429, "{response:?}");
        response.json()["error"]["message"].as_str().unwrap().to_owned()
    };
    assert!(refusal(&one, 4).contains("a session has at most 3 subscriptions"));
    for number in [1, 2] {
        other.call_method("resources/subscribe", &uri_params(number));
    }
    assert!(refusal(&other, 3).contains("a user has at most 5 subscriptions"));
    one.call_method("resources/unsubscribe", &uri_params(3));
    other.call_method("resources/subscribe", &uri_params(3));
    // The subscriptions of an ended session are free again.
    assert_eq!(
        server.request("DELETE", "/mcp").header("mcp-session-id", other.session_id()).send().status,
        204
    );
    let third = server.open_session();
    for number in [1, 2, 3] {
        third.call_method("resources/subscribe", &uri_params(number));
    }
}

#[test]
fn listener_subscriptions_are_limited() {
    let library = numbered_documents(1);
    let server = library.serve_with_settings("[limits]\nsubscriptions_per_session = 3");
    let request = with_client_meta(&listen_request("a", &[1, 2, 3, 4]));
    let answer = server.open_websocket().exchange(&request);
    let problem = answer["error"]["message"].as_str().unwrap();
    assert!(problem.contains("a session has at most 3 subscriptions"), "{answer}");
}

#[test]
fn other_users_limit_is_separate() {
    let library = Library::new();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("[limits]\nsubscriptions_per_user = 1");
    let subscribe = |key: &str| {
        let session = server.client().with_bearer_token(key).initialize_session();
        session.send(&json_rpc_request("resources/subscribe", &uri_params(1))).status
    };
    assert_eq!([subscribe(&ada), subscribe(&ada), subscribe(&eve)], [200, 429, 200]);
}

/// Two users change a document that has the same URI for both; each is notified only of their own
/// changes.
fn assert_separate_notifications(library: &Library, ada: &HttpClient<'_>, eve: &HttpClient<'_>) {
    let write = |user: &str, text: &str| library.import_for_user(user, "media", "one.txt", text);
    let (mut adas, mut eves) = (ada.open_notification_stream(), eve.open_notification_stream());
    for session in [ada, eve] {
        session.call_method("resources/subscribe", &uri_params(1));
        session.call_method("resources/subscribe", &json!({ "uri": "media://types" }));
    }
    let types = |session: &HttpClient<'_>| {
        session.call_method("resources/read", &json!({ "uri": "media://types" }))
    };
    let nothing = types(eve);
    write("ada", "A pebble.");
    let mut changed = [adas.next_changed_uri(), adas.next_changed_uri()];
    changed.sort();
    assert_eq!(changed, ["media://1", "media://types"]);
    assert_eq!(types(eve), nothing);
    write("ada", "Sand.");
    assert_eq!(adas.next_changed_uri(), "media://1");
    // The first change that eve is notified of is her own. It creates both resources.
    write("eve", "A feather.");
    let mut changed = [eves.next_changed_uri(), eves.next_changed_uri()];
    changed.sort();
    assert_eq!(changed, ["media://1", "media://types"]);
    write("eve", "Sand.");
    assert_eq!(eves.next_changed_uri(), "media://1");
    write("ada", "Water.");
    assert_eq!(adas.next_changed_uri(), "media://1");
}
