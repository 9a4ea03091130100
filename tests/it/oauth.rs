//! The authorization server: metadata, login, consent, tokens, grants, and their revocation.

use serde_json::{Value, json};

use crate::support::{
    AuthorizationUrl, Browser, Library, McpClient, OAuthClient, OAuthServer, WebReply, WebSite,
    form_field, json_rpc_request, location_parameter,
};

const METADATA: &str = "/.well-known/oauth-authorization-server";
const CALLBACK: &str = "https://client.example/callback";

#[test]
fn metadata_is_where_clients_look() {
    let served = OAuthServer::start();
    let get = |path: &str| served.server.request("GET", path).host(OAuthServer::HOST).send();
    for path in ["", "/mcp"] {
        let response = get(&format!("{METADATA}{path}"));
        assert_eq!(response.status, 200, "{path}");
        let metadata = response.json();
        assert_eq!(metadata["issuer"], OAuthServer::ISSUER);
        assert_eq!(metadata["token_endpoint"], "https://knowledge.example/oauth/token");
        assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
        assert_eq!(metadata["token_endpoint_auth_methods_supported"], json!(["none"]));
        assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
        assert_eq!(metadata["client_id_metadata_document_supported"], true);
    }
    let resource = get("/.well-known/oauth-protected-resource/mcp").json();
    assert_eq!(resource["resource"], OAuthServer::RESOURCE);
    assert_eq!(resource["authorization_servers"], json!([OAuthServer::ISSUER]));
    let refused = served.server.client().ping();
    let challenge = refused.header("www-authenticate").unwrap();
    let metadata = "https://knowledge.example/.well-known/oauth-protected-resource/mcp";
    assert!(refused.status == 401 && challenge.contains(metadata), "{challenge}");
}

#[test]
fn server_without_oauth_and_pages_has_no_logins() {
    let server = Library::new().serve_with_settings("[server]\npages = false\n");
    for path in [METADATA, "/login", "/account", "/oauth/authorize?client_id=a"] {
        assert_eq!(server.request("GET", path).send().status, 404, "{path}");
    }
    let server = Library::new().serve();
    for path in [METADATA, "/oauth/authorize?client_id=a"] {
        assert_eq!(server.request("GET", path).send().status, 404, "{path}");
    }
    assert_eq!(server.request("POST", "/oauth/register").json(&json!({})).send().status, 404);
}

#[test]
fn client_gets_the_granted_rights() {
    let served = OAuthServer::start();
    let client = served.register(&[CALLBACK]);
    let browser = served.browser();
    let login = browser.get(&client.authorization().path());
    assert!(login.status == 200 && login.body.contains("type=\"password\""), "{login:?}");
    let fields = [("name", "ada"), ("password", OAuthServer::PASSWORD)];
    let done = browser.submit("/login", &login, &fields);
    let consent = browser.get(done.header("location").unwrap());
    assert_eq!(consent.status, 200, "{consent:?}");
    for shown in ["Test client", "client.example", "ada"] {
        assert!(consent.body.contains(shown), "{shown}: {consent:?}");
    }
    let answer = browser.agree(&consent);
    assert!(answer.header("location").unwrap().starts_with(CALLBACK), "{answer:?}");
    assert_eq!(location_parameter(&answer, "state").unwrap(), "a state & more");
    assert_eq!(location_parameter(&answer, "iss").unwrap(), OAuthServer::ISSUER);
    let tokens = client.exchange_code(&location_parameter(&answer, "code").unwrap());
    assert_eq!(tokens.header("cache-control"), Some("no-store"));
    let tokens = tokens.json();
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(600)));
    assert_eq!(tokens["scope"], "read");
    let found = served.search(tokens["access_token"].as_str().unwrap());
    assert!(found.status == 200 && found.body.contains("amethyst"), "{found:?}");
}

#[test]
fn user_narrows_and_widens_what_a_client_asks_for() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let grant = |right: &str, limits: &[(&str, &str)]| -> Value {
        let client = served.register(&[CALLBACK]);
        let consent = browser.get(&client.authorization().path());
        let answer = browser.agree_with(&consent, right, limits);
        client.exchange_code(&location_parameter(&answer, "code").unwrap()).json()
    };
    assert_eq!(grant("write", &[])["scope"], "read write");
    assert_eq!(grant("admin", &[])["scope"], "read write", "ada may not give admin");
    let sees = |tokens: &Value| {
        let found = served.search(tokens["access_token"].as_str().unwrap());
        found.json()["result"]["structuredContent"]["results"].as_array().unwrap().len()
    };
    assert_eq!(sees(&grant("read", &[])), 1);
    assert_eq!(sees(&grant("read", &[("tags", "work, home")])), 1);
    assert_eq!(sees(&grant("read", &[("tags", "home")])), 0);
    assert_eq!(sees(&grant("read", &[("source", "media")])), 0);
    let only = grant("read", &[("tools", "notes.*")]);
    let token = only["access_token"].as_str().unwrap();
    let client = served.server.client().with_bearer_token(token);
    let tools = client.call_method("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(!names.is_empty() && names.iter().all(|it| it.starts_with("notes")), "{names:?}");
}

