//! What those who look after a server are told: figures, health, logs, traces; and
//! what they are never told.

#[cfg(unix)]
use std::process::Command;
use std::{fs, sync::mpsc::channel, time::Duration};

use serde_json::{Value, json};

use crate::program::{Caller, Library, Provider, Reply, Response, Server, request};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00f067aa0ba902b7";

fn traceparent(trace: &str) -> String {
    format!("00-{trace}-{PARENT}-01")
}

fn search(query: &str) -> Value {
    request("tools/call", &json!({ "name": "knowledge.search", "arguments": { "query": query } }))
}

/// The figures of a server.
struct Figures(String);

impl Figures {
    fn of(server: &Server) -> Self {
        let response = server.request("GET", "/metrics").send();
        assert_eq!(response.status, 200, "{response:?}");
        Self::read(response)
    }

    fn read(response: Response) -> Self {
        let format = response.header("content-type").unwrap();
        assert!(format.starts_with("text/plain; version=0.0.4"), "{format}");
        assert_eq!(response.header("cache-control"), Some("no-store"));
        // In chunks or not, each line of it is whole.
        Self(response.body)
    }

    /// The value of a series, by its name and labels as they are written.
    fn value(&self, series: &str) -> Option<f64> {
        let value = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok();
        self.0.lines().find_map(value)
    }

    fn tool(&self, outcome: &str, tool: &str) -> Option<f64> {
        let labels = format!("{{outcome=\"{outcome}\",tool=\"{tool}\"}}");
        self.value(&format!("vademecum_tool_calls_total{labels}"))
    }

    fn method(&self, method: &str, outcome: &str) -> Option<f64> {
        let labels = format!("{{method=\"{method}\",outcome=\"{outcome}\"}}");
        self.value(&format!("vademecum_requests_total{labels}"))
    }

    fn source(&self, outcome: &str, source: &str) -> Option<f64> {
        let labels = format!("{{outcome=\"{outcome}\",source=\"{source}\"}}");
        self.value(&format!("vademecum_source_requests_total{labels}"))
    }
}

#[test]
fn what_is_called_over_every_transport_is_counted() {
    let server = Library::lanterns().serve();
    let socket = server.socket();
    assert_eq!(Figures::of(&server).tool("ok", "knowledge.search"), Some(0.0));
    let lantern = json!({ "query": "lantern" });
    server.client().call("knowledge.search", &lantern);
    server.session().call("knowledge_search", &lantern);
    server.alone().call("knowledge.search", &lantern);
    socket.call("knowledge.search", &lantern);
    socket.call("notes.search", &lantern);
    socket.refuses("knowledge.search", &json!({ "query": "" }));
    let figures = Figures::of(&server);
    assert_eq!(figures.tool("ok", "knowledge.search"), Some(4.0), "{}", figures.0);
    assert_eq!(figures.tool("refused", "knowledge.search"), Some(1.0));
    assert_eq!(figures.tool("ok", "notes.search"), Some(1.0));
    let took = "vademecum_tool_call_duration_seconds";
    assert_eq!(figures.value(&format!("{took}_count{{tool=\"knowledge.search\"}}")), Some(5.0));
    let all = format!("{took}_bucket{{tool=\"knowledge.search\",le=\"+Inf\"}}");
    assert_eq!(figures.value(&all), Some(5.0));
    assert_eq!(figures.method("tools/call", "ok"), Some(5.0));
    assert_eq!(figures.method("tools/call", "refused"), Some(1.0));
    assert_eq!(figures.method("initialize", "ok"), Some(1.0));
    for source in ["notes", "media", "chats", "characters", "prompts"] {
        assert!(figures.source("ok", source).unwrap() >= 2.0, "{source}");
        assert_eq!(figures.source("failed", source), Some(0.0), "{source}");
    }
    assert_eq!(figures.value("vademecum_tool_calls_running"), Some(0.0));
}

