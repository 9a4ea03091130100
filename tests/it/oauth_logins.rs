//! Attacks on the logins and pages of the authorization server.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::support::{AuthorizationUrl, Browser, Library, OAuthServer, form_field};

const CALLBACK: &str = "https://client.example/callback";

#[test]
fn guessed_passwords_must_wait() {
    let served = OAuthServer::start_with("free_attempts = 3");
    let browser = served.browser();
    let page = browser.get("/login");
    let attempt = |name: &str, password: &str| {
        browser.submit("/login", &page, &[("name", name), ("password", password)])
    };
    for name in ["ada", "nobody", "../x"] {
        let refused = attempt(name, "wrong password");
        assert!(
            refused.status == 403 && refused.body.contains("or the password is wrong"),
            "{refused:?}"
        );
    }
    let right = attempt("ada", OAuthServer::PASSWORD);
    assert_eq!(right.status, 429, "an attempt is not even checked");
    assert!(right.header("retry-after").is_some());
    let codes = browser.submit("/login/code", &page, &[("code", "AAAA-AAAA-AAAA-AAAA")]);
    assert_eq!(codes.status, 429, "one-time codes count as well");
}

/// Settings of a server behind a proxy that states the addresses of browsers.
const BEHIND_PROXY: &str = "trusted_proxies = [\"127.0.0.1\"]";

/// Logs in, and returns the status of the answer.
fn log_in(browser: &Browser<'_>, name: &str, password: &str) -> u16 {
    let page = browser.get("/login");
    browser.submit("/login", &page, &[("name", name), ("password", password)]).status
}

#[test]
fn login_of_another_account_clears_no_guesses() {
    let library = Library::new();
    OAuthServer::add_user(&library, "ada");
    OAuthServer::add_user(&library, "eve");
    let served = OAuthServer::serve(library, "");
    let statuses: Vec<u16> = (0..15)
        .map(|_| {
            let own = log_in(&served.browser(), "eve", OAuthServer::PASSWORD);
            assert!(own == 303 || own == 429, "{own}");
            log_in(&served.browser(), "ada", "a wrong password")
        })
        .collect();
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 10, "{statuses:?}");
    assert!(statuses.ends_with(&[429; 5]), "{statuses:?}");
}

#[test]
fn account_is_guessed_ten_times_from_all_addresses() {
    let served = OAuthServer::start_with(BEHIND_PROXY);
    let own = served.browser();
    assert_eq!(log_in(&own, "ada", OAuthServer::PASSWORD), 303);
    own.set_cookie("__Host-vademecum", "");
    let guess = |number: u32, name: &str| {
        let stranger = served.browser();
        stranger.move_to(&format!("203.0.113.{number}"));
        log_in(&stranger, name, "a wrong password")
    };
    for name in ["ada", "nobody"] {
        let statuses: Vec<u16> = (0..30).map(|number| guess(number, name)).collect();
        assert!(statuses[..10].iter().all(|status| *status == 403), "{statuses:?}");
        assert!(statuses[10..].iter().all(|status| *status == 429), "{statuses:?}");
    }
    let stranger = served.browser();
    stranger.move_to("203.0.113.200");
    assert_eq!(log_in(&stranger, "ada", OAuthServer::PASSWORD), 429, "not even compared");
    own.move_to("203.0.113.1");
    assert_eq!(log_in(&own, "ada", OAuthServer::PASSWORD), 303, "this browser is known");
    // A mark is valid for its own account only, and a forged mark is invalid.
    let mark = own.cookie("__Host-vademecum-browser").unwrap();
    for (name, mark) in [("nobody", mark.as_str()), ("ada", "made-up"), ("ada", &mark[1..])] {
        let stranger = served.browser();
        stranger.move_to("203.0.113.250");
        stranger.set_cookie("__Host-vademecum-browser", mark);
        assert_eq!(log_in(&stranger, name, "a wrong password"), 429, "{name} {mark}");
    }
    let thief = served.browser();
    thief.set_cookie("__Host-vademecum-browser", &mark);
    let statuses: Vec<u16> = (0..20).map(|_| log_in(&thief, "ada", "a wrong password")).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 10, "{statuses:?}");
}

