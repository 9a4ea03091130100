//! Forms of pages that change items: the editor, tags, the trash, and versions; and who may use them.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Browser, HttpResponse, Library, McpClient, OAuthServer, Server, form_field};

/// Settings with which clients may write, too.
pub(crate) const WRITE_ENABLED: &str = "[tools]\nwrite = true\n";

/// Paths of the forms that change items.
const FORMS: [&str; 6] =
    ["/edit/save", "/edit/tags", "/edit/delete", "/edit/restore", "/edit/selection", "/edit/undo"];

/// Returns a browser in which the user of the server is logged in by a one-time link.
pub(crate) fn logged_in<'a>(library: &Library, server: &'a Server) -> Browser<'a> {
    let settings = library.file_path("settings.toml");
    let link = library.run(&["login", "--config", settings.to_str().unwrap()]);
    let browser = Browser::of(server);
    assert_eq!(browser.redeem_link(&link.stdout).status, 303);
    browser
}

/// Returns the URI and the path of the first note with this word.
pub(crate) fn find_note(server: &Server, word: &str) -> (String, String) {
    let found = server.client().call_tool("knowledge.search", &json!({ "query": word }));
    let uri = found["results"][0]["uri"].as_str().expect("a note").to_owned();
    let path = uri.replace("notes://", "notes/");
    (uri, path)
}

pub(crate) fn read(server: &Server, uri: &str) -> Value {
    let retrieval = json!({ "mode": "full" });
    server.client().call_tool("knowledge.get", &json!({ "id": uri, "retrieval": retrieval }))
}

/// Sends the editor of a page with other fields. The hidden fields are those of the page.
pub(crate) fn save(
    browser: &Browser<'_>,
    page: &HttpResponse,
    fields: &[(&str, &str)],
) -> HttpResponse {
    let hidden = ["item", "version"].map(|name| (name, form_field(&page.body, name)));
    let hidden: Vec<(&str, &str)> =
        hidden.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
    browser.submit("/edit/save", page, &[&hidden, fields].concat())
}

#[test]
fn person_writes_and_edits_notes_that_clients_may_not() {
    let library = Library::with_notes([("Old", "An old note.".to_owned())]);
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let page = browser.get("/new?title=Rye");
    assert!(page.body.contains("value=\"Rye\""), "{}", page.body);
    let fields = [("title", "Rye"), ("content", "About\r\nchrysoberyl."), ("tags", "a b, #c")];
    let saved = save(&browser, &page, &fields);
    assert_eq!(saved.status, 303, "{saved:?}");
    let (uri, path) = find_note(&server, "chrysoberyl");
    assert_eq!(saved.header("location"), Some(format!("/i/{path}").as_str()));
    let note = read(&server, &uri);
    assert_eq!(note["content"], "About\nchrysoberyl.", "{note}");
    assert_eq!(note["meta"]["tags"], json!(["a b", "c"]), "{note}");
    // The text is the person's own, not that of an agent.
    assert_eq!((&note["meta"]["origin"], &note["meta"]["agents"]), (&json!("own"), &Value::Null));

    let page = browser.get(&format!("/edit/{path}"));
    let fields = [("title", "Rye bread"), ("content", "About\r\nmalachite."), ("tags", "a b, c")];
    assert_eq!(save(&browser, &page, &fields).status, 303);
    let note = read(&server, &uri);
    assert_eq!(
        (&note["content"], &note["meta"]["version"]),
        (&json!("About\nmalachite."), &json!(2))
    );
    assert_eq!(
        (&note["meta"]["title"], &note["meta"]["agents"]),
        (&json!("Rye bread"), &Value::Null)
    );
    let history = browser.get(&format!("/history/{path}")).body;
    assert!(history.contains("by you") && history.contains("malachite"), "{history}");
    let unchanged = browser.get(&format!("/edit/{path}"));
    assert_eq!(save(&browser, &unchanged, &fields).status, 303);
    assert_eq!(read(&server, &uri)["meta"]["version"], 2, "a text that is the same is no version");
}

