//! JWTs of an identity provider: only authentic, currently valid tokens issued for this server are
//! accepted, and they act as the user they name.

use std::{thread, time::Duration};

use awc::ws::CloseCode;
use serde_json::{Value, json};

use crate::support::{
    Algorithm, HttpResponse, KeyServer, Library, McpClient, ReceivedFrame, Server, TokenIssuer,
    key_set_path, unix_now,
};

/// Returns settings that accept these algorithms, with the key setting `keys` and additional
/// settings `more`.
fn jwt_settings(algorithms: &[Algorithm], keys: &str, more: &str) -> String {
    let names: Vec<String> = algorithms.iter().map(|it| format!("\"{it:?}\"")).collect();
    let (resource, issuer, names) = (TokenIssuer::RESOURCE, TokenIssuer::NAME, names.join(", "));
    format!(
        "resource = \"{resource}\"\nfree_attempts = 1000\n[auth.jwt]\nissuer = \"{issuer}\"\n\
         algorithms = [{names}]\n{keys}\n{more}"
    )
}

fn key_file_setting(algorithm: Algorithm) -> String {
    format!("key_file = \"{}\"", algorithm.key_file().display())
}

/// Serves a library of ada with one note; tokens of one algorithm are accepted, with the key in a
/// file.
fn serve_with_jwt(algorithm: Algorithm, more: &str) -> Server {
    let library = Library::new();
    library.import_for_user("ada", "notes", "note.md", "An amethyst.");
    library.serve_multi_user(&jwt_settings(&[algorithm], &key_file_setting(algorithm), more))
}

fn ping_with_token(server: &Server, token: &str) -> HttpResponse {
    server.client().with_bearer_token(token).ping()
}

#[test]
fn token_opens_library_of_its_subject() {
    for algorithm in Algorithm::ALL {
        let server = serve_with_jwt(algorithm, "");
        let client = server.client().with_bearer_token(&TokenIssuer::new(algorithm).issue_token());
        let search = json!({ "query": "amethyst" });
        assert_eq!(client.search_uris("knowledge.search", &search).len(), 1, "{algorithm:?}");
        let eve = TokenIssuer::new(algorithm).with_claim("sub", "eve").issue_token();
        let client = server.client().with_bearer_token(&eve);
        assert!(client.search_uris("knowledge.search", &search).is_empty(), "{algorithm:?}");
    }
}

#[test]
fn altered_token_is_rejected() {
    for algorithm in Algorithm::ALL {
        let server = serve_with_jwt(algorithm, "");
        let (ada, eve) =
            (TokenIssuer::new(algorithm), TokenIssuer::new(algorithm).with_claim("sub", "eve"));
        let (ada, eve) = (ada.issue_token(), eve.issue_token());
        let (message, _) = eve.rsplit_once('.').unwrap();
        let (_, signature) = ada.rsplit_once('.').unwrap();
        for forged in [format!("{message}.{signature}"), format!("{message}.AAAA"), message.into()]
        {
            let refused = ping_with_token(&server, &forged);
            assert_eq!(refused.status, 401, "{algorithm:?}: {refused:?}");
        }
        assert_eq!(ping_with_token(&server, &ada).status, 200);
    }
}

#[test]
fn token_with_unconfigured_algorithm_is_rejected() {
    for algorithm in Algorithm::ALL {
        let server = serve_with_jwt(algorithm, "");
        for other in Algorithm::ALL.into_iter().filter(|other| *other != algorithm) {
            assert_eq!(
                ping_with_token(&server, &TokenIssuer::new(other).issue_token()).status,
                401,
                "{other:?}"
            );
        }
        for none in ["none", "None", "NONE", "", "HS512"] {
            let token = TokenIssuer::new(algorithm).header("alg", none);
            assert_eq!(
                ping_with_token(&server, &token.issue_unsigned_token()).status,
                401,
                "{none}"
            );
            assert_eq!(ping_with_token(&server, &token.issue_token()).status, 401, "{none}");
        }
        let unsigned = TokenIssuer::new(algorithm).issue_unsigned_token();
        assert_eq!(ping_with_token(&server, &unsigned).status, 401);
        // Key confusion: the public key used as an HMAC secret.
        let public = std::fs::read(algorithm.key_file()).unwrap();
        if algorithm != Algorithm::HS256 {
            let confused = TokenIssuer::new(Algorithm::HS256).issue_token_with_hmac(&public);
            assert_eq!(ping_with_token(&server, &confused).status, 401, "{algorithm:?}");
        }
    }
}

