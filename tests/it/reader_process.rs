//! Files that crash, block or bloat a parser, imported by the command line and synchronized by a
//! server: each costs only itself.
//!
//! `VADEMECUM_FAULT_ROUNDS` sets the number of crashes of one server: eight for each round.

use std::{
    fmt::Write as _,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    faults::round_count,
    support::{HttpClient, Library, McpClient},
};

/// Number of good files beside the hostile ones.
const GOOD_FILES: usize = 600;

/// Returns a PDF whose content stream is a list nested this deeply.
fn nested_pdf(depth: usize) -> Vec<u8> {
    let stream = "[".repeat(depth);
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<>>>>".to_owned(),
        format!("<</Length {}>>\nstream\n{stream}\nendstream", stream.len()),
    ];
    let mut paper = "%PDF-1.4\n".to_owned();
    let mut offsets = String::new();
    for (number, object) in (1..).zip(&objects) {
        writeln!(offsets, "{:010} 00000 n ", paper.len()).unwrap();
        writeln!(paper, "{number} 0 obj\n{object}\nendobj").unwrap();
    }
    let start = paper.len();
    write!(
        paper,
        "xref\n0 5\n0000000000 65535 f \n{offsets}trailer\n\
         <</Size 5/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    paper.into_bytes()
}

/// Returns a mail that contains a mail, and so on, this deeply.
fn nested_mail(depth: usize) -> String {
    let head = "From: a@example.com\nSubject: Deep\nContent-Type: message/rfc822\n\n";
    head.repeat(depth)
}

/// Returns a web page whose only element has this number of attributes.
fn page_with_attributes(count: usize) -> String {
    let attributes = (0..count).fold(String::new(), |mut text, number| {
        write!(text, " a{number}=1").unwrap();
        text
    });
    format!("<!doctype html><html><body><p{attributes}>Text.</p></body></html>")
}

/// Writes the good and the hostile files. Returns the names of the hostile ones.
fn write_files(library: &Library) -> [&'static str; 7] {
    for number in 0..GOOD_FILES {
        let text = format!("# Good {number}\n\nA thimble of kind {number}.\n");
        library.write_file(&format!("mixed/good{number}.md"), text);
    }
    let deep = |open: &str, depth: usize| open.repeat(depth);
    let hostile = [
        ("a-nested.pdf", nested_pdf(200_000)),
        ("good1-nested.eml", nested_mail(50_000).into_bytes()),
        ("good2-attributes.html", page_with_attributes(100_000).into_bytes()),
        ("good3-deep.xml", format!("<rss><channel>{}", deep("<a>", 200_000)).into_bytes()),
        ("good4-deep.json", deep("[", 1_000_000).into_bytes()),
        ("good5-deep.html", format!("<html>{}", deep("<b><p>", 300_000)).into_bytes()),
        ("z-nested.pdf", nested_pdf(300_000)),
    ];
    hostile.map(|(name, content)| {
        library.write_file(&format!("mixed/{name}"), content);
        name
    })
}

fn reasons(skipped: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let skipped = skipped.as_array().unwrap();
    skipped.iter().map(|it| (text(&it["path"]), text(&it["reason"]))).collect()
}

fn write_settings(library: &Library, seconds: u32, megabytes: u32) -> String {
    let settings = format!("[import]\nfile_seconds = {seconds}\nfile_memory_mb = {megabytes}\n");
    library.write_file("limits.toml", settings).to_str().unwrap().to_owned()
}

#[test]
fn crashing_file_costs_only_itself() {
    let library = Library::new();
    let hostile = write_files(&library);
    // A plain HTML page or mail that is parsed in time may be imported; the rest is skipped. The
    // time is ample, so that files crash the reader before it is over on a busy machine, too.
    let limits = write_settings(&library, 30, 512);
    let folder = library.file_path("mixed");
    let done = library.run(&["import", folder.to_str().unwrap(), "--json", "--config", &limits]);
    assert_eq!(done.code, 0, "{done:?}");
    let summary = done.parse_json();
    let skipped = reasons(&summary["skipped"]);
    let nested: Vec<&str> = hostile
        .iter()
        .filter(|name| name.contains("nested.pdf"))
        .map(|name| {
            let reason = skipped.iter().find(|(path, _)| path.ends_with(name));
            reason.unwrap().1.as_str()
        })
        .collect();
    // Nevertheless, a file may reach its time limit before.
    let endings = ["crashed the reader", "took longer", "cannot be read as a PDF: it takes more"];
    let is_expected = |it: &&str| endings.iter().any(|one| it.starts_with(one));
    assert!(nested.iter().all(is_expected), "{skipped:?}");
    assert!(nested.iter().any(|reason| reason.starts_with("crashed")), "{skipped:?}");
    assert!(skipped.iter().all(|(path, _)| hostile.iter().any(|name| path.ends_with(name))));
    assert_eq!(summary["sources"]["notes"]["new"], GOOD_FILES, "{summary}");
}

