//! The pages of the library: logins, permalinks, rights, and hostile contents.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Browser, HttpResponse, Library, McpClient, OAuthServer, Server, form_field};

/// A library with a long note, and another one that links to it.
fn sample_library() -> Library {
    let filler = "Pebbles and gravel lie in the river bed.\n\n".repeat(60);
    Library::with_notes([
        ("Long", format!("# Long\n\n{filler}Here the chrysoberyl is hidden.\n\n{filler}")),
        ("Links", "See [[Long]] and <script>alert(1)</script>.".to_owned()),
    ])
}

fn settings_of(library: &Library) -> String {
    library.file_path("settings.toml").to_str().unwrap().to_owned()
}

/// Returns a browser in which the user of the server is logged in by a one-time link.
fn logged_in<'a>(library: &Library, server: &'a Server) -> Browser<'a> {
    let link = library.run(&["login", "--config", &settings_of(library)]);
    assert_eq!(link.code, 0, "{link:?}");
    let browser = Browser::of(server);
    let done = browser.redeem_link(&link.stdout);
    assert_eq!((done.status, done.header("location")), (303, Some("/")), "{done:?}");
    browser
}

fn serve(library: &Library) -> Server {
    library.serve_with_settings("")
}

/// Returns the path and query of a permalink.
fn local_path(url: &Value) -> String {
    let url: url::Url = url.as_str().unwrap().parse().unwrap();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{query}", url.path())
}

#[test]
fn pages_need_a_login_and_come_back_to_it() {
    let library = sample_library();
    let server = serve(&library);
    let browser = Browser::of(&server);
    for path in
        ["/", "/search?q=a", "/timeline", "/map", "/imports", "/activity", "/clients", "/health"]
    {
        let answer = browser.get(path);
        let location = answer.header("location").unwrap();
        assert_eq!(answer.status, 303, "{path}");
        assert!(location.starts_with("/login?page=") || path == "/", "{path}: {location}");
    }
    let redirect = browser.get("/search?q=chrysoberyl");
    let login = browser.get(redirect.header("location").unwrap());
    let code = library.run(&["login", "--config", &settings_of(&library)]).stdout;
    let code = code.trim().split_once("code=").unwrap().1;
    let done = browser.submit("/login/code", &login, &[("code", code)]);
    assert_eq!(done.header("location"), Some("/search?q=chrysoberyl"), "{done:?}");
    assert_eq!(browser.get("/search?q=chrysoberyl").status, 200);
    let again = Browser::of(&server).redeem_link(&format!("?code={code}"));
    assert_eq!(again.status, 403, "a code is valid once");
}

#[test]
fn login_does_not_lead_to_other_servers() {
    let library = sample_library();
    let server = serve(&library);
    for page in ["//evil.example", "/\\evil.example", "https://evil.example", "/%0d%0ax:y"] {
        let browser = Browser::of(&server);
        let query: String = url::form_urlencoded::byte_serialize(page.as_bytes()).collect();
        let login = browser.get(&format!("/login?page={query}"));
        let code = library.run(&["login", "--config", &settings_of(&library)]).stdout;
        let code = code.trim().split_once("code=").unwrap().1;
        let done = browser.submit("/login/code", &login, &[("code", code)]);
        let location = done.header("location").unwrap();
        assert!(location == "/" || location == "/%0d%0ax:y", "{page}: {location}");
    }
}

#[test]
fn permalink_shows_marked_passage() {
    let library = sample_library();
    let server = serve(&library);
    let found = server.client().call_tool("search", &json!({ "query": "chrysoberyl" }));
    let url = &found["results"][0]["url"];
    assert!(url.as_str().unwrap().starts_with(&format!("http://{}/i/notes/", server.address())));
    let page = logged_in(&library, &server).get(&local_path(url));
    assert_eq!(page.status, 200);
    let (_, marked) = page.body.split_once("<mark id=\"passage\">").unwrap();
    assert!(marked.contains("chrysoberyl"), "{marked}");
    assert!(page.body.contains("Linked from") && page.body.contains(">Links</a>"), "{}", page.body);
    let document = server.client().call_tool("fetch", &json!({ "id": found["results"][0]["id"] }));
    assert!(document["url"].as_str().unwrap().contains("/i/notes/"), "{document}");
}

