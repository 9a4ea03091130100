//! Copies of libraries on servers: the first one is made while callers wait, and clocks are compared.

use serde_json::json;

use super::Cluster;
use crate::support::{McpClient, wait_until};

/// Number of notes whose copy takes longer than a source may take.
const MANY_NOTES: usize = 3_000;

/// Returns what `check` prints on a node.
fn check(cluster: &Cluster, node: usize, options: &[&str]) -> String {
    let settings = cluster.nodes[node].write_file("admin.toml", cluster.settings(""));
    let check = ["check", "--config", settings.to_str().unwrap()];
    cluster.nodes[node].run(&[&check[..], options].concat()).stdout
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
