//! End-to-end tests of lists of notes by properties, tasks, links and files.

use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value, json};
use vademecum_store::Database;

use crate::{
    support::{Library, McpClient, Server},
    writing::WRITE_ENABLED,
};

/// Notes of a vault, by their paths.
const NOTES: [(&str, &str); 9] = [
    (
        "Books/Dune.md",
        "---\nrating: 9\nstatus: read\nauthor: \"[[Frank Herbert]]\"\n---\nSand. See [[Emma]].\n",
    ),
    (
        "Books/Emma.md",
        "---\nrating: 7.5\nstatus: reading\n---\n- [ ] Read chapter 3\n- [x] Buy it\n",
    ),
    ("Books/Ulysses.md", "---\nrating: 4\nstatus: Read\n---\n[[Dublin]] and [[Emma]]\n"),
    ("Books/Notes.md", "rating:: 10\nNo front matter. [[#Here]]\n"),
    (
        "Projects/Boat.md",
        "---\ndue: 2026-03-01\n---\n- [ ] Caulk `the seams`\n* [/] Paint\n![[hull.png]]\n",
    ),
    ("Projects/House.md", "---\ndue: 2026-09-01\n---\n```\n- [ ] no task\n```\n- [-] Sell it\n"),
    ("Log/2026-01-01.md", "Rain. [[Boat]]\n"),
    ("Log/2026-01-02.md", "Wind. [[boat#Sails]] [[Mast]]\n"),
    ("Alone.md", "Nothing here.\n"),
];

