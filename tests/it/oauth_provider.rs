//! Login through an outside `OpenID` Connect provider, which a web site on this machine plays.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{
    Algorithm, Browser, HttpResponse, OAuthServer, TokenIssuer, WebReply, WebSite, key_set_path,
    location_parameter,
};

/// A provider that issues an ID token with the claims that a test sets.
struct Provider {
    site: WebSite,
    claims: Arc<Mutex<Value>>,
}

impl Provider {
    fn start() -> Self {
        let claims: Arc<Mutex<Value>> = Arc::new(Mutex::new(json!({})));
        let set = Arc::clone(&claims);
        let site = WebSite::new(move |address, request| match request.path.as_str() {
            "/.well-known/openid-configuration" => WebReply::json(&json!({
                "issuer": address,
                "authorization_endpoint": format!("{address}/authorize"),
                "token_endpoint": format!("{address}/token"),
                "jwks_uri": format!("{address}/keys"),
            })),
            "/keys" => {
                let keys = std::fs::read(key_set_path()).unwrap();
                WebReply::json(&serde_json::from_slice(&keys).unwrap())
            }
            "/token" => {
                let mut token = TokenIssuer::new(Algorithm::RS256)
                    .with_claim("iss", address)
                    .with_claim("aud", "vademecum")
                    .with_claim("scope", Value::Null);
                for (name, value) in set.lock().unwrap().as_object().unwrap() {
                    token = token.with_claim(name, value.clone());
                }
                WebReply::json(&json!({ "id_token": token.issue_token() }))
            }
            _ => WebReply(404, String::new(), String::new()),
        });
        Self { site, claims }
    }

    fn settings(&self, more: &str) -> String {
        format!(
            "free_attempts = 1000\n[auth.oidc]\nname = \"Example ID\"\nissuer = \"{}\"\n\
             client_id = \"vademecum\"\n{more}",
            self.site.url("")
        )
    }

    /// Begins a login and returns the address of the provider to which the browser is sent.
    fn begin(browser: &Browser<'_>, path: &str) -> HttpResponse {
        let login = browser.get(path);
        let (_, rest) = login.body.split_once("href=\"/login/provider").unwrap();
        let query = rest.split('"').next().unwrap().replace("&amp;", "&");
        browser.get(&format!("/login/provider{query}"))
    }

    /// Ends a login with these claims in the ID token.
    fn finish(&self, browser: &Browser<'_>, begun: &HttpResponse, claims: Value) -> HttpResponse {
        let state = location_parameter(begun, "state").unwrap();
        let mut claims = claims;
        if claims.get("nonce").is_none() {
            claims["nonce"] = json!(location_parameter(begun, "nonce").unwrap());
        }
        *self.claims.lock().unwrap() = claims;
        browser.get(&format!("/login/callback?code=abc&state={state}"))
    }
}

#[test]
fn provider_logs_in_user_with_account() {
    let provider = Provider::start();
    let served = OAuthServer::start_with(&provider.settings(""));
    let client = served.register(&["https://client.example/callback"]);
    let browser = served.browser();
    let path = client.authorization().path();
    assert!(browser.get(&path).body.contains("Continue with Example ID"));
    let begun = Provider::begin(&browser, &path);
    let address = begun.header("location").unwrap();
    assert!(address.starts_with(&provider.site.url("/authorize?")), "{address}");
    assert_eq!(location_parameter(&begun, "code_challenge_method").unwrap(), "S256");
    let callback = location_parameter(&begun, "redirect_uri").unwrap();
    assert_eq!(callback, "https://knowledge.example/login/callback");
    let done = provider.finish(&browser, &begun, json!({ "sub": "ada" }));
    assert_eq!(done.status, 303, "{done:?}");
    let consent = browser.get(done.header("location").unwrap());
    assert!(consent.body.contains("Test client"), "{consent:?}");
    let code = location_parameter(&browser.agree(&consent), "code").unwrap();
    let tokens = client.exchange_code(&code).json();
    assert_eq!(served.search(tokens["access_token"].as_str().unwrap()).status, 200);
    let requests = provider.site.received();
    let token_request = requests.iter().find(|it| it.path == "/token").unwrap();
    assert!(
        token_request.body.contains("code_verifier=") && token_request.authorization.is_none(),
        "{token_request:?}"
    );
}

