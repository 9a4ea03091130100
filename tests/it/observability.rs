//! Observability: metrics, health, logs and traces, and the data that must never appear in them.

#[cfg(unix)]
use std::process::Command;
use std::{fs, sync::mpsc::channel, time::Duration};

use serde_json::{Value, json};

use crate::support::{
    FakeProvider, HttpResponse, Library, McpClient, ProviderReply, Server, json_rpc_request,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00f067aa0ba902b7";

fn traceparent_header(trace: &str) -> String {
    format!("00-{trace}-{PARENT}-01")
}

fn search_request(query: &str) -> Value {
    json_rpc_request(
        "tools/call",
        &json!({ "name": "knowledge.search", "arguments": { "query": query } }),
    )
}

/// A snapshot of a server's Prometheus metrics.
struct MetricsSnapshot(String);

impl MetricsSnapshot {
    fn fetch(server: &Server) -> Self {
        let response = server.request("GET", "/metrics").send();
        assert_eq!(response.status, 200, "{response:?}");
        Self::from_response(response)
    }

    fn from_response(response: HttpResponse) -> Self {
        let format = response.header("content-type").unwrap();
        assert!(format.starts_with("text/plain; version=0.0.4"), "{format}");
        assert_eq!(response.header("cache-control"), Some("no-store"));
        // The body may be chunked, but no line is split.
        Self(response.body)
    }

    /// Returns the value of a series, given its name and labels as written.
    fn series_value(&self, series: &str) -> Option<f64> {
        let value = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok();
        self.0.lines().find_map(value)
    }

    fn tool_calls(&self, outcome: &str, tool: &str) -> Option<f64> {
        let labels = format!("{{outcome=\"{outcome}\",tool=\"{tool}\"}}");
        self.series_value(&format!("vademecum_tool_calls_total{labels}"))
    }

    fn method_requests(&self, method: &str, outcome: &str) -> Option<f64> {
        let labels = format!("{{method=\"{method}\",outcome=\"{outcome}\"}}");
        self.series_value(&format!("vademecum_requests_total{labels}"))
    }

    fn source_requests(&self, outcome: &str, source: &str) -> Option<f64> {
        let labels = format!("{{outcome=\"{outcome}\",source=\"{source}\"}}");
        self.series_value(&format!("vademecum_source_requests_total{labels}"))
    }
}

#[test]
fn metrics_count_calls_over_every_transport() {
    let server = Library::with_lanterns().serve();
    let socket = server.open_websocket();
    assert_eq!(MetricsSnapshot::fetch(&server).tool_calls("ok", "knowledge.search"), Some(0.0));
    let lantern = json!({ "query": "lantern" });
    server.client().call_tool("knowledge.search", &lantern);
    server.open_session().call_tool("knowledge_search", &lantern);
    server.stateless_client().call_tool("knowledge.search", &lantern);
    socket.call_tool("knowledge.search", &lantern);
    socket.call_tool("notes.search", &lantern);
    socket.expect_tool_error("knowledge.search", &json!({ "query": "" }));
    let figures = MetricsSnapshot::fetch(&server);
    assert_eq!(figures.tool_calls("ok", "knowledge.search"), Some(4.0), "{}", figures.0);
    assert_eq!(figures.tool_calls("refused", "knowledge.search"), Some(1.0));
    assert_eq!(figures.tool_calls("ok", "notes.search"), Some(1.0));
    let took = "vademecum_tool_call_duration_seconds";
    assert_eq!(
        figures.series_value(&format!("{took}_count{{tool=\"knowledge.search\"}}")),
        Some(5.0)
    );
    let all = format!("{took}_bucket{{tool=\"knowledge.search\",le=\"+Inf\"}}");
    assert_eq!(figures.series_value(&all), Some(5.0));
    assert_eq!(figures.method_requests("tools/call", "ok"), Some(5.0));
    assert_eq!(figures.method_requests("tools/call", "refused"), Some(1.0));
    assert_eq!(figures.method_requests("initialize", "ok"), Some(1.0));
    for source in ["notes", "media", "chats", "characters", "prompts"] {
        assert!(figures.source_requests("ok", source).unwrap() >= 2.0, "{source}");
        assert_eq!(figures.source_requests("failed", source), Some(0.0), "{source}");
    }
    assert_eq!(figures.series_value("vademecum_tool_calls_running"), Some(0.0));
}

#[test]
fn metrics_report_current_gauges() {
    let library = Library::with_lanterns();
    library.write_file("shop.db", "");
    let path = library.file_path("shop.db");
    let server = library.serve_with_settings(&format!(
        "[profiles.shop]\nengine = \"sqlite\"\npath = \"{}\"\npool = 3",
        path.display()
    ));
    let before = MetricsSnapshot::fetch(&server);
    assert_eq!(before.series_value("vademecum_libraries"), Some(0.0), "{}", before.0);
    assert_eq!(before.series_value("vademecum_websocket_connections"), Some(0.0));
    let (socket, session) = (server.open_websocket(), server.open_session());
    session.call_tool("knowledge.search", &json!({ "query": "lantern" }));
    socket.tool_result("query", &json!({ "profile": "shop", "sql": "SELECT 1" }));
    let figures = MetricsSnapshot::fetch(&server);
    assert_eq!(figures.series_value("vademecum_websocket_connections"), Some(1.0), "{}", figures.0);
    assert_eq!(figures.series_value("vademecum_sessions"), Some(2.0));
    assert_eq!(figures.series_value("vademecum_conversations"), Some(2.0));
    assert_eq!(figures.series_value("vademecum_libraries"), Some(1.0));
    assert_eq!(figures.series_value("vademecum_stores_open"), Some(3.0));
    assert_eq!(figures.series_value("vademecum_work_waiting"), Some(0.0));
    assert!(figures.series_value("vademecum_store_reader_waits_total").unwrap() >= 3.0);
    assert!(figures.series_value("vademecum_store_reader_wait_seconds_total").unwrap() > 0.0);
    let connections = "vademecum_database_connections{profile=\"shop\",state=\"busy\"}";
    assert_eq!(figures.series_value(connections), Some(0.0), "{}", figures.0);
    assert_eq!(figures.series_value("vademecum_database_waiting{profile=\"shop\"}"), Some(0.0));
    let version = format!("vademecum_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(figures.series_value(&version), Some(1.0));
    assert!(figures.series_value("process_start_time_seconds").unwrap() > 1.7e9);
    #[cfg(target_os = "linux")]
    {
        assert!(figures.series_value("process_resident_memory_bytes").unwrap() > 1e6);
        assert!(figures.series_value("process_open_fds").unwrap() > 3.0);
    }
}

#[test]
fn metrics_ignore_client_supplied_names() {
    let server = Library::with_lanterns().serve();
    let lines = |figures: &MetricsSnapshot| figures.0.lines().count();
    server.client().call_tool("knowledge.search", &json!({ "query": "lantern" }));
    let before = MetricsSnapshot::fetch(&server);
    for number in 0..20 {
        let name = format!("telltale.{number}");
        server.client().expect_error("tools/call", &json!({ "name": name, "arguments": {} }));
        server.client().expect_error(&name, &json!({}));
        server.client().call_tool("knowledge.search", &json!({ "query": name }));
    }
    let after = MetricsSnapshot::fetch(&server);
    assert_eq!(after.method_requests("other", "failed"), Some(20.0), "{}", after.0);
    assert_eq!(after.method_requests("tools/call", "failed"), Some(20.0));
    assert_eq!(lines(&before), lines(&after), "{}", after.0);
    assert!(!after.0.contains("telltale"), "{}", after.0);
}

#[test]
fn metrics_require_admin_scope() {
    let library = Library::new();
    let (reader, admin) = (
        library.create_key("telltale"),
        library.create_key_with("operator", &["--scope", "admin"]),
    );
    let server = library.serve_multi_user("");
    let metrics = || server.request("GET", "/metrics");
    assert_eq!(metrics().send().status, 401);
    let refused = metrics().header("authorization", &format!("Bearer {reader}")).send();
    assert_eq!(refused.status, 403, "{refused:?}");
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("scope=\"admin\""));
    assert!(!refused.body.contains("vademecum_"), "{refused:?}");
    let response = metrics().header("authorization", &format!("Bearer {admin}")).send();
    assert_eq!(response.status, 200);
    let figures = MetricsSnapshot::from_response(response);
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

/// Returns the status and body of the readiness endpoint.
fn readiness(server: &Server) -> (u16, String) {
    let response = server.request("GET", "/health/ready").send();
    assert_eq!(response.header("cache-control"), Some("no-store"));
    (response.status, response.body)
}

#[test]
fn health_endpoints_need_no_credentials() {
    let library = Library::new();
    library.create_key("ada");
    let server = library.serve_multi_user("");
    let live = server.request("GET", "/health/live").send();
    assert_eq!((live.status, live.body.as_str()), (200, "live"));
    assert_eq!(live.header("cache-control"), Some("no-store"));
    assert_eq!(readiness(&server), (200, "ready".to_owned()));
    assert_eq!(server.request("POST", "/health/ready").send().status, 405);
}

#[test]
fn readiness_reports_storage_and_account_failures() {
    let library = Library::new();
    let (data, aside) = (library.data_folder(), library.file_path("aside"));
    fs::create_dir_all(&data).unwrap();
    fs::create_dir_all(aside.parent().unwrap()).unwrap();
    let server = library.serve();
    assert_eq!(readiness(&server), (200, "ready".to_owned()));
    fs::rename(&data, &aside).unwrap();
    fs::write(&data, "no folder").unwrap();
    assert_eq!(readiness(&server), (503, "storage".to_owned()));
    assert_eq!(server.request("GET", "/health/live").send().status, 200);
    fs::remove_file(&data).unwrap();
    fs::rename(&aside, &data).unwrap();
    assert_eq!(readiness(&server), (200, "ready".to_owned()));
    fs::write(data.join("server.db"), "no database, but long enough to be looked at").unwrap();
    assert_eq!(readiness(&server), (503, "accounts".to_owned()));
    fs::remove_file(data.join("server.db")).unwrap();
    assert_eq!(readiness(&server), (200, "ready".to_owned()));
}

#[cfg(unix)]
#[test]
fn readiness_reports_stopping_while_draining() {
    let library = Library::with_endless_prompts();
    let settings = "[server]\ndrain_seconds = 3600\n[limits]\nsource_ms = 3600000";
    let server = library.serve_with_settings(settings);
    let params = json!({
        "name": "knowledge.search", "arguments": { "query": "pebble" },
        "_meta": { "progressToken": 1 },
    });
    let mut running = server.client().stream(&json_rpc_request("tools/call", &params));
    assert_eq!(running.expect_message()["method"], "notifications/progress");
    assert_eq!(
        MetricsSnapshot::fetch(&server).series_value("vademecum_tool_calls_running"),
        Some(1.0)
    );
    assert_eq!(readiness(&server), (200, "ready".to_owned()));
    let sent = Command::new("kill").args(["-TERM", &server.process().to_string()]).status();
    assert!(sent.unwrap().success());
    let answer = loop {
        match readiness(&server) {
            // The signal has not been handled yet.
            (200, word) => assert_eq!(word, "ready"),
            other => break other,
        }
    };
    assert_eq!(answer, (503, "stopping".to_owned()));
    assert_eq!(server.request("GET", "/health/live").send().status, 200);
    server.assert_alive();
    assert_eq!(
        MetricsSnapshot::fetch(&server).series_value("vademecum_tool_calls_running"),
        Some(1.0)
    );
}

#[test]
fn plain_request_id_is_returned_others_are_replaced() {
    let library = Library::new();
    library.create_key("ada");
    let server = library.serve_multi_user("");
    let name = |ids: &[&str], path: &str| {
        let request = server.request("GET", path);
        let request = ids.iter().fold(request, |it, id| it.header("x-request-id", id));
        request.send().header("x-request-id").unwrap().to_owned()
    };
    // The id is returned for every outcome: success, missing credentials, not found.
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

/// Parses the lines of a log, each of which is a JSON object.
fn parse_log_lines(log: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|it| panic!("{it}: {line}"));
    log.lines().map(read).collect()
}

#[test]
fn json_log_lines_carry_request_and_trace_ids() {
    let library = Library::with_lanterns();
    let prompts = library.data_folder().join("users/local/prompts.db");
    fs::write(prompts, "no database, but long enough to be looked at").unwrap();
    let server =
        library.serve_with_settings("[log]\nformat = \"json\"\nlevel = \"vademecum=trace\"");
    let client = |id: &str| server.client().with_header("x-request-id", id);
    let traced = client("one").with_header("traceparent", &traceparent_header(TRACE));
    assert_eq!(traced.send(&search_request("lantern")).status, 200);
    let mut with_meta = search_request("lantern");
    with_meta["params"]["_meta"] =
        json!({ "traceparent": traceparent_header(OTHER_TRACE), "baggage": "telltale=1" });
    let both = client("two").with_header("traceparent", &traceparent_header(TRACE));
    assert_eq!(both.send(&with_meta).status, 200);
    let wrong = client("three").with_header("traceparent", "00-0-0-01");
    assert_eq!(wrong.send(&search_request("lantern")).status, 200);
    let session = server.open_session();
    session.with_header("x-request-id", "four").call_method("ping", &json!({}));
    let socket = server.open_websocket();
    assert!(socket.exchange(&with_meta).get("error").is_none());
    client("five").expect_tool_error("knowledge.search", &json!({ "query": "" }));
    client("six").expect_error("telltale/method", &json!({}));
    let log = parse_log_lines(&server.kill_and_read_log());
    let of = |id: &str| {
        let of = log.iter().filter(|line| line["request.id"] == id);
        of.cloned().collect::<Vec<Value>>()
    };
    let last = |id: &str| of(id).pop().unwrap_or_else(|| panic!("{id}: {log:?}"));
    for (id, trace) in [("one", json!(TRACE)), ("two", json!(OTHER_TRACE)), ("three", Value::Null)]
    {
        let lines = of(id);
        assert!(lines.len() >= 2, "the failed source is logged as well: {lines:?}");
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
fn request_logs_one_line_at_info_only() {
    let library = Library::with_lanterns();
    let count = |level: &str| {
        let server = library.serve_with_settings(&format!("[log]\nlevel = \"{level}\""));
        let client = server.client().with_header("x-request-id", "plain-1");
        client.call_tool("knowledge.search", &json!({ "query": "lantern" }));
        let log = server.kill_and_read_log();
        log.lines().filter(|line| line.contains("plain-1")).count()
    };
    assert_eq!((count("info"), count("warn")), (1, 0));
}

#[test]
fn log_contains_no_queries_contents_or_keys() {
    let library = Library::new();
    library.import_for_user("telltaleuser", "notes", "note.md", "A telltalecontent of amethyst.");
    let key = library.create_key_with("telltaleuser", &["--scope", "write"]);
    let shop = library.write_file("shop.db", "");
    let server = library.serve_multi_user(&format!(
        "[tools]\nwrite = true\n[log]\nformat = \"json\"\nlevel = \"vademecum=trace\"\n\
         [profiles.shop]\nengine = \"sqlite\"\npath = \"{}\"\nusers = [\"telltaleuser\"]",
        shop.display()
    ));
    let (client, socket) =
        (server.client().with_bearer_token(&key), server.open_websocket_with_token(&key));
    let found = client.call_tool("knowledge.search", &json!({ "query": "telltalequery amethyst" }));
    let uri = found["results"][0]["uri"].as_str().unwrap();
    client.call_method("resources/read", &json!({ "uri": uri }));
    let note = json!({ "title": "telltaletitle", "content": "telltaletext" });
    socket.call_tool("notes.create", &note);
    socket.tool_result(
        "knowledge.search",
        &json!({ "query": "telltalequery", "sources": "telltale" }),
    );
    socket.tool_result("notes.get", &json!({ "note_id": "telltaleid" }));
    client.expect_error("telltalemethod", &json!({}));
    client.expect_error("tools/call", &json!({ "name": "telltaletool", "arguments": {} }));
    for sql in ["SELECT telltalecolumn FROM telltaletable", "DELETE FROM telltaletable", "telltale"]
    {
        client.tool_result("query", &json!({ "profile": "shop", "sql": sql }));
    }
    client.clone().with_header("x-request-id", "tell tale").ping();
    client.with_header("baggage", "telltale=1").with_header("tracestate", "telltale=1").ping();
    server.request("POST", "/mcp").header("authorization", &format!("Bearer {key}x")).send();
    let request = server.request("POST", "/mcp?telltale=1").body("telltale");
    request.header("content-type", "application/json").send();
    server.request("POST", "/mcp?telltale=1").body("telltale").send();
    let log = server.kill_and_read_log();
    let logged = parse_log_lines(&log);
    assert!(logged.iter().any(|line| line["tool"] == "notes.create"), "{log}");
    assert!(logged.iter().any(|line| line["tool"] == "query"), "{log}");
    assert!(logged.iter().any(|line| line["message"] == "authentication required"), "{log}");
    assert!(!log.contains("telltale") && !log.contains(&key[4..]), "{log}");
}

#[test]
fn trace_export_contains_no_request_contents() {
    let (sender, receiver) = channel();
    let collector = FakeProvider::new(move |question| {
        // The test may have finished.
        drop(sender.send(question.clone()));
        ProviderReply::ok(&json!({ "partialSuccess": {} }))
    });
    let library = Library::with_lanterns();
    let server = library
        .serve_with_settings(&format!("[telemetry]\notlp_endpoint = \"{}\"", collector.url("")));
    let client = server.client().with_header("traceparent", &traceparent_header(TRACE));
    client.call_tool("knowledge.search", &json!({ "query": "lantern telltale" }));
    let question = receiver.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(question.path, "/v1/traces");
    let span = &question.body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(span["name"], "tools/call knowledge.search");
    assert!(!question.body.to_string().contains("telltale"), "{}", question.body);
    // A trace that its caller does not sample is not exported.
    let unsampled = server.client().with_header("traceparent", &format!("00-{TRACE}-{PARENT}-00"));
    unsampled.call_method("ping", &json!({}));
    server.client().call_method("tools/list", &json!({}));
    let question = receiver.recv_timeout(Duration::from_secs(30)).unwrap();
    let spans = question.body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let names: Vec<_> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tools/list"]);
}

#[test]
fn unreachable_collector_logs_at_most_one_line() {
    let library = Library::with_lanterns();
    let server = library
        .serve_with_settings("[telemetry]\notlp_endpoint = \"http://me:telltale@127.0.0.1:1\"");
    for _ in 0..20 {
        server.client().call_tool("knowledge.search", &json!({ "query": "lantern" }));
    }
    let dropped = MetricsSnapshot::fetch(&server).series_value("vademecum_spans_dropped_total");
    assert_eq!(dropped, Some(0.0));
    let log = server.kill_and_read_log();
    assert!(!log.contains("telltale"), "{log}");
    assert!(log.lines().count() <= 1, "{log}");
}
