//! Passkeys: registration and login with an authenticator in software, and forged or replayed answers.

use base64::prelude::*;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    second_factors::{Authenticator, enter_password},
    support::{Browser, HttpResponse, Library, OAuthServer, form_field},
};

const PAGE: &str = "/account/passkeys";
/// Flags of an authenticator that has verified its user.
const VERIFIED: u8 = 0x05;

/// An authenticator with one passkey.
struct Device {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    /// Number of signatures; it stays 0 without a counter.
    count: u32,
}

/// Statements of a browser and of an authenticator.
struct Statement {
    client_data: Value,
    authenticator_data: Vec<u8>,
}

impl Device {
    fn new(id: &[u8]) -> Self {
        let (algorithm, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap();
        Self { key, id: id.to_vec(), count: 0 }
    }

    fn statement(&self, ceremony: &str, page: &HttpResponse) -> Statement {
        let client_data = json!({
            "type": ceremony,
            "challenge": attribute(page, "data-challenge"),
            "origin": OAuthServer::ISSUER,
            "crossOrigin": false,
        });
        let server = Sha256::digest(attribute(page, "data-server"));
        let data = [&server[..], &[VERIFIED], &self.count.to_be_bytes()].concat();
        Statement { client_data, authenticator_data: data }
    }

    /// Returns the statement that registers the passkey.
    fn registration(&self, page: &HttpResponse) -> Statement {
        let mut statement = self.statement("webauthn.create", page);
        let point = self.key.public_key().as_ref();
        let (x, y) = point[1..].split_at(32);
        statement.authenticator_data[32] |= 0x40;
        let length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20];
        let parts = [&[0; 16], &length[..], &self.id, &head, x, &[0x22, 0x58, 0x20], y];
        statement.authenticator_data.extend(parts.concat());
        statement
    }

    /// Registers the passkey for ada, with a code if there is a second factor.
    fn register(&self, browser: &Browser<'_>, password: &str, code: &str) -> HttpResponse {
        let page = browser.get(PAGE);
        let statement = self.registration(&page);
        self.send_registration(
            browser,
            &page,
            &statement,
            &[("password", password), ("code", code)],
        )
    }

    fn send_registration(
        &self,
        browser: &Browser<'_>,
        page: &HttpResponse,
        statement: &Statement,
        more: &[(&str, &str)],
    ) -> HttpResponse {
        let fields = self.fields(page, statement, "");
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let fields: Vec<(&str, &str)> = fields
            .chain([("change", "add"), ("title", "Phone")])
            .chain(more.iter().copied())
            .collect();
        browser.submit(PAGE, page, &fields)
    }

    fn sign(&self, statement: &Statement) -> String {
        let client_data = Sha256::digest(statement.client_data.to_string());
        let signed = [&statement.authenticator_data[..], &client_data].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        BASE64_URL_SAFE_NO_PAD.encode(signature)
    }

    fn fields(
        &self,
        page: &HttpResponse,
        statement: &Statement,
        signature: &str,
    ) -> Vec<(&'static str, String)> {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        vec![
            ("challenge", form_field(&page.body, "challenge").unwrap()),
            ("credential", encode(&self.id)),
            ("client_data", encode(statement.client_data.to_string().as_bytes())),
            ("authenticator_data", encode(&statement.authenticator_data)),
            ("signature", signature.to_owned()),
        ]
    }

    /// Logs in, with a statement that `change` has changed before it is signed.
    fn log_in_with(&self, browser: &Browser<'_>, change: impl Fn(&mut Statement)) -> HttpResponse {
        let page = browser.get("/login");
        let mut statement = self.statement("webauthn.get", &page);
        change(&mut statement);
        let fields = self.fields(&page, &statement, &self.sign(&statement));
        send(browser, &page, &fields)
    }

    fn log_in(&self, browser: &Browser<'_>) -> HttpResponse {
        self.log_in_with(browser, |_| {})
    }
}

fn send(browser: &Browser<'_>, page: &HttpResponse, fields: &[(&str, String)]) -> HttpResponse {
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    browser.submit("/login/passkey", page, &fields)
}