#[test]
fn what_there_is_at_this_moment_is_read_when_it_is_asked_for() {
    let library = Library::lanterns();
    library.write("shop.db", "");
    let path = library.file("shop.db");
    let server = library.serve_set(&format!(
        "[profiles.shop]\nengine = \"sqlite\"\npath = \"{}\"\npool = 3",
        path.display()
    ));
    let before = Figures::of(&server);
    assert_eq!(before.value("vademecum_libraries"), Some(0.0), "{}", before.0);
    assert_eq!(before.value("vademecum_websocket_connections"), Some(0.0));
    let (socket, session) = (server.socket(), server.session());
    session.call("knowledge.search", &json!({ "query": "lantern" }));
    socket.result_of("query", &json!({ "profile": "shop", "sql": "SELECT 1" }));
    let figures = Figures::of(&server);
    assert_eq!(figures.value("vademecum_websocket_connections"), Some(1.0), "{}", figures.0);
    assert_eq!(figures.value("vademecum_sessions"), Some(2.0));
    assert_eq!(figures.value("vademecum_conversations"), Some(1.0));
    assert_eq!(figures.value("vademecum_libraries"), Some(1.0));
    assert_eq!(figures.value("vademecum_stores_open"), Some(3.0));
    assert_eq!(figures.value("vademecum_work_waiting"), Some(0.0));
    assert!(figures.value("vademecum_store_reader_waits_total").unwrap() >= 3.0);
    assert!(figures.value("vademecum_store_reader_wait_seconds_total").unwrap() > 0.0);
    let connections = "vademecum_database_connections{profile=\"shop\",state=\"busy\"}";
    assert_eq!(figures.value(connections), Some(0.0), "{}", figures.0);
    assert_eq!(figures.value("vademecum_database_waiting{profile=\"shop\"}"), Some(0.0));
    let version = format!("vademecum_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(figures.value(&version), Some(1.0));
    assert!(figures.value("process_start_time_seconds").unwrap() > 1.7e9);
    #[cfg(target_os = "linux")]
    {
        assert!(figures.value("process_resident_memory_bytes").unwrap() > 1e6);
        assert!(figures.value("process_open_fds").unwrap() > 3.0);
    }
}

#[test]
fn nothing_that_a_caller_makes_up_makes_a_series() {
    let server = Library::lanterns().serve();
    let lines = |figures: &Figures| figures.0.lines().count();
    server.client().call("knowledge.search", &json!({ "query": "lantern" }));
    let before = Figures::of(&server);
    for number in 0..20 {
        let name = format!("telltale.{number}");
        server.client().fails("tools/call", &json!({ "name": name, "arguments": {} }));
        server.client().fails(&name, &json!({}));
        server.client().call("knowledge.search", &json!({ "query": name }));
    }
    let after = Figures::of(&server);
    assert_eq!(after.method("other", "failed"), Some(20.0), "{}", after.0);
    assert_eq!(after.method("tools/call", "failed"), Some(20.0));
    assert_eq!(lines(&before), lines(&after), "{}", after.0);
    assert!(!after.0.contains("telltale"), "{}", after.0);
}

#[test]
fn figures_are_for_whoever_looks_after_the_server() {
    let library = Library::new();
    let (reader, admin) =
        (library.key("telltale"), library.key_with("operator", &["--scope", "admin"]));
    let server = library.serve_many("");
    let metrics = || server.request("GET", "/metrics");
    assert_eq!(metrics().send().status, 401);
    let refused = metrics().header("authorization", &format!("Bearer {reader}")).send();
    assert_eq!(refused.status, 403, "{refused:?}");
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("scope=\"admin\""));
    assert!(!refused.body.contains("vademecum_"), "{refused:?}");
    let told = metrics().header("authorization", &format!("Bearer {admin}")).send();
    assert_eq!(told.status, 200);
    let figures = Figures::read(told);
    for name in ["telltale", "operator", &reader[4..20], &admin[4..20]] {
        assert!(!figures.0.contains(name), "{}", figures.0);
    }
    let alone = library.serve();
    for path in ["/metrics", "/health/live", "/health/ready"] {
        assert_eq!(alone.request("GET", path).send().status, 200, "{path}");
        assert_eq!(alone.request("GET", path).host("evil.example").send().status, 403, "{path}");
        let foreign = alone.request("GET", path).header("origin", "https://evil.example");
        assert_eq!(foreign.send().status, 403, "{path}");
    }
}

