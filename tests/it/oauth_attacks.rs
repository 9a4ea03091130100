//! Attacks on the authorization server: each test is one that a client, a web site, another user or
//! a stranger could try.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use crate::support::{
    Algorithm, AuthorizationUrl, OAuthClient, OAuthServer, TokenIssuer, WebReply, WebSite,
    form_field, location_parameter,
};

const CALLBACK: &str = "https://client.example/callback";

fn access_token(tokens: &Value) -> &str {
    tokens["access_token"].as_str().unwrap()
}

#[test]
fn replayed_code_revokes_the_grant() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let code = client.obtain_code(&browser);
    let tokens = client.exchange_code(&code).json();
    assert_eq!(served.search(access_token(&tokens)).status, 200);
    let replayed = client.exchange_code(&code);
    assert_eq!((replayed.status, &replayed.json()["error"]), (400, &json!("invalid_grant")));
    assert_eq!(served.search(access_token(&tokens)).status, 401);
    assert_eq!(client.refresh(&tokens["refresh_token"]).status, 400);
}

#[test]
fn code_of_another_client_is_refused() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let (client, thief) = (served.register(&[CALLBACK]), served.register(&[CALLBACK]));
    let code = client.obtain_code(&browser);
    let stolen = thief.exchange_code(&code);
    assert_eq!((stolen.status, &stolen.json()["error"]), (400, &json!("invalid_grant")));
    let unknown = client.exchange_code_with(&code, &[("client_id", "client-0123456789abcdef")]);
    assert_eq!((unknown.status, &unknown.json()["error"]), (401, &json!("invalid_client")));
}

#[test]
fn refresh_token_of_another_client_is_refused() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let thief = served.register(&[CALLBACK]);
    assert_eq!(thief.refresh(&tokens["refresh_token"]).status, 400);
    assert_eq!(thief.revoke(&tokens["refresh_token"]).status, 200);
    assert_eq!(client.refresh(&tokens["refresh_token"]).status, 200, "nothing was revoked");
}

#[test]
fn code_without_its_verifier_is_refused() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let client = served.register(&[CALLBACK]);
    client.obtain_code(&browser);
    let wrong = "x".repeat(OAuthClient::VERIFIER.len());
    for verifier in ["", "short", &wrong] {
        let code = client.obtain_code_again(&browser);
        let refused = client.exchange_code_with(&code, &[("code_verifier", verifier)]);
        assert_eq!(refused.status, 400, "{verifier}");
    }
}

#[test]
fn pkce_cannot_be_downgraded() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    for (name, value) in [
        ("code_challenge_method", "plain"),
        ("code_challenge_method", ""),
        ("code_challenge_method", "s256"),
        ("code_challenge", ""),
        ("code_challenge", "short"),
    ] {
        let refused = browser.get(&client.authorization().with(name, value).path());
        let error = location_parameter(&refused, "error");
        assert_eq!(error.as_deref(), Some("invalid_request"), "{name}={value}");
        assert!(location_parameter(&refused, "code").is_none());
    }
    for implicit in ["token", "code token", "id_token", ""] {
        let refused = browser.get(&client.authorization().with("response_type", implicit).path());
        let error = location_parameter(&refused, "error");
        assert_eq!(error.as_deref(), Some("unsupported_response_type"), "{implicit}");
    }
}

#[test]
fn every_answer_names_the_issuer() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let refused = browser.get(&client.authorization().with("code_challenge", "").path());
    let consent = browser.get(&client.authorization().path());
    let denied = browser.submit("/oauth/authorize", &consent, &[("decision", "refuse")]);
    let allowed = browser.agree(&consent);
    for answer in [refused, denied, allowed] {
        assert_eq!(location_parameter(&answer, "iss").as_deref(), Some(OAuthServer::ISSUER));
    }
}

#[test]
fn foreign_redirect_address_gets_nothing() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    for address in [
        "https://evil.example/callback",
        "https://client.example/callback/../evil",
        "https://client.example/callback/",
        "https://client.example/callback?next=https://evil.example",
        "https://client.example/callback#",
        "https://client.example.evil.example/callback",
        "https://client.example@evil.example/callback",
        "https://client.example:444/callback",
        "http://client.example/callback",
        "HTTPS://CLIENT.EXAMPLE/callback",
        "javascript:alert(1)",
        "",
    ] {
        let refused = browser.get(&client.authorization().with("redirect_uri", address).path());
        assert_eq!((refused.status, refused.header("location")), (400, None), "{address}");
    }
    let code = client.obtain_code(&browser);
    let other = client.exchange_code_with(&code, &[("redirect_uri", "https://client.example/")]);
    assert_eq!(other.status, 400, "another address than the code was sent to");
}

