//! End-to-end tests of fair pools: cheap statements do not wait for slow ones of the same profile.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{AllEngines, HttpClient, McpClient as _, PROFILES, Server, json_rpc_request};

/// Statements that never end, in the order of the profiles.
const ENDLESS_SQL: [&str; 3] = [
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "SELECT count(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b, seq_1_to_1000000 c \
     WHERE a.seq + b.seq + c.seq > 1",
    "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b, \
     generate_series(1, 1000) c",
];

/// Number of connections of each profile, and of its main lane. Statements on all SQLite files share
/// one set of lanes.
const CONNECTIONS: [usize; 3] = [6, 8, 8];
const MAIN_LANE: [usize; 3] = [3, 6, 6];

/// Longest time of a cheap statement. A statement that waits for a slow one needs 30 seconds.
const MAX_CHEAP: Duration = Duration::from_secs(15);

fn query_arguments(profile: &str, sql: &str) -> Value {
    json!({ "profile": profile, "sql": sql })
}

/// Returns the number of connections of a profile in this state, or of its waiting callers.
fn gauge(server: &Server, series: &str) -> usize {
    let body = server.request("GET", "/metrics").send().body;
    let value = body.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok());
    value.unwrap_or_default()
}

/// Waits until this many statements of the profile occupy or await a connection.
fn await_load(server: &Server, profile: &str, is_loaded: impl Fn(usize, usize) -> bool) {
    let begun = Instant::now();
    loop {
        let busy =
            format!("vademecum_database_connections{{profile=\"{profile}\",state=\"busy\"}}");
        let waiting = format!("vademecum_database_waiting{{profile=\"{profile}\"}}");
        let (busy, waiting) = (gauge(server, &busy), gauge(server, &waiting));
        if is_loaded(busy, waiting) {
            return;
        }
        assert!(begun.elapsed().as_secs() < 60, "{profile}: {busy} busy, {waiting} waiting");
        thread::yield_now();
    }
}

/// Returns the longest of five cheap statements.
fn longest_cheap_statement(client: &HttpClient<'_>, profile: &str) -> Duration {
    let run = |_| {
        let begun = Instant::now();
        let answer = client.call_tool("query", &query_arguments(profile, "SELECT 1"));
        assert_eq!(answer["data"]["rows"], json!([[1]]), "{profile}");
        begun.elapsed()
    };
    (0..5).map(run).max().unwrap()
}

#[test]
fn cheap_statement_does_not_wait_for_slow_ones() {
    let trio = AllEngines::with_statements("");
    let limits = "[limits]\nconcurrent_calls_per_user = 100\n";
    let server =
        trio.library.serve_with_settings(&format!("{limits}{}", trio.profile_settings("")));
    let client = server.client();
    for (number, profile) in PROFILES.into_iter().enumerate() {
        let (endless, main_lane) = (ENDLESS_SQL[number], MAIN_LANE[number]);
        for slow in [9, 50] {
            let params = json!({ "name": "query", "arguments": query_arguments(profile, endless) });
            let message = json_rpc_request("tools/call", &params);
            let running: Vec<_> = (0..slow)
                .map(|_| server.request("POST", "/mcp").json(&message).send_unread())
                .collect();
            await_load(&server, profile, |busy, waiting| {
                busy >= main_lane && busy + waiting >= slow.min(CONNECTIONS[number] + 1)
            });
            let longest = longest_cheap_statement(&client, profile);
            assert!(longest < MAX_CHEAP, "{profile} beside {slow}: {longest:?}");
            // A closed connection cancels the call and its statement.
            drop(running);
            await_load(&server, profile, |busy, waiting| busy + waiting == 0);
        }
    }
}

#[test]
fn statement_beyond_its_slices_still_ends() {
    let trio = AllEngines::with_statements("");
    let settings = trio.profile_settings("timeout_ms = 3000\n");
    let server = trio.library.serve_with_settings(&settings);
    for (number, profile) in PROFILES.into_iter().enumerate() {
        let (endless, main_lane) = (ENDLESS_SQL[number], MAIN_LANE[number]);
        let params = json!({ "name": "query", "arguments": query_arguments(profile, endless) });
        let message = json_rpc_request("tools/call", &params);
        let send = || server.request("POST", "/mcp").json(&message).send_unread();
        let running: Vec<_> = (0..main_lane).map(|_| send()).collect();
        await_load(&server, profile, |busy, _| busy >= main_lane);
        // It exceeds its slices, and then waits for the main lane, whose statements end first.
        let arguments = query_arguments(profile, endless);
        let error = server.client().expect_tool_error("query", &arguments);
        let reasons = ["took longer than 3s", "busy", "as many long statements"];
        assert!(reasons.iter().any(|reason| error.contains(reason)), "{error}");
        drop(running);
        await_load(&server, profile, |busy, waiting| busy + waiting == 0);
    }
}