#[test]
fn endless_file_stops_at_time_limit() {
    let library = Library::new();
    library.write_file("pages/good.md", "# Good\n\nA thimble.\n");
    library.write_file("pages/slow.html", page_with_attributes(400_000));
    let limits = write_settings(&library, 1, 512);
    let folder = library.file_path("pages");
    let done =
        library.run(&["import", "media", folder.to_str().unwrap(), "--json", "--config", &limits]);
    let summary = done.parse_json();
    let skipped = reasons(&summary["skipped"]);
    assert!(skipped[0].1.starts_with("took longer than 1 s"), "{skipped:?}");
    assert_eq!((skipped.len(), &summary["new"]), (1, &json!(1)));
}

#[test]
fn killed_file_gets_twice_the_time_next() {
    let library = Library::new();
    library.write_file("pages/slow.html", page_with_attributes(400_000));
    let limits = write_settings(&library, 1, 512);
    let folder = library.file_path("pages");
    let command = ["import", "media", folder.to_str().unwrap(), "--json", "--config", &limits];
    for seconds in [1, 2, 4] {
        let summary = library.run(&command).parse_json();
        let (_, reason) = reasons(&summary["skipped"]).remove(0);
        assert!(reason.starts_with(&format!("took longer than {seconds} s")), "{reason}");
    }
}

#[test]
fn growing_file_stops_at_memory_limit() {
    let library = Library::new();
    library.write_file("pages/good.md", "# Good\n\nA thimble.\n");
    library.write_file("pages/large.md", "Word. ".repeat(20_000_000));
    let limits = write_settings(&library, 60, 16);
    let folder = library.file_path("pages");
    let done = library.run(&["import", folder.to_str().unwrap(), "--json", "--config", &limits]);
    let summary = done.parse_json();
    let skipped = reasons(&summary["skipped"]);
    assert!(skipped[0].1.starts_with("needs more than 16 MB"), "{skipped:?}");
    assert_eq!((skipped.len(), &summary["new"]), (1, &json!(1)));
}

fn collection_settings(library: &Library, folder: &str) -> String {
    let folder = library.file_path(folder);
    let folder = folder.to_str().unwrap();
    format!(
        "[import]\nfile_seconds = 5\n[tools]\nrag = \"on\"\n\
         [[collections]]\nname = \"mixed\"\nfolders = [{folder:?}]\n"
    )
}

/// Starts a synchronization and returns the collection's state when it has ended, within this number
/// of seconds. Meanwhile the server answers a search again and again.
fn sync_while_searching(client: &HttpClient<'_>, max_seconds: u64) -> Value {
    client.call_tool("rag.admin.sync", &json!({}));
    let begun = Instant::now();
    loop {
        let found = client.call_tool("knowledge.search", &json!({ "query": "lantern" }));
        assert!(found["results"].is_array(), "{found}");
        let stats = client.call_tool("rag.admin.stats", &json!({}));
        if stats["sources"][0]["last_sync"].is_string() {
            return stats["sources"][0].clone();
        }
        assert!(begun.elapsed().as_secs() < max_seconds, "{stats}");
        // The readers give way to a server that answers without a pause.
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn crashing_file_leaves_server_running() {
    let library = Library::with_lanterns();
    write_files(&library);
    let server = library.serve_with_settings(&collection_settings(&library, "mixed"));
    let state = sync_while_searching(&server.client(), 300);
    assert!(state["docs"].as_u64().unwrap() >= GOOD_FILES as u64, "{state}");
    server.assert_alive();
}

#[test]
fn reader_may_crash_many_times() {
    let library = Library::with_lanterns();
    let crashes = round_count() * 8;
    for number in 0..crashes {
        library.write_file(
            &format!("crashes/{number}.pdf"),
            nested_pdf(200_000 + usize::try_from(number).unwrap()),
        );
    }
    library.write_file("crashes/good.md", "# Good\n\nA thimble.\n");
    let server = library.serve_with_settings(&collection_settings(&library, "crashes"));
    let state = sync_while_searching(&server.client(), 300 + 2 * crashes);
    assert_eq!(state["docs"], 1, "{state}");
    server.assert_alive();
}
