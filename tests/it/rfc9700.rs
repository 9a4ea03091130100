//! Rows of RFC 9700 (best current practice for the security of OAuth 2.0), chapter 4, that no other
//! module tests. `docs/threat-model.md` has the table of all rows.

use serde_json::json;

use crate::support::{OAuthServer, form_field, location_parameter, workspace_files::read};

const CALLBACK: &str = "https://client.example/callback";
/// Sections of chapter 4.
const SECTIONS: u32 = 17;

#[test]
fn every_section_of_chapter_4_has_tests() {
    let text = read("docs/threat-model.md");
    for section in 1..=SECTIONS {
        let row = text.lines().find(|line| line.starts_with(&format!("| 4.{section} ")));
        let row = row.unwrap_or_else(|| panic!("4.{section} has no row"));
        assert!(row.contains("`oauth_") || row.contains("`rfc9700::"), "{row}");
    }
}

#[test]
fn section_2_referer_discloses_no_request() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let request = client.authorization().path();
    let consent = browser.get(&request);
    let answer = browser.agree(&consent);
    assert!(location_parameter(&answer, "code").is_some(), "{answer:?}");
    for page in [served.browser().get(&request), served.browser().get("/login"), consent, answer] {
        assert_eq!(page.header("referrer-policy"), Some("same-origin"), "{page:?}");
        let leads_elsewhere = page.body.contains("href=\"http") || page.body.contains("src=\"http");
        assert!(!leads_elsewhere, "{page:?}");
    }
}

#[test]
fn section_3_nothing_in_history_opens_the_library() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let code = client.obtain_code(&browser);
    let answer = browser.get(&client.authorization().path());
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
    let tokens = client.exchange_code(&code).json();
    let token = tokens["access_token"].as_str().unwrap();
    assert_eq!(client.exchange_code(&code).status, 400, "the code of the history");
    assert_eq!(served.search(token).status, 401, "its second use ended the grant");
    let link = served.run(&["login", "--user", "ada"]).stdout;
    assert_eq!(served.browser().redeem_link(&link).status, 303);
    assert_eq!(served.browser().redeem_link(&link).status, 403, "the link of the history");
}

#[test]
fn section_6_answers_carry_codes_only() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    for kind in ["token", "id_token", "code token", "code id_token", "none"] {
        let refused = browser.get(&client.authorization().with("response_type", kind).path());
        let location = refused.header("location").unwrap_or_default();
        assert!(location.contains("unsupported_response_type"), "{kind}: {refused:?}");
        assert!(!location.contains("access_token") && !location.contains('#'), "{location}");
    }
}

#[test]
fn section_10_stolen_access_token_ends_soon() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    assert!(tokens["expires_in"].as_u64().unwrap() <= 600, "{tokens}");
    let stolen = tokens["access_token"].as_str().unwrap();
    assert_eq!(served.search(stolen).status, 200);
    assert_eq!(client.revoke(&tokens["refresh_token"]).status, 200);
    assert_eq!(served.search(stolen).status, 401, "its owner ended the grant");
    let metadata = served.server.request("GET", "/.well-known/oauth-authorization-server");
    let metadata = metadata.host(OAuthServer::HOST).send().json();
    assert_eq!(metadata["issuer"], OAuthServer::ISSUER);
}

#[test]
fn section_12_forms_are_followed_by_get() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.browser());
    let login = browser.get(&client.authorization().path());
    let fields = [("name", "ada"), ("password", OAuthServer::PASSWORD)];
    let entered = browser.submit("/login", &login, &fields);
    let consent = browser.get(entered.header("location").unwrap());
    let allowed = browser.agree(&consent);
    let account = browser.get("/account");
    let grant = form_field(&account.body, "grant").unwrap_or_default();
    let revoked = browser.submit("/account/revoke", &account, &[("grant", &grant)]);
    let left = browser.submit("/account/logout", &browser.get("/account"), &[]);
    for answer in [entered, allowed, left] {
        assert_eq!(answer.status, 303, "a browser must not send the form again: {answer:?}");
        assert_eq!(answer.body, "", "{answer:?}");
    }
    assert!(!(307..309).contains(&revoked.status), "{revoked:?}");
}

#[test]
fn section_13_headers_of_strangers_are_ignored() {
    // A stranger who reaches the server without the proxy states the headers of one.
    let served = OAuthServer::start_with("free_attempts = 3");
    let attempt = |number: u32| {
        let browser = served.browser();
        browser.move_to(&format!("203.0.113.{number}"));
        let page = browser.get("/login");
        let fields = [("name", format!("eve{number}")), ("password", "wrong".to_owned())];
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        browser.submit("/login", &page, &fields).status
    };
    let statuses: Vec<u16> = (0..6).map(attempt).collect();
    assert_eq!(statuses, [403, 403, 403, 429, 429, 429], "all are from one address");
    let path = "/.well-known/oauth-authorization-server";
    for header in ["x-forwarded-host", "x-forwarded-proto", "forwarded"] {
        let request = served.server.request("GET", path).host(OAuthServer::HOST);
        let metadata = request.header(header, "host=evil.example;proto=http").send().json();
        assert_eq!(metadata["issuer"], OAuthServer::ISSUER, "{header}");
        assert!(!metadata.to_string().contains("evil.example"), "{header}: {metadata}");
    }
    let evil = served.server.request("GET", path).host("evil.example").send();
    assert_eq!(evil.status, 403, "{evil:?}");
}

#[test]
fn section_15_client_is_never_taken_for_a_user() {
    let served = OAuthServer::start();
    let request = json!({ "client_id": "ada", "client_name": "ada", "redirect_uris": [CALLBACK] });
    let registered = served.try_register(&request).json();
    let id = registered["client_id"].as_str().unwrap();
    assert!(id.starts_with("client-"), "clients choose no ids: {registered}");
    let client = served.register(&[CALLBACK]);
    for (grant, more) in [
        ("client_credentials", [("client_id", "ada"), ("client_secret", "secret")]),
        ("client_credentials", [("client_id", id), ("scope", "read")]),
        ("password", [("username", "ada"), ("password", OAuthServer::PASSWORD)]),
    ] {
        let fields = [&[("grant_type", grant)], &more[..]].concat();
        let refused = client.post("/oauth/token", &fields);
        assert!(matches!(refused.status, 400 | 401), "{grant}: {refused:?}");
        assert!(!refused.body.contains("access_token"), "{refused:?}");
    }
}

#[test]
fn section_17_answers_leave_by_redirect_only() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    for mode in ["web_message", "form_post", "fragment", "query.jwt"] {
        let request = client.authorization().with("response_mode", mode).with("prompt", "consent");
        let consent = browser.get(&request.path());
        assert_eq!(consent.status, 200, "{mode}");
        for script in ["postMessage", "opener", "<script>"] {
            assert!(!consent.body.contains(script), "{mode}: {consent:?}");
        }
        let answer = browser.agree(&consent);
        let location = answer.header("location").unwrap_or_default();
        let is_query = location.starts_with(&format!("{CALLBACK}?")) && !location.contains('#');
        assert!(answer.status == 303 && is_query, "{mode}: {answer:?}");
        assert_eq!(answer.body, "", "{mode}");
    }
    let script = read("crates/web/src/templates/script.js");
    assert!(!script.contains("postMessage") && !script.contains("opener"));
}