#[test]
fn refused_consent_is_told_to_client() {
    let served = OAuthServer::start();
    let (client, browser) = (served.register(&[CALLBACK]), served.logged_in_browser());
    let consent = browser.get(&client.authorization().path());
    let answer = browser.submit("/oauth/authorize", &consent, &[("decision", "refuse")]);
    assert_eq!(location_parameter(&answer, "error").unwrap(), "access_denied");
    assert_eq!(location_parameter(&answer, "iss").unwrap(), OAuthServer::ISSUER);
    assert!(location_parameter(&answer, "code").is_none());
}

#[test]
fn refresh_token_renews_access_also_after_restart() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let renewed = client.refresh(&tokens["refresh_token"]).json();
    assert_eq!(renewed["scope"], "read");
    let id = client.id;
    let served = served.restart();
    let token = |tokens: &Value| tokens["access_token"].as_str().unwrap().to_owned();
    assert_eq!(served.search(&token(&tokens)).status, 200, "until it expires");
    assert_eq!(served.search(&token(&renewed)).status, 200);
    let client = served.register(&[CALLBACK]);
    let client = OAuthClient { id, ..client };
    let again = client.refresh(&renewed["refresh_token"]).json();
    assert_eq!(served.search(&token(&again)).status, 200);
}

#[test]
fn consent_of_known_host_is_remembered() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let web = served.register(&[CALLBACK]);
    web.obtain_code(&browser);
    let again = browser.get(&web.authorization().path());
    assert_eq!(again.status, 303, "{again:?}");
    assert!(location_parameter(&again, "code").is_some());
    let more = browser.get(&web.authorization().with("scope", "write").path());
    assert_eq!(more.status, 200, "another right is another question");
    let page = browser.get(&web.authorization().with("prompt", "consent").path());
    assert_eq!(page.status, 200);
    let local = served.register(&["http://127.0.0.1:1234/callback"]);
    local.obtain_code(&browser);
    let again = browser.get(&local.authorization().path());
    assert_eq!(again.status, 200, "any program of the machine could ask");
    let eve = served.logged_in_browser();
    eve.set_cookie("__Host-vademecum", "");
    assert!(eve.get(&web.authorization().path()).body.contains("type=\"password\""));
}

#[test]
fn loopback_client_may_use_any_port() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    let client = served.register(&["http://127.0.0.1:1234/callback"]);
    let address = "http://127.0.0.1:54321/callback";
    let consent = browser.get(&client.authorization().with("redirect_uri", address).path());
    let policy = consent.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self' http://127.0.0.1:54321;"), "{policy}");
    let answer = browser.agree(&consent);
    assert!(answer.header("location").unwrap().starts_with(address), "{answer:?}");
    let code = location_parameter(&answer, "code").unwrap();
    let tokens = client.exchange_code_with(&code, &[("redirect_uri", address)]);
    assert_eq!(tokens.status, 200, "{tokens:?}");
}

#[test]
fn user_sees_and_revokes_grants() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let token = tokens["access_token"].as_str().unwrap();
    assert_eq!(served.search(token).status, 200);
    OAuthServer::add_user(&served.library, "eve");
    let eve = served.browser();
    let page = eve.get("/login");
    eve.submit("/login", &page, &[("name", "eve"), ("password", OAuthServer::PASSWORD)]);
    let browser = served.logged_in_browser();
    let account = browser.get("/account");
    let grant = form_field(&account.body, "grant").unwrap();
    assert!(account.body.contains("client.example"), "{account:?}");
    let hers = eve.get("/account");
    assert!(form_field(&hers.body, "grant").is_none(), "{hers:?}");
    eve.submit("/account/revoke", &hers, &[("grant", &grant)]);
    assert_eq!(served.search(token).status, 200, "the grant is not eve's");
    browser.submit("/account/revoke", &account, &[("grant", &grant)]);
    assert_eq!(served.search(token).status, 401);
    assert_eq!(client.refresh(&tokens["refresh_token"]).status, 400);
    assert!(form_field(&browser.get("/account").body, "grant").is_none());
    let page = browser.get(&client.authorization().path());
    assert_eq!(page.status, 200, "a revoked client is not let in without a question");
    let left = browser.submit("/account/logout", &account, &[]);
    assert_eq!(left.status, 303);
    assert_eq!(browser.get("/account").header("location"), Some("/login"));
}