#[test]
fn stale_text_is_shown_beside_the_stored_one() {
    let library = Library::with_notes([("Old", "One chrysoberyl.\nTwo.".to_owned())]);
    let server = library.serve_with_settings(WRITE_ENABLED);
    let browser = logged_in(&library, &server);
    let (uri, path) = find_note(&server, "chrysoberyl");
    let page = browser.get(&format!("/edit/{path}"));
    let agent = json!({ "note_id": uri, "content": "From <script>alert(1)</script> an agent." });
    server.client().call_tool("notes.append", &agent);
    let mine = [("title", "Old"), ("content", "One chrysoberyl.\r\nMine <b>."), ("tags", "")];
    let conflict = save(&browser, &page, &mine);
    assert_eq!(conflict.status, 409, "{conflict:?}");
    let body = &conflict.body;
    assert!(body.contains("From &lt;script&gt;") && body.contains("Mine &lt;b&gt;."), "{body}");
    assert!(!body.contains("<script>") && body.contains("Added: </span>Mine"), "{body}");
    let stored = read(&server, &uri)["content"].as_str().unwrap().to_owned();
    assert!(stored.ends_with("an agent.") && !stored.contains("Mine"), "nothing is overwritten");
    // The form of the conflict saves over the version that the person has seen, and over no later one.
    server.client().call_tool("notes.append", &json!({ "note_id": uri, "content": "More." }));
    assert_eq!(save(&browser, &conflict, &mine).status, 409);
    let again = save(&browser, &browser.get(&format!("/edit/{path}")), &mine);
    assert_eq!(again.status, 303, "{again:?}");
    assert_eq!(read(&server, &uri)["content"], "One chrysoberyl.\nMine <b>.");
    let history = browser.get(&format!("/history/{path}?compare=2")).body;
    assert!(history.contains("Removed: </span>From &lt;script&gt;"), "{history}");
}

#[test]
fn first_page_shows_and_undoes_what_agents_did() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings(WRITE_ENABLED);
    let browser = logged_in(&library, &server);
    let (uri, path) = find_note(&server, "chrysoberyl");
    let page = browser.get(&format!("/edit/{path}"));
    let mine = [("title", "Old"), ("content", "One chrysoberyl.\r\nMine."), ("tags", "")];
    assert_eq!(save(&browser, &page, &mine).status, 303);
    let agent = json!({ "note_id": uri, "content": "From an agent." });
    server.client().call_tool("notes.append", &agent);
    let home = browser.get("/");
    let (_, rest) = home.body.split_once("Agents, last 24 hours").expect("what agents did");
    assert!(rest.contains(">Old</a>") && rest.contains(" read "), "{rest}");
    let client = form_field(rest, "client").unwrap();
    let fields = [("item", uri.as_str()), ("client", client.as_str())];
    let undone = browser.submit("/edit/undo", &home, &fields);
    assert_eq!(undone.status, 303, "{undone:?}");
    assert_eq!(read(&server, &uri)["content"], "One chrysoberyl.\nMine.", "own changes stay");
    let home = browser.get("/").body;
    assert!(home.contains("Write today’s note") && home.contains("Last import"), "{home}");
}

#[test]
fn first_page_of_empty_library_takes_files() {
    let library = Library::new();
    let server = library.serve_with_settings("");
    let home = logged_in(&library, &server).get("/");
    assert!(home.body.contains("type=\"file\"") && home.body.contains("/new"), "{}", home.body);
}

#[test]
fn preview_shows_text_and_saves_nothing() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let (uri, path) = find_note(&server, "chrysoberyl");
    let page = browser.get(&format!("/edit/{path}"));
    let text = "# A heading\r\n\r\n> [!tip] Hint\r\n> Text\r\n\r\n<img src=x onerror=alert(1)>";
    let fields = [("title", "Old"), ("content", text), ("tags", ""), ("action", "preview")];
    let preview = save(&browser, &page, &fields);
    assert_eq!(preview.status, 200, "{preview:?}");
    assert!(preview.body.contains("<div class=\"callout tip\">"), "{}", preview.body);
    assert!(!preview.body.contains("<img") && preview.body.contains("# A heading"));
    assert_eq!(read(&server, &uri)["content"], "One chrysoberyl.");
}