#[test]
fn token_is_valid_between_nbf_and_exp() {
    let server = serve_with_jwt(Algorithm::EdDSA, "leeway_seconds = 60");
    let with = |claim: &str, time: Value| {
        ping_with_token(
            &server,
            &TokenIssuer::new(Algorithm::EdDSA).with_claim(claim, time).issue_token(),
        )
    };
    let expired = with("exp", (unix_now() - 120).into());
    assert!(expired.status == 401 && expired.body.contains("expired"), "{expired:?}");
    assert_eq!(with("exp", (unix_now() - 10).into()).status, 200, "within the leeway");
    let early = with("nbf", (unix_now() + 120).into());
    assert!(early.status == 401 && early.body.contains("not valid yet"), "{early:?}");
    assert_eq!(with("nbf", (unix_now() + 10).into()).status, 200);
    for never in [Value::Null, json!("tomorrow"), json!(-1), json!(true)] {
        assert_eq!(with("exp", never.clone()).status, 401, "{never}");
    }
}

#[test]
fn token_for_other_audience_or_issuer_is_rejected() {
    let server = serve_with_jwt(Algorithm::EdDSA, "");
    let token = || TokenIssuer::new(Algorithm::EdDSA);
    for audience in [
        json!("https://other.example/mcp"),
        json!("https://knowledge.example/mcp/"),
        json!("https://knowledge.example"),
        json!(["https://other.example"]),
        json!([]),
        json!(""),
        json!(7),
        Value::Null,
    ] {
        let refused =
            ping_with_token(&server, &token().with_claim("aud", audience.clone()).issue_token());
        assert_eq!(refused.status, 401, "{audience}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.contains("invalid_token"), "{challenge}");
    }
    let among = json!(["https://other.example", TokenIssuer::RESOURCE]);
    assert_eq!(
        ping_with_token(&server, &token().with_claim("aud", among).issue_token()).status,
        200
    );
    for issuer in [json!("https://evil.example"), json!("https://id.example/"), Value::Null] {
        let refused =
            ping_with_token(&server, &token().with_claim("iss", issuer.clone()).issue_token());
        assert_eq!(refused.status, 401, "{issuer}");
    }
}

#[test]
fn configured_audiences_replace_resource() {
    let server = serve_with_jwt(Algorithm::EdDSA, "audiences = [\"api://knowledge\"]");
    let token = TokenIssuer::new(Algorithm::EdDSA);
    assert_eq!(ping_with_token(&server, &token.issue_token()).status, 401);
    assert_eq!(
        ping_with_token(&server, &token.with_claim("aud", "api://knowledge").issue_token()).status,
        200
    );
}

#[test]
fn user_claim_cannot_escape_users_folder() {
    let server = serve_with_jwt(Algorithm::EdDSA, "");
    for user in [
        json!("../ada"),
        json!("ada/../eve"),
        json!(".."),
        json!(""),
        json!("/etc"),
        json!("a\u{0}"),
        json!("ada "),
        json!(["ada"]),
        json!(1),
        Value::Null,
    ] {
        let token =
            TokenIssuer::new(Algorithm::EdDSA).with_claim("sub", user.clone()).issue_token();
        let refused = ping_with_token(&server, &token);
        assert_eq!(refused.status, 401, "{user}");
    }
}

#[test]
fn configured_claims_supply_user_and_tags() {
    let server = serve_with_jwt(Algorithm::EdDSA, "user_claim = \"name\"\ntags_claim = \"groups\"");
    let token = |groups: Value| {
        let issuer =
            TokenIssuer::new(Algorithm::EdDSA).with_claim("sub", "4711").with_claim("name", "ada");
        issuer.with_claim("groups", groups).issue_token()
    };
    let both = server.client().with_bearer_token(&token(json!(["a", "b"])));
    assert_eq!(both.search_uris("knowledge.search", &json!({ "query": "amethyst" })).len(), 1);
    let session = both.initialize_session();
    let again = |groups: Value| {
        let client = server.client().with_bearer_token(&token(groups));
        client.in_session(session.session_id()).ping().status
    };
    assert_eq!(again(json!("b a")), 200, "the order and form of tags do not matter");
    assert_eq!(again(json!(["b", "a", "no\u{0}tag", 7])), 200, "invalid tags are ignored");
    assert_eq!(again(json!(["a"])), 404, "other tags are another principal");
    let nameless = TokenIssuer::new(Algorithm::EdDSA).issue_token();
    assert_eq!(ping_with_token(&server, &nameless).status, 401);
}

#[test]
fn token_with_critical_header_is_rejected() {
    let server = serve_with_jwt(Algorithm::EdDSA, "");
    let token = TokenIssuer::new(Algorithm::EdDSA).header("crit", json!(["exp"]));
    assert_eq!(ping_with_token(&server, &token.issue_token()).status, 401);
}

#[test]
fn token_cannot_delegate_to_user() {
    let server = serve_with_jwt(Algorithm::EdDSA, "");
    let token = TokenIssuer::new(Algorithm::EdDSA).with_claim("scope", "admin").issue_token();
    for header in ["x-user-id", "x-session-tags"] {
        let refused = server.client().with_bearer_token(&token).with_header(header, "eve").ping();
        assert_eq!(refused.status, 403, "{header}");
    }
}

#[test]
fn key_set_file_supports_each_algorithm() {
    let all = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];
    let keys = format!("jwks_file = \"{}\"", key_set_path().display());
    let server = Library::new().serve_multi_user(&jwt_settings(&all, &keys, ""));
    for (algorithm, id) in all.into_iter().zip(["rsa", "ec", "ed"]) {
        let named = |id: &str| {
            ping_with_token(&server, &TokenIssuer::new(algorithm).header("kid", id).issue_token())
        };
        assert_eq!(named(id).status, 200, "{algorithm:?}");
        assert_eq!(named("other").status, 401, "{algorithm:?}");
        let nameless = TokenIssuer::new(algorithm).issue_token();
        assert_eq!(ping_with_token(&server, &nameless).status, 200, "{algorithm:?}");
    }
    let crossed = TokenIssuer::new(Algorithm::EdDSA).header("kid", "rsa").issue_token();
    assert_eq!(ping_with_token(&server, &crossed).status, 401);
    let only = jwt_settings(&[Algorithm::EdDSA], &keys, "");
    let server = Library::new().serve_multi_user(&only);
    let pinned = TokenIssuer::new(Algorithm::RS256).header("kid", "rsa").issue_token();
    assert_eq!(ping_with_token(&server, &pinned).status, 401, "not one of the algorithms");
}

