//! Copies of libraries on servers: the first one is made while callers wait, those of removed users are
//! erased, and clocks are compared.

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::{Cluster, unique_word};
use crate::{
    support::{McpClient, wait_until},
    writing::{create_note, search_uris},
};

/// Number of notes whose copy takes longer than a source may take.
const MANY_NOTES: usize = 3_000;

/// Returns what `check` prints on a node.
fn check(cluster: &Cluster, node: usize, options: &[&str]) -> String {
    let settings = cluster.nodes[node].write_file("admin.toml", cluster.settings(""));
    let check = ["check", "--config", settings.to_str().unwrap()];
    cluster.nodes[node].run(&[&check[..], options].concat()).stdout
}

/// Waits until a node knows of so many nodes.
fn wait_until_joined(cluster: &Cluster, node: usize, nodes: i64) {
    let file = cluster.nodes[node].data_folder().join("server.db");
    let count = || {
        let accounts = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
        accounts.query_row("SELECT count(*) FROM nodes", [], |row| row.get::<_, i64>(0)).ok()
    };
    wait_until("the nodes have joined", || count() == Some(nodes));
}

#[test]
fn removed_user_is_erased_on_every_node() {
    let cluster = Cluster::new(3);
    let key = cluster.create_key(0, "ada");
    // A server for many users does not start without any key.
    cluster.create_key(0, "eve");
    let word = unique_word();
    let servers = [cluster.serve_users(0), cluster.serve_users(1), cluster.serve_users(2)];
    create_note(&servers[0].client().with_bearer_token(&key), &word, "Text.");
    for server in &servers {
        assert_eq!(search_uris(&server.client().with_bearer_token(&key), &word).len(), 1);
    }
    wait_until_joined(&cluster, 2, 3);
    let copy = |node: usize| cluster.nodes[node].data_folder().join("users/ada");
    assert!((0..3).all(|node| copy(node).exists()));
    let [first, here, away] = servers;
    drop((first, away));
    let settings = cluster.nodes[0].write_file("admin.toml", cluster.settings(""));
    let remove = ["user", "remove", "ada", "--yes", "--delete-library", "--config"];
    let done = cluster.nodes[0].run(&[&remove[..], &[settings.to_str().unwrap()]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    assert!(!copy(0).exists());
    wait_until("the running node erases its copy", || !copy(1).exists());
    assert_eq!(here.client().with_bearer_token(&key).ping().status, 401);
    let place = cluster.nodes[2].data_folder().canonicalize().unwrap();
    let pending = format!("{} is not erased yet", place.display());
    wait_until("check names only the node that is away", || {
        let found = check(&cluster, 0, &[]);
        found.contains(&pending) && found.matches("is not erased yet").count() == 1
    });
    assert!(copy(2).exists());
    // It cannot know of the removal before it reaches the archive.
    let back = cluster.serve_users(2);
    assert_eq!(back.client().with_bearer_token(&key).ping().status, 401);
    wait_until("the node that is back erases its copy", || !copy(2).exists());
    wait_until("check names it no more", || !check(&cluster, 0, &[]).contains("is not erased yet"));
    let erased = cluster.nodes[2].data_folder().join("erased");
    assert!(erased.read_dir().unwrap().next().is_none(), "nothing is left");
}

#[test]
fn lost_node_is_forgotten_on_demand() {
    let cluster = Cluster::new(2);
    let key = cluster.create_key(0, "ada");
    let away = cluster.serve_users(1);
    assert_eq!(away.client().with_bearer_token(&key).ping().status, 200);
    wait_until_joined(&cluster, 1, 1);
    drop(away);
    let settings = cluster.nodes[0].write_file("admin.toml", cluster.settings(""));
    let remove = ["user", "remove", "ada", "--yes", "--config", settings.to_str().unwrap()];
    assert_eq!(cluster.nodes[0].run(&remove).code, 0);
    let found = check(&cluster, 0, &[]);
    let node = found.split("--forget-node ").nth(1).unwrap_or_else(|| panic!("{found}"));
    let node = node.split('`').next().unwrap();
    assert!(!check(&cluster, 0, &["--forget-node", node]).contains("is not erased yet"));
}

#[test]
fn cold_user_hears_how_much_was_fetched() {
    let cluster = Cluster::new(2);
    let folder = cluster.nodes[0].write_file("notes/first.md", "# First\n\nText.\n");
    for number in 0..MANY_NOTES {
        let text = format!("# Note {number}\n\n{}\n", "A line of text about tides. ".repeat(20));
        std::fs::write(folder.with_file_name(format!("{number}.md")), text).unwrap();
    }
    let settings = cluster.nodes[0].write_file("admin.toml", cluster.settings(""));
    let notes = folder.parent().unwrap().to_str().unwrap();
    let import = ["import", "notes", notes, "--config", settings.to_str().unwrap()];
    let done = cluster.nodes[0].run(&import);
    assert_eq!(done.code, 0, "{done:?}");
    let settings = cluster.settings("[limits]\nsource_ms = 300\n");
    let cold = cluster.nodes[1].serve_with_settings(&settings);
    let (client, mut answers) = (cold.client(), Vec::new());
    let search = json!({ "query": "tides" });
    wait_until("the library is fetched", || {
        let result = client.tool_result("notes.search", &search);
        let is_error = result["isError"] == true;
        answers.push(result["content"][0]["text"].as_str().unwrap().to_owned());
        !is_error
    });
    answers.pop();
    let fetching = |answer: &String| {
        let text = answer.strip_prefix("the library is being fetched to this server, ");
        let text = text.and_then(|text| text.strip_suffix(" rows; try again in a few seconds"));
        text.is_some_and(|text| text.split_once(" of ").is_some_and(|(_, all)| all.contains(',')))
    };
    assert!(answers.iter().any(fetching), "{answers:?}");
}

#[test]
fn check_and_metrics_compare_clocks() {
    let cluster = Cluster::new(1);
    let server = cluster.serve(0);
    let found = check(&cluster, 0, &[]);
    assert!(found.contains("ok: archive: the clock of this machine is "), "{found}");
    let name = "\nvademecum_archive_clock_offset_seconds ";
    wait_until("the clocks are compared", || {
        let metrics = server.request("GET", "/metrics").send().body;
        let value = metrics.split(name).nth(1).and_then(|rest| rest.lines().next());
        value.and_then(|value| value.parse::<f64>().ok()).is_some_and(|it| it.abs() < 5.0)
    });
}