#[test]
fn known_browser_logs_in_while_strangers_flood() {
    let served = OAuthServer::start_with(BEHIND_PROXY);
    let own = served.browser();
    assert_eq!(log_in(&own, "ada", OAuthServer::PASSWORD), 303);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..40 {
            let (server, is_over) = (&served.server, &is_over);
            scope.spawn(move || {
                for round in 0.. {
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    let stranger = Browser::at_public_address(server);
                    stranger.move_to(&format!("198.51.{round}.{number}"));
                    log_in(&stranger, &format!("name{number}"), "a wrong password");
                }
            });
        }
        let statuses: Vec<u16> =
            (0..12).map(|_| log_in(&own, "ada", OAuthServer::PASSWORD)).collect();
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(statuses, [303; 12]);
    });
}

#[test]
fn resumed_user_logs_in_again() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    assert_eq!(browser.get("/account").status, 200);
    for change in ["suspend", "resume"] {
        assert_eq!(served.run(&["user", change, "ada"]).code, 0);
        assert_ne!(browser.get("/account").status, 200, "{change}");
    }
    assert_eq!(log_in(&browser, "ada", OAuthServer::PASSWORD), 303);
}

#[test]
fn failed_login_is_recorded_with_its_account() {
    let served = OAuthServer::start();
    assert_eq!(log_in(&served.browser(), "ada", "a wrong password"), 403);
    let log = served.read_audit_log();
    let is_recorded = |entry: &Value| {
        entry["method"] == "login" && entry["outcome"] == "denied" && entry["user"] == "ada"
    };
    assert!(log.as_array().unwrap().iter().any(is_recorded), "{log}");
}

#[test]
fn stranger_is_never_sent_to_a_client() {
    let served = OAuthServer::start();
    let (client, visitor) = (served.register(&[CALLBACK]), served.browser());
    let wrong = client.authorization().with("code_challenge_method", "plain").path();
    let silent = client.authorization().with("prompt", "none").path();
    let shown = visitor.get(&wrong);
    assert_eq!((shown.status, shown.header("location")), (200, None), "the login page");
    let refused = visitor.get(&silent);
    assert_eq!((refused.status, refused.header("location")), (403, None), "{refused:?}");
    let browser = served.logged_in_browser();
    for (request, error) in [(wrong, "invalid_request"), (silent.clone(), "consent_required")] {
        let sent = browser.get(&request);
        let location = sent.header("location").unwrap_or_default();
        assert!(location.starts_with(CALLBACK) && location.contains(error), "{sent:?}");
    }
    client.obtain_code(&browser);
    let location = browser.get(&silent).header("location").unwrap_or_default().to_owned();
    assert!(location.contains("code="), "{location}");
}

#[test]
fn login_leads_nowhere_else() {
    let served = OAuthServer::start();
    let browser = served.browser();
    let page = browser.get("/login");
    let csrf = form_field(&page.body, "csrf").unwrap();
    for request in ["//evil.example", "https://evil.example/", "a=b\r\nset-cookie: x=y", "/../x"] {
        let done = browser.post(
            "/login",
            &[
                ("csrf", &form_field(&browser.get("/login").body, "csrf").unwrap_or(csrf.clone())),
                ("request", request),
                ("name", "ada"),
                ("password", OAuthServer::PASSWORD),
            ],
        );
        let location = done.header("location").unwrap();
        assert!(location.starts_with("/oauth/authorize?"), "{request}: {location}");
        let cookies = done.headers("set-cookie");
        assert!(cookies.into_iter().all(|it| it.starts_with("__Host-vademecum")), "{done:?}");
    }
}

#[test]
fn login_changes_the_cookie() {
    let served = OAuthServer::start();
    let browser = served.browser();
    let page = browser.get("/login");
    let before = browser.cookie("__Host-vademecum").unwrap();
    let fields = [("name", "ada"), ("password", OAuthServer::PASSWORD)];
    let done = browser.submit("/login", &page, &fields);
    let after = browser.cookie("__Host-vademecum").unwrap();
    assert_ne!(before, after, "a planted cookie is not logged in");
    let cookie = done.header("set-cookie").unwrap();
    for attribute in ["Path=/", "HttpOnly", "SameSite=Lax", "Secure"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
}

#[test]
fn hostile_client_name_is_shown_as_text() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let name = "\u{202e}<script>alert(1)</script>\"'&\u{0}\n".to_owned() + &"x".repeat(300);
    let client = served.try_register(&json!({ "client_name": name, "redirect_uris": [CALLBACK] }));
    let id = client.json()["client_id"].as_str().unwrap().to_owned();
    let page = browser.get(&AuthorizationUrl::new(&id, CALLBACK).path());
    assert!(page.status == 200 && page.body.contains("&lt;script&gt;"), "{page:?}");
    assert!(!page.body.contains("<script>") && !page.body.contains('\u{202e}'), "{page:?}");
}

