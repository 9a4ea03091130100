//! Any server serves any user: items, sessions, keys and changes are those of all servers.

use std::{collections::BTreeSet, thread};

use serde_json::{Value, json};

use super::{AddressClient, Cluster, unique_word};
use crate::{
    support::{McpClient, SeededRng, Server, wait_until},
    writing::{create_note, read_note, search_uris},
};

#[test]
fn answered_write_is_found_on_every_node() {
    let cluster = Cluster::new(3);
    let servers = [cluster.serve(0), cluster.serve(1), cluster.serve(2)];
    let clients = servers.each_ref().map(Server::client);
    for round in 0..6 {
        let word = unique_word();
        let note = create_note(&clients[round % 3], &word, "A shared note.");
        for client in &clients {
            assert_eq!(search_uris(client, &word), [note["uri"].as_str().unwrap()]);
            assert_eq!(read_note(client, &note["id"]).1, 1);
        }
    }
}

#[test]
fn session_continues_on_another_node() {
    let cluster = Cluster::new(2);
    let (one, other) = (cluster.serve(0), cluster.serve(1));
    let word = unique_word();
    create_note(&one.client(), &word, "Text.");
    let session = one.open_session();
    let id = session.session_id().to_owned();
    let there = other.client().in_session(&id);
    assert_eq!(search_uris(&there, &word).len(), 1);
    // A conversation that one node has begun.
    let begun =
        one.client().call_tool("knowledge.search", &json!({ "query": word, "session": "new" }));
    let handle = begun["_meta"]["session"].as_str().unwrap().to_owned();
    let continued = json!({ "query": word, "session": handle });
    other.client().call_tool("knowledge.search", &continued);
    let foreign = json!({ "query": word, "session": "no such handle" });
    assert!(other.client().expect_tool_error("knowledge.search", &foreign).contains("session"));
    // An ended session ends everywhere.
    let ended = one.request("DELETE", "/mcp").header("mcp-session-id", &id).send();
    assert_eq!(ended.status, 204, "{ended:?}");
    wait_until("the session ends at the other node", || there.ping().status == 404);
}

#[test]
fn revoked_key_is_refused_by_all_nodes() {
    let cluster = Cluster::new(2);
    let key = cluster.create_key(0, "ada");
    let (one, other) = (cluster.serve_users(0), cluster.serve_users(1));
    for server in [&one, &other] {
        assert_eq!(server.client().with_bearer_token(&key).ping().status, 200);
    }
    let settings = cluster.nodes[0].write_file("admin.toml", cluster.settings(""));
    let id = key.split('_').nth(1).unwrap();
    let revoke = ["key", "revoke", id, "--config", settings.to_str().unwrap()];
    let done = cluster.nodes[0].run(&revoke);
    assert_eq!(done.code, 0, "{done:?}");
    for server in [&one, &other] {
        assert_eq!(server.client().with_bearer_token(&key).ping().status, 401);
    }
}

#[test]
fn subscriber_is_told_of_changes_elsewhere() {
    let cluster = Cluster::new(2);
    let (one, other) = (cluster.serve(0), cluster.serve(1));
    let note = create_note(&one.client(), "Tide", "Low water.");
    let session = other.open_session();
    let uri = &note["uri"];
    session.call_method("resources/subscribe", &json!({ "uri": uri }));
    let mut stream = session.open_notification_stream();
    let append = json!({ "note_id": note["id"], "content": "High water." });
    one.client().call_tool("notes.append", &append);
    let notification = stream.expect_message();
    assert_eq!(
        (&notification["method"], &notification["params"]["uri"]),
        (&json!("notifications/resources/updated"), uri)
    );
}

#[test]
fn session_with_subscriptions_ends_at_another_node() {
    let cluster = Cluster::new(2);
    let (one, other) = (cluster.serve(0), cluster.serve(1));
    let note = create_note(&one.client(), "Tide", "Low water.");
    let uri = json!({ "uri": note["uri"] });
    let session = one.open_session();
    let id = session.session_id().to_owned();
    let there = other.client().in_session(&id);
    assert_eq!(there.ping().status, 200, "without subscriptions it goes on");
    session.call_method("resources/subscribe", &uri);
    let listen = |server: &Server| {
        let request = server.request("GET", "/mcp").header("accept", "text/event-stream");
        request.header("mcp-session-id", &id).send().status
    };
    assert_eq!(listen(&other), 404, "it would receive no notices there");
    assert_eq!(there.ping().status, 404);
    assert_eq!(session.ping().status, 200, "it goes on where it has subscriptions");
    session.call_method("resources/unsubscribe", &uri);
    assert_eq!(there.ping().status, 200);
    session.call_method("resources/subscribe", &uri);
    // Its node ends: the client learns that it must open another session.
    drop(one);
    assert_eq!(listen(&other), 404);
    let restarted = cluster.serve(0);
    assert_eq!(listen(&restarted), 404);
    let session = other.open_session();
    session.call_method("resources/subscribe", &uri);
    let mut stream = session.open_notification_stream();
    let append = json!({ "note_id": note["id"], "content": "High water." });
    restarted.client().call_tool("notes.append", &append);
    assert_eq!(stream.expect_message()["params"]["uri"], note["uri"]);
}