/// Returns the value of an attribute of the form for passkeys.
fn attribute(page: &HttpResponse, name: &str) -> String {
    let (_, rest) = page.body.split_once(&format!("{name}=\"")).expect("a form for passkeys");
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn passkey_logs_in_without_password_and_code() {
    let served = OAuthServer::start();
    let own = served.logged_in_browser();
    assert!(own.get("/account").body.contains(PAGE), "the account leads to it");
    let device = Device::new(b"phone");
    assert_eq!(device.register(&own, OAuthServer::PASSWORD, "").status, 303);
    let listed = own.get(PAGE);
    assert!(listed.body.contains("Phone") && listed.body.contains("never"), "{listed:?}");
    Authenticator::set_up(&own);
    let browser = served.browser();
    let done = device.log_in(&browser);
    assert_eq!((done.status, browser.get("/account").status), (303, 200), "{done:?}");
    assert!(!browser.get(PAGE).body.contains("never"), "its use is shown");
    let id = form_field(&own.get(PAGE).body, "passkey").unwrap();
    let fields = [("change", "remove"), ("passkey", id.as_str())];
    assert_eq!(own.submit(PAGE, &own.get(PAGE), &fields).status, 303);
    assert_eq!(device.log_in(&served.browser()).status, 403, "removed");
    let log = served.read_audit_log();
    for method in ["passkey.add", "passkey.remove", "second_factor.add"] {
        let is_recorded = |entry: &Value| entry["method"] == method && entry["outcome"] == "ok";
        assert!(log.as_array().unwrap().iter().any(is_recorded), "{method}: {log}");
    }
}

#[test]
fn replayed_passkey_answer_is_refused() {
    let served = OAuthServer::start();
    let device = Device::new(b"phone");
    device.register(&served.logged_in_browser(), OAuthServer::PASSWORD, "");
    let browser = served.browser();
    let page = browser.get("/login");
    let statement = device.statement("webauthn.get", &page);
    let fields = device.fields(&page, &statement, &device.sign(&statement));
    let thief = served.browser();
    assert_eq!(send(&thief, &thief.get("/login"), &fields).status, 403, "another browser");
    let cookie = browser.cookie("__Host-vademecum").unwrap();
    assert_eq!(send(&browser, &page, &fields).status, 303);
    browser.set_cookie("__Host-vademecum", &cookie);
    let replayed = send(&browser, &page, &fields);
    assert!(replayed.status == 403 && replayed.body.contains("not valid here"), "{replayed:?}");
}

#[test]
fn forged_passkey_answer_is_refused() {
    let served = OAuthServer::start_with("free_attempts = 100");
    let (device, stranger) = (Device::new(b"phone"), Device::new(b"phone"));
    device.register(&served.logged_in_browser(), OAuthServer::PASSWORD, "");
    let refused = |change: &dyn Fn(&mut Statement)| {
        device.log_in_with(&served.browser(), change).status == 403
    };
    assert!(refused(&|it| it.client_data["origin"] = "https://evil.example".into()));
    assert!(refused(&|it| it.client_data["origin"] = "https://knowledge.example:444".into()));
    assert!(refused(&|it| it.client_data["type"] = "webauthn.create".into()));
    assert!(refused(&|it| it.client_data["crossOrigin"] = true.into()));
    assert!(refused(&|it| it.client_data["challenge"] = "AAAA".into()));
    assert!(refused(&|it| it.authenticator_data[0] ^= 1), "another server");
    assert!(refused(&|it| it.authenticator_data[32] = 0x01), "the user was not verified");
    assert!(refused(&|it| it.authenticator_data[32] = 0x04), "nobody was present");
    assert!(refused(&|it| it.authenticator_data.truncate(20)));
    assert_eq!(stranger.log_in(&served.browser()).status, 403, "the key of another device");
    assert_eq!(Device::new(b"unknown").log_in(&served.browser()).status, 403);
    let browser = served.browser();
    let page = browser.get("/login");
    let statement = device.statement("webauthn.get", &page);
    for signature in ["", "AAAA", "not base64!"] {
        let fields = device.fields(&page, &statement, signature);
        assert_eq!(send(&browser, &page, &fields).status, 403, "{signature}");
    }
    let mut later = device.statement("webauthn.get", &page);
    let signature = device.sign(&later);
    later.authenticator_data[36] = 9;
    let fields = device.fields(&page, &later, &signature);
    assert_eq!(send(&browser, &page, &fields).status, 403, "changed after the signature");
    assert_eq!(device.log_in(&served.browser()).status, 303, "the device itself");
}

#[test]
fn copied_passkey_is_noticed_by_its_counter() {
    let served = OAuthServer::start();
    let mut device = Device::new(b"key");
    device.count = 5;
    device.register(&served.logged_in_browser(), OAuthServer::PASSWORD, "");
    assert_eq!(device.log_in(&served.browser()).status, 403, "the count of the registration");
    device.count = 6;
    assert_eq!(device.log_in(&served.browser()).status, 303);
    assert_eq!(device.log_in(&served.browser()).status, 403, "the count did not grow");
    device.count = 0;
    assert_eq!(device.log_in(&served.browser()).status, 403, "it has a counter");
}

#[test]
fn stolen_login_adds_no_passkey() {
    let library = Library::new();
    OAuthServer::add_user(&library, "ada");
    OAuthServer::add_user(&library, "eve");
    let served = OAuthServer::serve(library, "");
    let (own, device) = (served.logged_in_browser(), Device::new(b"phone"));
    assert_eq!(device.register(&own, "a wrong password", "").status, 403);
    assert_eq!(device.register(&own, "", "").status, 403);
    let authenticator = Authenticator::set_up(&own);
    assert_eq!(device.register(&own, OAuthServer::PASSWORD, "").status, 403, "without a code");
    let code = authenticator.code(1);
    let page = own.get(PAGE);
    let correct = [("password", OAuthServer::PASSWORD), ("code", code.as_str())];
    let mut forged = device.registration(&page);
    forged.client_data["origin"] = "https://evil.example".into();
    let refused = device.send_registration(&own, &page, &forged, &correct);
    assert!(refused.status == 403 && refused.body.contains("not accepted"), "{refused:?}");
    assert!(!own.get(PAGE).body.contains("Phone"), "nothing was added");
    // Another user can neither use the page of ada nor remove what ada has added.
    let eve = served.browser();
    assert_eq!(enter_password(&eve, "eve", OAuthServer::PASSWORD).status, 303);
    assert_eq!(device.register(&eve, OAuthServer::PASSWORD, "").status, 303);
    let id = form_field(&eve.get(PAGE).body, "passkey").unwrap();
    let fields = [("change", "remove"), ("passkey", id.as_str())];
    assert_eq!(own.submit(PAGE, &own.get(PAGE), &fields).status, 303);
    assert!(eve.get(PAGE).body.contains("Phone"), "it is still there");
    let taken = device.register(&eve, OAuthServer::PASSWORD, "");
    assert!(taken.status == 403 && taken.body.contains("registered already"), "{taken:?}");
}

#[test]
fn operator_ends_logins_with_passkeys() {
    let served = OAuthServer::start();
    let device = Device::new(b"phone");
    device.register(&served.logged_in_browser(), OAuthServer::PASSWORD, "");
    assert_eq!(served.run(&["user", "suspend", "ada"]).code, 0);
    let refused = device.log_in(&served.browser());
    assert!(refused.status == 403 && refused.body.contains("suspended"), "{refused:?}");
    assert_eq!(served.run(&["user", "resume", "ada"]).code, 0);
    assert_eq!(served.run(&["user", "password", "ada", "--remove"]).code, 0);
    assert_eq!(device.log_in(&served.browser()).status, 403, "the user must not log in");
    let file = served.library.file_path("settings.toml");
    let arguments = ["user", "password", "ada", "--config", file.to_str().unwrap()];
    let line = format!("{}\n", OAuthServer::PASSWORD);
    assert_eq!(served.library.run_with_input(&arguments, &line).code, 0);
    assert_eq!(device.log_in(&served.browser()).status, 303);
    assert_eq!(served.run(&["user", "reset-second-factor", "ada"]).code, 0);
    assert_eq!(device.log_in(&served.browser()).status, 403, "passkeys are reset as well");
}
