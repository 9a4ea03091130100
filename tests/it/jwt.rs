//! Tokens of an identity provider: only genuine ones that are in force and
//! meant for this server let anybody in, as the one whom they name.

use awc::ws::CloseCode;
use serde_json::{Value, json};

use crate::program::{
    Algorithm, Caller, Issuer, KeyServer, Library, Received, Response, Server, key_set, now,
};

/// Settings for tokens that are signed so, with keys from there, and more.
fn settings(algorithms: &[Algorithm], keys: &str, more: &str) -> String {
    let names: Vec<String> = algorithms.iter().map(|it| format!("\"{it:?}\"")).collect();
    let (resource, issuer, names) = (Issuer::RESOURCE, Issuer::NAME, names.join(", "));
    format!(
        "resource = \"{resource}\"\nfree_attempts = 1000\n[auth.jwt]\nissuer = \"{issuer}\"\n\
         algorithms = [{names}]\n{keys}\n{more}"
    )
}

fn key_file(algorithm: Algorithm) -> String {
    format!("key_file = \"{}\"", algorithm.key_file().display())
}

/// A server that takes tokens signed in one way, with the key in a file.
fn serve(algorithm: Algorithm, more: &str) -> Server {
    let library = Library::new();
    library.import_for("ada", "notes", "note.md", "An amethyst.");
    library.serve_many(&settings(&[algorithm], &key_file(algorithm), more))
}

fn show(server: &Server, token: &str) -> Response {
    server.client().bearing(token).ping()
}

#[test]
fn a_token_opens_the_library_of_the_one_it_names() {
    for algorithm in Algorithm::ALL {
        let server = serve(algorithm, "");
        let client = server.client().bearing(&Issuer::new(algorithm).token());
        let search = json!({ "query": "amethyst" });
        assert_eq!(client.uris("knowledge.search", &search).len(), 1, "{algorithm:?}");
        let eve = Issuer::new(algorithm).claim("sub", "eve").token();
        let client = server.client().bearing(&eve);
        assert!(client.uris("knowledge.search", &search).is_empty(), "{algorithm:?}");
    }
}

#[test]
fn a_token_that_was_altered_is_refused() {
    for algorithm in Algorithm::ALL {
        let server = serve(algorithm, "");
        let (ada, eve) = (Issuer::new(algorithm), Issuer::new(algorithm).claim("sub", "eve"));
        let (ada, eve) = (ada.token(), eve.token());
        let (message, _) = eve.rsplit_once('.').unwrap();
        let (_, signature) = ada.rsplit_once('.').unwrap();
        for forged in [format!("{message}.{signature}"), format!("{message}.AAAA"), message.into()]
        {
            let refused = show(&server, &forged);
            assert_eq!(refused.status, 401, "{algorithm:?}: {refused:?}");
        }
        assert_eq!(show(&server, &ada).status, 200);
    }
}

#[test]
fn how_a_token_is_signed_is_not_for_the_token_to_say() {
    for algorithm in Algorithm::ALL {
        let server = serve(algorithm, "");
        for other in Algorithm::ALL.into_iter().filter(|other| *other != algorithm) {
            assert_eq!(show(&server, &Issuer::new(other).token()).status, 401, "{other:?}");
        }
        for none in ["none", "None", "NONE", "", "HS512"] {
            let token = Issuer::new(algorithm).header("alg", none);
            assert_eq!(show(&server, &token.token_unsigned()).status, 401, "{none}");
            assert_eq!(show(&server, &token.token()).status, 401, "{none}");
        }
        let unsigned = Issuer::new(algorithm).token_unsigned();
        assert_eq!(show(&server, &unsigned).status, 401);
        // The key that everybody knows, used as a secret.
        let public = std::fs::read(algorithm.key_file()).unwrap();
        if algorithm != Algorithm::HS256 {
            let confused = Issuer::new(Algorithm::HS256).token_signed_with(&public);
            assert_eq!(show(&server, &confused).status, 401, "{algorithm:?}");
        }
    }
}