#[test]
fn operator_lists_and_revokes_clients() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let (_, others) = served.grant();
    let listed = served.run(&["client", "list"]).stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    for shown in ["ada", "client.example", "Test client", "read", &client.id] {
        assert!(listed.contains(shown), "{shown}: {listed}");
    }
    assert!(served.run(&["key", "list"]).stdout.contains("client Test client"));
    let clients = served.run(&["client", "list", "--clients"]).stdout;
    assert!(clients.contains(&client.id), "{clients}");
    let token = |tokens: &Value| tokens["access_token"].as_str().unwrap().to_owned();
    assert_eq!(served.run(&["client", "revoke", &client.id]).code, 0);
    assert_eq!(served.search(&token(&tokens)).status, 401);
    let renewed = client.refresh(&tokens["refresh_token"]);
    assert_eq!((renewed.status, &renewed.json()["error"]), (401, &json!("invalid_client")));
    assert_eq!(served.search(&token(&others)).status, 200);
    let listed = served.run(&["client", "list"]).stdout;
    let grant = listed.lines().find(|line| !line.contains("revoked")).unwrap();
    let grant = grant.split('\t').next().unwrap();
    assert_eq!(served.run(&["client", "revoke", grant]).code, 0);
    assert_eq!(served.search(&token(&others)).status, 401);
    let unknown = served.run(&["client", "revoke", "0123456789abcdef"]);
    assert!(unknown.code != 0 && unknown.stderr.contains("client list"), "{unknown:?}");
}

#[test]
fn client_revokes_its_grant() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let token = tokens["access_token"].as_str().unwrap();
    assert_eq!(client.revoke(&json!("vdr_unknown")).status, 200);
    assert_eq!(client.revoke(&tokens["refresh_token"]).status, 200);
    assert_eq!(served.search(token).status, 401);
    let (client, tokens) = served.grant();
    assert_eq!(client.revoke(&tokens["access_token"]).status, 200);
    assert_eq!(served.search(tokens["access_token"].as_str().unwrap()).status, 401);
    assert_eq!(client.refresh(&tokens["refresh_token"]).status, 200, "the grant stays");
}

#[test]
fn suspended_user_loses_logins_and_tokens() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let browser = served.logged_in_browser();
    assert_eq!(served.run(&["user", "suspend", "ada"]).code, 0);
    assert_eq!(served.search(tokens["access_token"].as_str().unwrap()).status, 403);
    assert_eq!(client.refresh(&tokens["refresh_token"]).status, 400);
    assert_eq!(browser.get("/account").header("location"), Some("/login"));
    let page = browser.get("/login");
    let fields = [("name", "ada"), ("password", OAuthServer::PASSWORD)];
    let refused = browser.submit("/login", &page, &fields);
    assert!(refused.status == 403 && refused.body.contains("suspended"), "{refused:?}");
    assert_eq!(served.run(&["user", "remove", "ada", "--yes"]).code, 0);
    assert_eq!(served.search(tokens["access_token"].as_str().unwrap()).status, 401);
}

#[test]
fn operator_sets_passwords_and_rights() {
    let served = OAuthServer::start();
    let browser = served.logged_in_browser();
    assert_eq!(served.run(&["user", "rights", "ada", "admin"]).code, 0);
    let client = served.register(&[CALLBACK]);
    let consent = browser.get(&client.authorization().path());
    assert!(consent.body.contains("administer"), "{consent:?}");
    assert_eq!(served.run(&["user", "password", "ada", "--remove"]).code, 0);
    assert_eq!(browser.get("/account").header("location"), Some("/login"), "logged out");
    let page = browser.get("/login");
    let fields = [("name", "ada"), ("password", OAuthServer::PASSWORD)];
    assert_eq!(browser.submit("/login", &page, &fields).status, 403);
    let file = served.library.file_path("settings.toml");
    let arguments = ["user", "password", "ada", "--config", file.to_str().unwrap()];
    let short = served.library.run_with_input(&arguments, "short\n");
    assert!(short.code != 0 && short.stderr.contains("10 characters"), "{short:?}");
    assert!(served.run(&["user", "password", "eve", "--remove"]).code != 0);
}