#[test]
fn user_with_other_letter_case_is_another_user() {
    let library = Library::new();
    OAuthServer::add_user(&library, "ada");
    let served = OAuthServer::serve(library, "");
    let browser = served.browser();
    let page = browser.get("/login");
    let fields = [("name", "ADA"), ("password", OAuthServer::PASSWORD)];
    assert_eq!(browser.submit("/login", &page, &fields).status, 403);
}

#[test]
fn form_of_another_site_is_refused() {
    let served = OAuthServer::start();
    let post = |origin: &str, kind: &str| {
        let request = served.server.request("POST", "/login").host(OAuthServer::HOST);
        request.header("origin", origin).header("content-type", kind).body("name=ada").send()
    };
    let form = "application/x-www-form-urlencoded";
    for origin in ["https://evil.example", "null", "https://knowledge.example.evil.example"] {
        assert_eq!(post(origin, form).status, 403, "{origin}");
    }
    assert_eq!(post(OAuthServer::ISSUER, "text/plain").status, 415);
    let elsewhere = served.server.request("POST", "/mcp").host(OAuthServer::HOST);
    let elsewhere = elsewhere.header("content-type", form).body("a=b").send();
    assert_eq!(elsewhere.status, 415, "forms are accepted by the pages alone");
}

#[test]
fn common_password_cannot_be_chosen() {
    let library = Library::new();
    OAuthServer::add_user(&library, "adalovelace");
    let served = OAuthServer::serve(library, "");
    let file = served.library.file_path("settings.toml");
    let choose = |password: &str| {
        let arguments = ["user", "password", "adalovelace", "--config", file.to_str().unwrap()];
        served.library.run_with_input(&arguments, &format!("{password}\n"))
    };
    for (password, reason) in [
        ("password123", "this is a very common password"),
        ("P@ssw0rd123", "similar to a commonly used password"),
        ("1234567890", "common password"),
        ("qwertyuiop123", "common password"),
        ("AdaLovelace1", "name of the account or of the program"),
        ("vademecum2026", "name of the account or of the program"),
    ] {
        let refused = choose(password);
        assert!(refused.code == 1 && refused.stderr.contains(reason), "{password}: {refused:?}");
        assert!(!refused.stderr.contains(password), "{refused:?}");
        let login = log_in(&served.browser(), "adalovelace", OAuthServer::PASSWORD);
        assert_eq!(login, 303, "the password of before stays");
    }
}

/// Hash of the password `12345678`, which could be chosen once.
const OLD_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$/p+XVAcIiqQRCUWIG3sqNw$\
                        gpYOoz2Am4gByS6Vbg5XoFCsSE4ltse03v+oHqEVdJc";

#[test]
fn password_from_before_the_rules_stays_valid() {
    let served = OAuthServer::start();
    let path = served.library.data_folder().join("server.db");
    let server = Connection::open_with_flags(path, OpenFlags::default()).unwrap();
    assert_eq!(server.execute("UPDATE users SET password = ?1", [OLD_HASH]).unwrap(), 1);
    assert_eq!(log_in(&served.browser(), "ada", "12345678"), 303);
}

#[test]
fn check_warns_if_no_user_can_log_in() {
    let served = OAuthServer::start();
    let checked = served.run(&["check"]).stdout;
    assert!(checked.contains("users with a password: 1"), "{checked}");
    assert_eq!(served.run(&["user", "password", "ada", "--remove"]).code, 0);
    let checked = served.run(&["check"]).stdout;
    assert!(checked.contains("warning: auth.oauth: no user can log in"), "{checked}");
}