#[test]
fn subscription_without_archive_is_refused() {
    let cluster = Cluster::new(1);
    let server = cluster.serve(0);
    let note = create_note(&server.client(), "Tide", "Low water.");
    let session = server.open_session();
    cluster.proxy.set_closed(true);
    let uri = json!({ "uri": note["uri"] });
    let (_, message) = session.expect_error("resources/subscribe", &uri);
    assert!(message.contains("nothing was subscribed; try again"), "{message}");
    cluster.proxy.set_closed(false);
    let subscribe = json!({
        "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": uri
    });
    wait_until("it is possible again", || session.exchange(&subscribe).get("result").is_some());
}

#[test]
fn removed_user_is_gone_from_archive() {
    let cluster = Cluster::new(2);
    let key = cluster.create_key(0, "ada");
    let word = unique_word();
    let one = cluster.serve_users(0);
    create_note(&one.client().with_bearer_token(&key), &word, "Text.");
    drop(one);
    let settings = cluster.nodes[0].write_file("admin.toml", cluster.settings(""));
    let remove = ["user", "remove", "ada", "--yes", "--config", settings.to_str().unwrap()];
    let done = cluster.nodes[0].run(&remove);
    assert_eq!(done.code, 0, "{done:?}");
    let count = "SELECT count(*) FROM vademecum.entry WHERE user_id = 'ada'";
    assert_eq!(cluster.database.query_value(count), "0");
    let key = cluster.create_key(1, "ada");
    let other = cluster.serve_users(1);
    assert!(search_uris(&other.client().with_bearer_token(&key), &word).is_empty());
}

/// Writes with one client until all rounds are done, and returns the appended words and the URIs of
/// media.
fn write_at_random(
    client: &AddressClient<'_>,
    log: &Value,
    seed: u64,
) -> (Vec<String>, Vec<String>) {
    let (mut rng, mut words, mut media) = (SeededRng(seed), Vec::new(), Vec::new());
    for _ in 0..15 {
        let word = unique_word();
        if rng.next_below(2) == 0 {
            client.call_tool("notes.append", &json!({ "note_id": log["id"], "content": word }));
            words.push(word);
        } else {
            let document = json!({ "title": word, "content": format!("About {word}.") });
            let added = client.call_tool("media.add", &document);
            media.push(added["uri"].as_str().unwrap().to_owned());
        }
    }
    (words, media)
}

#[test]
fn writers_at_two_nodes_have_one_order() {
    let cluster = Cluster::new(2);
    let servers = [cluster.serve(0), cluster.serve(1)];
    let log = create_note(&servers[0].client(), "Log", "Begin.");
    let written = thread::scope(|scope| {
        let writers = [0, 1, 2, 3].map(|writer| {
            let address = servers[writer % 2].address().to_owned();
            let log = &log;
            scope.spawn(move || write_at_random(&AddressClient(&address), log, writer as u64))
        });
        writers.map(|writer| writer.join().unwrap())
    });
    // Identifiers are numbers that each node allots, so nodes choose the same ones.
    let media: Vec<&String> = written.iter().flat_map(|(_, media)| media).collect();
    assert_eq!(media.iter().collect::<BTreeSet<_>>().len(), media.len(), "{media:?}");
    let words: Vec<&String> = written.iter().flat_map(|(words, _)| words).collect();
    let texts = servers.each_ref().map(|server| read_note(&server.client(), &log["id"]));
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0].1, 1 + i64::try_from(words.len()).unwrap(), "each change is a version");
    for word in words {
        assert_eq!(texts[0].0.matches(word).count(), 1, "{word}");
    }
    for server in &servers {
        let listed = server.client().call_tool("knowledge.list", &json!({ "sources": ["media"] }));
        assert_eq!(listed["total"], media.len());
    }
}