/// What a server says of its health.
fn ready(server: &Server) -> (u16, String) {
    let response = server.request("GET", "/health/ready").send();
    assert_eq!(response.header("cache-control"), Some("no-store"));
    (response.status, response.body)
}

#[test]
fn health_is_told_to_everybody_and_nothing_else_is() {
    let library = Library::new();
    library.key("ada");
    let server = library.serve_many("");
    let live = server.request("GET", "/health/live").send();
    assert_eq!((live.status, live.body.as_str()), (200, "live"));
    assert_eq!(live.header("cache-control"), Some("no-store"));
    assert_eq!(ready(&server), (200, "ready".to_owned()));
    assert_eq!(server.request("POST", "/health/ready").send().status, 405);
}

#[test]
fn a_server_that_cannot_write_or_read_its_accounts_is_not_ready_until_it_can() {
    let library = Library::new();
    let (data, aside) = (library.data(), library.file("aside"));
    fs::create_dir_all(&data).unwrap();
    fs::create_dir_all(aside.parent().unwrap()).unwrap();
    let server = library.serve();
    assert_eq!(ready(&server), (200, "ready".to_owned()));
    fs::rename(&data, &aside).unwrap();
    fs::write(&data, "no folder").unwrap();
    assert_eq!(ready(&server), (503, "storage".to_owned()));
    assert_eq!(server.request("GET", "/health/live").send().status, 200);
    fs::remove_file(&data).unwrap();
    fs::rename(&aside, &data).unwrap();
    assert_eq!(ready(&server), (200, "ready".to_owned()));
    fs::write(data.join("server.db"), "no database, but long enough to be looked at").unwrap();
    assert_eq!(ready(&server), (503, "accounts".to_owned()));
    fs::remove_file(data.join("server.db")).unwrap();
    assert_eq!(ready(&server), (200, "ready".to_owned()));
}

#[cfg(unix)]
#[test]
fn a_server_that_is_told_to_stop_says_so_before_it_accepts_nobody_any_more() {
    let library = Library::endless();
    let settings = "[server]\ndrain_seconds = 3600\n[limits]\nsource_ms = 3600000";
    let server = library.serve_set(settings);
    let params = json!({
        "name": "knowledge.search", "arguments": { "query": "pebble" },
        "_meta": { "progressToken": 1 },
    });
    let mut running = server.client().stream(&request("tools/call", &params));
    assert_eq!(running.message()["method"], "notifications/progress");
    assert_eq!(Figures::of(&server).value("vademecum_tool_calls_running"), Some(1.0));
    assert_eq!(ready(&server), (200, "ready".to_owned()));
    let sent = Command::new("kill").args(["-TERM", &server.process().to_string()]).status();
    assert!(sent.unwrap().success());
    let said = loop {
        match ready(&server) {
            // The signal is on its way.
            (200, word) => assert_eq!(word, "ready"),
            other => break other,
        }
    };
    assert_eq!(said, (503, "stopping".to_owned()));
    assert_eq!(server.request("GET", "/health/live").send().status, 200);
    server.is_alive();
    assert_eq!(Figures::of(&server).value("vademecum_tool_calls_running"), Some(1.0));
}

#[test]
fn a_request_is_called_as_its_caller_calls_it_if_that_is_plain() {
    let library = Library::new();
    library.key("ada");
    let server = library.serve_many("");
    let name = |ids: &[&str], path: &str| {
        let request = server.request("GET", path);
        let request = ids.iter().fold(request, |it, id| it.header("x-request-id", id));
        request.send().header("x-request-id").unwrap().to_owned()
    };
    // Whatever becomes of it: answered, asked who it is, not there.
    for path in ["/health/live", "/mcp", "/nowhere"] {
        assert_eq!(name(&["Build-7.a_b"], path), "Build-7.a_b");
    }
    let long = "x".repeat(65);
    for ids in [&[][..], &["a b"], &["a\"b"], &[&long], &[""], &["one", "two"]] {
        let minted = name(ids, "/health/live");
        assert!(minted.len() == 32 && !ids.contains(&minted.as_str()), "{ids:?}: {minted}");
    }
    assert_ne!(name(&[], "/mcp"), name(&[], "/mcp"));
}

