//! End-to-end tests of collections built from folders: initial build, incremental sync, rebuild,
//! and consistent reads at all times.

use std::{
    fs::{self, File},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use vademecum_actors::collections::{Catalogue, VisibleCollection};
use vademecum_collections::{Access, Passage, Scope};
use vademecum_core::auth::{Principal, local_principal};
use vademecum_model::Deadline;
use vademecum_search::{FtsQuery, RankRequest};

use super::support::{Library, McpClient, wait_until};

const HTML: &str = "<!doctype html><html><head><title>Rye in the oven</title></head><body><nav>Home</nav>\
    <article><h1>Rye in the oven</h1><p>Bake it dark, for an hour and a half, and leave it alone for a \
    day before it is cut; the crumb needs that long to set, and it keeps for weeks after.</p>\
    <h2>Steam</h2><p>A tray of water on the floor of the oven gives steam for the first quarter of an \
    hour, and then it is taken out again so that the crust can dry.</p></article></body></html>";
const RST: &str = "Starter\n=======\n\nFeeding\n-------\n\nFeed it twice a day with rye.\n";

fn one_minute_deadline() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

fn user_principal(name: &str) -> Principal {
    local_principal(name.parse().unwrap())
}

fn full_scope() -> Scope {
    Scope::of(Access::Everything)
}

/// Runs `collection …` and returns its JSON output.
fn run_collection(library: &Library, arguments: &[&str]) -> Value {
    let done = library.run(&[&["collection"], arguments, &["--json"]].concat());
    assert_eq!(done.code, 0, "{done:?}");
    done.parse_json()
}

/// Builds the collection `kb` from the folder `docs`.
fn build_collection(library: &Library, more: &[&str]) -> Value {
    let folder = library.file_path("docs");
    run_collection(library, &[&["build", "kb", folder.to_str().unwrap()], more].concat())
}

/// Returns the numbers of new, updated, unchanged and removed documents.
fn change_counts(report: &Value) -> [u64; 4] {
    ["new", "updated", "unchanged", "gone"].map(|name| report[name].as_u64().unwrap())
}

fn open_collection(library: &Library, name: &str) -> VisibleCollection {
    Catalogue::new(&library.data_folder()).find_visible(&user_principal("local"), name).unwrap()
}

/// Returns all chunks of a collection that `scope` may read, in document order.
fn readable_passages(opened: &VisibleCollection, scope: &Scope) -> Vec<Passage> {
    let collection = &opened.collection;
    collection
        .read(one_minute_deadline(), |reader| {
            let hashes = collection.content_hashes(reader, opened.record.source_id)?;
            let mut names: Vec<&String> = hashes.keys().collect();
            names.sort();
            let mut keys = Vec::new();
            for name in names {
                keys.extend(
                    collection.chunk_headings(reader, name)?.into_iter().map(|(key, ..)| key),
                );
            }
            collection.read_passages(reader, &keys, scope)
        })
        .unwrap()
}

/// Returns the ids of the documents whose chunks match the query, best first.
fn matching_documents(opened: &VisibleCollection, query: &str, scope: &Scope) -> Vec<String> {
    let collection = &opened.collection;
    let found = collection.read(one_minute_deadline(), |reader| {
        let query = Arc::new(FtsQuery::parse(query));
        let request = RankRequest { query, limit: 10, ..RankRequest::default() };
        let ranking = collection.rank_matches(reader, &request, scope)?;
        let keys: Vec<i64> = ranking.ranked.iter().map(|ranked| ranked.key).collect();
        collection.read_passages(reader, &keys, scope)
    });
    found.unwrap().into_iter().map(|passage| passage.document.doc_id).collect()
}

/// Returns the sorted numbers of the database files of the collection `kb`.
fn database_numbers(library: &Library) -> Vec<u64> {
    let entries = fs::read_dir(library.data_folder().join("collections")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut numbers: Vec<u64> = names.filter_map(|name| parse_database_number(&name)).collect();
    numbers.sort_unstable();
    numbers
}

fn parse_database_number(file: &str) -> Option<u64> {
    file.strip_prefix("kb.")?.strip_suffix(".db")?.parse().ok()
}

#[test]
fn build_stores_documents_with_their_metadata() {
    let library = Library::new();
    library.write_file("docs/guide/bread.md", "# Bread\n\n## Dough\n\nKnead it for ten minutes.\n");
    library.write_file("docs/oven.html", HTML);
    library.write_file("docs/starter.rst", RST);
    library.write_file("docs/plain.txt", "Salt comes last.");
    library.write_file("docs/node_modules/x/readme.md", "# No");
    library.write_file("docs/.git/y.md", "# No");
    library.write_file("docs/program.bin", [0, 1, 2]);
    library.write_file("docs/blank.md", " \n");
    let report = build_collection(&library, &["--project", "Bakery", "--version", "2.1"]);
    assert_eq!(change_counts(&report), [4, 0, 0, 0], "{report}");
    assert_eq!((&report["passed"], &report["documents"]), (&json!(1), &json!(4)));
    let skipped = &report["skipped"][0];
    assert!(skipped["place"].as_str().unwrap().ends_with("docs/blank.md"), "{report}");
    assert_eq!(skipped["reason"], "holds no text");
    let opened = open_collection(&library, "kb");
    let passages = readable_passages(&opened, &full_scope());
    let known: Vec<(&str, Option<&str>, Option<&str>)> = passages
        .iter()
        .map(|it| (&*it.document.doc_id, it.document.title.as_deref(), it.section.as_deref()))
        .collect();
    assert_eq!(known[0], ("kb:guide/bread.md", Some("Bread"), Some("Bread › Dough")));
    assert!(known.contains(&("kb:oven.html", Some("Rye in the oven"), Some("Steam"))), "{known:?}");
    assert!(known.contains(&("kb:starter.rst", Some("Starter"), Some("Starter › Feeding"))));
    assert!(known.contains(&("kb:plain.txt", Some("plain"), None)));
    let document = &passages[0].document;
    assert_eq!(
        (document.file_name.as_deref(), document.file_type.as_deref()),
        (Some("bread.md"), Some("md"))
    );
    assert_eq!(document.project_name.as_deref(), Some("Bakery"));
    assert_eq!(document.project_version.as_deref(), Some("2.1"));
    assert_eq!(document.metadata["path"], "guide/bread.md");
    assert_eq!(
        matching_documents(&opened, "how long to knead", &full_scope())[0],
        "kb:guide/bread.md"
    );
    let listed = run_collection(&library, &["list"]);
    assert_eq!((&listed[0]["name"], &listed[0]["documents"]), (&json!("kb"), &json!(4)));
    assert!(listed[0]["last_ok_at"].is_string() && listed[0]["last_error"].is_null());
    let shown = library.run(&["collection", "show", "kb"]);
    assert!(shown.stdout.contains("docs (Bakery 2.1)\n"), "{shown:?}");
}

#[test]
fn repeated_build_updates_only_changed_documents() {
    let library = Library::new();
    for name in ["stays", "changes", "goes"] {
        library.write_file(&format!("docs/{name}.md"), format!("# {name}\n\nA bight.\n"));
    }
    assert_eq!(change_counts(&build_collection(&library, &[])), [3, 0, 0, 0]);
    let opened = open_collection(&library, "kb");
    let key = |name: &str| {
        let all = readable_passages(&opened, &full_scope());
        all.into_iter().find(|it| it.document.doc_id == name).map(|it| it.key)
    };
    let before = key("kb:stays.md").unwrap();
    assert_eq!(change_counts(&build_collection(&library, &[])), [0, 0, 3, 0]);
    fs::remove_file(library.file_path("docs/goes.md")).unwrap();
    library.write_file("docs/changes.md", "# changes\n\nA hitch.\n");
    library.write_file("docs/comes.md", "# comes\n\nA bend.\n");
    let report = build_collection(&library, &[]);
    assert_eq!((change_counts(&report), &report["rebuilt"]), ([1, 1, 1, 1], &json!(false)));
    assert_eq!(key("kb:stays.md"), Some(before), "an unchanged document keeps its key");
    assert_eq!(key("kb:goes.md"), None);
    assert_eq!(matching_documents(&opened, "hitch", &full_scope()), ["kb:changes.md"]);
    assert_eq!(matching_documents(&opened, "bight", &full_scope()), ["kb:stays.md"]);
    let kept = fs::read_to_string(library.file_path("docs/changes.md")).unwrap();
    assert_eq!(kept, "# changes\n\nA hitch.\n", "source files must not be modified");
}

#[test]
fn missing_or_empty_folder_removes_no_documents() {
    let library = Library::new();
    library.write_file("docs/a.md", "# A\n\nText.\n");
    library.write_file("more/b.md", "# B\n\nText.\n");
    let (docs, more) = (library.file_path("docs"), library.file_path("more"));
    let both = ["build", "kb", docs.to_str().unwrap(), more.to_str().unwrap()];
    assert_eq!(change_counts(&run_collection(&library, &both)), [2, 0, 0, 0]);
    fs::remove_file(library.file_path("more/b.md")).unwrap();
    let synced = run_collection(&library, &["sync", "kb"]);
    assert_eq!((change_counts(&synced[0]), &synced[0]["documents"]), ([0, 0, 1, 0], &json!(2)));
    assert!(synced[0]["skipped"][0]["reason"].as_str().unwrap().ends_with("more holds no files"));
    fs::remove_dir(&more).unwrap();
    let synced = run_collection(&library, &["sync"]);
    assert_eq!(synced[0]["documents"], 2);
    let done = library.run(&["collection", "sync", "kb", "--rebuild"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("the collection `kb` stays as it was"), "{done:?}");
    assert_eq!(readable_passages(&open_collection(&library, "kb"), &full_scope()).len(), 2);
    let listed = run_collection(&library, &["list"]);
    assert!(listed[0]["last_error"].as_str().unwrap().contains("more is not a folder"));
    assert_eq!(
        change_counts(&build_collection(&library, &[])),
        [1, 0, 0, 2],
        "the second folder no longer belongs to the collection"
    );
}

#[test]
fn collection_keeps_owner_and_access_tags() {
    let library = Library::new();
    library.write_file("docs/a.md", "# A\n\nA lantern.\n");
    build_collection(&library, &["--owner", "ada", "--access-tag", "team:a"]);
    library.write_file("docs/b.md", "# B\n\nA lantern.\n");
    assert_eq!(
        change_counts(&build_collection(&library, &[])),
        [1, 0, 1, 0],
        "owner and tags stay as they were"
    );
    let catalogue = Catalogue::new(&library.data_folder());
    assert!(catalogue.find_visible(&user_principal("bob"), "kb").is_err());
    let opened = catalogue.find_visible(&user_principal("ada"), "kb").unwrap();
    let with = |tags: &[&str]| {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        matching_documents(&opened, "lantern", &Scope::of(Access::Tags(tags))).len()
    };
    assert_eq!((with(&["team:a"]), with(&["team:b"]), with(&[])), (2, 0, 0));
    assert_eq!(
        change_counts(&build_collection(&library, &["--access-tag", "team:b"])),
        [0, 2, 0, 0]
    );
    assert_eq!((with(&["team:a"]), with(&["team:b"])), (0, 2));
    let done = library.run(&["collection", "remove", "KB"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(catalogue.find_visible(&user_principal("ada"), "kb").is_err());
    assert_eq!((with(&["team:b"]), database_numbers(&library).len()), (2, 1), "it is still read");
    drop(opened);
    assert!(database_numbers(&library).is_empty());
    assert!(library.file_path("docs/a.md").exists());
}

#[test]
fn failed_build_reports_reason_and_leaves_nothing() {
    let library = Library::new();
    fs::create_dir_all(library.file_path("docs")).unwrap();
    let docs = library.file_path("docs");
    let docs = docs.to_str().unwrap();
    for (arguments, reason) in [
        (["build", "../kb", docs], "cannot be a collection's name"),
        (["build", "notes", docs], "cannot be a collection's name"),
        (["build", "kb", "/no/such/folder"], "/no/such/folder is not a readable folder"),
        (["build", "kb", docs], "docs holds no files"),
        (["sync", "kb", "--json"], "no collection `kb` to sync"),
        (["show", "kb", "--json"], "no collection `kb`"),
    ] {
        let done = library.run(&[&["collection"][..], &arguments].concat());
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains(reason), "{done:?}");
    }
    assert_eq!(library.run(&["collection", "remove", "kb"]).code, 1);
    assert_eq!(run_collection(&library, &["list"]), json!([]));
    library.write_file("docs/a.bin", [0, 1]);
    library.write_file("docs/b.md", "");
    let done = library.run(&["collection", "build", "kb", docs]);
    assert_eq!(done.code, 1, "no document is readable: {done:?}");
}

#[test]
fn concurrent_build_is_rejected() {
    let library = Library::new();
    library.write_file("docs/a.md", "# A\n\nText.\n");
    build_collection(&library, &[]);
    let lock = File::open(library.data_folder().join("collections/kb.lock")).unwrap();
    lock.try_lock().unwrap();
    let docs = library.file_path("docs");
    for command in [vec!["build", "kb", docs.to_str().unwrap()], vec!["remove", "kb"]] {
        let done = library.run(&[vec!["collection"], command].concat());
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.stderr.contains("`kb` is being built already"), "{done:?}");
    }
    drop(lock);
    assert_eq!(change_counts(&build_collection(&library, &[])), [0, 0, 1, 0]);
}

/// Writes settings with the collection `kb` of the folder `docs` and returns the arguments that
/// select them.
fn write_settings(library: &Library, more: &str) -> [String; 2] {
    let folder = library.file_path("docs");
    let text = format!(
        "{more}\n[[collections]]\nname = \"kb\"\nfolders = [{:?}]\n",
        folder.to_str().unwrap()
    );
    let file = library.write_file("settings.toml", text);
    ["--config".to_owned(), file.to_str().unwrap().to_owned()]
}

fn sync_with_settings(library: &Library, settings: &str, chunking: &str) -> Value {
    let [flag, file] = self::write_settings(library, settings);
    let text = fs::read_to_string(&file).unwrap() + chunking;
    fs::write(&file, text).unwrap();
    run_collection(library, &["sync", &flag, &file])[0].clone()
}

#[test]
fn chunking_follows_settings() {
    let library = Library::new();
    library.write_file("docs/run.txt", "x".repeat(7_700));
    library.write_file("docs/umlaut.txt", "x".to_owned() + &"é".repeat(3_000));
    let sizes = || -> Vec<usize> {
        let all = readable_passages(&open_collection(&library, "kb"), &full_scope());
        all.iter().map(|it| it.body.chars().count()).collect()
    };
    let report = sync_with_settings(&library, "", "chunking = {}");
    assert_eq!((change_counts(&report), sizes()), ([2, 0, 0, 0], vec![4_000, 4_100, 3_001]));
    assert_eq!(database_numbers(&library), [1]);
    let report =
        sync_with_settings(&library, "", "chunking = { chunk_size = 1000, overlap = 5000 }");
    assert_eq!(report["warnings"], json!(["chunking.overlap is 5000; using 250"]));
    assert_eq!((change_counts(&report), &report["rebuilt"]), ([0, 2, 0, 0], &json!(true)));
    assert!(sizes().iter().all(|size| *size <= 1_800), "{:?}", sizes());
    assert_eq!(open_collection(&library, "kb").record.file, "kb.2.db");
    let report =
        sync_with_settings(&library, "", "chunking = { chunk_size = 1000, overlap = 5000 }");
    assert_eq!((change_counts(&report), &report["rebuilt"]), ([0, 0, 2, 0], &json!(false)));
    let done = library.run(&["collection", "sync", "--config", "/no/such/file"]);
    assert_eq!(done.code, 1);
}

const STUB_EMBEDDINGS: &str =
    "[embeddings]\nprovider = \"stub\"\nallow_stub = true\ndimensions = 32\n";

#[test]
fn vectors_are_added_once_provider_is_available() {
    let library = Library::new();
    for name in ["a", "b", "c"] {
        library.write_file(&format!("docs/{name}.md"), format!("# {name}\n\nA bight.\n"));
    }
    let report = sync_with_settings(&library, "", "");
    assert_eq!((&report["chunks"], &report["vectors"]), (&json!(3), &json!(0)));
    // No provider listens at this address; without retries it is requested only once.
    let nobody =
        "[embeddings]\nprovider = \"ollama\"\napi_base = \"http://127.0.0.1:9\"\nretries = 0\n";
    library.write_file("docs/d.md", "# d\n\nA hitch.\n");
    let report = sync_with_settings(&library, nobody, "");
    assert_eq!((change_counts(&report), &report["vectors"]), ([1, 0, 3, 0], &json!(0)));
    assert!(report["embedding_error"].as_str().unwrap().contains("ollama"), "{report}");
    let listed = run_collection(&library, &["list"]);
    assert!(listed[0]["last_error"].as_str().unwrap().contains("ollama"), "{listed}");
    assert_eq!(
        matching_documents(&open_collection(&library, "kb"), "hitch", &full_scope()),
        ["kb:d.md"]
    );
    let report = sync_with_settings(&library, STUB_EMBEDDINGS, "");
    assert_eq!((change_counts(&report), &report["rebuilt"]), ([0, 0, 4, 0], &json!(false)));
    assert_eq!((&report["vectors"], &report["embedding_error"]), (&json!(4), &Value::Null));
    library.write_file("docs/e.md", "# e\n\nA bend.\n");
    assert_eq!(sync_with_settings(&library, STUB_EMBEDDINGS, "")["vectors"], 5);
    let model = |opened: &VisibleCollection| {
        let collection = &opened.collection;
        collection
            .read(one_minute_deadline(), |reader| collection.embedding_model(reader))
            .unwrap()
            .unwrap()
    };
    assert_eq!(model(&open_collection(&library, "kb")).dimensions, 32);
    let report = sync_with_settings(&library, &STUB_EMBEDDINGS.replace("32", "16"), "");
    assert_eq!(
        (&report["rebuilt"], &report["vectors"]),
        (&json!(true), &json!(5)),
        "another model"
    );
    assert_eq!(model(&open_collection(&library, "kb")).dimensions, 16);
    let report = sync_with_settings(&library, STUB_EMBEDDINGS, "embedding = { enabled = false }");
    assert_eq!((&report["rebuilt"], &report["vectors"]), (&json!(true), &json!(0)));
}

/// Writes `count` documents.
fn write_documents(library: &Library, count: usize) {
    let text = "Knead the dough until it is smooth, and let it rest. ".repeat(40);
    for number in 0..count {
        library.write_file(&format!("docs/{number}.md"), format!("# Part {number}\n\n{text}\n"));
    }
}

/// Returns the versions visible to a reader, each with its number of chunks.
fn visible_versions(catalogue: &Catalogue) -> Vec<(String, u64)> {
    let opened = catalogue.find_visible(&user_principal("local"), "kb").unwrap();
    let collection = &opened.collection;
    let projects = collection
        .read(one_minute_deadline(), |reader| collection.list_projects(reader, &full_scope()));
    projects.unwrap().into_iter().map(|(_, version, chunks)| (version, chunks)).collect()
}

#[test]
fn readers_see_complete_old_or_new_collection() {
    let library = Library::new();
    write_documents(&library, 60);
    build_collection(&library, &["--project", "P", "--version", "0"]);
    let catalogue = Catalogue::new(&library.data_folder());
    let [(_, chunks)] = visible_versions(&catalogue)[..] else { panic!("one version") };
    assert!(chunks >= 60);
    let over = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let readers: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        let now = visible_versions(&catalogue);
                        assert!(matches!(&now[..], [(_, count)] if *count == chunks), "{now:?}");
                        seen.extend(now.into_iter().map(|(version, _)| version));
                        seen.dedup();
                    }
                    seen
                })
            })
            .collect();
        // Builds into a new file, then in place, then into a new file again.
        build_collection(&library, &["--version", "1", "--rebuild"]);
        build_collection(&library, &["--version", "2"]);
        build_collection(&library, &["--version", "3", "--rebuild"]);
        over.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(visible_versions(&catalogue), [("3".to_owned(), chunks)]);
    assert!(
        seen.iter().all(|seen| seen.is_sorted()),
        "a reader saw an older version again: {seen:?}"
    );
    assert!(seen.iter().any(|seen| seen.len() > 1), "{seen:?}");
}

