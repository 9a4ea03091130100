//! Builds of collections that are interrupted, and continued by another server.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use vademecum_collections::Collection;

use super::{Cluster, unique_word};
use crate::support::{CommandOutput, McpClient, vademecum_command, wait_until};

/// Number of documents of a build that is interrupted.
const DOCUMENTS: usize = 300;

/// Writes the documents of a node, one of them with `word`.
fn write_documents(cluster: &Cluster, node: usize, word: &str) {
    let text = "Knead the dough until it is smooth, and let it rest. ".repeat(80);
    for number in 0..DOCUMENTS {
        let text = format!("# Part {number}\n\n{text}\n");
        cluster.nodes[node].write_file(&format!("docs/{number}.md"), text);
    }
    cluster.nodes[node].write_file("docs/last.md", format!("# Last\n\nA {word}.\n"));
}

/// Returns the arguments that build `kb` at a node.
fn build_arguments(cluster: &Cluster, node: usize) -> Vec<String> {
    let settings = cluster.nodes[node].write_file("admin.toml", cluster.settings(""));
    let docs = cluster.nodes[node].file_path("docs");
    let [settings, docs] = [&settings, &docs].map(|path| path.to_str().unwrap().to_owned());
    let words = ["collection", "build", "kb", &docs, "--rebuild", "--config", &settings];
    words.map(str::to_owned).to_vec()
}

fn run(cluster: &Cluster, node: usize, arguments: &[&str]) -> CommandOutput {
    let settings = cluster.nodes[node].write_file("admin.toml", cluster.settings(""));
    cluster.nodes[node].run(&[arguments, &["--config", settings.to_str().unwrap()]].concat())
}

/// Builds `kb` at a node. Claims of interrupted builds have expired.
fn build(cluster: &Cluster, node: usize) -> CommandOutput {
    cluster.database.execute("DELETE FROM vademecum.shared_value WHERE kind = 'collection_build'");
    let arguments = build_arguments(cluster, node);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let built = cluster.nodes[node].run(&arguments);
    assert_eq!(built.code, 0, "{built:?}");
    built
}

/// Starts a build at a node, and returns when it writes its file.
fn start_build(cluster: &Cluster, node: usize) -> Child {
    let mut command: Command = vademecum_command();
    command.args(build_arguments(cluster, node));
    command.arg("--data").arg(cluster.nodes[node].data_folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let building = command.spawn().unwrap();
    let folder = cluster.nodes[node].data_folder().join("collections");
    wait_until("the build writes a file", || {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().map(Result::unwrap);
        let mut names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.any(|name| name.strip_suffix(".db").is_some_and(|stem| !stem.ends_with(".0")))
    });
    building
}

/// Returns the number of hits, once the node has fetched the collection.
fn search(client: &impl McpClient, word: &str) -> usize {
    let search = || client.tool_result("rag.search_fts", &json!({ "query": word }));
    wait_until("the collection is fetched", || search()["isError"] == false);
    search()["structuredContent"]["results"].as_array().unwrap().len()
}

fn listed(cluster: &Cluster, node: usize) -> Value {
    let listed = run(cluster, node, &["collection", "list", "--json"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    listed.parse_json()
}

#[test]
fn killed_build_hinders_no_node() {
    let cluster = Cluster::new(2);
    let word = unique_word();
    write_documents(&cluster, 0, "first");
    write_documents(&cluster, 1, &word);
    let mut building = start_build(&cluster, 0);
    building.kill().unwrap();
    building.wait().unwrap();
    build(&cluster, 1);
    // A server of an earlier program has left a file of the same name as that of the other node.
    let published = cluster.database.query_value(
        "SELECT substr(part, 12) FROM vademecum.part WHERE part LIKE 'collection/kb.%' \
         AND part <> 'collection/kb.0.db'",
    );
    let leftover = cluster.nodes[0].data_folder().join("collections").join(&published);
    assert!(!leftover.exists(), "no two builds make the same file");
    Collection::at(leftover).store().checkpoint().unwrap();
    for node in [0, 1] {
        assert_eq!(listed(&cluster, node)[0]["documents"], DOCUMENTS + 1, "node {node}");
        let server = cluster.serve(node);
        assert_eq!(search(&server.client(), &word), 1, "node {node}");
    }
    let synced = run(&cluster, 0, &["collection", "sync", "kb"]);
    assert_eq!(synced.code, 0, "{synced:?}");
    let checked = run(&cluster, 0, &["check", "--repair"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    build(&cluster, 0);
    for node in [0, 1] {
        assert_eq!(search(&cluster.serve(node).client(), "first"), 1, "node {node}");
    }
}

#[cfg(unix)]
#[test]
fn build_that_was_taken_over_publishes_nothing() {
    let cluster = Cluster::new(2);
    let word = unique_word();
    write_documents(&cluster, 0, "first");
    write_documents(&cluster, 1, &word);
    let building = start_build(&cluster, 0);
    let signal = |name: &str| {
        let done = Command::new("kill").args([name, &building.id().to_string()]).status();
        assert!(done.unwrap().success());
    };
    signal("-STOP");
    build(&cluster, 1);
    signal("-CONT");
    let ended = building.wait_with_output().unwrap();
    let reason = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && reason.contains("has taken over the build"), "{reason}");
    for node in [0, 1] {
        let server = cluster.serve(node);
        let client = server.client();
        assert_eq!((search(&client, &word), search(&client, "first")), (1, 0), "node {node}");
    }
    build(&cluster, 0);
    assert_eq!(search(&cluster.serve(1).client(), "first"), 1);
}

#[test]
fn claim_expires_by_clock_of_archive() {
    let cluster = Cluster::new(1);
    write_documents(&cluster, 0, "first");
    // A server whose clock differs from that of the archive by any time has the same claim, because no
    // time of its own is in it.
    let mut building = start_build(&cluster, 0);
    let left = cluster.database.query_value(
        "SELECT extract(EPOCH FROM expires_at - now())::int BETWEEN 1 AND 15 \
         FROM vademecum.shared_value WHERE kind = 'collection_build'",
    );
    building.kill().unwrap();
    building.wait().unwrap();
    assert_eq!(left, "t");
}