#[test]
fn deleted_note_returns_from_the_trash() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let (uri, path) = find_note(&server, "chrysoberyl");
    let page = browser.get(&format!("/i/{path}"));
    let (item, version) = (form_field(&page.body, "item"), form_field(&page.body, "version"));
    let (item, version) = (item.unwrap(), version.unwrap());
    let stale = browser.submit("/edit/delete", &page, &[("item", &item), ("version", "7")]);
    assert!(stale.status == 400 && stale.body.contains("not 7"), "{stale:?}");
    let deleted = browser.submit("/edit/delete", &page, &[("item", &item), ("version", &version)]);
    assert_eq!(
        deleted.header("location"),
        Some(format!("/history/{path}").as_str()),
        "{deleted:?}"
    );
    let found = server.client().call_tool("knowledge.search", &json!({ "query": "chrysoberyl" }));
    assert_eq!(found["results"], json!([]));
    for place in ["history", "i"] {
        let trash = browser.get(&format!("/{place}/{path}"));
        assert!(trash.status == 200 && trash.body.contains("In the trash: Old"), "{trash:?}");
    }
    let trash = browser.get(&format!("/history/{path}"));
    let before = form_field(&trash.body, "version").unwrap();
    let undone = browser.submit("/edit/restore", &trash, &[("item", &item), ("version", &before)]);
    assert_eq!(undone.status, 303, "{undone:?}");
    assert_eq!(read(&server, &uri)["content"], "One chrysoberyl.");
}