/// Returns the names of the files of the collection `kb` in the folder of collections, except the
/// lock.
fn collection_files(library: &Library) -> Vec<String> {
    let entries = fs::read_dir(library.data_folder().join("collections")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "kb.lock").collect();
    names.sort();
    names
}

#[test]
fn replaced_file_is_removed_after_last_reader() {
    let library = Library::new();
    write_documents(&library, 3);
    build_collection(&library, &["--version", "0", "--project", "P"]);
    let catalogue = Catalogue::new(&library.data_folder());
    let reader = catalogue.find_visible(&user_principal("local"), "kb").unwrap();
    let other = reader.clone();
    let first = reader.record.file.clone();
    build_collection(&library, &["--version", "1", "--rebuild"]);
    build_collection(&library, &["--version", "2", "--rebuild"]);
    assert!(collection_files(&library).contains(&first), "{:?}", collection_files(&library));
    let read = |opened: &VisibleCollection| readable_passages(opened, &full_scope()).len();
    assert!(read(&reader) >= 3);
    let current = catalogue.find_visible(&user_principal("local"), "kb").unwrap();
    assert_eq!(database_numbers(&library).len(), 2, "the second had no reader");
    drop(reader);
    assert!(read(&other) >= 3, "it is read until the last reader leaves");
    drop(other);
    assert_eq!(database_numbers(&library).len(), 1);
    assert!(read(&current) >= 3);
    drop((current, catalogue));
    let files = collection_files(&library);
    let kept = ["kb.3.db", "kb.3.db-shm", "kb.3.db-wal", "kb.3.use"];
    assert!(files.iter().all(|file| kept.contains(&file.as_str())), "{files:?}");
}

#[test]
fn idle_server_keeps_no_replaced_file() {
    let library = Library::new();
    write_documents(&library, 2);
    build_collection(&library, &[]);
    let server = library.serve();
    let client = server.client();
    let ask = || client.call_tool("rag.search_fts", &json!({ "query": "dough" }));
    assert_eq!(ask()["results"].as_array().unwrap().len(), 4);
    build_collection(&library, &["--rebuild"]);
    assert_eq!(database_numbers(&library).len(), 2, "the server has the first one open");
    ask();
    assert_eq!(database_numbers(&library).len(), 1);
    // A server that is killed cannot clean up; the next start does.
    build_collection(&library, &["--rebuild"]);
    assert_eq!(database_numbers(&library).len(), 2);
    drop(server.kill_and_read_log());
    let live = database_numbers(&library).pop().unwrap();
    let server = library.serve();
    wait_until("the removal of the replaced file", || database_numbers(&library) == [live]);
    let found = server.client().call_tool("rag.search_fts", &json!({ "query": "dough" }));
    assert_eq!(found["results"].as_array().unwrap().len(), 4);
}