#[test]
fn unknown_key_id_triggers_key_set_fetch() {
    let keys = KeyServer::with_keys(&["ed"]);
    let from = format!("jwks_url = \"{}\"\njwks_pause_seconds = 0", keys.url());
    let both = [Algorithm::EdDSA, Algorithm::ES256];
    let server = Library::new().serve_multi_user(&jwt_settings(&both, &from, ""));
    assert_eq!(keys.request_count(), 0, "nothing is fetched before it is needed");
    let (ed, ec) = (
        TokenIssuer::new(Algorithm::EdDSA).header("kid", "ed").issue_token(),
        TokenIssuer::new(Algorithm::ES256).header("kid", "ec").issue_token(),
    );
    assert_eq!(ping_with_token(&server, &ed).status, 200);
    assert_eq!(keys.request_count(), 1);
    assert_eq!(ping_with_token(&server, &ec).status, 401);
    keys.publish(&["ec"]);
    assert_eq!(ping_with_token(&server, &ec).status, 200);
    assert_eq!(ping_with_token(&server, &ed).status, 401, "the key is no longer published");
}

#[test]
fn removed_key_is_invalid_after_jwks_pause() {
    let keys = KeyServer::with_keys(&["ed", "ec"]);
    let from = format!("jwks_url = \"{}\"\njwks_pause_seconds = 2", keys.url());
    let both = [Algorithm::EdDSA, Algorithm::ES256];
    let server = Library::new().serve_multi_user(&jwt_settings(&both, &from, ""));
    let token = |algorithm: Algorithm, id: &str| {
        TokenIssuer::new(algorithm).header("kid", id).issue_token()
    };
    let (ed, ec) = (token(Algorithm::EdDSA, "ed"), token(Algorithm::ES256, "ec"));
    for _ in 0..3 {
        assert_eq!(ping_with_token(&server, &ed).status, 200);
    }
    assert_eq!(keys.request_count(), 1, "a fresh key set is not fetched again");
    keys.publish(&["ec"]);
    thread::sleep(Duration::from_millis(2_100));
    assert_eq!(ping_with_token(&server, &ed).status, 401, "the key is no longer published");
    assert_eq!((ping_with_token(&server, &ec).status, keys.request_count()), (200, 2));
}