#[test]
fn tags_are_added_and_removed_one_by_one() {
    let library =
        Library::with_notes([("Old", "---\ntags: [gem]\n---\nA chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let (uri, path) = find_note(&server, "chrysoberyl");
    let page = browser.get(&format!("/i/{path}"));
    let added = browser.submit("/edit/tags", &page, &[("item", &uri), ("add", "green, <b>")]);
    assert_eq!(added.status, 303, "{added:?}");
    assert_eq!(read(&server, &uri)["meta"]["tags"], json!(["<b>", "gem", "green"]));
    let removed = browser.submit("/edit/tags", &page, &[("item", &uri), ("remove", "gem")]);
    assert_eq!(removed.status, 303, "{removed:?}");
    assert_eq!(read(&server, &uri)["meta"]["tags"], json!(["<b>", "green"]));
    assert!(!browser.get(&format!("/i/{path}")).body.contains("<b>"));
}

#[test]
fn forms_without_own_token_change_nothing() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let (uri, _) = find_note(&server, "chrysoberyl");
    let stranger = Browser::of(&server);
    for path in FORMS {
        let fields = [
            ("item", uri.as_str()),
            ("version", "1"),
            ("title", "Mine"),
            ("content", "Mine"),
            ("add", "mine"),
        ];
        let sent = browser.post(path, &fields);
        assert_eq!(sent.status, 403, "{path}: {sent:?}");
        let guessed = browser.post(path, &[&fields[..], &[("csrf", "guess")]].concat());
        assert_eq!(guessed.status, 403, "{path}: {guessed:?}");
        let sent = stranger.post(path, &fields);
        if path == "/edit/save" {
            assert!(sent.status == 403 && sent.body.contains("Your login has ended"), "{sent:?}");
            continue;
        }
        let location = sent.header("location").unwrap_or_default();
        assert!(sent.status == 303 && location.starts_with("/login"), "{path}: {sent:?}");
        assert_eq!(browser.get(path).status, 404, "{path} is no page");
    }
    let note = read(&server, &uri);
    assert_eq!(
        (&note["content"], &note["meta"]["version"]),
        (&json!("One chrysoberyl."), &json!(1))
    );
}

#[test]
fn forms_reach_no_item_of_another_account() {
    let served = OAuthServer::start();
    served.library.import_for_user("eve", "notes", "secret.md", "A beryl of eve.");
    OAuthServer::add_user(&served.library, "eve");
    let list = |user| served.library.run(&["list", "--user", user, "--json"]).parse_json();
    let before = list("eve");
    let eve = before["results"][0]["uri"].as_str().unwrap().to_owned();
    let browser = served.logged_in_browser();
    let own = browser.get("/new");
    let found = list("ada")["results"][0]["uri"].as_str().unwrap().replace("://", "/");
    let shown = browser.get(&format!("/i/{found}")).body;
    let data = served.library.data_folder();
    let folder = data.parent().unwrap().to_str().unwrap();
    assert!(shown.contains("Move to trash") && !shown.contains(folder), "no paths: {shown}");
    for path in ["/edit", "/history", "/i"] {
        let page = browser.get(&format!("{path}/{}", eve.replace("://", "/")));
        assert!(page.status == 404 && !page.body.contains("of eve"), "{path}: {page:?}");
    }
    let fields = [("item", eve.as_str()), ("version", "1"), ("title", "Mine"), ("content", "Mine")];
    for path in FORMS {
        let sent = browser.submit(path, &own, &[&fields[..], &[("add", "mine")]].concat());
        assert!((400..500).contains(&sent.status), "{path}: {sent:?}");
        assert!(!sent.body.contains("of eve"), "{path}: {sent:?}");
    }
    let selected = format!("1:{eve}");
    let fields = [("item", selected.as_str()), ("action", "trash")];
    let sent = browser.submit("/edit/selection", &own, &fields);
    assert!(sent.body.contains("These were not changed") && !sent.body.contains("of eve"));
    assert_eq!(list("eve"), before);
}

#[test]
fn wrong_forms_say_what_is_wrong() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let page = browser.get("/new");
    let send = |path: &str, fields: &[(&str, &str)]| browser.submit(path, &page, fields);
    for (path, fields, expected) in [
        ("/edit/save", vec![("title", " "), ("content", "Kept text")], "title"),
        ("/edit/save", vec![("item", "media://1"), ("version", "1")], "names no note"),
        (
            "/edit/save",
            vec![("item", "notes://none"), ("version", "1"), ("content", "Kept text")],
            "none",
        ),
        ("/edit/tags", vec![("item", "x"), ("add", "a")], "names no item"),
        ("/edit/delete", vec![("item", "notes://none")], "none"),
        ("/edit/restore", vec![("item", "notes://none"), ("version", "1")], "none"),
        ("/edit/restore", vec![("item", "notes://none"), ("version", "x")], "version"),
    ] {
        let sent = send(path, &fields);
        assert!((400..500).contains(&sent.status), "{path} {fields:?}: {sent:?}");
        assert!(sent.body.contains(expected), "{path} {fields:?}: {}", sent.body);
        let text = fields.iter().find(|(name, _)| *name == "content");
        assert!(text.is_none_or(|(_, text)| sent.body.contains(text)), "the text is not lost");
    }
    let long = "x".repeat(1_000_001);
    let refused = send("/edit/save", &[("title", "Long"), ("content", &long)]);
    assert!(refused.body.contains("at most 1000000 characters"), "{}", refused.status);
    for path in
        ["/edit/media/1", "/edit/notes/none", "/edit/x", "/history/x", "/history/notes/none"]
    {
        assert!((400..500).contains(&browser.get(path).status), "{path}");
    }
}

#[test]
fn edit_reaches_the_file_of_a_vault() {
    let library = Library::new();
    let vault = library.file_path("vault");
    fs::create_dir_all(vault.join(".obsidian")).unwrap();
    let before = "---\r\ntags: [gem] # mine\r\n---\r\n# Stone\r\n\r\nA chrysoberyl.\r\nEnd\r\n";
    fs::write(vault.join("Stone.md"), before).unwrap();
    let imported = library.run(&["import", "--two-way", vault.to_str().unwrap()]);
    assert_eq!(imported.code, 0, "{imported:?}");
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let (_, path) = find_note(&server, "chrysoberyl");
    let page = browser.get(&format!("/edit/{path}"));
    let text = before.replace("End", "The end");
    let fields = [("title", "Stone"), ("content", text.as_str()), ("tags", "gem")];
    let saved = save(&browser, &page, &fields);
    assert_eq!(saved.status, 303, "{saved:?}");
    assert_eq!(
        fs::read_to_string(vault.join("Stone.md")).unwrap(),
        text,
        "only a line has changed"
    );
    let shown = browser.get(&format!("/i/{path}"));
    assert!(shown.body.contains("<table class=\"properties\""), "{}", shown.body);
    assert!(shown.body.contains("href=\"obsidian://open?path=%2F"), "{}", shown.body);
    let item = form_field(&shown.body, "item").unwrap();
    browser.submit("/edit/delete", &shown, &[("item", &item)]);
    assert!(!vault.join("Stone.md").exists());
    let trash = browser.get(&format!("/history/{path}"));
    let version = form_field(&trash.body, "version").unwrap();
    browser.submit("/edit/restore", &trash, &[("item", &item), ("version", &version)]);
    assert_eq!(fs::read_to_string(vault.join("Stone.md")).unwrap(), text);
}

#[test]
fn notes_are_shown_as_their_programs_show_them() {
    let library = Library::with_notes([
        ("Rye", "---\nrating: 5\n---\nKnead <b>.\n\n## Bake\n\nHot chrysoberyl.".to_owned()),
        (
            "Day",
            "![[Rye#Bake]]\n\n> [!tip]- Folded\n> In[^1]\n\n- [ ] open\n\n![[cat.jpg|100]]\n\n[^1]: Foot."
                .to_owned(),
        ),
    ]);
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let (_, path) = find_note(&server, "Folded");
    let page = browser.get(&format!("/i/{path}")).body;
    for part in [
        "<div class=\"embed\" role=\"group\" aria-label=\"Rye\">",
        "Hot chrysoberyl.",
        "<summary>Folded</summary>",
        "<li class=\"task\">☐ open",
        "<span class=\"file\">cat.jpg</span>",
        "href=\"#footnote-1\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Knead") && !page.contains("[!tip]"), "{page}");
    let results = browser.get("/search?q=Folded").body;
    assert!(!results.contains("[[") && !results.contains("[!tip]"), "{results}");
}

