//! Who wants to know hears that something has changed, whoever changed it: here
//! it is always another process that writes.

use serde_json::{Value, json};

use crate::support::{
    EventStream, HttpClient, Library, McpClient, Server, StdioClient, WebSocketClient,
    with_client_meta,
};

/// Somebody who is told things without having asked.
trait Listener {
    /// The next message.
    fn next_message(&mut self) -> Value;

    /// The URI of the resource that has changed, which is what is told next.
    fn changed(&mut self) -> String {
        let news = self.next_message();
        assert_eq!(news["method"], "notifications/resources/updated", "{news}");
        news["params"]["uri"].as_str().unwrap().to_owned()
    }
}

impl Listener for EventStream {
    fn next_message(&mut self) -> Value {
        self.expect_message()
    }
}

impl Listener for &WebSocketClient {
    fn next_message(&mut self) -> Value {
        self.read_message()
    }
}

impl Listener for &StdioClient {
    fn next_message(&mut self) -> Value {
        self.read_message()
    }
}

/// A library of documents that are numbered from 1.
fn numbered(count: usize) -> Library {
    let library = Library::new();
    for number in 1..=count {
        write(&library, number, "A pebble.");
    }
    library
}

/// Writes the document of that number, or writes it anew.
fn write(library: &Library, number: usize, text: &str) {
    library.import_file("media", &format!("{number}.txt"), format!("Beach {number}: {text}"));
}

fn uri(number: usize) -> Value {
    json!({ "uri": format!("media://{number}") })
}

/// Subscribes to two documents of three, and hears what it should.
fn hears(library: &Library, caller: &impl McpClient, mut listener: impl Listener) {
    for number in [1, 3] {
        assert_eq!(caller.call_method("resources/subscribe", &uri(number)), json!({}));
    }
    write(library, 1, "Sand.");
    assert_eq!(listener.changed(), "media://1");
    // Nobody asked for this one, and the same again is no change.
    write(library, 2, "Sand.");
    write(library, 1, "Sand.");
    write(library, 3, "Sand.");
    assert_eq!(listener.changed(), "media://3");
    assert_eq!(caller.call_method("resources/unsubscribe", &uri(1)), json!({}));
    write(library, 1, "Water.");
    write(library, 3, "Water.");
    assert_eq!(listener.changed(), "media://3");
    write(library, 3, "Wind.");
    assert_eq!(listener.changed(), "media://3");
}

#[test]
fn a_session_hears_on_its_stream_of_what_it_subscribed_to() {
    let library = numbered(3);
    let server = library.serve();
    let session = server.open_session();
    hears(&library, &session, session.open_notification_stream());
}

#[test]
fn a_socket_hears_of_what_it_subscribed_to() {
    let library = numbered(3);
    let server = library.serve();
    let socket = server.open_websocket();
    hears(&library, &socket, &socket);
}

#[test]
fn a_pipe_hears_of_what_it_subscribed_to() {
    let library = numbered(3);
    let pipe = library.open_stdio();
    hears(&library, &pipe, &pipe);
    assert_eq!(pipe.close_input(), (vec![], Some(0)));
}

#[test]
fn what_comes_to_be_has_changed_and_so_have_the_lists_that_name_it() {
    let library = Library::new();
    let server = library.serve();
    let session = server.open_session();
    let mut news = session.open_notification_stream();
    session.call_method("resources/subscribe", &uri(1));
    session.call_method("resources/subscribe", &json!({ "uri": "media://types" }));
    write(&library, 1, "A pebble.");
    let mut changed = [news.changed(), news.changed()];
    changed.sort();
    assert_eq!(changed, ["media://1", "media://types"]);
    library.import_file("prompts", "one.csv", "act,prompt\n\"Beach\",\"A pebble.\"\n");
    session.call_method("resources/subscribe", &json!({ "uri": "prompts://1" }));
    library.import_file("prompts", "one.csv", "act,prompt\n\"Beach\",\"Sand.\"\n");
    assert_eq!(news.changed(), "prompts://1");
}

