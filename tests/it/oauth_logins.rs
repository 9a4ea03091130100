//! Attacks on the logins and pages of the authorization server.

use serde_json::json;

use crate::support::{AuthorizationUrl, Library, OAuthServer, form_field};

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
        assert!(cookies.into_iter().all(|it| it.starts_with("__Host-vademecum=")), "{done:?}");
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
fn check_warns_if_no_user_can_log_in() {
    let served = OAuthServer::start();
    let checked = served.run(&["check"]).stdout;
    assert!(checked.contains("users with a password: 1"), "{checked}");
    assert_eq!(served.run(&["user", "password", "ada", "--remove"]).code, 0);
    let checked = served.run(&["check"]).stdout;
    assert!(checked.contains("warning: auth.oauth: no user can log in"), "{checked}");
}