#[test]
fn fetched_keys_outlast_outage_of_provider() {
    let keys = KeyServer::with_keys(&["ed"]);
    let from = format!("jwks_url = \"{}\"\njwks_pause_seconds = 0", keys.url());
    let server = Library::new().serve_multi_user(&jwt_settings(&[Algorithm::EdDSA], &from, ""));
    let token = TokenIssuer::new(Algorithm::EdDSA).header("kid", "ed").issue_token();
    assert_eq!(ping_with_token(&server, &token).status, 200);
    keys.publish_invalid();
    assert_eq!(ping_with_token(&server, &token).status, 200);
    assert_eq!(keys.request_count(), 2);
}

#[test]
fn token_of_other_type_is_rejected() {
    let server = serve_with_jwt(Algorithm::EdDSA, "");
    let token = || TokenIssuer::new(Algorithm::EdDSA);
    for typ in
        [json!("JWT"), json!("jwt"), json!("at+jwt"), json!("application/at+jwt"), Value::Null]
    {
        let issued = token().header("typ", typ.clone()).issue_token();
        assert_eq!(ping_with_token(&server, &issued).status, 200, "{typ}");
    }
    for typ in ["id+jwt", "dpop+jwt", "logout+jwt", "secevent+jwt", "JWE", ""] {
        let refused = ping_with_token(&server, &token().header("typ", typ).issue_token());
        assert!(
            refused.status == 401 && refused.body.contains("access token"),
            "{typ}: {refused:?}"
        );
    }
    for (claim, value) in
        [("at_hash", "x"), ("c_hash", "x"), ("token_use", "id"), ("typ", "ID"), ("typ", "Refresh")]
    {
        let issued = token().with_claim(claim, value);
        let refused = ping_with_token(&server, &issued.issue_token());
        assert!(refused.status == 401 && refused.body.contains("ID token"), "{claim}: {refused:?}");
        let declared = issued.header("typ", "at+jwt").issue_token();
        assert_eq!(ping_with_token(&server, &declared).status, 200, "{claim}");
    }
    for (claim, value) in [("token_use", "access"), ("typ", "Bearer")] {
        let issued = token().with_claim(claim, value).issue_token();
        assert_eq!(ping_with_token(&server, &issued).status, 200, "{claim}");
    }
}

#[test]
fn only_allowed_subjects_and_groups_are_admitted() {
    let token = |user: &str, groups: Value| {
        let token = TokenIssuer::new(Algorithm::EdDSA).with_claim("sub", user);
        token.with_claim("teams", groups).issue_token()
    };
    let subjects = "allowed_subjects = [\"ada\"]";
    let groups = "allowed_groups = [\"gardeners\"]\ngroups_claim = \"teams\"";
    for (settings, user, teams, status) in [
        (subjects, "ada", Value::Null, 200),
        (subjects, "ADA", Value::Null, 403),
        (subjects, "eve", json!(["gardeners"]), 403),
        (groups, "eve", json!(["cooks", "gardeners"]), 200),
        (groups, "eve", json!("gardeners"), 200),
        (groups, "eve", json!(["gardener"]), 403),
        (groups, "ada", Value::Null, 403),
        (&format!("{subjects}\n{groups}"), "ada", Value::Null, 200),
        (&format!("{subjects}\n{groups}"), "eve", json!(["gardeners"]), 200),
        (&format!("{subjects}\n{groups}"), "eve", json!(["cooks"]), 403),
        ("", "eve", Value::Null, 200),
    ] {
        let server = serve_with_jwt(Algorithm::EdDSA, settings);
        let reply = ping_with_token(&server, &token(user, teams.clone()));
        assert_eq!(reply.status, status, "{settings} {user} {teams}: {reply:?}");
        assert!(status == 200 || reply.body.contains("allowed_subjects"), "{reply:?}");
    }
}

