//! How long a browser stays logged in, where a login leads, and the list of browsers on `/clients`.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rusqlite::{Connection, OpenFlags};

use crate::support::{Browser, HttpResponse, Library, OAuthServer, Server, form_field};

/// Days in seconds.
const DAY: i64 = 24 * 60 * 60;

fn settings_of(library: &Library) -> String {
    library.file_path("settings.toml").to_str().unwrap().to_owned()
}

/// Returns the value of an input field.
fn form_value(page: &HttpResponse, name: &str) -> String {
    let (_, rest) = page.body.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
    rest.split('"').next().unwrap().to_owned()
}

fn log_in<'a>(library: &Library, server: &'a Server) -> Browser<'a> {
    let link = library.run(&["login", "--config", &settings_of(library)]).stdout;
    let browser = Browser::of(server);
    assert_eq!(browser.redeem_link(&link).status, 303);
    browser
}

/// Opens the database of the server, beside the server.
fn server_database(library: &Library) -> Connection {
    let file = library.data_folder().join("server.db");
    Connection::open_with_flags(file, OpenFlags::default()).unwrap()
}

#[test]
fn login_lasts_while_it_is_used() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("");
    let browser = log_in(&library, &server);
    let database = server_database(&library);
    let set_rest = |days: i64| {
        let sql = "UPDATE login_sessions \
                   SET expires_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?1 || ' seconds')";
        assert_eq!(database.execute(sql, [(days * DAY - 60).to_string()]).unwrap(), 1);
    };
    let rest = || -> i64 {
        let sql = "SELECT unixepoch(expires_at) - unixepoch() FROM login_sessions";
        database.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert!((89 * DAY..=90 * DAY).contains(&rest()), "{}", rest());
    // Not used for 80 days; then each use lets it last 90 days more.
    set_rest(10);
    assert_eq!(browser.get("/search?q=prisms").status, 200);
    assert!((89 * DAY..=90 * DAY).contains(&rest()), "{}", rest());
    // A use within a day writes nothing.
    set_rest(90);
    let before = rest();
    assert_eq!(browser.get("/search?q=prisms").status, 200);
    assert!(rest() <= before);
    // Not used for 90 days.
    set_rest(0);
    let refused = browser.get("/search?q=prisms");
    assert_eq!(refused.header("location"), Some("/login?page=%2Fsearch%3Fq%3Dprisms"));
    assert!(rest() <= 0, "nothing revives it");
}

#[test]
fn cookie_outlives_the_browser_window() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("");
    let link = library.run(&["login", "--config", &settings_of(&library)]).stdout;
    let browser = Browser::of(&server);
    let (_, code) = link.trim().split_once("code=").unwrap();
    let page = browser.get(&format!("/login/code?code={code}"));
    let done = browser.submit("/login/code", &page, &[("code", code)]);
    let cookie = done.header("set-cookie").unwrap();
    for part in ["Max-Age=34560000", "HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
}

#[test]
fn browser_is_logged_out_from_another() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("");
    let (one, other) = (log_in(&library, &server), log_in(&library, &server));
    let page = one.get("/clients");
    assert_eq!(page.body.matches("This browser").count(), 1);
    assert_eq!(page.body.matches("Browser last used on").count(), 1);
    let (_, card) = page.body.split_once("Browser last used on").unwrap();
    let (_, id) = card.split_once("name=\"browser\" value=\"").unwrap();
    let id = id.split('"').next().unwrap();
    let foreign = one.post("/clients/log-out", &[("browser", id)]);
    assert_eq!(foreign.status, 403, "a form without its token: {foreign:?}");
    assert_eq!(other.get("/clients").status, 200);
    assert_eq!(one.submit("/clients/log-out", &page, &[("browser", id)]).status, 303);
    assert_eq!(other.get("/clients").status, 303);
    let page = one.get("/clients");
    assert!(!page.body.contains("Browser last used on"), "{page:?}");
    let id = form_value(&page, "browser");
    assert_eq!(one.submit("/clients/log-out", &page, &[("browser", &id)]).status, 303);
    assert_eq!(one.get("/clients").status, 303);
}

#[test]
fn users_log_out_their_own_browsers_only() {
    let served = OAuthServer::start();
    let one = served.logged_in_browser();
    let other = served.logged_in_browser();
    OAuthServer::add_user(&served.library, "eve");
    let database = server_database(&served.library);
    let given = database
        .execute(
            "UPDATE login_sessions SET user = 'eve' WHERE digest = \
        (SELECT max(digest) FROM login_sessions)",
            [],
        )
        .unwrap();
    assert_eq!(given, 1);
    let digests = database
        .prepare("SELECT digest FROM login_sessions")
        .unwrap()
        .query_map([], |row| row.get::<_, Vec<u8>>(0))
        .unwrap()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    assert_eq!(digests.len(), 2);
    let is_in = |browser: &Browser<'_>| browser.get("/clients").status == 200;
    let page = one.get("/clients");
    let own = form_value(&page, "browser");
    for digest in digests {
        let id = URL_SAFE_NO_PAD.encode(digest);
        if id != own {
            one.submit("/clients/log-out", &page, &[("browser", &id)]);
        }
    }
    for id in ["", "x", "%", "AAAA"] {
        assert_eq!(one.submit("/clients/log-out", &page, &[("browser", id)]).status, 303, "{id}");
    }
    assert!(is_in(&one) && is_in(&other));
}

#[test]
fn opened_item_is_shown_after_login() {
    let library = Library::with_lanterns();
    let server = library.serve_with_settings("");
    let uri =
        library.run(&["search", "prisms", "--json"]).parse_json()["results"][0]["uri"].clone();
    let uri = uri.as_str().unwrap();
    let settings =
        library.write_file("listen.toml", format!("server.listen = \"{}\"", server.address()));
    let open = |item: &str| {
        library.run(&["open", "--print", item, "--config", settings.to_str().unwrap()])
    };
    let path = format!("/i/{}", uri.replace("://", "/"));
    let permalink = format!("http://{}{path}?at=190", server.address());
    for (item, expected) in [(uri, path.clone()), (&permalink, format!("{path}?at=190"))] {
        let link = open(item).stdout;
        let browser = Browser::of(&server);
        let at = link.find("/login/").unwrap();
        let page = browser.get(link[at..].trim());
        let code = form_value(&page, "code");
        let done = browser.submit("/login/code", &page, &[("code", &code)]);
        assert_eq!(done.header("location"), Some(&*expected), "{link}");
        assert_eq!(browser.get(&expected).status, 200);
    }
    for item in ["https://evil.example/i/notes/1", "//evil.example", "nothing"] {
        let refused = open(item);
        assert!(refused.code == 1 && refused.stderr.contains("neither an item"), "{refused:?}");
    }
    // A link of a stranger leads nowhere else.
    let link = library.run(&["login", "--config", &settings_of(&library)]).stdout;
    let (_, code) = link.trim().split_once("code=").unwrap();
    let browser = Browser::of(&server);
    let page = browser.get(&format!("/login/code?code={code}&page=%2F%2Fevil.example"));
    assert!(form_field(&page.body, "csrf").is_some());
    let done = browser.submit("/login/code", &page, &[("code", code)]);
    assert_eq!(done.header("location"), Some("/"));
}