#[test]
fn selected_results_are_changed_together() {
    let note = |number: usize| (format!("Note {number}"), format!("A chrysoberyl {number}."));
    let library = Library::with_notes((0..4).map(note));
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let page = browser.get("/search?q=chrysoberyl&select=all");
    let items: Vec<String> = page
        .body
        .split("name=\"item\" value=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert!(items.len() == 4 && page.body.contains("checked"), "{items:?}");
    let three: Vec<(&str, &str)> = items.iter().take(3).map(|it| ("item", it.as_str())).collect();
    let send = |fields: &[(&str, &str)]| {
        browser.submit("/edit/selection", &page, &[&three[..], fields].concat())
    };
    let tagged = send(&[("action", "tag"), ("tags", "gem, green")]);
    assert!(tagged.status == 200 && tagged.body.contains("Tagged: 3 items"), "{tagged:?}");
    let found = browser.get("/search?q=chrysoberyl&tag=green");
    assert!(found.body.contains("3 results"), "{}", found.body);
    // The versions of the form are old by now.
    let stale = send(&[("action", "trash")]);
    assert!(stale.body.contains("0 items") && stale.body.contains("not 1"), "{}", stale.body);
    let page = browser.get("/search?q=chrysoberyl&tag=green&select=1");
    let versions: Vec<String> =
        three.iter().map(|(_, item)| item.replacen("1:", "2:", 1)).collect();
    let fields: Vec<(&str, &str)> = versions.iter().map(|it| ("item", it.as_str())).collect();
    let act = |action| {
        browser.submit("/edit/selection", &page, &[&fields[..], &[("action", action)]].concat())
    };
    let gone = act("trash");
    assert!(gone.body.contains("In the trash: 3 items"), "{}", gone.body);
    assert!(browser.get("/search?q=chrysoberyl").body.contains("1 result"));
    let back = act("restore");
    assert!(back.body.contains("Restored: 3 items"), "{}", back.body);
    assert!(browser.get("/search?q=chrysoberyl").body.contains("4 results"));
    for (fields, expected) in [
        (vec![("action", "burn")], "no action"),
        (vec![("action", "tag"), ("tags", " , ")], "Name the tags"),
        (vec![("action", "tag"), ("tags", "a"), ("item", "x")], "is no item"),
    ] {
        let refused = send(&fields);
        assert!(refused.status == 400 && refused.body.contains(expected), "{refused:?}");
    }
}
