//! `vademecum mcp` and commands beside a running server: they use it, and outlive it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    process::Command,
};

use serde_json::{Value, json};

use crate::support::{
    Library, McpClient, Server, StdioClient, child_processes, terminate, wait_until,
};

/// Returns the address of a hit, as the server gives it; empty without a server.
fn hit_url(client: &StdioClient) -> String {
    let found = client.call_tool("search", &json!({ "query": "prisms" }));
    found["results"][0]["url"].as_str().unwrap().to_owned()
}

fn is_of(server: &Server, url: &str) -> bool {
    url.starts_with(&format!("http://{}/", server.address()))
}

fn initialize(client: &StdioClient) {
    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" }
    });
    let answer = client.call_method("initialize", &params);
    assert_eq!(answer["serverInfo"]["name"], "vademecum");
    client.write_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
}

/// Returns whether a process has opened a database.
fn has_databases(process: u32) -> bool {
    let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let targets = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    targets.into_iter().any(|file| file.extension().is_some_and(|end| end == "db"))
}

/// Sends a search with this id, without waiting for the reply.
fn send_search(client: &StdioClient, id: u32) {
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "knowledge.search", "arguments": { "query": "lantern" },
    }});
    client.write_line(&call.to_string());
}

#[test]
fn stdio_client_shares_running_server() {
    let library = Library::with_lanterns();
    let alone = library.open_stdio();
    assert_eq!(hit_url(&alone), "");
    assert!(has_databases(alone.process()));
    let server = library.serve();
    let clients = [library.open_stdio(), library.open_stdio_with(&["--tool-names", "underscored"])];
    for client in &clients {
        initialize(client);
        assert!(is_of(&server, &hit_url(client)), "{}", hit_url(client));
        assert!(!has_databases(client.process()), "the server has the only writer");
    }
    let tools = clients[1].call_method("tools/list", &json!({}));
    assert_eq!(tools["tools"][0]["name"], "knowledge_search", "{tools}");
    let [one, other] = clients;
    assert_eq!(one.close_input(), (Vec::new(), Some(0)));
    assert_eq!(hit_url(&library.open_stdio_with(&["--alone"])), "");
    // Each connection is a session, with items of its own that were shown.
    assert!(is_of(&server, &hit_url(&library.open_stdio())));
    assert!(is_of(&server, &hit_url(&other)));
}

#[test]
fn commands_use_running_server() {
    let library = Library::with_lanterns();
    let server = library.serve();
    for (tool, command) in [
        ("knowledge.search", &["search", "prisms"][..]),
        ("knowledge.list", &["list", "--limit", "1"]),
    ] {
        let done = library.run(command);
        assert!(done.code == 0 && done.stdout.contains("://"), "{done:?}");
        let metrics = server.request("GET", "/metrics").send().body;
        let count = format!("vademecum_tool_calls_total{{outcome=\"ok\",tool=\"{tool}\"}} 1\n");
        assert!(metrics.contains(&count), "{tool}: {metrics}");
    }
    drop(server);
    assert!(library.run(&["search", "prisms"]).stdout.contains("notes://"));
}

#[test]
fn killed_server_leaves_nothing_stale() {
    let library = Library::with_lanterns();
    let first = library.serve();
    let client = library.open_stdio();
    initialize(&client);
    assert!(is_of(&first, &hit_url(&client)));
    drop(first);
    assert!(library.data_folder().join("server.sock").exists(), "it was killed");
    // The session goes on, without a server and without a second handshake.
    wait_until("a program", || !child_processes(client.process()).is_empty());
    assert_eq!(hit_url(&client), "");
    let [child] = &child_processes(client.process())[..] else { panic!("one program") };
    assert!(has_databases(child.id));
    let second = library.serve();
    assert!(is_of(&second, &hit_url(&library.open_stdio())));
    assert_eq!(client.close_input(), (Vec::new(), Some(0)));
}

#[test]
fn relay_continues_at_next_server() {
    let library = Library::with_lanterns();
    let mut first = library.serve();
    let client = library.open_stdio();
    initialize(&client);
    let subscribe = json!({ "uri": "knowledge://stats" });
    client.call_method("resources/subscribe", &subscribe);
    terminate(first.process());
    first.wait_for_exit();
    assert!(!library.data_folder().join("server.sock").exists());
    let second = library.serve();
    assert!(is_of(&second, &hit_url(&client)));
    assert!(child_processes(client.process()).is_empty());
    assert_eq!(client.close_input(), (Vec::new(), Some(0)));
}