#[test]
fn dangerous_redirect_address_is_not_registered() {
    let served = OAuthServer::start();
    for address in [
        "http://client.example/callback",
        "http://127.0.0.1.evil.example/",
        "javascript:alert(1)",
        "data:text/html,x",
        "ms-msdt:/id",
        "https://evil.example;script-src/",
        "https://user:password@client.example/",
        "https://client.example/#a",
    ] {
        let refused = served.try_register(&json!({ "redirect_uris": [address] }));
        assert_eq!(refused.json()["error"], "invalid_redirect_uri", "{address}");
    }
}

#[test]
fn repeated_parameter_is_refused() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let path = client.authorization().path();
    let twice = browser.get(&format!("{path}&redirect_uri=https%3A%2F%2Fevil.example%2F"));
    assert_eq!((twice.status, twice.header("location")), (400, None));
    let code = client.obtain_code(&browser);
    let fields = [("grant_type", "authorization_code"), ("code", &code), ("code", &code)];
    assert_eq!(client.post("/oauth/token", &fields).status, 400);
}

#[test]
fn documents_are_not_fetched_from_private_addresses() {
    let site = WebSite::new(|_, _| WebReply::json(&json!({})));
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let local = site.url("/client.json");
    let secure = local.replace("http://", "https://");
    let port = local.rsplit(':').next().unwrap().split('/').next().unwrap();
    for id in [
        local.as_str(),
        &secure,
        &format!("https://localhost:{port}/client.json"),
        &format!("https://[::1]:{port}/client.json"),
        &format!("https://[::ffff:127.0.0.1]:{port}/client.json"),
        &format!("https://2130706433:{port}/client.json"),
        &format!("https://0x7f.1:{port}/client.json"),
        "https://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1/client.json",
        "https://[fe80::1]/client.json",
        "file:///etc/passwd",
        "gopher://127.0.0.1/x",
    ] {
        let refused = browser.get(&AuthorizationUrl::new(id, CALLBACK).path());
        assert_eq!((refused.status, refused.header("location")), (400, None), "{id}");
    }
    assert!(site.received().is_empty(), "{:?}", site.received());
}

#[test]
fn document_must_be_small_direct_and_its_own() {
    let site = WebSite::new(|address, request| {
        let own = format!("{address}{}", request.path);
        let document = |id: &str| json!({ "client_id": id, "redirect_uris": [CALLBACK] });
        match request.path.as_str() {
            "/redirect" => WebReply(302, format!("location: {address}/good\r\n"), String::new()),
            "/html" => {
                WebReply(200, "content-type: text/html\r\n".into(), document(&own).to_string())
            }
            "/large" => {
                let mut large = document(&own);
                large["client_name"] = json!("x".repeat(20_000));
                WebReply::json(&large)
            }
            "/other" => WebReply::json(&document("https://claude.ai/client.json")),
            "/secret" => {
                let mut secret = document(&own);
                secret["token_endpoint_auth_method"] = json!("client_secret_post");
                WebReply::json(&secret)
            }
            "/missing" => WebReply(
                404,
                "content-type: application/json\r\n".into(),
                document(&own).to_string(),
            ),
            _ => WebReply::json(&document(&own)),
        }
    });
    let served = OAuthServer::start_with("client_documents = \"all\"");
    let browser = served.logged_in_browser();
    let status =
        |path: &str| browser.get(&AuthorizationUrl::new(&site.url(path), CALLBACK).path()).status;
    for path in ["/redirect", "/html", "/large", "/other", "/secret", "/missing"] {
        assert_eq!(status(path), 400, "{path}");
    }
    assert_eq!(status("/good"), 200);
}