#[test]
fn a_token_is_in_force_from_then_until_then() {
    let server = serve(Algorithm::EdDSA, "leeway_seconds = 60");
    let with = |claim: &str, time: Value| {
        show(&server, &Issuer::new(Algorithm::EdDSA).claim(claim, time).token())
    };
    let expired = with("exp", (now() - 120).into());
    assert!(expired.status == 401 && expired.body.contains("expired"), "{expired:?}");
    assert_eq!(with("exp", (now() - 10).into()).status, 200, "clocks may be apart");
    let early = with("nbf", (now() + 120).into());
    assert!(early.status == 401 && early.body.contains("not valid yet"), "{early:?}");
    assert_eq!(with("nbf", (now() + 10).into()).status, 200);
    for never in [Value::Null, json!("tomorrow"), json!(-1), json!(true)] {
        assert_eq!(with("exp", never.clone()).status, 401, "{never}");
    }
}

#[test]
fn a_token_for_another_server_is_refused() {
    let server = serve(Algorithm::EdDSA, "");
    let token = || Issuer::new(Algorithm::EdDSA);
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
        let refused = show(&server, &token().claim("aud", audience.clone()).token());
        assert_eq!(refused.status, 401, "{audience}");
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(challenge.contains("invalid_token"), "{challenge}");
    }
    let among = json!(["https://other.example", Issuer::RESOURCE]);
    assert_eq!(show(&server, &token().claim("aud", among).token()).status, 200);
    for issuer in [json!("https://evil.example"), json!("https://id.example/"), Value::Null] {
        let refused = show(&server, &token().claim("iss", issuer.clone()).token());
        assert_eq!(refused.status, 401, "{issuer}");
    }
}

#[test]
fn audiences_may_be_named_instead() {
    let server = serve(Algorithm::EdDSA, "audiences = [\"api://knowledge\"]");
    let token = Issuer::new(Algorithm::EdDSA);
    assert_eq!(show(&server, &token.token()).status, 401);
    assert_eq!(show(&server, &token.claim("aud", "api://knowledge").token()).status, 200);
}

#[test]
fn no_claim_leads_out_of_the_folder_of_all_users() {
    let server = serve(Algorithm::EdDSA, "");
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
        let token = Issuer::new(Algorithm::EdDSA).claim("sub", user.clone()).token();
        let refused = show(&server, &token);
        assert_eq!(refused.status, 401, "{user}");
    }
}

#[test]
fn the_user_and_the_tags_stand_in_the_claims_that_are_set() {
    let server = serve(Algorithm::EdDSA, "user_claim = \"name\"\ntags_claim = \"groups\"");
    let token = |groups: Value| {
        let issuer = Issuer::new(Algorithm::EdDSA).claim("sub", "4711").claim("name", "ada");
        issuer.claim("groups", groups).token()
    };
    let both = server.client().bearing(&token(json!(["a", "b"])));
    assert_eq!(both.uris("knowledge.search", &json!({ "query": "amethyst" })).len(), 1);
    let session = both.shake_hands();
    let again = |groups: Value| {
        let client = server.client().bearing(&token(groups));
        client.in_session(session.session_id()).ping().status
    };
    assert_eq!(again(json!("b a")), 200, "tags are the same however they are listed");
    assert_eq!(again(json!(["b", "a", "no\u{0}tag", 7])), 200, "what is no tag opens nothing");
    assert_eq!(again(json!(["a"])), 404, "other tags are another principal");
    let nameless = Issuer::new(Algorithm::EdDSA).token();
    assert_eq!(show(&server, &nameless).status, 401);
}

#[test]
fn what_must_be_understood_and_is_not_is_refused() {
    let server = serve(Algorithm::EdDSA, "");
    let token = Issuer::new(Algorithm::EdDSA).header("crit", json!(["exp"]));
    assert_eq!(show(&server, &token.token()).status, 401);
}

#[test]
fn only_a_delegating_key_may_name_a_user_no_token() {
    let server = serve(Algorithm::EdDSA, "");
    let token = Issuer::new(Algorithm::EdDSA).claim("scope", "admin").token();
    for header in ["x-user-id", "x-session-tags"] {
        let refused = server.client().bearing(&token).with_header(header, "eve").ping();
        assert_eq!(refused.status, 403, "{header}");
    }
}