#[test]
fn request_of_killed_server_is_answered_once() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let client = library.open_stdio();
    initialize(&client);
    // The server takes the requests and answers none.
    let stop = ["-STOP", &server.process().to_string()].map(str::to_owned);
    assert!(Command::new("kill").args(stop).status().unwrap().success());
    (100..110).for_each(|id| send_search(&client, id));
    drop(server);
    let mut answered: Vec<u64> = (0..10)
        .map(|_| {
            let answer = client.read_message();
            assert_eq!(answer["error"]["code"], -32_603, "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains("the server ended"));
            answer["id"].as_u64().unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, (100..110).collect::<Vec<_>>());
    // Later requests are answered, once each, also when the client closes its side at once.
    (200..203).for_each(|id| send_search(&client, id));
    let (answers, code) = client.close_input();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((ids, code), (vec![200, 201, 202], Some(0)), "{answers:?}");
}

#[test]
fn closed_input_still_receives_every_reply() {
    let library = Library::with_lanterns();
    let _server = library.serve();
    let client = library.open_stdio();
    (0..200).for_each(|id| send_search(&client, id));
    let (answers, code) = client.close_input();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((ids, code), ((0..200).collect(), Some(0)));
    assert!(answers.iter().all(|answer| answer["result"]["isError"] == false), "{answers:?}");
}

#[test]
fn overlong_line_is_refused_by_relay() {
    let library = Library::new();
    let settings = library.write_file("settings.toml", "[server]\nmax_message_bytes = 500");
    let settings = ["--config", settings.to_str().unwrap()];
    let _server = library.serve_with(&settings);
    let client = library.open_stdio_with(&settings);
    client.write_line(&"{".repeat(501));
    let refused = client.read_message();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32_600)));
    assert_eq!(client.call_method("ping", &json!({})), json!({}));
    assert_eq!(client.close_input(), (Vec::new(), Some(0)));
}

#[test]
fn client_gets_nothing_that_its_settings_deny() {
    let library = Library::with_lanterns();
    let server = library.serve();
    let deny = library.write_file("deny.toml", "[[deny]]\nsources = [\"notes\"]\n");
    let deny = ["--config", deny.to_str().unwrap()];
    let client = library.open_stdio_with(&deny);
    let found = client.call_tool("knowledge.search", &json!({ "query": "lantern" }));
    let sources = found["results"].as_array().unwrap().iter().map(|hit| &hit["source"]);
    assert!(sources.into_iter().all(|source| source != "notes"), "{found}");
    assert!(client.close_and_read_log().contains("other settings"));
    // The hook of an agent neither.
    let recalled = library.run_with_input(
        &["recall", deny[0], deny[1]],
        r#"{ "prompt": "how do I trim the wick of the lantern prisms" }"#,
    );
    assert!(!recalled.stdout.contains("notes://"), "{recalled:?}");
    drop(server);
    // A server that denies shows its clients nothing either, while the user sees everything.
    let server = library.serve_with(&deny);
    let client = library.open_stdio_with(&deny);
    let found = client.call_tool("knowledge.search", &json!({ "query": "prisms" }));
    assert_eq!(found["results"], json!([]));
    let found = library.run(&["search", "prisms", "--json", deny[0], deny[1]]).parse_json();
    assert_eq!(found["results"][0]["source"], "notes", "{found}");
    drop(server);
}

/// Sends a first line to the local socket of a data folder and returns the answer.
fn say(folder: &Path, line: &str) -> String {
    let mut stream = UnixStream::connect(folder.join("server.sock")).unwrap();
    stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

#[test]
fn local_socket_needs_settings_and_token() {
    use std::os::unix::fs::PermissionsExt as _;

    let library = Library::with_lanterns();
    let settings = library.write_file("settings.toml", "[auth]\nlocal = \"token\"\n");
    let settings = ["--config", settings.to_str().unwrap()];
    let server = library.serve_with(&settings);
    assert!(is_of(&server, &hit_url(&library.open_stdio_with(&settings))));
    for line in
        ["", "GET / HTTP/1.1", "{}", r#"{"settings":""}"#, r#"{"settings":"x","token":"y"}"#]
    {
        let answer = say(&library.data_folder(), line);
        assert!(answer.starts_with(r#"{"refused":"#), "{line}: {answer}");
    }
    // With the right settings, a wrong token is refused.
    let token = library.data_folder().join("local.token");
    let right = fs::read_to_string(&token).unwrap();
    fs::write(&token, "w".repeat(right.len())).unwrap();
    let client = library.open_stdio_with(&settings);
    assert_eq!(hit_url(&client), "");
    assert!(client.close_and_read_log().contains("refused"));
    for name in ["server.sock", "server.lock"] {
        let mode = fs::metadata(library.data_folder().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(server.client().with_bearer_token(&right).ping().status, 200);
}

#[test]
fn socket_that_others_could_place_gets_nothing() {
    use std::os::unix::fs::PermissionsExt as _;

    let library = Library::with_lanterns();
    let listener = UnixListener::bind(library.data_folder().join("server.sock")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(library.data_folder(), open.clone()).unwrap();
    let client = library.open_stdio();
    assert_eq!(hit_url(&client), "");
    assert!(client.close_and_read_log().contains("is not that of this account"));
    fs::set_permissions(library.data_folder(), open).unwrap();
    assert_eq!(library.run(&["search", "prisms"]).code, 0);
    assert!(listener.accept().is_err(), "nothing was sent to it");
}

#[test]
fn second_server_leaves_socket_to_first() {
    let library = Library::with_lanterns();
    let first = library.serve();
    let second = library.serve();
    second.wait_for_log("another server serves this data folder already");
    assert!(is_of(&first, &hit_url(&library.open_stdio())));
    drop(second);
    assert!(is_of(&first, &hit_url(&library.open_stdio())));
}

#[test]
fn server_for_many_users_has_no_local_socket() {
    let library = Library::with_lanterns();
    library.create_key("ada");
    let settings = library.write_file("settings.toml", "[auth]\nmode = \"multi\"\n");
    let settings = ["--config", settings.to_str().unwrap()];
    let _server = library.serve_with(&settings);
    let client = library.open_stdio_with(&settings);
    assert_eq!(hit_url(&client), "");
    assert!(!library.data_folder().join("server.sock").exists());
    wait_until("a database", || has_databases(client.process()));
}
