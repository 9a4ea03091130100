//! End-to-end tests of lists without a query: `knowledge.list` and `vademecum list`.

use serde_json::{Value, json};
use vademecum_store::{Database, Durability};

use crate::{
    support::{
        HttpClient, Library, McpClient, SOURCES, character_card, claude_conversation, prompts_csv,
    },
    writing::WRITE_ENABLED,
};

/// Maximum size of an answer without a `limit`, in bytes.
const MAX_DEFAULT_BYTES: usize = 4_096;

/// Notes of a vault: path, tags, day of the last change.
const NOTES: [(&str, &str, &str); 5] = [
    ("Projects/House/Roof.md", "[house, Work]", "2026-03-01"),
    ("Projects/House/Cellar.md", "[house]", "2026-03-02"),
    ("Projects/Budget.md", "[work]", "2026-02-10"),
    ("Kitchen/Bread.md", "[baking]", "2026-01-05"),
    ("Inbox.md", "[]", "2026-01-06"),
];

/// Returns a library of notes in folders, with one item in each of the other sources.
fn vault() -> Library {
    let library = Library::with_item_per_source("Attic", "A single thimble.");
    for (path, tags, day) in NOTES {
        let text = format!("---\ntags: {tags}\ndate: {day}\n---\nText of {path}.\n");
        library.write_file(&format!("vault/{path}"), text);
    }
    let done = library.run(&["import", "notes", library.file_path("vault").to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    set_dates(&library);
    library
}

/// Sets the dates of the notes by their titles, and those of all other items to 2020.
fn set_dates(library: &Library) {
    let old = "last_modified = '2020-05-05T12:00:00.000Z'";
    let mut statements: Vec<(Database, String)> = [
        (Database::Chacha, "notes"),
        (Database::Chacha, "conversations"),
        (Database::Chacha, "character_cards"),
        (Database::Media, "Media"),
        (Database::Prompts, "Prompts"),
    ]
    .map(|(database, table)| (database, format!("UPDATE {table} SET {old}")))
    .to_vec();
    for (path, _, day) in NOTES {
        let stem = path.rsplit('/').next().unwrap().trim_end_matches(".md");
        let set = format!("last_modified = '{day}T08:00:00.000Z', created_at = '2019-01-01'");
        let note = format!("title = '{stem}' OR names LIKE '%{stem}%'");
        statements.push((Database::Chacha, format!("UPDATE notes SET {set} WHERE {note}")));
    }
    for (database, sql) in statements {
        let store = library.store(database);
        store.write(Durability::Full, |writer| writer.execute(&sql, &[]).map(drop)).unwrap();
    }
}

fn list(client: &HttpClient<'_>, arguments: &Value) -> Value {
    client.call_tool("knowledge.list", arguments)
}

fn titles(page: &Value) -> Vec<&str> {
    let results = page["results"].as_array().unwrap();
    results.iter().map(|entry| entry["title"].as_str().unwrap()).collect()
}

#[test]
fn list_is_ordered_by_date_or_title() {
    let server = vault().serve();
    let client = server.client();
    let all = list(&client, &json!({ "limit": 100 }));
    assert_eq!(all["total"], 10);
    assert_eq!(titles(&all)[..5], ["Cellar", "Roof", "Budget", "Inbox", "Bread"]);
    let sources: Vec<&str> = all["results"].as_array().unwrap()[5..]
        .iter()
        .map(|it| it["source"].as_str().unwrap())
        .collect();
    assert_eq!(sources, SOURCES, "ties are in the order of the sources");
    let by_title = list(&client, &json!({ "order_by": "title", "sources": ["notes", "media"] }));
    assert_eq!(titles(&by_title), ["Attic", "Attic", "Bread", "Budget", "Cellar", "Inbox", "Roof"]);
    let created = list(&client, &json!({ "order_by": "created", "sources": ["notes"] }));
    assert_eq!(titles(&created)[0], "Attic", "created by the import, the others in 2019");
}

#[test]
fn pages_have_exact_total_and_every_item_once() {
    let server = vault().serve();
    let client = server.client();
    for order in ["modified", "created", "title"] {
        let (mut offset, mut uris) = (json!(0), Vec::new());
        while !offset.is_null() {
            let page = list(&client, &json!({ "limit": 3, "offset": offset, "order_by": order }));
            assert_eq!(page["total"], 10, "{order}");
            let results = page["results"].as_array().unwrap();
            uris.extend(results.iter().map(|entry| entry["uri"].as_str().unwrap().to_owned()));
            offset = page["next_offset"].clone();
        }
        let all = list(&client, &json!({ "limit": 100, "order_by": order }));
        let all: Vec<&str> = all["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["uri"].as_str().unwrap())
            .collect();
        assert_eq!(uris, all, "{order}");
    }
    assert_eq!(titles(&list(&client, &json!({ "offset": 50 }))), Vec::<&str>::new());
}

#[test]
fn entry_has_title_folder_tags_and_beginning() {
    let server = vault().serve();
    let page = list(&server.client(), &json!({ "sources": ["notes"], "limit": 2 }));
    let roof = &page["results"][1];
    assert_eq!(
        (&roof["title"], &roof["folder"], &roof["source"]),
        (&json!("Roof"), &json!("Projects/House"), &json!("notes"))
    );
    assert_eq!(roof["tags"], json!(["house", "work"]));
    assert_eq!(roof["last_modified"], "2026-03-01T08:00:00.000Z");
    assert!(roof["snippet"].as_str().unwrap().contains("Text of Projects"), "{roof}");
    assert!(roof.get("score").is_none(), "{roof}");
    let text = server
        .client()
        .call_tool_text("knowledge.list", &json!({ "sources": ["notes"], "limit": 2 }));
    assert!(
        text.starts_with("- Cellar — notes://")
            && text.contains(" — 2026-03-02 — Projects/House — house\n"),
        "{text}"
    );
    assert!(text.contains("\n2 of 6; for more pass offset 2."), "{text}");
}

#[test]
fn filters_select_dates_tags_folders_and_types() {
    let server = vault().serve();
    let client = server.client();
    let found = |arguments: Value| {
        let page = list(&client, &arguments);
        let mut titles: Vec<String> = titles(&page).into_iter().map(str::to_owned).collect();
        titles.sort_unstable();
        assert_eq!(page["total"], titles.len(), "{page}");
        titles
    };
    // What was written on one day, and notes with a tag that changed in a month.
    assert_eq!(found(json!({ "after": "2026-01-05", "before": "2026-01-06" })), ["Bread"]);
    assert_eq!(
        found(json!({ "tags": ["WORK"], "after": "2026-02-01", "before": "2026-03-01" })),
        ["Budget"]
    );
    assert_eq!(found(json!({ "tags": ["house", "baking"] })), ["Bread", "Cellar", "Roof"]);
    assert_eq!(found(json!({ "folder": "Projects" })), ["Budget", "Cellar", "Roof"]);
    assert_eq!(found(json!({ "folder": "projects/house/" })), ["Cellar", "Roof"]);
    assert_eq!(found(json!({ "folder": "House" })), ["Cellar", "Roof"]);
    assert_eq!(found(json!({ "folder": "Hous" })), Vec::<String>::new());
    assert_eq!(found(json!({ "media_types": ["Markdown"] })), ["Attic"]);
    assert_eq!(found(json!({ "media_types": ["pdf"] })), Vec::<String>::new());
    assert_eq!(found(json!({ "sources": "characters", "tags": ["made up"] })), ["Attic"]);
    assert_eq!(found(json!({ "sources": ["media", "chats"] })), ["Attic", "Attic"]);
}

#[test]
fn media_conversations_and_prompts_are_filtered_by_tag() {
    let library = Library::with_item_per_source("Attic", "A single thimble.");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    for source in SOURCES.into_iter().filter(|source| *source != "chats") {
        let uri = list(&client, &json!({ "sources": [source] }))["results"][0]["uri"].clone();
        client.call_tool("knowledge.tag", &json!({ "uri": uri, "add": ["Sewing"] }));
        let tagged = list(&client, &json!({ "sources": [source], "tags": ["sewing"] }));
        assert_eq!(tagged["total"], 1, "{source}");
        assert_eq!(list(&client, &json!({ "sources": [source], "tags": ["x"] }))["total"], 0);
    }
    let counted = list(&client, &json!({ "facets": "tags", "tags": ["sewing"] }));
    assert_eq!(counted["facets"]["tags"]["values"][0], json!({ "value": "Sewing", "count": 4 }));
}

#[test]
fn facets_count_over_all_that_match() {
    let server = vault().serve();
    let client = server.client();
    let facets = |arguments: Value| {
        let page = list(&client, &arguments);
        assert_eq!(page["results"], json!([]), "without a limit, only the facets");
        let values = |facet: &str| {
            let values = page["facets"][facet]["values"].as_array().unwrap().iter();
            let shown =
                values.map(|it| format!("{} {}", it["value"].as_str().unwrap(), it["count"]));
            shown.collect::<Vec<_>>()
        };
        ["tags", "folders", "types", "months", "sources"].map(values)
    };
    let names = json!(["tags", "folders", "types", "months", "sources"]);
    let [tags, folders, types, months, sources] = facets(json!({ "facets": names }));
    assert_eq!(tags, ["house 2", "work 2", "baking 1", "made up 1"]);
    assert_eq!(folders, ["Projects 3", "Projects/House 2", "Kitchen 1"]);
    assert_eq!(types, ["markdown 1"]);
    assert_eq!(months, ["2026-03 2", "2026-02 1", "2026-01 2", "2020-05 5"]);
    assert_eq!(sources, ["notes 6", "characters 1", "chats 1", "media 1", "prompts 1"]);
    let [tags, folders, _, months, _] = facets(json!({ "facets": names, "folder": "House" }));
    assert_eq!(
        (tags, months),
        (vec!["house 2".to_owned(), "work 1".to_owned()], vec!["2026-03 2".to_owned()])
    );
    assert_eq!(folders, ["Projects 2", "Projects/House 2"]);
    let both = list(&client, &json!({ "facets": ["folders"], "limit": 2 }));
    assert_eq!((titles(&both).len(), both["facets"].as_object().unwrap().len()), (2, 1));
    let text = client.call_tool_text("knowledge.list", &json!({ "facets": ["folders"] }));
    assert!(text.starts_with("folders: Projects (3), Projects/House (2), Kitchen (1)\n"), "{text}");
}

#[test]
fn folders_of_two_imports_stay_apart() {
    let library = Library::new();
    for (path, text) in [
        ("one/Work/a.md", "Rye."),
        ("one/Work/House/b.md", "Spelt."),
        ("two/Work/a.md", "Oat."),
        ("two/Play/c.md", "Barley."),
    ] {
        library.write_file(path, text);
    }
    for folder in ["one", "two"] {
        library.import_paths("notes", &[&library.file_path(folder)], &[]);
    }
    let server = library.serve();
    let client = server.client();
    let folders = |arguments: &Value| {
        let page = list(&client, arguments);
        let values = page["facets"]["folders"]["values"].as_array().unwrap().clone();
        let shown =
            values.iter().map(|it| format!("{} {}", it["value"].as_str().unwrap(), it["count"]));
        shown.collect::<Vec<_>>()
    };
    let mut all = folders(&json!({ "facets": ["folders"] }));
    all.sort();
    assert_eq!(all, ["Play 1", "Work/House 1", "one/Work 2", "two/Work 1"]);
    let count = |folder: &str| {
        let page = list(&client, &json!({ "folder": folder }));
        titles(&page).len()
    };
    for (folder, expected) in [
        ("Work", 3),
        ("one/Work", 2),
        ("TWO/work", 1),
        ("one", 2),
        ("two", 2),
        ("one/Play", 0),
        ("on", 0),
    ] {
        assert_eq!(count(folder), expected, "{folder}");
    }
    // A file that is named alone keeps the folders below the one that was imported first.
    let edited = library.write_file("one/Work/House/b.md", "Spelt and rye.");
    library.import_paths("notes", &[&edited], &[]);
    let house = list(&client, &json!({ "folder": "one/Work/House" }));
    assert_eq!(titles(&house).len(), 1, "{house}");
}

#[test]
fn default_answers_stay_within_size_limit() {
    let library = Library::new();
    for number in 0..60 {
        let title =
            format!("Minutes of meeting {number} of the {} lighthouse", "old harbour ".repeat(12));
        let tags: Vec<String> =
            (0..30).map(|tag| format!("a rather long tag {number} {tag}")).collect();
        let folder = format!("vault/A rather long name of a folder {number}/Another one");
        let text =
            format!("---\ntags: [{}]\n---\n# {title}\n{}", tags.join(", "), "Words. ".repeat(200));
        library.write_file(&format!("{folder}/{number}.md"), text);
    }
    let chat = claude_conversation(&"Long title ".repeat(30), [("human", "words ".repeat(500))]);
    library.import_file("chats", "chat.json", chat.to_string());
    let vault = library.file_path("vault");
    assert_eq!(library.run(&["import", "notes", vault.to_str().unwrap()]).code, 0);
    let server = library.serve();
    let client = server.client();
    for arguments in [
        json!({}),
        json!({ "order_by": "title" }),
        json!({ "facets": ["tags"] }),
        json!({ "facets": ["tags", "folders", "types", "months", "sources"] }),
    ] {
        let page = list(&client, &arguments);
        let (json, text) = (page.to_string(), client.call_tool_text("knowledge.list", &arguments));
        assert!(json.len() <= MAX_DEFAULT_BYTES, "{} bytes: {json}", json.len());
        assert!(text.len() <= MAX_DEFAULT_BYTES, "{} bytes: {text}", text.len());
        assert_eq!(page["total"], 61);
        if arguments.get("facets").is_none() {
            let shown = titles(&page).len();
            assert!(shown >= 4 && page["next_offset"] == shown, "{page}");
        } else {
            let tags = &page["facets"]["tags"];
            let listed = tags["values"].as_array().unwrap().len();
            assert_eq!(tags["omitted"], 1_800 - listed, "{page}");
        }
    }
    assert_eq!(titles(&list(&client, &json!({ "limit": 50 }))).len(), 50);
}

#[test]
fn invalid_arguments_are_errors_that_say_what_is_allowed() {
    let server = vault().serve();
    let client = server.client();
    for (arguments, part) in [
        (json!({ "sources": ["recipes"] }), "sources are notes, media"),
        (json!({ "sources": [] }), "sources: is empty"),
        (json!({ "order_by": "size" }), "`modified`, `created`, `title`"),
        (json!({ "facets": ["colours"] }), "`tags`, `folders`, `types`, `months`, `sources`"),
        (json!({ "limit": 101 }), "limit: expected 0 to 100, got 101"),
        (json!({ "offset": -1 }), "offset: expected 0 or more"),
        (json!({ "after": "yesterday" }), "ISO 8601"),
        (json!({ "folder": "House", "sources": ["chats"] }), "folder: only `notes`"),
        (json!({ "folder": "House", "media_types": ["pdf"] }), "media_types: only `media`"),
        (json!({ "foldr": "House" }), "folder"),
    ] {
        let error = client.expect_tool_error("knowledge.list", &arguments);
        assert!(error.contains(part), "{arguments}: {error}");
    }
}

#[test]
fn deleted_and_foreign_items_are_not_listed() {
    let library = vault();
    library.import_for_user("eve", "notes", "secret.md", "# Secret\nHers.");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let client = server.client();
    let page = list(&client, &json!({ "folder": "House" }));
    let note = &page["results"][0];
    let version = client.get_item("notes", &note["uri"], &json!({}))["meta"]["version"].clone();
    client.call_tool("notes.delete", &json!({ "note_id": note["uri"], "version": version }));
    let page = list(&client, &json!({ "limit": 100, "facets": ["tags", "folders"] }));
    assert_eq!(page["total"], 9);
    assert!(!page.to_string().contains("Secret"), "{page}");
    let folders = page["facets"]["folders"]["values"].as_array().unwrap();
    assert!(folders.contains(&json!({ "value": "Projects/House", "count": 1 })), "{page}");
}

#[test]
fn command_prints_items_facets_and_json() {
    let library = vault();
    let done = library.run(&["list", "--source", "notes", "--limit", "2"]);
    assert_eq!(done.code, 0, "{done:?}");
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(lines[0], "2026-03-02  Cellar  in Projects/House  #house");
    assert!(lines[1].starts_with("            notes://"), "{done:?}");
    assert_eq!(lines[4], "2 of 6; continue with --offset 2");
    let filtered = library.run(&[
        "list",
        "--tag",
        "work",
        "--folder",
        "Projects",
        "--after",
        "2026-02-01",
        "--before",
        "2026-03-01",
        "--order",
        "title",
    ]);
    assert!(
        filtered.stdout.contains("Budget") && filtered.stdout.ends_with("1 of 1\n"),
        "{filtered:?}"
    );
    let facets = library.run(&["list", "--facet", "folders"]);
    assert!(facets.stdout.starts_with("folders:\n       3  Projects\n"), "{facets:?}");
    let nothing = library.run(&["list", "--tag", "none"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, "Nothing matches.\n"));
    let server = library.serve();
    let same = json!({ "sources": ["notes"], "limit": 3, "order_by": "modified" });
    let printed = library.run(&["list", "--source", "notes", "--limit", "3", "--json"]);
    assert_eq!(printed.parse_json(), list(&server.client(), &same));
    let wrong = library.run(&["list", "--source", "recipes"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("unknown source"), "{wrong:?}");
}

#[test]
fn command_prints_no_control_characters() {
    let library = Library::new();
    let name = "Rye\u{1b}]0;x\u{7} \u{202e}loaf\nNothing matches.";
    library.import_file("prompts", "prompts.csv", prompts_csv([(name, "Text.")]));
    let card = character_card("Baker", "Text.").replace("made up", "a\\u001b[2Jb");
    library.import_file("characters", "card.json", card);
    for arguments in [vec!["list"], vec!["list", "--json"], vec!["list", "--facet", "tags"]] {
        let printed = library.run(&arguments).stdout;
        let harmful = |it: char| it != '\n' && (it.is_control() || it == '\u{202e}');
        assert!(!printed.contains(harmful), "{printed:?}");
        assert!(printed.contains("Rye") || printed.contains("2Jb"), "{printed:?}");
    }
    let lines = library.run(&["list", "--source", "prompts"]).stdout;
    assert_eq!(lines.lines().count(), 3, "a title is one line: {lines:?}");
}