#[test]
fn a_key_set_in_a_file_has_a_key_for_each() {
    let all = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];
    let keys = format!("jwks_file = \"{}\"", key_set().display());
    let server = Library::new().serve_many(&settings(&all, &keys, ""));
    for (algorithm, id) in all.into_iter().zip(["rsa", "ec", "ed"]) {
        let named = |id: &str| show(&server, &Issuer::new(algorithm).header("kid", id).token());
        assert_eq!(named(id).status, 200, "{algorithm:?}");
        assert_eq!(named("other").status, 401, "{algorithm:?}");
        let nameless = Issuer::new(algorithm).token();
        assert_eq!(show(&server, &nameless).status, 200, "{algorithm:?}");
    }
    let crossed = Issuer::new(Algorithm::EdDSA).header("kid", "rsa").token();
    assert_eq!(show(&server, &crossed).status, 401);
    let only = settings(&[Algorithm::EdDSA], &keys, "");
    let server = Library::new().serve_many(&only);
    let pinned = Issuer::new(Algorithm::RS256).header("kid", "rsa").token();
    assert_eq!(show(&server, &pinned).status, 401, "not one of the algorithms");
}

#[test]
fn a_new_key_is_fetched_when_a_token_names_it() {
    let keys = KeyServer::of(&["ed"]);
    let from = format!("jwks_url = \"{}\"\njwks_pause_seconds = 0", keys.url());
    let both = [Algorithm::EdDSA, Algorithm::ES256];
    let server = Library::new().serve_many(&settings(&both, &from, ""));
    assert_eq!(keys.asked(), 0, "nothing is fetched before it is needed");
    let (ed, ec) = (
        Issuer::new(Algorithm::EdDSA).header("kid", "ed").token(),
        Issuer::new(Algorithm::ES256).header("kid", "ec").token(),
    );
    for _ in 0..3 {
        assert_eq!(show(&server, &ed).status, 200);
    }
    assert_eq!(keys.asked(), 1);
    assert_eq!(show(&server, &ec).status, 401);
    keys.publish(&["ec"]);
    assert_eq!(show(&server, &ec).status, 200);
    assert_eq!(show(&server, &ed).status, 401, "it is not published any more");
}

#[test]
fn unknown_keys_do_not_make_the_server_fetch_again_and_again() {
    let keys = KeyServer::of(&["ed"]);
    let from = format!("jwks_url = \"{}\"", keys.url());
    let server = Library::new().serve_many(&settings(&[Algorithm::EdDSA], &from, ""));
    for id in ["a", "b", "c", "d"] {
        let token = Issuer::new(Algorithm::EdDSA).header("kid", id).token();
        assert_eq!(show(&server, &token).status, 401);
    }
    let good = Issuer::new(Algorithm::EdDSA).header("kid", "ed").token();
    assert_eq!((show(&server, &good).status, keys.asked()), (200, 1));
}

#[test]
fn keys_that_cannot_be_fetched_let_nobody_in() {
    // Nobody listens on the discard port of this machine.
    let from = "jwks_url = \"http://127.0.0.1:9/keys\"";
    let server = Library::new().serve_many(&settings(&[Algorithm::EdDSA], from, ""));
    let refused = show(&server, &Issuer::new(Algorithm::EdDSA).token());
    assert_eq!(refused.status, 503, "{refused:?}");
}

#[test]
fn a_socket_lasts_no_longer_than_its_token() {
    let server = serve(Algorithm::EdDSA, "leeway_seconds = 0");
    let end = now() + 2;
    let socket = server.socket_of(&Issuer::new(Algorithm::EdDSA).claim("exp", end).token());
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    // Asks until the time is over: at least once before, at most once after.
    loop {
        let before = now();
        socket.send(&ping);
        match socket.read() {
            Received::Text(answer) => assert!(before <= end, "{answer}"),
            Received::Closed(reason) => {
                assert!(reason == Some(CloseCode::Policy) && now() >= end, "{reason:?}");
                break;
            }
            other @ (Received::Ping | Received::Pong(_)) => panic!("{other:?}"),
        }
    }
}

#[test]
fn settings_that_let_in_nobody_or_everybody_are_refused() {
    let secret = Library::new();
    let short = secret.write("short.secret", "short\n");
    let short = format!("key_file = \"{}\"", short.display());
    let missing = "key_file = \"/nowhere/key.pem\"";
    let jwt = |keys: &str| {
        format!("[auth.jwt]\nissuer = \"https://id.example\"\nalgorithms = [\"HS256\"]\n{keys}")
    };
    let resource = format!("resource = \"{}\"", Issuer::RESOURCE);
    let key = key_file(Algorithm::HS256);
    let pem = key_file(Algorithm::RS256);
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
        let file = library.write("settings.toml", format!("[auth]\n{settings}"));
        let done =
            library.run(&["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()]);
        assert!(done.code == 1 && done.stderr.contains(problem), "{settings}: {done:?}");
    }
}
