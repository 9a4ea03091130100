//! Servers and archives that fail: nothing that was answered is lost, and nothing is stored twice.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use super::{AddressClient, Cluster, unique_word};
use crate::{
    faults::round_count,
    support::{McpClient, Server, wait_until},
    writing::{create_note, read_note, search_uris},
};

fn readiness(server: &Server) -> u16 {
    server.request("GET", "/health/ready").send().status
}

#[test]
fn write_whose_answer_is_lost_is_stored_once() {
    let cluster = Cluster::new(2);
    let (one, other) = (cluster.serve(0), cluster.serve(1));
    let log = create_note(&one.client(), "Log", "Begin.");
    for round in 1..=3 {
        let word = unique_word();
        cluster.proxy.swallow_answers(round);
        let append = json!({ "note_id": log["id"], "content": word });
        one.client().call_tool("notes.append", &append);
        assert_eq!(cluster.proxy.unswallowed(), 0, "the answers were lost");
        for server in [&one, &other] {
            let (text, version) = read_note(&server.client(), &log["id"]);
            assert_eq!(text.matches(&word).count(), 1);
            assert_eq!(version, 1 + i64::try_from(round).unwrap());
        }
    }
}

#[test]
fn node_without_archive_reads_and_refuses_writes() {
    let cluster = Cluster::new(1);
    let server = cluster.serve(0);
    let client = server.client();
    let word = unique_word();
    create_note(&client, &word, "Text.");
    wait_until("the server is ready", || readiness(&server) == 200);
    cluster.proxy.set_closed(true);
    let search = json!({ "name": "knowledge.search", "arguments": { "query": word } });
    let stale = || {
        let result = client.call_method("tools/call", &search);
        assert_eq!(result["structuredContent"]["results"][0]["title"], *word, "{result}");
        result["_meta"]["vademecum/stale"] == true
    };
    wait_until("results are marked", stale);
    let note = json!({ "title": "Other", "content": "Text." });
    let refused = client.expect_tool_error("notes.create", &note);
    assert!(refused.contains("nothing was changed; try again in a few seconds"), "{refused}");
    assert_eq!(readiness(&server), 200, "it still answers reads");
    cluster.proxy.set_closed(false);
    wait_until("results are current", || !stale());
    create_note(&client, "Other", "Text.");
}

#[test]
fn node_is_ready_when_archive_was_reached() {
    let cluster = Cluster::new(1);
    cluster.proxy.set_closed(true);
    let server = cluster.serve(0);
    assert_eq!(readiness(&server), 503);
    cluster.proxy.set_closed(false);
    wait_until("the server is ready", || readiness(&server) == 200);
}

/// Copies the tables of the archive, or restores the copy, as a failover to a server that is behind
/// does.
fn copy_archive(cluster: &Cluster, restore: bool) {
    let tables = ["part", "entry", "receipt", "shared_value"].map(|table| {
        if restore {
            format!("TRUNCATE vademecum.{table}; INSERT INTO vademecum.{table} SELECT * FROM kept_{table}")
        } else {
            format!("CREATE TABLE kept_{table} AS TABLE vademecum.{table}")
        }
    });
    cluster.database.execute(&format!("BEGIN; {}; COMMIT", tables.join("; ")));
}

#[test]
fn head_that_goes_back_discards_copies() {
    let cluster = Cluster::new(2);
    let (one, other) = (cluster.serve(0), cluster.serve(1));
    let (kept, lost, later) = (unique_word(), unique_word(), unique_word());
    create_note(&one.client(), &kept, "Text.");
    copy_archive(&cluster, false);
    create_note(&one.client(), &lost, "Text.");
    assert_eq!(search_uris(&other.client(), &lost).len(), 1);
    copy_archive(&cluster, true);
    for server in [&one, &other] {
        assert!(search_uris(&server.client(), &lost).is_empty(), "no answer from the future");
        assert_eq!(search_uris(&server.client(), &kept).len(), 1);
    }
    create_note(&other.client(), &later, "Text.");
    assert_eq!(search_uris(&one.client(), &later).len(), 1);
    let metrics = one.request("GET", "/metrics").send().body;
    assert!(!metrics.contains("vademecum_archive_discarded_total 0"), "{metrics}");
}

/// Writers at several servers.
struct Writing {
    addresses: Mutex<Vec<String>>,
    /// Number of answered writes.
    answered: AtomicUsize,
    is_over: AtomicBool,
}