fn library() -> Library {
    let library = Library::new();
    for (path, text) in NOTES {
        library.write_file(&format!("vault/{path}"), text);
    }
    library.write_file("vault/hull.png", b"\x89PNG\r\n\x1a\n");
    let done = library.run(&["import", library.file_path("vault").to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    library
}

/// Returns the titles of the listed items, sorted.
fn titles(client: &impl McpClient, arguments: &Value) -> Vec<String> {
    let page = client.call_tool("knowledge.list", arguments);
    let results = page["results"].as_array().unwrap();
    let mut titles: Vec<String> =
        results.iter().map(|it| it["title"].as_str().unwrap().to_owned()).collect();
    titles.sort_unstable();
    assert_eq!(page["total"], titles.len(), "{page}");
    titles
}

#[test]
fn notes_are_listed_by_properties() {
    let server = library().serve();
    let client = server.client();
    for (properties, expected) in [
        (json!({ "rating": ">=7" }), &["Dune", "Emma", "Notes"][..]),
        (json!({ "Rating": "< 7" }), &["Ulysses"]),
        (json!({ "rating": 9 }), &["Dune"]),
        (json!({ "status": "read" }), &["Dune", "Ulysses"]),
        (json!({ "status": "read", "rating": ">5" }), &["Dune"]),
        (json!({ "author": "frank herbert" }), &["Dune"]),
        (json!({ "due": "<2026-06-01" }), &["Boat"]),
        (json!({ "due": "*" }), &["Boat", "House"]),
        (json!({ "status": "!=read", "rating": "*" }), &["Emma", "Notes"]),
        (json!({ "rating": null, "due": null }), &["2026-01-01", "2026-01-02", "Alone"]),
        (json!({ "shelf": "*" }), &[]),
    ] {
        let found = titles(&client, &json!({ "properties": properties, "limit": 50 }));
        assert_eq!(found, expected, "{properties}");
    }
    let books = json!({ "properties": { "rating": ">=7" }, "folder": "Books", "limit": 2,
        "order_by": "title" });
    let page = client.call_tool("knowledge.list", &books);
    assert_eq!((&page["total"], &page["next_offset"]), (&json!(3), &json!(2)));
    assert_eq!(page["results"][0]["properties"], json!({ "rating": "9" }), "{page}");
    let text = client.call_tool_text("knowledge.list", &books);
    assert!(text.contains("Dune") && text.contains("rating: 9"), "{text}");
    let facets = json!({ "properties": { "rating": ">=7" }, "facets": ["folders"] });
    let counted = client.call_tool("knowledge.list", &facets);
    assert_eq!(counted["facets"]["folders"]["values"], json!([{ "value": "Books", "count": 3 }]));
}

#[test]
fn wrong_conditions_are_errors_that_help() {
    let server = library().serve();
    let client = server.client();
    for (arguments, part) in [
        (json!({ "properties": { "rating": ">=" } }), "properties.rating: `>=` has no value"),
        (json!({ "properties": { "rating": [7] } }), "properties.rating: expected a text such as"),
        (json!({ "properties": "rating" }), "properties"),
        (json!({ "tasks": "late" }), "tasks: unknown variant `late`"),
        (json!({ "links": "dead" }), "links: unknown variant `dead`"),
        (json!({ "path": "/" }), "path: expected a file, a folder or a pattern"),
        (json!({ "path": "a*".repeat(600) }), "path: expected at most 1000 characters, got 1200"),
        (
            json!({ "properties": (0..51).map(|it| (format!("p{it}"), json!(1))).collect::<Map<_, _>>() }),
            "properties: expected at most 50, got 51",
        ),
        (json!({ "tasks": "open", "sources": ["media"] }), "tasks: only `notes` has this"),
        (json!({ "tasks": "open", "as_of": "2026-01-01" }), "as_of: path, properties, tasks"),
    ] {
        let error = client.expect_tool_error("knowledge.list", &arguments);
        assert!(error.contains(part), "{arguments}: {error}");
    }
}

#[test]
fn notes_are_listed_with_their_tasks() {
    let server = library().serve();
    let client = server.client();
    assert_eq!(titles(&client, &json!({ "tasks": "open" })), ["Boat", "Emma"]);
    assert_eq!(titles(&client, &json!({ "tasks": "done" })), ["Emma", "House"]);
    let open =
        client.call_tool("knowledge.list", &json!({ "tasks": "open", "folder": "Projects" }));
    assert_eq!(open["results"][0]["tasks"], json!(["Caulk `the seams`", "Paint"]), "{open}");
    let text = client.call_tool_text("knowledge.list", &json!({ "tasks": "done" }));
    assert!(text.contains("  - Buy it\n") && text.contains("  - Sell it\n"), "{text}");
}

#[test]
fn notes_are_listed_by_their_links() {
    let server = library().serve();
    let client = server.client();
    let broken =
        client.call_tool("knowledge.list", &json!({ "links": "broken", "order_by": "title" }));
    let targets: Vec<(&Value, &Value)> = broken["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["title"], &it["broken_links"]))
        .collect();
    let expected = [
        (json!("2026-01-02"), json!(["Mast"])),
        (json!("Dune"), json!(["Frank Herbert"])),
        (json!("Ulysses"), json!(["Dublin"])),
    ];
    assert_eq!(targets, expected.each_ref().map(|(title, links)| (title, links)));
    let orphans = ["2026-01-01", "2026-01-02", "Alone", "Dune", "House", "Notes", "Ulysses"];
    assert_eq!(titles(&client, &json!({ "links": "orphan" })), orphans);
    assert_eq!(titles(&client, &json!({ "links": "unlinked" })), ["Alone", "House", "Notes"]);
    let both = json!({ "links": "orphan", "properties": { "status": "read" } });
    assert_eq!(titles(&client, &both), ["Dune", "Ulysses"]);
}

#[test]
fn items_are_listed_by_their_files() {
    let library = library();
    library.import_file("media", "report-2026.txt", "A report.");
    let server = library.serve();
    let client = server.client();
    for (path, expected) in [
        ("Log/", &["2026-01-01", "2026-01-02"][..]),
        ("vault/Projects", &["Boat", "House"]),
        ("books/dune.md", &["Dune"]),
        ("Dune", &["Dune"]),
        ("Log/*-02.md", &["2026-01-02"]),
        ("nowhere", &[]),
        // The folders above are those of the server.
        ("tmp", &[]),
        ("/tmp/*", &[]),
        ("*/vault/Projects/*", &[]),
    ] {
        assert_eq!(titles(&client, &json!({ "path": path })), expected, "{path}");
    }
    let listed = client.call_tool("knowledge.list", &json!({ "path": "report-*.txt" }));
    assert_eq!(
        (&listed["total"], &listed["results"][0]["path"]),
        (&json!(1), &json!("report-2026.txt"))
    );
    let boat = client.only_hit("notes.search", &json!({ "query": "caulk" }));
    assert_eq!(boat["path"], "Projects/Boat.md", "{boat}");
    let report = client.only_hit("media.search", &json!({ "query": "report" }));
    assert_eq!(report["path"], "report-2026.txt", "{report}");
    let read = client.call_tool("knowledge.get", &json!({ "path": boat["path"] }));
    assert_eq!(read["meta"]["uri"], boat["uri"]);
    assert_eq!(read["meta"]["path"], "Projects/Boat.md");
}

#[test]
fn changes_of_a_note_change_its_lists() {
    let server = library().serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let emma = client.call_tool("notes.get", &json!({ "title": "Emma" }));
    let change = json!({ "note_id": emma["meta"]["id"], "version": emma["meta"]["version"],
        "properties": { "rating": 2 },
        "replace": [{ "old": "- [ ] Read chapter 3", "new": "- [x] Read chapter 3" }] });
    client.call_tool("notes.update", &change);
    let high = json!({ "properties": { "rating": ">=7" } });
    assert_eq!(titles(&client, &high), ["Dune", "Notes"]);
    assert_eq!(titles(&client, &json!({ "tasks": "open" })), ["Boat"]);
    client.call_tool("notes.create", &json!({ "title": "Mast", "content": "- [ ] Varnish" }));
    assert_eq!(titles(&client, &json!({ "tasks": "open" })), ["Boat", "Mast"]);
    let broken = json!({ "links": "broken" });
    assert_eq!(titles(&client, &broken), ["Dune", "Ulysses"]);
    let boat = client.call_tool("notes.get", &json!({ "title": "Boat" }))["meta"]["id"].clone();
    client.call_tool("notes.delete", &json!({ "note_id": boat }));
    assert_eq!(titles(&client, &broken), ["2026-01-01", "2026-01-02", "Dune", "Ulysses"]);
    assert_eq!(titles(&client, &json!({ "tasks": "open" })), ["Mast"]);
}

#[test]
fn hidden_notes_are_in_no_list() {
    let library = library();
    library.write_file(
        "secret/Plot.md",
        "---\nrating: 8\ntags: [private]\n---\n- [ ] Hide\n[[Gone]] [[Alone]]",
    );
    let folder = library.file_path("secret");
    assert_eq!(library.run(&["import", "notes", folder.to_str().unwrap()]).code, 0);
    let all = library.serve();
    assert!(titles(&all.client(), &json!({ "tasks": "open" })).contains(&"Plot".to_owned()));
    drop(all);
    let server = library.serve_with_settings("[[deny]]\ntags = [\"private\"]");
    let client = server.client();
    for arguments in [
        json!({ "properties": { "rating": ">=7" } }),
        json!({ "tasks": "open" }),
        json!({ "links": "broken" }),
        json!({ "links": "orphan" }),
        json!({ "path": "secret" }),
    ] {
        let listed = client.call_tool("knowledge.list", &arguments).to_string();
        assert!(!listed.contains("Plot") && !listed.contains("Gone"), "{arguments}: {listed}");
    }
}

/// Brings the database of notes into the form that it had before properties and tasks were stored.
fn forget_properties(library: &Library) {
    let path = library.data_folder().join("users/local/chacha.db");
    let database = Connection::open_with_flags(path, OpenFlags::default()).unwrap();
    database
        .execute_batch(
            "DROP TABLE note_properties; DROP INDEX items_with_open_tasks;
             DROP INDEX items_with_done_tasks;
             ALTER TABLE link_items DROP COLUMN open_tasks;
             ALTER TABLE link_items DROP COLUMN done_tasks;
             UPDATE link_versions SET version = 2;
             DROP TABLE sync_places; DROP TABLE sync_items; DROP TABLE sync_files;",
        )
        .unwrap();
    let version = i64::try_from(Database::Chacha.migrations().len() - 2).unwrap();
    database.pragma_update(None, "user_version", version).unwrap();
}

fn assert_listed(server: &Server) {
    let client = server.client();
    let high = json!({ "properties": { "rating": ">=7" } });
    assert_eq!(titles(&client, &high), ["Dune", "Emma", "Notes"]);
    assert_eq!(titles(&client, &json!({ "tasks": "open" })), ["Boat", "Emma"]);
}

#[test]
fn earlier_library_is_listed_by_properties() {
    let library = library();
    forget_properties(&library);
    assert_listed(&library.serve());
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    let path = library.data_folder().join("users/local/chacha.db");
    let database = Connection::open_with_flags(path, OpenFlags::default()).unwrap();
    for damage in ["UPDATE note_properties SET value = '1'", "UPDATE link_items SET open_tasks = 3"]
    {
        database.execute(damage, []).unwrap();
        let checked = library.run(&["check"]);
        assert!(checked.stdout.contains("the stored links of notes are damaged"), "{checked:?}");
        assert_eq!(library.run(&["check", "--repair"]).code, 0);
        assert_eq!(library.run(&["check"]).code, 0, "{damage}");
    }
    drop(database);
    assert_listed(&library.serve());
}

#[test]
fn command_lists_by_properties_tasks_links_and_path() {
    let library = library();
    for (arguments, parts) in [
        (&["--property", "rating=>=9"][..], &["Dune", "rating: 9", "2 of 2"][..]),
        (&["--property", "status=read", "--property", "rating=4"], &["Ulysses"]),
        (&["--tasks", "open", "--path", "Projects"], &["Boat", "- Caulk `the seams`"]),
        (&["--links", "broken"], &["Dune", "broken: Frank Herbert"]),
    ] {
        let listed = library.run(&[&["list"], arguments].concat());
        for part in parts {
            assert!(listed.stdout.contains(part), "{arguments:?}: {part}: {listed:?}");
        }
    }
    let wrong = library.run(&["list", "--property", "rating"]);
    assert!(wrong.code != 0 && wrong.stderr.contains("NAME=VALUE"), "{wrong:?}");
}