/// The lines of a log, each of which is an object.
fn lines(log: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|it| panic!("{it}: {line}"));
    log.lines().map(read).collect()
}

#[test]
fn a_log_of_objects_says_which_request_of_which_trace_a_line_belongs_to() {
    let library = Library::lanterns();
    let prompts = library.data().join("users/local/prompts.db");
    fs::write(prompts, "no database, but long enough to be looked at").unwrap();
    let server = library.serve_set("[log]\nformat = \"json\"\nlevel = \"vademecum=trace\"");
    let client = |id: &str| server.client().with_header("x-request-id", id);
    let traced = client("one").with_header("traceparent", &traceparent(TRACE));
    assert_eq!(traced.send(&search("lantern")).status, 200);
    let mut with_meta = search("lantern");
    with_meta["params"]["_meta"] =
        json!({ "traceparent": traceparent(OTHER_TRACE), "baggage": "telltale=1" });
    let both = client("two").with_header("traceparent", &traceparent(TRACE));
    assert_eq!(both.send(&with_meta).status, 200);
    let wrong = client("three").with_header("traceparent", "00-0-0-01");
    assert_eq!(wrong.send(&search("lantern")).status, 200);
    let session = server.session();
    session.with_header("x-request-id", "four").ask("ping", &json!({}));
    let socket = server.socket();
    assert!(socket.exchange(&with_meta).get("error").is_none());
    client("five").refuses("knowledge.search", &json!({ "query": "" }));
    client("six").fails("telltale/method", &json!({}));
    let log = lines(&server.stop());
    let of = |id: &str| {
        let of = log.iter().filter(|line| line["request.id"] == id);
        of.cloned().collect::<Vec<Value>>()
    };
    let last = |id: &str| of(id).pop().unwrap_or_else(|| panic!("{id}: {log:?}"));
    for (id, trace) in [("one", json!(TRACE)), ("two", json!(OTHER_TRACE)), ("three", Value::Null)]
    {
        let lines = of(id);
        assert!(lines.len() >= 2, "the source that fails is named as well: {lines:?}");
        assert!(lines.iter().any(|line| line["source"] == "prompts" && line["level"] == "WARN"));
        for line in &lines {
            assert_eq!(line["trace.id"], trace, "{line}");
            assert_eq!(
                (&line["method"], &line["tool"]),
                (&json!("tools/call"), &json!("knowledge.search"))
            );
        }
        let end = last(id);
        assert_eq!((&end["level"], &end["outcome"]), (&json!("INFO"), &json!("ok")), "{end}");
        assert!(end["duration_ms"].as_f64().unwrap() > 0.0 && end["time"].is_string(), "{end}");
    }
    assert_eq!(last("one")["span.id"].as_str().unwrap().len(), 16);
    assert_ne!(last("one")["span.id"], PARENT);
    let ping = last("four");
    assert_eq!((&ping["method"], ping["session.id"].as_str().unwrap().len()), (&json!("ping"), 16));
    assert_eq!(last("five")["outcome"], "refused");
    let unknown = last("six");
    assert_eq!((&unknown["method"], &unknown["outcome"]), (&json!("other"), &json!("failed")));
    let over_socket = log.iter().filter(|line| line["trace.id"] == OTHER_TRACE);
    let ids: std::collections::BTreeSet<_> =
        over_socket.map(|line| line["request.id"].as_str().unwrap()).collect();
    assert!(ids.len() == 2 && ids.contains("two"), "{ids:?}");
}

#[test]
fn a_request_is_one_line_at_info_and_none_at_warn() {
    let library = Library::lanterns();
    let count = |level: &str| {
        let server = library.serve_set(&format!("[log]\nlevel = \"{level}\""));
        let client = server.client().with_header("x-request-id", "plain-1");
        client.call("knowledge.search", &json!({ "query": "lantern" }));
        let log = server.stop();
        log.lines().filter(|line| line.contains("plain-1")).count()
    };
    assert_eq!((count("info"), count("warn")), (1, 0));
}