#[test]
fn provider_secret_is_sent_in_header() {
    let provider = Provider::start();
    let library = crate::support::Library::new();
    OAuthServer::add_user(&library, "ada");
    let file = library.write_private_file("secret", "a secret:+\n");
    let more = format!("client_secret_file = \"{}\"", file.display());
    let served = OAuthServer::serve(library, &provider.settings(&more));
    let browser = served.browser();
    let begun = Provider::begin(&browser, "/login");
    let done = provider.finish(&browser, &begun, json!({ "sub": "ada" }));
    assert_eq!(done.header("location"), Some("/"), "{done:?}");
    let requests = provider.site.received();
    let token_request = requests.iter().find(|it| it.path == "/token").unwrap();
    // The Base64 of `vademecum:a+secret%3A%2B`.
    assert_eq!(
        token_request.authorization.as_deref(),
        Some("Basic dmFkZW1lY3VtOmErc2VjcmV0JTNBJTJC")
    );
    assert!(!token_request.body.contains("secret"), "{token_request:?}");
}

#[test]
fn forged_id_token_logs_nobody_in() {
    let provider = Provider::start();
    let served = OAuthServer::start_with(&provider.settings(""));
    for claims in [
        json!({ "nonce": "another" }),
        json!({ "nonce": null }),
        json!({ "iss": "https://evil.example" }),
        json!({ "aud": "another client" }),
        json!({ "aud": ["vademecum", "another client"] }),
        json!({ "azp": "another client" }),
        json!({ "exp": 1 }),
        json!({ "sub": "nobody" }),
        json!({ "sub": "../ada" }),
        json!({ "sub": null }),
    ] {
        let browser = served.browser();
        let begun = Provider::begin(&browser, "/login");
        let refused = provider.finish(&browser, &begun, claims.clone());
        assert_eq!(refused.status, 403, "{claims}: {refused:?}");
        assert_eq!(browser.get("/account").header("location"), Some("/login"), "{claims}");
    }
}

#[test]
fn login_begun_in_another_browser_is_refused() {
    let provider = Provider::start();
    let served = OAuthServer::start_with(&provider.settings(""));
    let (attacker, victim) = (served.browser(), served.browser());
    let begun = Provider::begin(&attacker, "/login");
    let refused = provider.finish(&victim, &begun, json!({ "sub": "ada" }));
    assert_eq!(refused.status, 403, "{refused:?}");
    Provider::begin(&victim, "/login");
    let mixed = provider.finish(&victim, &begun, json!({ "sub": "ada" }));
    assert_eq!(mixed.status, 403, "{mixed:?}");
    let browser = served.browser();
    let begun = Provider::begin(&browser, "/login");
    let state = location_parameter(&begun, "state").unwrap();
    for query in [
        "code=abc".to_owned(),
        "code=abc&state=forged".to_owned(),
        format!("code=abc&state={state}&iss=https%3A%2F%2Fevil.example"),
        format!("error=access_denied&state={state}"),
        format!("code=abc&state={state}x"),
    ] {
        let refused = browser.get(&format!("/login/callback?{query}"));
        assert_eq!(refused.status, 403, "{query}: {refused:?}");
    }
}

#[test]
fn only_admitted_users_get_accounts() {
    let provider = Provider::start();
    let more = "user_claim = \"email\"\nallowed_groups = [\"staff\"]\nadd_users = true";
    let served = OAuthServer::start_with(&provider.settings(more));
    let log_in = |claims: Value| {
        let browser = served.browser();
        let begun = Provider::begin(&browser, "/login");
        provider.finish(&browser, &begun, claims).header("location").map(str::to_owned)
    };
    let eve = |groups: Value, verified: Value| json!({ "email": "eve@example.com", "email_verified": verified, "groups": groups });
    assert_eq!(log_in(eve(json!(["guests"]), json!(true))), None);
    assert_eq!(log_in(eve(json!(["staff"]), json!(false))), None);
    assert_eq!(log_in(eve(json!(["staff"]), json!("true"))), None);
    assert!(!served.run(&["user", "list"]).stdout.contains("eve"));
    assert_eq!(log_in(eve(json!(["staff"]), json!(true))).as_deref(), Some("/"));
    assert!(served.run(&["user", "list"]).stdout.contains("eve@example.com"));
}