#[test]
fn changed_document_needs_a_new_answer() {
    let is_evil = Arc::new(AtomicBool::new(false));
    let changed = Arc::clone(&is_evil);
    let site = WebSite::new(move |address, request| {
        let (name, callback) = if changed.load(Ordering::SeqCst) {
            ("Your bank", "https://evil.example/callback")
        } else {
            ("Editor", CALLBACK)
        };
        WebReply::json(&json!({
            "client_id": format!("{address}{}", request.path),
            "client_name": name, "redirect_uris": [callback],
        }))
    });
    let id = site.url("/client.json");
    let url = AuthorizationUrl::new(&id, CALLBACK);
    let served = OAuthServer::start_with("client_documents = \"all\"");
    let browser = served.logged_in_browser();
    let consent = browser.get(&url.path());
    assert_eq!(browser.agree(&consent).status, 303);
    assert_eq!(browser.get(&url.path()).status, 303, "remembered");
    is_evil.store(true, Ordering::SeqCst);
    // A new server has no copy of the document.
    let OAuthServer { library, server } = served;
    drop(server);
    let served = OAuthServer::serve(library, "client_documents = \"all\"");
    let browser = served.logged_in_browser();
    let old = browser.get(&url.path());
    assert_eq!((old.status, old.header("location")), (400, None), "the address is gone");
    let new = url.with("redirect_uri", "https://evil.example/callback");
    let page = browser.get(&new.path());
    assert!(page.status == 200 && page.body.contains("evil.example"), "{page:?}");
    // An answer to the page of before does not hold for the document of now.
    let csrf = form_field(&page.body, "csrf").unwrap();
    let query = new.path();
    let query = query.split_once('?').unwrap().1;
    let shown = form_field(&consent.body, "shown").unwrap();
    let stale = browser.post(
        "/oauth/authorize",
        &[
            ("csrf", &csrf),
            ("request", query),
            ("shown", &shown),
            ("decision", "allow"),
            ("rights", "read"),
        ],
    );
    assert!(stale.status == 200 && stale.body.contains("has changed"), "{stale:?}");
}

#[test]
fn consent_without_token_of_the_page_is_refused() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let consent = browser.get(&client.authorization().path());
    let (request, shown) = (
        form_field(&consent.body, "request").unwrap(),
        form_field(&consent.body, "shown").unwrap(),
    );
    let other = served.logged_in_browser().get(&client.authorization().path());
    let foreign = form_field(&other.body, "csrf").unwrap();
    for csrf in ["", "wrong", &foreign] {
        let fields = [
            ("csrf", csrf),
            ("request", request.as_str()),
            ("shown", shown.as_str()),
            ("decision", "allow"),
            ("rights", "read"),
        ];
        let refused = browser.post("/oauth/authorize", &fields);
        assert_eq!((refused.status, refused.header("location")), (403, None), "{csrf}");
    }
    let unlogged = served.browser().submit("/oauth/authorize", &consent, &[("decision", "allow")]);
    assert_eq!(unlogged.status, 403);
    let get = browser.get(&format!("/oauth/authorize?{request}&decision=allow&shown={shown}"));
    assert_ne!(get.status, 303, "a link agrees to nothing");
    for path in ["/login", "/login/code", "/account/revoke", "/account/logout"] {
        let refused = browser.post(path, &[("csrf", "wrong"), ("name", "ada")]);
        assert_eq!(refused.status, 403, "{path}");
    }
}

#[test]
fn pages_cannot_be_framed_and_run_no_other_scripts() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let visitor = served.browser();
    let expected = |target: &str| {
        format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self'; form-action 'self'{target}; frame-ancestors 'none'; \
             base-uri 'none'; require-trusted-types-for 'script'; trusted-types vademecum"
        )
    };
    let request = client.authorization().path();
    for (page, target) in [
        (visitor.get("/login"), ""),
        (visitor.get("/login/code?code=A"), ""),
        (visitor.get(&request), " https://client.example"),
        (browser.get(&request), " https://client.example"),
        (browser.get("/account"), ""),
        (browser.get("/oauth/authorize?client_id=unknown"), ""),
        (browser.post("/account/logout", &[]), ""),
    ] {
        let header = |name: &str| page.header(name).unwrap_or_default().to_owned();
        assert_eq!(header("content-security-policy"), expected(target), "{page:?}");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        // The window of a login stays connected with the program that opened it.
        let opener = if target.is_empty() { "same-origin" } else { "" };
        assert_eq!(header("cross-origin-opener-policy"), opener);
        for forbidden in ["<script>", "style=", " onclick", "http-equiv"] {
            assert!(!page.body.contains(forbidden), "{forbidden}: {page:?}");
        }
    }
}

#[test]
fn reused_refresh_token_revokes_the_family() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let renewed = client.refresh(&tokens["refresh_token"]).json();
    let again = client.refresh(&renewed["refresh_token"]).json();
    assert_eq!(served.search(access_token(&again)).status, 200);
    let reused = client.refresh(&tokens["refresh_token"]);
    assert_eq!((reused.status, &reused.json()["error"]), (400, &json!("invalid_grant")));
    for tokens in [&tokens, &renewed, &again] {
        assert_eq!(served.search(access_token(tokens)).status, 401);
        assert_eq!(client.refresh(&tokens["refresh_token"]).status, 400);
    }
    let entries = served.read_audit_log();
    let reused = entries.as_array().unwrap().iter().find(|it| it["method"] == "oauth.reuse");
    assert_eq!(reused.unwrap()["reason"], "reused", "{entries}");
}