#[test]
fn no_line_holds_what_is_asked_or_answered_or_shown_to_get_in() {
    let library = Library::new();
    library.import_for("telltaleuser", "notes", "note.md", "A telltalecontent of amethyst.");
    let key = library.key_with("telltaleuser", &["--scope", "write"]);
    let shop = library.write("shop.db", "");
    let server = library.serve_many(&format!(
        "[tools]\nwrite = true\n[log]\nformat = \"json\"\nlevel = \"vademecum=trace\"\n\
         [profiles.shop]\nengine = \"sqlite\"\npath = \"{}\"\nusers = [\"telltaleuser\"]",
        shop.display()
    ));
    let (client, socket) = (server.client().bearing(&key), server.socket_of(&key));
    let found = client.call("knowledge.search", &json!({ "query": "telltalequery amethyst" }));
    let uri = found["results"][0]["uri"].as_str().unwrap();
    client.ask("resources/read", &json!({ "uri": uri }));
    let note = json!({ "title": "telltaletitle", "content": "telltaletext" });
    socket.call("notes.create", &note);
    socket
        .result_of("knowledge.search", &json!({ "query": "telltalequery", "sources": "telltale" }));
    socket.result_of("notes.get", &json!({ "note_id": "telltaleid" }));
    client.fails("telltalemethod", &json!({}));
    client.fails("tools/call", &json!({ "name": "telltaletool", "arguments": {} }));
    for sql in ["SELECT telltalecolumn FROM telltaletable", "DELETE FROM telltaletable", "telltale"]
    {
        client.result_of("query", &json!({ "profile": "shop", "sql": sql }));
    }
    client.clone().with_header("x-request-id", "tell tale").ping();
    client.with_header("baggage", "telltale=1").with_header("tracestate", "telltale=1").ping();
    server.request("POST", "/mcp").header("authorization", &format!("Bearer {key}x")).send();
    server.request("POST", "/mcp?telltale=1").body("telltale").send();
    let log = server.stop();
    let logged = lines(&log);
    assert!(logged.iter().any(|line| line["tool"] == "notes.create"), "{log}");
    assert!(logged.iter().any(|line| line["tool"] == "query"), "{log}");
    assert!(logged.iter().any(|line| line["message"] == "asked somebody who they are"), "{log}");
    assert!(!log.contains("telltale") && !log.contains(&key[4..]), "{log}");
}

#[test]
fn a_collector_is_told_of_each_request_and_of_nothing_in_it() {
    let (sender, told) = channel();
    let collector = Provider::new(move |question| {
        // The test may be over.
        drop(sender.send(question.clone()));
        Reply::ok(&json!({ "partialSuccess": {} }))
    });
    let library = Library::lanterns();
    let server =
        library.serve_set(&format!("[telemetry]\notlp_endpoint = \"{}\"", collector.url("")));
    let client = server.client().with_header("traceparent", &traceparent(TRACE));
    client.call("knowledge.search", &json!({ "query": "lantern telltale" }));
    let question = told.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(question.path, "/v1/traces");
    let span = &question.body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(span["name"], "tools/call knowledge.search");
    assert!(!question.body.to_string().contains("telltale"), "{}", question.body);
    // A trace that its beginner does not keep is not kept here.
    let unsampled = server.client().with_header("traceparent", &format!("00-{TRACE}-{PARENT}-00"));
    unsampled.ask("ping", &json!({}));
    server.client().ask("tools/list", &json!({}));
    let question = told.recv_timeout(Duration::from_secs(30)).unwrap();
    let spans = question.body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let names: Vec<_> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tools/list"]);
}

#[test]
fn a_collector_that_is_not_there_costs_a_line_of_the_log() {
    let library = Library::lanterns();
    let server =
        library.serve_set("[telemetry]\notlp_endpoint = \"http://me:telltale@127.0.0.1:1\"");
    for _ in 0..20 {
        server.client().call("knowledge.search", &json!({ "query": "lantern" }));
    }
    let dropped = Figures::of(&server).value("vademecum_spans_dropped_total");
    assert_eq!(dropped, Some(0.0));
    let log = server.stop();
    assert!(!log.contains("telltale"), "{log}");
    assert!(log.lines().count() <= 1, "{log}");
}