impl Writing {
    fn new(servers: &[Server]) -> Self {
        let addresses = servers.iter().map(|it| it.address().to_owned()).collect();
        let (answered, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { addresses: Mutex::new(addresses), answered, is_over }
    }

    /// Waits until some more writes were answered.
    fn wait_for_progress(&self) {
        let before = self.answered.load(Ordering::SeqCst);
        wait_until("writes are answered", || self.answered.load(Ordering::SeqCst) >= before + 3);
    }
}

/// Creates notes at the servers in turn until the writing is over, and returns the titles of those that
/// were answered. A request whose answer is lost is not repeated.
fn write_notes(writing: &Writing) -> Vec<String> {
    let (mut answered, mut attempts) = (Vec::new(), 0);
    while !writing.is_over.load(Ordering::SeqCst) {
        let word = unique_word();
        let address = {
            let addresses = writing.addresses.lock().unwrap();
            attempts += 1;
            addresses[attempts % addresses.len()].clone()
        };
        let create = json!({ "title": word, "content": "A note of many." });
        match AddressClient(&address).try_tool("notes.create", &create) {
            Some(result) if result["isError"] == false => {
                writing.answered.fetch_add(1, Ordering::SeqCst);
                answered.push(word);
            }
            Some(_) | None => thread::yield_now(),
        }
    }
    answered
}

/// Asserts that a server has each title once, and no title twice.
fn assert_each_once(server: &Server, answered: &[String]) {
    let (mut titles, mut offset) = (Vec::new(), Value::from(0));
    loop {
        let page = json!({ "sources": ["notes"], "limit": 100, "offset": offset });
        let page = server.client().call_tool("knowledge.list", &page);
        let results = page["results"].as_array().unwrap();
        titles.extend(results.iter().map(|entry| entry["title"].as_str().unwrap().to_owned()));
        offset = page["next_offset"].clone();
        if offset.is_null() {
            break;
        }
    }
    titles.retain(|title| title != "Last");
    let all = titles.len();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), all, "no note is stored twice");
    let missing: Vec<_> =
        answered.iter().filter(|title| titles.binary_search(title).is_err()).collect();
    assert!(missing.is_empty(), "{missing:?} are lost");
}

#[test]
fn killed_nodes_lose_no_answered_write() {
    let cluster = Cluster::new(3);
    let mut servers: Vec<Server> = (0..3).map(|node| cluster.serve(node)).collect();
    let writing = Writing::new(&servers);
    let answered = thread::scope(|scope| {
        let writers: Vec<_> = (0..3).map(|_| scope.spawn(|| write_notes(&writing))).collect();
        for round in 0..round_count() * 2 {
            writing.wait_for_progress();
            let node = usize::try_from(round % 3).unwrap();
            // A server that is dropped is killed.
            drop(servers.remove(node));
            let server = cluster.serve(node);
            writing.addresses.lock().unwrap()[node] = server.address().to_owned();
            servers.insert(node, server);
        }
        writing.is_over.store(true, Ordering::SeqCst);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    for server in &servers {
        assert_each_once(server, &answered);
    }
}

#[test]
fn lost_connections_lose_no_answered_write() {
    let cluster = Cluster::new(2);
    let servers = [cluster.serve(0), cluster.serve(1)];
    let writing = Writing::new(&servers);
    let answered = thread::scope(|scope| {
        let writers: Vec<_> = (0..3).map(|_| scope.spawn(|| write_notes(&writing))).collect();
        for _ in 0..round_count() * 2 {
            writing.wait_for_progress();
            let refused = cluster.proxy.refused();
            cluster.proxy.set_closed(true);
            wait_until("a server tries to connect", || cluster.proxy.refused() > refused);
            cluster.proxy.set_closed(false);
        }
        writing.is_over.store(true, Ordering::SeqCst);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    for server in &servers {
        wait_until("the archive is reached", || {
            let note = json!({ "title": "Last", "content": "Text." });
            server.client().tool_result("notes.create", &note)["isError"] == false
        });
        assert_each_once(server, &answered);
    }
}

#[test]
fn full_disk_of_postgres_is_named() {
    let cluster = Cluster::new(1);
    let server = cluster.serve(0);
    let word = unique_word();
    create_note(&server.client(), &word, "Text.");
    // PostgreSQL reports a full disk with this code.
    cluster.database.execute(
        "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$; \
         CREATE TRIGGER fill BEFORE INSERT ON vademecum.entry EXECUTE FUNCTION fill()",
    );
    let note = json!({ "title": "Other", "content": "Text." });
    let refused = server.client().expect_tool_error("notes.create", &note);
    assert!(
        refused.contains("disk of the PostgreSQL server")
            && refused.contains("nothing was changed"),
        "{refused}"
    );
    assert!(search_uris(&server.client(), "Other").is_empty());
    cluster.database.execute("DROP TRIGGER fill ON vademecum.entry");
    create_note(&server.client(), "Other", "Text.");
}
