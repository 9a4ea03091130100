//! Tokens as an identity provider makes them, signed with keys that open
//! nothing else, and the place where such a provider publishes its keys.

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

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    HS256,
    RS256,
    ES256,
    EdDSA,
}

/// Somebody who makes tokens.
pub(crate) struct Issuer {
    algorithm: Algorithm,
    header: Value,
    claims: Value,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 4] = [Self::HS256, Self::RS256, Self::ES256, Self::EdDSA];

    /// The file that a server checks signatures with.
    pub(crate) fn key_file(self) -> PathBuf {
        file(match self {
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
                let key = rs::RsaKeyPair::from_pkcs8(&der("rs256.pem")).unwrap();
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&rs::RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            Self::ES256 => {
                let how = &rs::ECDSA_P256_SHA256_FIXED_SIGNING;
                let key = rs::EcdsaKeyPair::from_pkcs8(how, &der("es256.pem"), &random).unwrap();
                key.sign(&random, message).unwrap().as_ref().to_vec()
            }
            Self::EdDSA => {
                let key = rs::Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der("eddsa.pem"));
                key.unwrap().sign(message).as_ref().to_vec()
            }
        }
    }
}

impl Issuer {
    /// Who the tokens say has made them.
    pub(crate) const NAME: &'static str = "https://id.example";
    /// For whom they say that they are.
    pub(crate) const RESOURCE: &'static str = "https://knowledge.example/mcp";

    /// Makes tokens for ada, who may read, for an hour.
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        let claims = json!({
            "iss": Self::NAME,
            "aud": Self::RESOURCE,
            "sub": "ada",
            "scope": "openid read",
            "exp": now() + 3_600,
        });
        Self { algorithm, header: json!({ "alg": format!("{algorithm:?}"), "typ": "JWT" }), claims }
    }

    /// Says something else, or with `null` nothing, in a claim.
    pub(crate) fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        set(&mut self.claims, name, value.into());
        self
    }

    /// Says something else, or with `null` nothing, in the header.
    pub(crate) fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        set(&mut self.header, name, value.into());
        self
    }

    /// Makes the token.
    pub(crate) fn token(&self) -> String {
        let message = self.message();
        let signature = self.algorithm.sign(message.as_bytes());
        format!("{message}.{}", encode(&signature))
    }

    /// Makes the token with the signature that HS256 makes with that secret.
    pub(crate) fn token_signed_with(&self, secret: &[u8]) -> String {
        let message = self.message();
        let signature = hmac_sha256(secret, message.as_bytes());
        format!("{message}.{}", encode(&signature))
    }

    /// Makes the token without a signature.
    pub(crate) fn token_unsigned(&self) -> String {
        format!("{}.", self.message())
    }

    fn message(&self) -> String {
        let part = |value: &Value| encode(value.to_string().as_bytes());
        format!("{}.{}", part(&self.header), part(&self.claims))
    }
}

/// Where an identity provider publishes its keys, on a port of this machine.
/// It answers for as long as the tests run.
pub(crate) struct KeyServer {
    url: String,
    keys: Arc<Mutex<Value>>,
    asked: Arc<AtomicUsize>,
}

impl KeyServer {
    /// Publishes these of the keys in the fixtures.
    pub(crate) fn of(ids: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let server = Self { url, keys: Arc::default(), asked: Arc::default() };
        server.publish(ids);
        let (keys, asked) = (Arc::clone(&server.keys), Arc::clone(&server.asked));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    request.push(byte[0]);
                }
                asked.fetch_add(1, Ordering::SeqCst);
                let body = keys.lock().unwrap().to_string();
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
                write!(stream, "{head}: {}\r\n\r\n{body}", body.len()).unwrap();
            }
        });
        server
    }

    /// Publishes other keys from now on.
    pub(crate) fn publish(&self, ids: &[&str]) {
        let mut set: Value = serde_json::from_slice(&fs::read(key_set()).unwrap()).unwrap();
        let keys = set["keys"].as_array_mut().unwrap();
        keys.retain(|key| ids.contains(&key["kid"].as_str().unwrap()));
        *self.keys.lock().unwrap() = set;
    }

    /// Where the keys are.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// How often they were asked for.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// The key set in the fixtures.
pub(crate) fn key_set() -> PathBuf {
    file("jwks.json")
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/tokens").join(name)
}

fn der(name: &str) -> Vec<u8> {
    let text = fs::read_to_string(file(name)).unwrap();
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    BASE64_STANDARD.decode(body).unwrap()
}

fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn hmac_sha256(secret: &[u8], message: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::sign(&key, message).as_ref().to_vec()
}

fn set(object: &mut Value, name: &str, value: Value) {
    let fields = object.as_object_mut().unwrap();
    match value {
        Value::Null => drop(fields.remove(name)),
        value => drop(fields.insert(name.to_owned(), value)),
    }
}