#[test]
fn lowered_rights_hold_for_earlier_grants() {
    let served = OAuthServer::start_with("[tools]\nwrite = true");
    let browser = served.logged_in_browser();
    let client = served.register(&[CALLBACK]);
    let consent = browser.get(&client.authorization().path());
    let answer = browser.agree_with(&consent, "write", &[]);
    let tokens = client.exchange_code(&location_parameter(&answer, "code").unwrap()).json();
    let agent = served.server.client().with_bearer_token(tokens["access_token"].as_str().unwrap());
    let note = json!({ "title": "Quay", "content": "Bollards." });
    assert_eq!(agent.tool_result("notes.create", &note)["isError"], false);
    assert_eq!(served.run(&["user", "rights", "ada", "read"]).code, 0);
    let call = json!({ "name": "notes.create", "arguments": note });
    let refused = agent.send(&json_rpc_request("tools/call", &call));
    assert!(refused.status == 403 && refused.body.contains("`write`"), "{refused:?}");
    assert_eq!(
        agent.call_tool("notes.search", &json!({ "query": "bollards" }))["total_estimated"],
        1
    );
}

#[test]
fn every_step_is_in_the_audit_log() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    client.revoke(&tokens["refresh_token"]);
    let browser = served.browser();
    let page = browser.get("/login");
    browser.submit("/login", &page, &[("name", "ada"), ("password", "wrong")]);
    let entries = served.read_audit_log();
    let find = |method: &str, outcome: &str| {
        let mut entries = entries.as_array().unwrap().iter();
        let found = entries.find(|it| it["method"] == method && it["outcome"] == outcome);
        found.unwrap_or_else(|| panic!("{method} {outcome}: {entries:?}")).clone()
    };
    assert_eq!(find("user.password", "ok")["user"], "ada");
    assert_eq!(find("oauth.register", "ok")["client"], "Test client");
    assert_eq!(find("login", "ok")["user"], "ada");
    assert_eq!(find("login", "denied")["reason"], "invalid");
    assert_eq!(find("oauth.consent", "ok")["client"], "Test client");
    let grant = find("oauth.grant", "ok");
    assert_eq!((&grant["user"], &grant["client"]), (&json!("ada"), &json!("Test client")));
    assert_eq!(find("oauth.revoke", "ok")["key"], grant["key"]);
}

/// A site with the metadata document of a client.
fn client_site() -> WebSite {
    WebSite::new(|address, request| {
        WebReply::json(&json!({
            "client_id": format!("{address}{}", request.path),
            "client_name": "Editor",
            "redirect_uris": ["http://127.0.0.1/callback", "https://editor.example/callback"],
            "token_endpoint_auth_method": "none",
        }))
    })
}

#[test]
fn client_with_document_needs_no_registration() {
    let site = client_site();
    let served = OAuthServer::start_with("client_documents = \"all\"");
    let (id, callback) = (site.url("/client.json"), "http://127.0.0.1:4321/callback");
    let url = AuthorizationUrl::new(&id, callback);
    let browser = served.browser();
    let login = browser.get(&url.path());
    assert!(login.body.contains("type=\"password\""), "{login:?}");
    assert!(site.received().is_empty(), "nothing is fetched for strangers");
    let fields = [("name", "ada"), ("password", OAuthServer::PASSWORD)];
    let done = browser.submit("/login", &login, &fields);
    let consent = browser.get(done.header("location").unwrap());
    assert!(consent.body.contains("Editor") && consent.body.contains(&id), "{consent:?}");
    let answer = browser.agree(&consent);
    let code = location_parameter(&answer, "code").unwrap();
    let client = served.register(&[callback]);
    let client = OAuthClient { id, ..client };
    let tokens = client.exchange_code(&code);
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert_eq!(served.search(tokens.json()["access_token"].as_str().unwrap()).status, 200);
    assert_eq!(site.received().len(), 1, "the document is kept for a while");
}

#[test]
fn server_without_documents_has_clients_register() {
    let site = client_site();
    let served = OAuthServer::start_with("client_documents = \"off\"");
    let metadata = served.server.request("GET", METADATA).host(OAuthServer::HOST).send().json();
    assert_eq!(metadata["client_id_metadata_document_supported"], false);
    let url = AuthorizationUrl::new(&site.url("/client.json"), "http://127.0.0.1/callback");
    let refused = served.logged_in_browser().get(&url.path());
    assert!(refused.status == 400 && refused.body.contains("register"), "{refused:?}");
    assert!(site.received().is_empty());
}

