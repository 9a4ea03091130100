//! Limits of pages: tools that the operator disabled, old forms, ended logins, and the first page as the library
//! changes.

use std::fs;

use serde_json::json;

use crate::{
    page_edits::{WRITE_ENABLED, find_note, logged_in, read, save},
    support::{Library, McpClient, form_field},
};

#[test]
fn disabled_tools_are_not_reached_through_pages() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let settings = "[tools]\nwrite = true\ndisabled = [\"notes.create\", \"knowledge.tag\", \
                    \"notes.append\"]\n";
    let server = library.serve_with_settings(settings);
    let browser = logged_in(&library, &server);
    let (uri, path) = find_note(&server, "chrysoberyl");
    let page = browser.get("/new");
    let text = [("title", "New"), ("content", "A malachite."), ("tags", "")];
    for fields in [&text[..], &[&text[..], &[("daily", "1")]].concat()] {
        let refused = save(&browser, &page, fields);
        assert!(refused.body.contains("is disabled on this server"), "{refused:?}");
        assert!(refused.status == 400 && refused.body.contains("A malachite."), "{refused:?}");
    }
    let item = [("item", uri.as_str()), ("add", "gem")];
    let shown = browser.get(&format!("/i/{path}"));
    let tagged = browser.submit("/edit/tags", &shown, &item);
    assert!(tagged.status == 400 && tagged.body.contains("`knowledge.tag` is disabled"));
    let selected = format!("1:{uri}");
    let fields = [("item", selected.as_str()), ("action", "tag"), ("tags", "gem")];
    let tagged = browser.submit("/edit/selection", &shown, &fields);
    assert!(tagged.body.contains("0 items") && tagged.body.contains("is disabled"), "{tagged:?}");
    assert_eq!(read(&server, &uri)["meta"]["tags"], json!([]));
    let found = server.client().call_tool("knowledge.search", &json!({ "query": "malachite" }));
    assert_eq!(found["results"], json!([]));
    // The other tools are there.
    let edited = save(&browser, &browser.get(&format!("/edit/{path}")), &text);
    assert_eq!(edited.status, 303, "{edited:?}");
}

#[test]
fn old_form_restores_nothing_over_a_newer_edit() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings(WRITE_ENABLED);
    let browser = logged_in(&library, &server);
    let (uri, path) = find_note(&server, "chrysoberyl");
    let append = |text: &str| {
        let client = server.client();
        client.call_tool("notes.append", &json!({ "note_id": uri, "content": text }));
    };
    append("Two.");
    append("Unwanted.");
    let page = browser.get(&format!("/history/{path}"));
    let form = page.body.split("action=\"/edit/restore\"").nth(1).expect("a form that restores");
    let [version, present] = ["version", "present"].map(|name| form_field(form, name).unwrap());
    assert_eq!((version.as_str(), present.as_str()), ("2", "3"));
    append("Three, unseen.");
    let fields = [("item", uri.as_str()), ("version", &version), ("present", &present)];
    let stale = browser.submit("/edit/restore", &page, &fields);
    assert!(stale.status == 400 && stale.body.contains("is at version 4, not 3"), "{stale:?}");
    assert!(read(&server, &uri)["content"].as_str().unwrap().contains("Three, unseen."));
    let page = browser.get(&format!("/history/{path}"));
    let fields = [("item", uri.as_str()), ("version", "2"), ("present", "4")];
    assert_eq!(browser.submit("/edit/restore", &page, &fields).status, 303);
    assert_eq!(read(&server, &uri)["content"], "One chrysoberyl.\nTwo.");
}

#[test]
fn text_survives_the_end_of_the_login() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings("");
    let browser = logged_in(&library, &server);
    let (uri, path) = find_note(&server, "chrysoberyl");
    let page = browser.get(&format!("/edit/{path}"));
    let fields = [("title", "Old"), ("content", "My <long> text."), ("tags", "gem")];
    let clients = browser.get("/clients");
    assert_eq!(browser.submit("/account/logout", &clients, &[]).status, 303);
    let kept = save(&browser, &page, &fields);
    assert_eq!(kept.status, 403, "{kept:?}");
    assert!(kept.body.contains("Your login has ended"), "{}", kept.body);
    assert!(kept.body.contains("My &lt;long&gt; text.") && kept.body.contains("value=\"gem\""));
    assert!(kept.body.contains("data-unsaved=\"changed\""), "the script warns of leaving");
    assert_eq!(read(&server, &uri)["content"], "One chrysoberyl.");
    // The person logs in in another tab, and sends the form again.
    let settings = library.file_path("settings.toml");
    let link = library.run(&["login", "--config", settings.to_str().unwrap()]);
    assert_eq!(browser.redeem_link(&link.stdout).status, 303);
    let again = save(&browser, &kept, &fields);
    assert_eq!(again.status, 403, "{again:?}");
    assert!(
        again.body.contains("My &lt;long&gt; text.") && again.body.contains("save it once more")
    );
    assert_eq!(read(&server, &uri)["content"], "One chrysoberyl.");
    assert_eq!(save(&browser, &again, &fields).status, 303);
    assert_eq!(read(&server, &uri)["content"], "My <long> text.");
    // A form of another origin is not shown.
    let foreign = server
        .request("POST", "/edit/save")
        .header("content-type", "application/x-www-form-urlencoded")
        .body("title=Evil&content=Evil")
        .send();
    assert!(foreign.status == 303 && !foreign.body.contains("Evil"), "{foreign:?}");
    let location = foreign.header("location").unwrap();
    assert!(!location.contains("save"), "the login leads to a page: {location}");
}

