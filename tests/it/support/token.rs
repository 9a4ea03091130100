//! An identity provider for tests: issues tokens signed with test keys, and publishes its public
//! keys over HTTP.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::prelude::*;
use ring::{hmac, rand::SystemRandom, signature as rs};
use serde_json::{Value, json};

/// Signature algorithm of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    HS256,
    RS256,
    ES256,
    EdDSA,
}

/// Issues tokens with configurable header and claims.
pub(crate) struct TokenIssuer {
    algorithm: Algorithm,
    header: Value,
    claims: Value,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 4] = [Self::HS256, Self::RS256, Self::ES256, Self::EdDSA];

    /// Returns the key file with which a server verifies signatures.
    pub(crate) fn key_file(self) -> PathBuf {
        fixture_path(match self {
            Self::HS256 => "hs256.secret",
            Self::RS256 => "rs256.public.pem",
            Self::ES256 => "es256.public.pem",
            Self::EdDSA => "eddsa.public.pem",
        })
    }

    fn sign(self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::HS256 => {
                let secret = fs::read_to_string(self.key_file()).unwrap();
                hmac_sha256(secret.trim_end().as_bytes(), message)
            }
            Self::RS256 => {
                let key = rs::RsaKeyPair::from_pkcs8(&read_der("rs256.pem")).unwrap();
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&rs::RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::ES256 => {
                let how = &rs::ECDSA_P256_SHA256_FIXED_SIGNING;
                let key =
                    rs::EcdsaKeyPair::from_pkcs8(how, &read_der("es256.pem"), &random).unwrap();
                key.sign(&random, message).unwrap().as_ref().to_vec()
            }
            Self::EdDSA => {
                let key = rs::Ed25519KeyPair::from_pkcs8_maybe_unchecked(&read_der("eddsa.pem"));
                key.unwrap().sign(message).as_ref().to_vec()
            }
        }
    }
}

impl TokenIssuer {
    /// The `iss` claim of the tokens.
    pub(crate) const NAME: &'static str = "https://id.example";
    /// The `aud` claim of the tokens.
    pub(crate) const RESOURCE: &'static str = "https://knowledge.example/mcp";

    /// Creates an issuer of tokens for ada with the scope `read`, valid for one hour.
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        let claims = json!({
            "iss": Self::NAME,
            "aud": Self::RESOURCE,
            "sub": "ada",
            "scope": "openid read",
            "exp": unix_now() + 3_600,
        });
        Self { algorithm, header: json!({ "alg": format!("{algorithm:?}"), "typ": "JWT" }), claims }
    }

    /// Sets a claim; `null` removes it.
    pub(crate) fn with_claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        set_or_remove(&mut self.claims, name, value.into());
        self
    }

    /// Sets a header field; `null` removes it.
    pub(crate) fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        set_or_remove(&mut self.header, name, value.into());
        self
    }

    /// Issues a signed token.
    pub(crate) fn issue_token(&self) -> String {
        let message = self.signing_input();
        let signature = self.algorithm.sign(message.as_bytes());
        format!("{message}.{}", encode_base64url(&signature))
    }

    /// Issues a token with an HMAC-SHA256 signature made with this secret.
    pub(crate) fn issue_token_with_hmac(&self, secret: &[u8]) -> String {
        let message = self.signing_input();
        let signature = hmac_sha256(secret, message.as_bytes());
        format!("{message}.{}", encode_base64url(&signature))
    }

    /// Issues a token with an empty signature.
    pub(crate) fn issue_unsigned_token(&self) -> String {
        format!("{}.", self.signing_input())
    }

    fn signing_input(&self) -> String {
        let part = |value: &Value| encode_base64url(value.to_string().as_bytes());
        format!("{}.{}", part(&self.header), part(&self.claims))
    }
}

/// An HTTP server that publishes a key set on a local port. It answers until the test process ends.
pub(crate) struct KeyServer {
    url: String,
    keys: Arc<Mutex<Value>>,
    requests: Arc<AtomicUsize>,
}

impl KeyServer {
    /// Starts a server that publishes the fixture keys with these ids.
    pub(crate) fn with_keys(ids: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let server = Self { url, keys: Arc::default(), requests: Arc::default() };
        server.publish(ids);
        let (keys, request_count) = (Arc::clone(&server.keys), Arc::clone(&server.requests));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                request_count.fetch_add(1, Ordering::SeqCst);
                let body = keys.lock().unwrap().to_string();
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
                write!(stream, "{head}: {}\r\n\r\n{body}", body.len()).unwrap();
            }
        });
        server
    }

    /// Replaces the published keys.
    pub(crate) fn publish(&self, ids: &[&str]) {
        let mut set: Value = serde_json::from_slice(&fs::read(key_set_path()).unwrap()).unwrap();
        let keys = set["keys"].as_array_mut().unwrap();
        keys.retain(|key| ids.contains(&key["kid"].as_str().unwrap()));
        *self.keys.lock().unwrap() = set;
    }

    /// Replaces the key set by a text that is none.
    pub(crate) fn publish_invalid(&self) {
        *self.keys.lock().unwrap() = json!("maintenance");
    }

    /// Returns the URL of the key set.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the number of requests received so far.
    pub(crate) fn request_count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Returns the path of the key set in the fixtures.
pub(crate) fn key_set_path() -> PathBuf {
    fixture_path("jwks.json")
}

/// Returns the current Unix time in seconds.
pub(crate) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/tokens").join(name)
}

fn read_der(name: &str) -> Vec<u8> {
    let text = fs::read_to_string(fixture_path(name)).unwrap();
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    BASE64_STANDARD.decode(body).unwrap()
}

fn encode_base64url(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn hmac_sha256(secret: &[u8], message: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::sign(&key, message).as_ref().to_vec()
}

fn set_or_remove(object: &mut Value, name: &str, value: Value) {
    let fields = object.as_object_mut().unwrap();
    match value {
        Value::Null => drop(fields.remove(name)),
        value => drop(fields.insert(name.to_owned(), value)),
    }
}