fn listen(id: &str, numbers: &[usize]) -> Value {
    let uris: Vec<String> = numbers.iter().map(|number| format!("media://{number}")).collect();
    json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": {
        "notifications": { "resourceSubscriptions": uris },
    }})
}

/// Hears of one document of two under the subscription `id`.
fn hears_alone(library: &Library, id: &str, mut listener: impl Listener) {
    let about = json!({ "io.modelcontextprotocol/subscriptionId": id });
    let agreed = listener.next_message();
    assert_eq!(agreed["method"], "notifications/subscriptions/acknowledged", "{agreed}");
    assert_eq!(agreed["params"]["_meta"], about);
    for text in ["Sand.", "Water."] {
        write(library, 2, text);
        write(library, 1, text);
        let news = listener.next_message();
        assert_eq!(news["params"], json!({ "uri": "media://1", "_meta": about }), "{news}");
    }
}

#[test]
fn who_listens_over_http_hears_of_what_it_named_until_it_hangs_up() {
    let library = numbered(2);
    let server = library.serve();
    hears_alone(&library, "a", server.stateless_client().stream(&listen("a", &[1])));
    server.assert_alive();
}

#[test]
fn who_listens_on_a_pipe_or_a_socket_hears_until_it_takes_that_back() {
    let library = numbered(2);
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "a" },
    });
    let ping = json!({ "jsonrpc": "2.0", "id": "b", "method": "tools/list", "params": {} });
    let pipe = library.open_stdio();
    pipe.write_line(&with_client_meta(&listen("a", &[1])).to_string());
    hears_alone(&library, "a", &pipe);
    pipe.write_line(&cancelled.to_string());
    write(&library, 1, "Wind.");
    assert_eq!(pipe.exchange(&with_client_meta(&ping))["id"], "b");
    let server: Server = library.serve();
    let socket = server.open_websocket();
    socket.send_message(&with_client_meta(&listen("a", &[1])));
    hears_alone(&library, "a", &socket);
    socket.send_message(&cancelled);
    write(&library, 1, "Rain.");
    assert_eq!(socket.exchange(&with_client_meta(&ping))["id"], "b");
}

#[test]
fn no_user_hears_of_what_another_changes() {
    let library = Library::new();
    let (ada, eve) =
        (library.serve_with(&["--user", "ada"]), library.serve_with(&["--user", "eve"]));
    hear_of_their_own(&library, &ada.open_session(), &eve.open_session());
}

#[test]
fn no_user_of_one_server_hears_of_what_another_changes() {
    let library = Library::new();
    let (ada, eve) = (library.create_key("ada"), library.create_key("eve"));
    let server = library.serve_multi_user("");
    let session = |key: &str| server.client().with_bearer_token(key).initialize_session();
    hear_of_their_own(&library, &session(&ada), &session(&eve));
}

/// Two users change what has the same URI for both, and hear of their own.
fn hear_of_their_own(library: &Library, ada: &HttpClient<'_>, eve: &HttpClient<'_>) {
    let write = |user: &str, text: &str| library.import_for_user(user, "media", "one.txt", text);
    let (mut adas, mut eves) = (ada.open_notification_stream(), eve.open_notification_stream());
    for session in [ada, eve] {
        session.call_method("resources/subscribe", &uri(1));
        session.call_method("resources/subscribe", &json!({ "uri": "media://types" }));
    }
    let types = |session: &HttpClient<'_>| {
        session.call_method("resources/read", &json!({ "uri": "media://types" }))
    };
    let nothing = types(eve);
    write("ada", "A pebble.");
    let mut changed = [adas.changed(), adas.changed()];
    changed.sort();
    assert_eq!(changed, ["media://1", "media://types"]);
    assert_eq!(types(eve), nothing);
    write("ada", "Sand.");
    assert_eq!(adas.changed(), "media://1");
    // The first that eve hears of is her own: both come to be at once.
    write("eve", "A feather.");
    let mut changed = [eves.changed(), eves.changed()];
    changed.sort();
    assert_eq!(changed, ["media://1", "media://types"]);
    write("eve", "Sand.");
    assert_eq!(eves.changed(), "media://1");
    write("ada", "Water.");
    assert_eq!(adas.changed(), "media://1");
}