#[test]
fn first_page_follows_the_library() {
    let library = Library::with_notes([("Old", "One chrysoberyl.".to_owned())]);
    let server = library.serve_with_settings(WRITE_ENABLED);
    let browser = logged_in(&library, &server);
    let home = || browser.get("/").body;
    let first = home();
    assert!(first.contains(">Old</a>") && !first.contains("Malachite"), "{first}");
    assert_eq!(home(), first, "nothing has changed");
    let note = json!({ "title": "Malachite", "content": "Green.", "tags": ["gem"] });
    server.client().call_tool("notes.create", &note);
    let second = home();
    assert!(second.contains(">Malachite</a>") && second.contains("#gem"), "{second}");
    assert!(second.contains("Agents, last 24 hours"), "{second}");
    // A file that brings no item changes the last import only.
    library.write_file("broken.zip", "no archive");
    library.run(&["import", library.file_path("broken.zip").to_str().unwrap()]);
    let third = home();
    assert!(third.contains("broken.zip") && third.contains("could not be read"), "{third}");
}

#[test]
fn daily_note_is_that_of_the_vault() {
    let library = Library::new();
    let vault = library.file_path("vault");
    fs::create_dir_all(vault.join(".obsidian")).unwrap();
    let settings = json!({ "folder": "Days", "format": "[Day] YYYY-MM-DD" }).to_string();
    fs::write(vault.join(".obsidian/daily-notes.json"), settings).unwrap();
    fs::write(vault.join("Stone.md"), "A chrysoberyl.").unwrap();
    let imported = library.run(&["import", "--two-way", vault.to_str().unwrap()]);
    assert_eq!(imported.code, 0, "{imported:?}");
    let server = library.serve_with_settings(WRITE_ENABLED);
    let browser = logged_in(&library, &server);
    assert!(browser.get("/").body.contains("Write today’s note"));
    let page = browser.get("/new?daily=1");
    let title = form_field(&page.body, "title").unwrap();
    assert!(title.starts_with("Day 20") && page.body.contains("readonly"), "{}", page.body);
    let hidden = form_field(&page.body, "daily").unwrap();
    let fields = [("title", title.as_str()), ("content", "A malachite."), ("daily", &hidden)];
    let saved = save(&browser, &page, &fields);
    assert_eq!(saved.status, 303, "{saved:?}");
    let path = saved.header("location").unwrap();
    let file = vault.join("Days").join(format!("{title}.md"));
    assert!(fs::read_to_string(&file).unwrap().contains("A malachite."));
    let home = browser.get("/").body;
    assert!(home.contains(&format!("href=\"{path}\">Today’s note")), "{home}");
    // The tool adds to the same note.
    let client = server.client();
    client.call_tool("notes.append", &json!({ "at": "daily note", "content": "More." }));
    assert!(fs::read_to_string(&file).unwrap().contains("More."));
}

#[test]
fn each_selected_item_counts_in_the_rate_limit() {
    let note = |number: usize| (format!("Note {number}"), format!("A chrysoberyl {number}."));
    let library = Library::with_notes((0..4).map(note));
    let server = library.serve_with_settings("[limits]\ncalls_per_tool_per_minute = 2\n");
    let browser = logged_in(&library, &server);
    let page = browser.get("/search?q=chrysoberyl&select=all");
    let items = page.body.split("name=\"item\" value=\"").skip(1);
    let items: Vec<&str> = items.map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(items.len(), 4, "{}", page.body);
    let mut fields: Vec<(&str, &str)> = items.iter().map(|it| ("item", *it)).collect();
    fields.extend([("action", "tag"), ("tags", "gem")]);
    let tagged = browser.submit("/edit/selection", &page, &fields);
    assert!(tagged.body.contains("Tagged: 2 items"), "{}", tagged.body);
    assert_eq!(tagged.body.matches("try again in").count(), 2, "{}", tagged.body);
}