#[test]
fn public_url_begins_every_permalink() {
    let served = OAuthServer::start();
    let (_, tokens) = served.grant();
    let client = served.server.client().with_bearer_token(tokens["access_token"].as_str().unwrap());
    let reply = client.send(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "search", "arguments": { "query": "amethyst" } },
    }));
    let reply = reply.json();
    let url = &reply["result"]["structuredContent"]["results"][0]["url"];
    let path = url.as_str().unwrap().strip_prefix(OAuthServer::ISSUER).unwrap();
    let page = served.logged_in_browser().get(path);
    assert!(page.status == 200 && page.body.contains("amethyst"), "{page:?}");
}

#[test]
fn search_is_narrowed_by_tags_of_results() {
    let note = |tags: &str| format!("---\ntags: [{tags}]\n---\nAbout the chrysoberyl.");
    let library = Library::with_notes([
        ("One", note("gems, blue & green")),
        ("Two", note("gems")),
        ("Three", note("other")),
    ]);
    let server = serve(&library);
    let browser = logged_in(&library, &server);
    let page = browser.get("/search?q=chrysoberyl&source=notes");
    let link = "href=\"/search?q=chrysoberyl&amp;source=notes&amp;tag=gems\">#gems 2</a>";
    assert!(page.body.contains(link), "{}", page.body);
    let most_frequent_first = page.body.find("#gems 2</a>") < page.body.find("#other 1</a>");
    assert!(most_frequent_first && page.body.contains("#blue &amp; green 1</a>"), "{}", page.body);
    let narrowed = browser.get("/search?q=chrysoberyl&source=notes&tag=gems");
    assert!(narrowed.body.contains("2 results") && !narrowed.body.contains("#gems 2</a>"));
}

#[test]
fn message_has_a_permalink() {
    let library = Library::with_lanterns();
    let server = serve(&library);
    let found = server.client().call_tool("chats.search", &json!({ "query": "lantern" }));
    let uris = found["results"].as_array().unwrap().iter().map(|hit| hit["uri"].as_str().unwrap());
    let mut messages = uris.filter_map(|uri| uri.strip_prefix("chats://")?.split_once('#'));
    let (conversation, message) = messages.next().unwrap();
    let page = logged_in(&library, &server).get(&format!("/i/chats/{conversation}?part={message}"));
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains(" marked\" id=\"passage\""), "{}", page.body);
}

#[test]
fn users_see_their_own_items_only() {
    let served = OAuthServer::start();
    served.library.import_for_user("eve", "notes", "secret.md", "A beryl of eve.");
    OAuthServer::add_user(&served.library, "eve");
    let browser = served.logged_in_browser();
    let found = browser.get("/search?q=beryl");
    assert!(found.status == 200 && !found.body.contains("of eve"), "{found:?}");
    let eve = served.library.run(&["list", "--user", "eve", "--json"]).parse_json();
    let uri = eve["results"][0]["uri"].as_str().unwrap();
    let page = browser.get(&format!("/i/{}", uri.replace("://", "/")));
    assert_eq!(page.status, 404, "{page:?}");
    assert!(!page.body.contains("beryl"), "{page:?}");
    let files = browser.get("/imports");
    assert!(!files.body.contains("secret.md") && files.body.contains("note.md"), "{files:?}");
}

