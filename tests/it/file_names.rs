//! Documents are found by the names of their files, as notes are.

use std::fs;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use crate::support::{Library, McpClient, wait_until};

/// A page whose title and text do not name its file.
const PAGE: &str = "<title>Timetable</title><p>The ferry calls at noon, and again at three.";

/// Returns the number of documents that a search finds.
fn count(client: &impl McpClient, query: &str) -> usize {
    let found = client.call_tool("media.search", &json!({ "query": query }));
    found["results"].as_array().unwrap().len()
}

#[test]
fn document_is_found_by_name_of_file() {
    let library = Library::new();
    let page = library.import_file("media", "pages/harbour-2026.html", PAGE);
    library.import_file("media", "pages/Timetable.html", "<title>Timetable</title><p>Buses.");
    let server = library.serve();
    let client = server.client();
    let hit = client.only_hit("media.search", &json!({ "query": "harbour" }));
    assert_eq!(hit["title"], "Timetable");
    assert_eq!((count(&client, "title:harbour"), count(&client, "harbour ferry")), (1, 1));
    assert_eq!(count(&client, "html"), 0, "the extension is not part of the name");
    let found = client.call_tool("knowledge.search", &json!({ "query": "harbour 2026" }));
    assert_eq!(found["results"][0]["uri"], hit["uri"], "{found}");
    let uri = hit["uri"].clone();
    fs::rename(&page, page.with_file_name("quay.html")).unwrap();
    let folder = page.parent().unwrap().to_str().unwrap().to_owned();
    let done = library.run(&["import", "media", &folder]);
    assert_eq!(done.code, 0, "{done:?}");
    let renamed = || client.call_tool("media.search", &json!({ "query": "quay" }));
    wait_until("the new name", || renamed()["results"][0]["uri"] == uri);
    assert_eq!(count(&client, "harbour"), 0);
    drop(server.kill_and_read_log());
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(!checked.stdout.contains("media_fts"), "{checked:?}");
}

#[test]
fn earlier_documents_get_names_of_files_in_the_background() {
    let library = Library::new();
    library.import_file("media", "pages/harbour.html", PAGE);
    library.import_file("media", "pages/C# in depth.html", "<title>Code</title><p>Types.");
    let path = library.data_folder().join("users/local/media.db");
    {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let earlier = Connection::open_with_flags(&path, flags).unwrap();
        vademecum_fts5::register(&earlier).unwrap();
        earlier
            .execute_batch(
                "DELETE FROM media_fts;
                 INSERT INTO media_fts (rowid, title, content) SELECT id, title, content FROM Media;
                 UPDATE fts_versions SET version = 5;
                 DROP TABLE note_properties;
                 DROP INDEX items_with_open_tasks; DROP INDEX items_with_done_tasks;
                 ALTER TABLE link_items DROP COLUMN open_tasks;
                 ALTER TABLE link_items DROP COLUMN done_tasks;
                 DROP TABLE sync_places; DROP TABLE sync_items; DROP TABLE sync_files;
                 PRAGMA user_version = 16;",
            )
            .unwrap();
    }
    let server = library.serve();
    let client = server.client();
    assert_eq!(count(&client, "ferry"), 1);
    wait_until("names of files", || count(&client, "harbour") == 1);
    assert_eq!(count(&client, "depth"), 1);
    drop(server.kill_and_read_log());
    let checked = library.run(&["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
}