#[test]
fn unknown_key_ids_do_not_trigger_repeated_fetches() {
    let keys = KeyServer::with_keys(&["ed"]);
    let from = format!("jwks_url = \"{}\"", keys.url());
    let server = Library::new().serve_multi_user(&jwt_settings(&[Algorithm::EdDSA], &from, ""));
    for id in ["a", "b", "c", "d"] {
        let token = TokenIssuer::new(Algorithm::EdDSA).header("kid", id).issue_token();
        assert_eq!(ping_with_token(&server, &token).status, 401);
    }
    let good = TokenIssuer::new(Algorithm::EdDSA).header("kid", "ed").issue_token();
    assert_eq!((ping_with_token(&server, &good).status, keys.request_count()), (200, 1));
}

#[test]
fn unreachable_key_set_rejects_tokens() {
    // Nothing listens on the discard port of this machine.
    let from = "jwks_url = \"http://127.0.0.1:9/keys\"";
    let server = Library::new().serve_multi_user(&jwt_settings(&[Algorithm::EdDSA], from, ""));
    let refused = ping_with_token(&server, &TokenIssuer::new(Algorithm::EdDSA).issue_token());
    assert_eq!(refused.status, 503, "{refused:?}");
}

#[test]
fn websocket_closes_when_token_expires() {
    let server = serve_with_jwt(Algorithm::EdDSA, "leeway_seconds = 0");
    let end = unix_now() + 2;
    let socket = server.open_websocket_with_token(
        &TokenIssuer::new(Algorithm::EdDSA).with_claim("exp", end).issue_token(),
    );
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    // Pings until the token has expired: at least once before, at most once after.
    loop {
        let before = unix_now();
        socket.send_message(&ping);
        match socket.read_frame() {
            ReceivedFrame::Text(answer) => assert!(before <= end, "{answer}"),
            ReceivedFrame::Closed(reason) => {
                assert!(reason == Some(CloseCode::Policy) && unix_now() >= end, "{reason:?}");
                break;
            }
            other @ (ReceivedFrame::Ping | ReceivedFrame::Pong(_)) => panic!("{other:?}"),
        }
    }
}

#[test]
fn invalid_jwt_settings_prevent_start() {
    let secret = Library::new();
    let short = secret.write_file("short.secret", "short\n");
    let short = format!("key_file = \"{}\"", short.display());
    let missing = "key_file = \"/nowhere/key.pem\"";
    let jwt = |keys: &str| {
        format!("[auth.jwt]\nissuer = \"https://id.example\"\nalgorithms = [\"HS256\"]\n{keys}")
    };
    let resource = format!("resource = \"{}\"", TokenIssuer::RESOURCE);
    let key = key_file_setting(Algorithm::HS256);
    let pem = key_file_setting(Algorithm::RS256);
    for (settings, problem) in [
        (format!("mode = \"multi\"\n{resource}\n{}", jwt(&short)), "32 bytes"),
        (format!("mode = \"multi\"\n{resource}\n{}", jwt(missing)), "/nowhere/key.pem"),
        (format!("mode = \"multi\"\n{}", jwt(&key)), "auth.resource"),
        (format!("mode = \"single\"\n{resource}\n{}", jwt(&key)), "no effect"),
        (
            format!("mode = \"multi\"\n{resource}\n{}", jwt(&pem).replace("HS256", "EdDSA")),
            "no key for EdDSA",
        ),
    ] {
        let library = Library::new();
        let file = library.write_file("settings.toml", format!("[auth]\n{settings}"));
        let done =
            library.run(&["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()]);
        assert!(done.code == 1 && done.stderr.contains(problem), "{settings}: {done:?}");
    }
}