#[test]
fn policy_forbids_everything_foreign() {
    let library = sample_library();
    let server = serve(&library);
    let browser = logged_in(&library, &server);
    for path in ["/", "/search?q=alert", "/timeline", "/i/notes/none", "/clip"] {
        let page = browser.get(path);
        let policy = page.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert_eq!(page.header("x-frame-options"), Some("DENY"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert!(!page.body.contains("<script>") && !page.body.contains(" style="), "{path}");
    }
}

#[test]
fn forms_of_other_origins_change_nothing() {
    let library = sample_library();
    let server = serve(&library);
    let browser = logged_in(&library, &server);
    let saved = browser.post("/clip/save", &[("url", "https://a.example"), ("text", "malachite")]);
    assert_eq!(saved.status, 403, "{saved:?}");
    let boundary = "multipart/form-data; boundary=x";
    let body = "--x\r\ncontent-disposition: form-data; name=\"files\"; filename=\"a.md\"\r\n\r\n\
                # Malachite\r\n--x--\r\n";
    let dropped = browser.post_body("/imports/upload", boundary, body);
    assert_eq!(dropped.status, 403, "{dropped:?}");
    // Without a token, another page could send this form with the rights of a local program.
    let clip = "--x\r\ncontent-disposition: form-data; name=\"url\"\r\n\r\nhttps://a.example\r\n\
                --x\r\ncontent-disposition: form-data; name=\"text\"\r\n\r\nmalachite\r\n--x--\r\n";
    let sent = Browser::of(&server).post_body("/clip", boundary, clip);
    assert_eq!(sent.status, 400, "{sent:?}");
    let found = server.client().call_tool("search", &json!({ "query": "malachite" }));
    assert_eq!(found["results"], json!([]));
}

#[test]
fn dropped_file_is_imported_and_kept() {
    let library = sample_library();
    let server = serve(&library);
    let browser = logged_in(&library, &server);
    let csrf = form_field(&browser.get("/imports").body, "csrf").unwrap();
    let drop = |text: &str| {
        let body = format!(
            "--x\r\ncontent-disposition: form-data; name=\"csrf\"\r\n\r\n{csrf}\r\n--x\r\n\
             content-disposition: form-data; name=\"files\"; filename=\"../Dropped.md\"\r\n\r\n\
             # Dropped\n\n{text}\r\n--x--\r\n"
        );
        browser.post_body("/imports/upload", "multipart/form-data; boundary=x", body)
    };
    let report = drop("A labradorite.");
    assert!(report.status == 200 && report.body.contains("role=\"status\""), "{report:?}");
    let kept = library.data_folder().join("users/local/uploads/Dropped.md");
    assert!(kept.is_file(), "{kept:?}");
    assert_eq!(drop("A labradorite and a morganite.").status, 200);
    let found = server.client().call_tool("search", &json!({ "query": "morganite" }));
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    let all = server.client().call_tool("search", &json!({ "query": "labradorite" }));
    assert_eq!(all["results"].as_array().unwrap().len(), 1, "the item was updated: {all}");
}

/// Uploads a file, and returns the page.
fn upload(browser: &Browser<'_>, name: &str, content: &str) -> HttpResponse {
    let csrf = form_field(&browser.get("/imports").body, "csrf").unwrap_or_default();
    let body = format!(
        "--x\r\ncontent-disposition: form-data; name=\"csrf\"\r\n\r\n{csrf}\r\n--x\r\n\
         content-disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\r\n{content}\r\n--x--\r\n"
    );
    browser.post_body("/imports/upload", "multipart/form-data; boundary=x", body)
}

#[test]
fn upload_stops_at_quota_of_items() {
    let served = OAuthServer::start_with("[quotas]\nmax_items = 10");
    let browser = served.logged_in_browser();
    let mail = |number: usize| {
        format!(
            "From a@example.com Thu Jan  1 00:00:00 2026\nFrom: a@example.com\nSubject: Mail {number}\n\
             Message-ID: <{number}@example.com>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n\n\
             The malachite number {number}.\n\n"
        )
    };
    let report = upload(&browser, "many.mbox", &(0..40).map(mail).collect::<String>());
    assert!(report.status == 200 && report.body.contains("10 of 10 items"), "{report:?}");
    assert!(report.body.contains("31 of 40 items were not imported"), "{report:?}");
    let settings = served.library.file_path("settings.toml");
    let checked = served.library.run(&["check", "--config", settings.to_str().unwrap()]);
    assert!(checked.stdout.contains("10 of 10 items"), "{checked:?}");
    let refused = upload(&browser, "more.md", "One more.");
    assert!(refused.status == 507 && refused.body.contains("10 of 10 items"), "{refused:?}");
}

#[test]
fn upload_exceeds_quota_of_bytes_by_one_item() {
    const QUOTA: u64 = 6_000_000;
    let served = OAuthServer::start_with(&format!("[quotas]\nmax_bytes = {QUOTA}"));
    let browser = served.logged_in_browser();
    let mail = |number: usize| {
        format!(
            "From a@example.com Thu Jan  1 00:00:00 2026\nFrom: a@example.com\nSubject: Mail {number}\n\
             Message-ID: <{number}@example.com>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\n\n{}\n\n",
            format!("The malachite number {number} lies in the river bed.\n").repeat(1_000),
        )
    };
    let report = upload(&browser, "many.mbox", &(0..60).map(mail).collect::<String>());
    assert!(report.status == 200 && report.body.contains(" of 60 items were not"), "{report:?}");
    let users = fs::read_dir(served.library.data_folder().join("users")).unwrap();
    let user = users.map(|it| it.unwrap().path()).find(|it| it.join("uploads").exists()).unwrap();
    let size = |folder: &Path| -> u64 {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap());
        files.filter(fs::Metadata::is_file).map(|file| file.len()).sum()
    };
    let used = size(&user) + size(&user.join("uploads"));
    assert!((QUOTA / 2..QUOTA + 1_000_000).contains(&used), "{used}");
}

#[test]
fn upload_stops_at_quota_of_bytes() {
    let served = OAuthServer::start_with("[quotas]\nmax_bytes = 3000000");
    let browser = served.logged_in_browser();
    let text = |bytes: usize| "Pebbles and gravel lie in the river bed.\n\n".repeat(bytes / 42);
    let refused = upload(&browser, "large.md", &text(4_000_000));
    assert!(refused.status == 507 && refused.body.contains("bytes more"), "{refused:?}");
    assert_eq!(upload(&browser, "first.md", &text(900_000)).status, 200);
    let statuses: Vec<u16> = (0..8)
        .map(|number| upload(&browser, &format!("{number}.md"), &text(900_000)).status)
        .collect();
    assert!(statuses.ends_with(&[507; 6]), "kept files count: {statuses:?}");
    let page = browser.get("/imports").body;
    assert!(page.contains("first.md") && page.contains("note.md"), "{page}");
    let data = served.library.data_folder();
    assert!(!page.contains(data.parent().unwrap().to_str().unwrap()), "{page}");
    let users = fs::read_dir(data.join("users")).unwrap().map(|entry| entry.unwrap().path());
    let kept = users.map(|user| user.join("uploads/first.md")).find(|file| file.exists()).unwrap();
    let csrf = form_field(&page, "csrf").unwrap();
    for wrong in ["../chacha.db", "/etc/passwd", "", "clips/../../chacha.db"] {
        let fields = [("csrf", csrf.as_str()), ("file", wrong)];
        assert_eq!(browser.post("/imports/remove", &fields).status, 403, "{wrong}");
    }
    let fields = [("csrf", csrf.as_str()), ("file", "first.md")];
    assert_eq!(browser.post("/imports/remove", &fields).status, 303);
    assert!(!kept.exists());
    let page = browser.get("/imports?only=missing").body;
    assert!(page.contains("first.md"), "{page}");
}

#[test]
fn saved_page_is_one_item_per_address() {
    let library = sample_library();
    let server = library.serve_with_settings("[tools]\nwrite = true\n");
    let clip = |html: &str| {
        let page = json!({ "title": "A mineral", "url": "https://a.example/m", "html": html });
        server.request("POST", "/clip").json(&page).send()
    };
    let first = clip("<html><title>Other</title><body><p>About malachite.</p></body></html>");
    assert_eq!(first.status, 200, "{first:?}");
    let second = clip("<p>About malachite and azurite.</p>").json();
    assert_eq!(first.json()["uri"], second["uri"]);
    let item = server.client().call_tool("knowledge.get", &json!({ "id": second["uri"] }));
    assert_eq!(item["meta"]["url"], "https://a.example/m", "{item}");
    assert_eq!(item["meta"]["title"], "A mineral", "{item}");
    let history = server.client().call_tool("knowledge.history", &json!({ "uri": second["uri"] }));
    assert_eq!((&history["version"], &history["oldest_version"]), (&json!(2), &json!(1)));
    for (wrong, status) in [
        (json!({ "url": "file:///etc/passwd", "text": "x" }), 422),
        (json!({ "url": "https://a.example", "text": "" }), 422),
        (json!({ "address": "https://a.example" }), 400),
    ] {
        assert_eq!(server.request("POST", "/clip").json(&wrong).send().status, status, "{wrong}");
    }
}

#[test]
fn browser_extension_saves_pages_with_token_only() {
    let library = sample_library();
    let server = serve(&library);
    let form = "--limit\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.html\"\r\n\
                content-type: text/html\r\n\r\n<title>Gems</title><p>About malachite.</p>\r\n\
                --limit\r\ncontent-disposition: form-data; name=\"url\"\r\n\r\n\
                https://a.example/gems\r\n--limit--\r\n";
    let send = |path: &str, origin: &str, token: &str| {
        let request = server.request("POST", path).header("origin", origin);
        let request = request.header("content-type", "multipart/form-data; boundary=limit");
        request.header("authorization", &format!("Bearer {token}")).body(form).send()
    };
    let extension = "moz-extension://4c24a9e7-6b1a-4d3e-8a40-0f1a34e9b6d0";
    let refused = send("/clip", extension, "guess");
    assert!(refused.status == 401 && refused.body.contains("local.token"), "{refused:?}");
    let token = std::fs::read_to_string(library.data_folder().join("local.token")).unwrap();
    let saved = send("/clip", extension, &token);
    assert_eq!(saved.status, 200, "{saved:?}");
    let item = server.client().call_tool("knowledge.get", &json!({ "id": saved.json()["uri"] }));
    assert_eq!(
        (&item["meta"]["title"], &item["meta"]["url"]),
        (&json!("Gems"), &json!("https://a.example/gems"))
    );
    for (path, origin) in [
        ("/clip", "https://evil.example"),
        ("/clip", "chrome-extension.example"),
        ("/mcp", extension),
        ("/imports", extension),
    ] {
        assert_eq!(send(path, origin, &token).status, 403, "{path} {origin}");
    }
    let open = library.serve_with_settings("[auth]\nlocal = \"open\"\n");
    let request = open.request("POST", "/clip").header("origin", extension);
    let page = json!({ "url": "https://a.example", "text": "malachite" });
    assert_eq!(request.json(&page).send().status, 403, "no token would be asked for");
}

#[test]
fn reader_cannot_save_pages() {
    let library = Library::new();
    let key = library.create_key_with("ada", &["--scope", "read"]);
    let server = library.serve_multi_user("");
    let page = json!({ "url": "https://a.example", "text": "malachite" });
    let sent = server.request("POST", "/clip").json(&page);
    let sent = sent.header("authorization", &format!("Bearer {key}")).send();
    assert_eq!(sent.status, 403, "{sent:?}");
    assert_eq!(server.request("POST", "/clip").json(&page).send().status, 401);
}

#[test]
fn activity_shows_what_clients_saw() {
    let library = sample_library();
    let server = serve(&library);
    server.client().call_tool("search", &json!({ "query": "chrysoberyl" }));
    let browser = logged_in(&library, &server);
    let page = browser.get("/activity");
    assert!(
        page.body.contains("<code>search</code>") && page.body.contains(">Long</a>"),
        "{page:?}"
    );
    assert!(!page.body.contains("knowledge.list"), "{page:?}");
    browser.get("/timeline");
    assert!(browser.get("/activity?pages=1").body.contains("knowledge.list"));
}

#[test]
fn users_revoke_their_own_keys_only() {
    let served = OAuthServer::start();
    OAuthServer::add_user(&served.library, "eve");
    let (own, foreign) = (served.library.create_key("ada"), served.library.create_key("eve"));
    let browser = served.logged_in_browser();
    let page = browser.get("/clients");
    let keys = served.library.run(&["key", "list"]).stdout;
    for line in keys.lines() {
        let id = line.split('\t').next().unwrap();
        let done = browser.submit("/clients/revoke", &page, &[("key", id)]);
        assert_eq!(done.status, 303, "{line}: {done:?}");
    }
    assert_ne!(served.search(&own).status, 200);
    assert_eq!(served.search(&foreign).status, 200);
}

#[test]
fn pages_can_be_turned_off() {
    let library = sample_library();
    let server = library.serve_with_settings("[server]\npages = false\n");
    for path in ["/", "/search?q=a", "/login"] {
        assert_eq!(Browser::of(&server).get(path).status, 404, "{path}");
    }
    let found = server.client().call_tool("search", &json!({ "query": "chrysoberyl" }));
    assert_eq!(found["results"][0]["url"], "", "{found}");
}

#[test]
fn ended_session_sees_nothing() {
    let library = sample_library();
    let server = serve(&library);
    let browser = logged_in(&library, &server);
    let home = browser.get("/");
    let cookie = browser.cookie("vademecum").unwrap();
    assert_eq!(browser.submit("/account/logout", &home, &[]).status, 303);
    browser.set_cookie("vademecum", &cookie);
    let answer = browser.get("/timeline");
    assert_eq!(answer.status, 303, "the cookie of before is worth nothing");
    assert!(answer.header("location").unwrap().starts_with("/login"));
}

#[test]
fn list_is_narrowed_by_counted_tags_and_folders() {
    let library = Library::new();
    for (path, tags) in [("Log/a", "gem, red"), ("Log/b", "gem"), ("Plans/c", "red"), ("d", "x")] {
        library
            .write_file(&format!("vault/{path}.md"), format!("---\ntags: [{tags}]\n---\n{path}"));
    }
    library.import_paths("notes", &[&library.file_path("vault")], &[]);
    library.import_file(
        "media",
        "talk.vtt",
        "WEBVTT\n\n00:01:23.000 --> 00:01:25.000\n<v Ada>The hull leaks.\n",
    );
    let server = serve(&library);
    let browser = logged_in(&library, &server);
    let page = browser.get("/timeline").body;
    for expected in [
        "tag=gem\" dir=\"auto\">gem <small>2",
        "folder=Log\" dir=\"auto\">Log <small>2",
        ">Notes <small>4",
        ">Media <small>1",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let narrowed = browser.get("/timeline?tag=gem").body;
    assert!(narrowed.contains("red <small>1") && !narrowed.contains("gem <small>"), "{narrowed}");
    assert!(!narrowed.contains("Log <small>2"), "it narrows nothing: {narrowed}");
    let hit = server.client().only_hit("media.search", &json!({ "query": "hull" }));
    let path = hit["uri"].as_str().unwrap().replace("media://", "/i/media/");
    let talk = browser.get(&path).body;
    assert!(talk.contains("<li id=\"t-83000\"") && talk.contains(">1:23</a>"), "{talk}");
    assert!(talk.contains("<strong>Ada:</strong> The hull leaks."), "{talk}");
}
