//! Clients with the names of others: the page of consent shows where the answer goes before the name,
//! and marks names that pretend.

use serde_json::json;

use crate::support::{AuthorizationUrl, Browser, OAuthServer};

/// Registers a client and returns the page of consent for it.
fn consent_page(served: &OAuthServer, browser: &Browser<'_>, name: &str, address: &str) -> String {
    let request = json!({ "client_name": name, "redirect_uris": [address] });
    let client = served.try_register(&request).json();
    let id = client["client_id"].as_str().unwrap();
    let page = browser.get(&AuthorizationUrl::new(id, address).path());
    assert_eq!(page.status, 200, "{page:?}");
    page.body
}

#[test]
fn host_comes_before_name_of_client() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let page = consent_page(&served, &browser, "Reader", "https://evil.example/callback");
    assert!(page.contains("<h1>Let evil.example use your library?</h1>"), "{page}");
    let name = page.split("It calls itself").nth(1).unwrap();
    assert!(name.contains("Reader") && !page.contains("notice error"), "{page}");
    let page = consent_page(&served, &browser, "Reader", "http://127.0.0.1:1/callback");
    assert!(page.contains("<h1>Let a program on this device use your library?</h1>"), "{page}");
}

#[test]
fn borrowed_names_are_marked_by_host() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let page = |name: &str, address: &str| consent_page(&served, &browser, name, address);
    let evil = "https://claude.ai.evil.example/callback";
    for name in ["Claude", "CIaude", "Cl\u{430}ude", "c.l.a.u.d.e", "\u{ff23}laude Desktop"] {
        let page = page(name, evil);
        let marked = page.contains("The name is that of Claude") && page.contains("claude.com");
        assert!(marked, "{name}: {page}");
        assert!(page.contains("<h1>Let claude.ai.evil.example use"), "{page}");
    }
    let own = page("Vademecum", "http://127.0.0.1:1/callback");
    assert!(own.contains("This program is no part of Vademecum"), "{own}");
    for (name, address) in [
        ("Claude", "https://claude.ai/api/mcp/auth_callback"),
        ("ChatGPT", "https://chatgpt.com/connector_platform_oauth_redirect"),
        ("Claude Code", "http://localhost:1234/callback"),
        ("Notizb\u{fc}cher", "https://client.example/callback"),
    ] {
        let page = page(name, address);
        assert!(!page.contains("notice error"), "{name}: {page}");
    }
}

#[test]
fn look_alike_letters_are_shown_as_code_points() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let page = consent_page(&served, &browser, "P\u{430}yments", "https://evil.example/callback");
    assert!(page.contains("letters that look like others"), "{page}");
    assert!(page.contains("P\u{ab}U+0430\u{bb}yments"), "{page}");
}

#[test]
fn account_lists_clients_by_host() {
    let served = OAuthServer::start();
    served.grant();
    let account = served.logged_in_browser().get("/account");
    let heading = account.body.split("<h2").nth(1).unwrap();
    assert!(heading.split('<').next().unwrap().ends_with(">client.example"), "{account:?}");
    assert!(account.body.contains("Test client"), "{account:?}");
}
