//! End-to-end tests of the import of web formats: bookmarks, the dates of documents, and links.

use std::{
    fs,
    fs::File,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::support::{Library, McpClient};

fn import_json(library: &Library, arguments: &[&str]) -> Value {
    let done = library.run(&[&["import", "--json"], arguments].concat());
    assert_eq!(done.code, 0, "{done:?}");
    done.parse_json()
}

/// Imports a file and returns the numbers of new, updated, unchanged and merged items.
fn import_counts(library: &Library, name: &str) -> [u64; 4] {
    let summary = import_json(library, &[library.file_path(name).to_str().unwrap()]);
    ["new", "updated", "unchanged", "merged"].map(|name| summary[name].as_u64().unwrap())
}

/// Returns the only media hit for a word.
fn find_hit(library: &Library, word: &str) -> Value {
    library.serve().client().only_hit("media.search", &json!({ "query": word }))
}

/// Returns the text of the only media hit for a word.
fn read_text(library: &Library, word: &str) -> String {
    let server = library.serve();
    let client = server.client();
    let hit = client.only_hit("media.search", &json!({ "query": word }));
    let arguments = json!({ "media_id": hit["id"], "retrieval": { "mode": "full" } });
    client.call_tool("media.get", &arguments)["content"].as_str().unwrap().to_owned()
}

/// Builds a bookmark file of a browser.
fn bookmark_file(entries: &str) -> String {
    format!(
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n<DL><p>\n\
         <DT><H3>Craft</H3>\n<DL><p>\n<DT><H3>Sewing &amp; cloth</H3>\n<DL><p>\n{entries}</DL><p>\n</DL><p>\n</DL>"
    )
}

const THIMBLE: &str = "<DT><A HREF=\"https://example.org/a?b=1&amp;c=2\" ADD_DATE=\"1714716000\" \
    LAST_MODIFIED=\"1714802400\" TAGS=\"metal,small\">Thimble</A>\n<DD>A small cap.\n";
const ANVIL: &str = "<DT><A HREF=\"https://example.org/anvil\">Anvil</A>\n";

#[test]
fn bookmark_becomes_item_with_all_fields() {
    let library = Library::new();
    let same_elsewhere = "</DL><DL><DT><A HREF=\"https://example.org/anvil\">Anvil</A>";
    let entries =
        format!("{THIMBLE}{ANVIL}{ANVIL}{same_elsewhere}<DT><A HREF=\"javascript:x()\">Run</A>\n");
    let path = library.write_file("bookmarks.html", bookmark_file(&entries));
    let summary = import_json(&library, &[path.to_str().unwrap()]);
    assert_eq!((&summary["new"], &summary["merged"]), (&json!(3), &json!(1)), "{summary}");
    let skipped = summary["skipped"].as_array().unwrap();
    assert!(skipped.len() == 1 && skipped[0]["reason"].as_str().unwrap().starts_with("1 without"));
    let hit = find_hit(&library, "thimble");
    assert_eq!(hit["url"], "https://example.org/a?b=1&c=2", "{hit}");
    assert_eq!(
        (&hit["media_type"], &hit["tags"]),
        (&json!("bookmark"), &json!(["metal", "small"]))
    );
    assert_eq!(hit["created_at"], "2024-05-03T06:00:00.000Z");
    assert_eq!(hit["last_modified"], "2024-05-04T06:00:00.000Z");
    let text = read_text(&library, "cap");
    assert!(text.starts_with("A small cap.\n"), "{text}");
    assert!(text.ends_with("Folder: Craft / Sewing & cloth"), "{text}");
    for _ in 0..2 {
        assert_eq!(import_counts(&library, "bookmarks.html"), [0, 0, 3, 1]);
    }
    // The same bookmarks in a file of another name are the same items.
    library.write_file("again.html", bookmark_file(&entries));
    assert_eq!(import_counts(&library, "again.html"), [0, 0, 0, 4]);
}

#[test]
fn removed_bookmark_is_kept_and_reported() {
    let library = Library::new();
    let path = library.write_file("b.html", bookmark_file(&format!("{THIMBLE}{ANVIL}")));
    assert_eq!(import_counts(&library, "b.html"), [2, 0, 0, 0]);
    library.write_file("b.html", bookmark_file(THIMBLE));
    let summary = import_json(&library, &[path.to_str().unwrap()]);
    assert_eq!(summary["unchanged"], 1, "{summary}");
    let dropped = &summary["dropped"][0];
    assert_eq!((&dropped["items"], &dropped["removed"]), (&json!(1), &json!(false)), "{summary}");
    find_hit(&library, "anvil");
    library.write_file("b.html", bookmark_file(ANVIL));
    let output = library.run(&["import", path.to_str().unwrap()]);
    assert!(
        output.stderr.contains("1 item no longer in the file; its import is kept"),
        "{output:?}"
    );
    // A deleted file is missing; its items are kept.
    library.write_file("note.md", "A needle.");
    fs::remove_file(&path).unwrap();
    let summary = import_json(&library, &[library.file_path("").to_str().unwrap()]);
    assert_eq!(summary["missing"].as_array().unwrap().len(), 1, "{summary}");
    find_hit(&library, "thimble");
}

#[test]
fn document_gives_way_to_its_bookmarks() {
    let library = Library::new();
    let path = library.write_file("b.html", "<html><body><p>A needle in the haystack.");
    let folder = path.parent().unwrap().to_str().unwrap();
    assert_eq!(import_counts(&library, ""), [1, 0, 0, 0]);
    find_hit(&library, "haystack");
    library.write_file("b.html", bookmark_file(&format!("{THIMBLE}{ANVIL}")));
    let output = library.run(&["import", folder]);
    assert!(output.code == 0 && output.stdout.contains("replaced the document of"), "{output:?}");
    assert!(output.stdout.contains("media: 2 new, 0 updated, 0 unchanged, read as"), "{output:?}");
    let found = library.run(&["search", "haystack", "--json"]).parse_json();
    assert_eq!(found["total_estimated"], 0, "{found}");
    assert_eq!(import_counts(&library, ""), [0, 0, 2, 0]);
}

#[test]
fn mail_feed_and_article_keep_their_dates() {
    let library = Library::new();
    let mail = |date: &str, word: &str| {
        format!("From: ida@example.org\nDate: {date}\nSubject: Sewing\n\nA {word}.\n")
    };
    let feed = |date: &str, word: &str| {
        format!(
            "<rss version='2.0'><channel><title>T</title><link>https://example.org/{word}</link><item>\
             <guid>{word}</guid><pubDate>{date}</pubDate><description>A {word}.</description></item>\
             </channel></rss>"
        )
    };
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><id>f</id><title>T</title><entry><id>1</id>\
        <title>Rye</title><updated>2024-05-03T08:00:00+02:00</updated><content>A needle.</content>\
        </entry></feed>";
    let page = |head: &str, word: &str| {
        format!("<!doctype html><html><head>{head}</head><body><p>A {word}.</p></body></html>")
    };
    let meta = "<meta property='article:published_time' content='2024-05-03T10:00:00+0200'>";
    let json_ld = "<script type='application/ld+json'>{\"@graph\": [{\"datePublished\": \
        \"2024-05-03\"}]}</script>";
    for (name, content) in [
        ("a.eml", mail("Fri, 3 May 24 10:00 PST", "thimble")),
        ("b.eml", mail("Fri, 31 Feb 2024 10:00:00 +0000", "anvil")),
        ("c.xml", feed("Fri, 03 May 2024 10:00:00 EST", "bellows")),
        ("d.xml", feed("soon", "hammer")),
        ("e.atom", atom.to_owned()),
        ("f.html", page(meta, "haystack")),
        ("g.html", page(json_ld, "scissors")),
        ("h.html", page("<meta name=date content=soon>", "spindle")),
    ] {
        let path = library.write_file(&format!("in/{name}"), content);
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_hours(24)).unwrap();
    }
    assert_eq!(import_counts(&library, "in"), [8, 0, 0, 0]);
    for (word, date) in [
        ("thimble", "2024-05-03T18:00:00.000Z"),
        ("anvil", "1970-01-02T00:00:00.000Z"),
        ("bellows", "2024-05-03T15:00:00.000Z"),
        ("hammer", "1970-01-02T00:00:00.000Z"),
        ("needle", "2024-05-03T06:00:00.000Z"),
        ("haystack", "2024-05-03T08:00:00.000Z"),
        ("scissors", "2024-05-03T00:00:00.000Z"),
        ("spindle", "1970-01-02T00:00:00.000Z"),
    ] {
        assert_eq!(find_hit(&library, word)["created_at"], date, "{word}");
    }
    // The date survives an export.
    let folder = library.file_path("export");
    assert_eq!(library.run(&["export", folder.to_str().unwrap()]).code, 0);
    let copy = Library::new();
    let done = copy.run(&["import", folder.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(find_hit(&copy, "thimble")["created_at"], "2024-05-03T18:00:00.000Z");
}

#[test]
fn page_keeps_addresses_of_its_links() {
    let library = Library::new();
    library.write_file(
        "in/a.html",
        "<html><head><link rel=canonical href='https://example.org/craft/sewing'></head><body>\
         <p>A thimble <a href='../metal?x=1&amp;y=2'>of metal</a>, \
         <a href='mailto:ida@example.org'>by Ida</a>, <a href='javascript:x()'>run</a>, \
         <a href='data:text/html,x'>data</a>, <a href='#top'>top</a>.",
    );
    library.write_file("in/b.html", "<html><body><p>An anvil <a href='metal'>of metal</a>.");
    assert_eq!(import_counts(&library, "in"), [2, 0, 0, 0]);
    let text = "A thimble of metal (https://example.org/metal?x=1&y=2), \
                by Ida (mailto:ida@example.org), run, data, top.";
    assert_eq!(read_text(&library, "thimble"), text);
    assert_eq!(read_text(&library, "anvil"), "An anvil of metal.");
}