/// Serves a library for one user, as on a desktop, and returns the settings file.
fn serve_desktop(library: &Library) -> (crate::support::Server, String) {
    let settings =
        format!("[server]\npublic_url = \"{}\"\n[auth]\noauth = true\n", OAuthServer::ISSUER);
    let server = library.serve_with_settings(&settings);
    (server, library.file_path("settings.toml").to_str().unwrap().to_owned())
}

#[test]
fn desktop_user_logs_in_with_one_time_link() {
    let library = Library::new();
    library.import_file("notes", "note.md", "An amethyst.");
    let (server, file) = serve_desktop(&library);
    let served = OAuthServer { library, server };
    let refused = served.server.client().ping();
    assert_eq!(refused.status, 401, "requests through a proxy come from this machine too");
    let link = served.library.run(&["login", "--config", &file]).stdout;
    let path = link.trim().strip_prefix(OAuthServer::ISSUER).unwrap().to_owned();
    let browser = served.browser();
    // Programs that look at links in advance do not use it up.
    served.browser().get(&path);
    let page = browser.get(&path);
    let code = form_field(&page.body.replace("required", ""), "code");
    assert!(code.is_some() || page.body.contains("value=\""), "{page:?}");
    let code = path.split_once("code=").unwrap().1;
    let done = browser.submit("/login/code", &page, &[("code", code)]);
    assert_eq!(done.header("location"), Some("/"), "{done:?}");
    let again = served.browser();
    let page = again.get(&path);
    assert_eq!(again.submit("/login/code", &page, &[("code", code)]).status, 403, "used once");
    let client = served.register(&[CALLBACK]);
    let consent = browser.get(&client.authorization().with("scope", "write").path());
    let answer = browser.agree_with(&consent, "write", &[]);
    let code = location_parameter(&answer, "code").unwrap();
    let tokens = client.exchange_code(&code).json();
    assert_eq!(tokens["scope"], "read write");
    let found = served.search(tokens["access_token"].as_str().unwrap());
    assert!(found.status == 200 && found.body.contains("amethyst"), "{found:?}");
}

#[test]
fn login_code_is_typed_where_the_request_began() {
    let library = Library::new();
    let (server, file) = serve_desktop(&library);
    let served = OAuthServer { library, server };
    let client = served.register(&[CALLBACK]);
    let browser = served.browser();
    let login = browser.get(&client.authorization().path());
    assert!(login.body.contains("vademecum login"), "{login:?}");
    let link = served.library.run(&["login", "--config", &file]).stdout;
    let code = link.trim().split_once("code=").unwrap().1.to_lowercase().replace('-', " ");
    let done = browser.submit("/login/code", &login, &[("code", &code)]);
    let consent = browser.get(done.header("location").unwrap());
    assert!(consent.body.contains("Test client"), "{consent:?}");
}

#[test]
fn secrets_are_stored_only_as_hashes() {
    let served = OAuthServer::start();
    let (client, tokens) = served.grant();
    let browser = served.logged_in_browser();
    let code = client.obtain_code_again(&browser);
    let cookie = browser.cookie("__Host-vademecum").unwrap();
    drop(served.server.kill_and_read_log());
    let data = served.library.data_folder();
    let mut stored = Vec::new();
    for name in ["server.db", "server.db-wal", "audit.db", "audit.db-wal"] {
        stored.extend(std::fs::read(data.join(name)).unwrap_or_default());
    }
    let text = String::from_utf8_lossy(&stored);
    assert!(text.contains("$argon2id$"), "the password is hashed");
    // The end of a token is a part of its secret.
    let end_of = |name: &str| {
        let token = tokens[name].as_str().unwrap();
        token[token.len() - 20..].to_owned()
    };
    let (access, refresh) = (end_of("access_token"), end_of("refresh_token"));
    for secret in [access.as_str(), &refresh, &code, &cookie, OAuthServer::PASSWORD] {
        assert!(!text.contains(secret), "{secret}");
    }
}

#[test]
fn style_sheet_is_kept_under_its_hash() {
    let served = OAuthServer::start();
    let browser: Browser<'_> = served.browser();
    let page = browser.get("/login");
    let (_, rest) = page.body.split_once("href=\"").unwrap();
    let path = rest.split('"').next().unwrap();
    let sheet = browser.get(path);
    assert_eq!(
        (sheet.status, sheet.header("content-type").unwrap()),
        (200, "text/css; charset=utf-8")
    );
    assert!(sheet.header("cache-control").unwrap().contains("immutable"), "{sheet:?}");
}