#[test]
fn scope_of_a_grant_cannot_grow() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", tokens["refresh_token"].as_str().unwrap()),
        ("client_id", &client.id),
        ("scope", "read write"),
    ];
    let refused = client.post("/oauth/token", &fields);
    assert_eq!(refused.json()["error"], "invalid_scope");
    assert_eq!(client.refresh(&tokens["refresh_token"]).status, 200, "it was not used up");
}

#[test]
fn token_for_another_resource_is_refused() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    for resource in ["https://other.example/mcp", "https://knowledge.example", "mcp"] {
        let refused = browser.get(&client.authorization().with("resource", resource).path());
        let error = location_parameter(&refused, "error");
        assert_eq!(error.as_deref(), Some("invalid_target"), "{resource}");
    }
    let code = client.obtain_code(&browser);
    let other = client.exchange_code_with(&code, &[("resource", "https://other.example/mcp")]);
    assert_eq!(other.json()["error"], "invalid_target");
    let tokens = client.exchange_code(&code).json();
    assert_eq!(served.search(access_token(&tokens)).status, 200);
    // The same library at another address: tokens for the old one are not for it.
    let OAuthServer { library, server } = served;
    drop(server);
    let server = library.serve_with_settings(
        "[server]\npublic_url = \"https://moved.example\"\n[auth]\nmode = \"multi\"\noauth = true",
    );
    let served = OAuthServer { library, server };
    let refused = served.search(access_token(&tokens));
    assert!(refused.status == 401 && refused.body.contains("another server"), "{refused:?}");
}

#[test]
fn tokens_of_others_are_not_accepted() {
    let served = OAuthServer::start();
    let (_, tokens) = served.grant();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let forged = format!("{}x", &access_token(&tokens)[..access_token(&tokens).len() - 1]);
    let foreign = TokenIssuer::new(Algorithm::EdDSA).issue_token();
    for token in [refresh, &forged, &foreign, "vda_", "vda_0123456789abcdef_"] {
        assert_eq!(served.search(token).status, 401, "{token}");
    }
    let key = format!("vdm_{}", access_token(&tokens).strip_prefix("vda_").unwrap());
    assert_eq!(served.search(&key).status, 401, "a grant is no API key");
    let query = format!("/mcp?access_token={}", access_token(&tokens));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(served.server.request("POST", &query).json(&ping).send().status, 400);
}

#[test]
fn registrations_are_bounded() {
    let settings = "trusted_proxies = [\"127.0.0.1\"]";
    let served = OAuthServer::start_with(settings);
    let (client, tokens) = served.grant();
    let register = |number: u32| {
        let address = std::net::Ipv4Addr::from_bits(0x0A00_0000 + number);
        let request = served.server.request("POST", "/oauth/register").host(OAuthServer::HOST);
        let request = request.header("x-forwarded-for", &address.to_string());
        request.json(&json!({ "redirect_uris": [CALLBACK] })).send().status
    };
    let statuses: Vec<u16> = (0..10_000).map(register).collect();
    let (accepted, refused) = (
        statuses.iter().filter(|it| **it == 201).count(),
        statuses.iter().filter(|it| **it == 429).count(),
    );
    assert_eq!((accepted + refused, accepted <= 1_000), (10_000, true), "{accepted}");
    let listed = served.run(&["client", "list", "--clients"]).stdout;
    assert!(listed.lines().count() <= 1_001, "{}", listed.lines().count());
    assert_eq!(client.refresh(&tokens["refresh_token"]).status, 200, "clients in use stay");
}

#[test]
fn one_address_registers_few_clients() {
    let served = OAuthServer::start();
    let request = json!({ "redirect_uris": [CALLBACK] });
    let statuses: Vec<u16> = (0..80).map(|_| served.try_register(&request).status).collect();
    assert!(statuses.contains(&201) && statuses.last() == Some(&429), "{statuses:?}");
    let refused = served.try_register(&request);
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
}

#[test]
fn oversized_requests_are_refused() {
    let served = OAuthServer::start();
    let long = "x".repeat(20_000);
    let name = served.try_register(&json!({ "redirect_uris": [CALLBACK], "client_name": long }));
    assert_eq!(name.status, 413);
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let state = browser.get(&client.authorization().with("state", &long[..7_000]).path());
    assert_eq!(state.status, 400);
    assert_eq!(client.exchange_code(&long).status, 400);
}
