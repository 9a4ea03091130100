//! A fake embeddings provider on a local port. A test defines its replies and reads the received
//! requests.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

/// A fake embeddings provider. It answers until the test process ends.
pub(crate) struct FakeProvider {
    address: String,
    received: Arc<Mutex<Vec<ProviderRequest>>>,
}

/// A request that the provider received.
#[derive(Clone, Debug)]
pub(crate) struct ProviderRequest {
    pub(crate) path: String,
    /// The `Authorization` header.
    pub(crate) authorization: Option<String>,
    pub(crate) body: Value,
}

/// The reaction to a request.
#[derive(Clone, Debug)]
pub(crate) enum ProviderReply {
    /// Sends a response: status, additional headers, body.
    Respond(u16, &'static str, String),
    /// Keeps the connection open without a response.
    NoResponse,
}

impl ProviderReply {
    /// A response with status 200 and this body.
    pub(crate) fn ok(body: &Value) -> Self {
        Self::Respond(200, "", body.to_string())
    }

    /// Embeddings in the format of `OpenAI` and Voyage, in reverse order with explicit indexes.
    pub(crate) fn indexed_embeddings(vectors: &[Vec<f32>]) -> Self {
        let entries = vectors.iter().enumerate().rev();
        let entries = entries.map(|(index, vector)| json!({ "index": index, "embedding": vector }));
        Self::ok(&json!({ "data": entries.collect::<Vec<_>>(), "usage": { "total_tokens": 1 } }))
    }
}

impl ProviderRequest {
    /// Returns the texts to embed.
    pub(crate) fn input_texts(&self) -> Vec<&str> {
        self.body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
    }

    fn read_from(stream: &mut TcpStream) -> Self {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let header = |name: &str| {
            head.lines().find_map(|line| {
                let (known, value) = line.split_once(": ")?;
                known.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        let mut body = vec![0; header("content-length").unwrap().parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        Self {
            path: head.split(' ').nth(1).unwrap().to_owned(),
            authorization: header("authorization"),
            body: serde_json::from_slice(&body).unwrap(),
        }
    }
}

impl FakeProvider {
    /// Starts a provider that computes each reply with `answer`.
    pub(crate) fn new(
        mut answer: impl FnMut(&ProviderRequest) -> ProviderReply + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let received: Arc<Mutex<Vec<ProviderRequest>>> = Arc::default();
        let known = Arc::clone(&received);
        thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let question = ProviderRequest::read_from(&mut stream);
                let reply = answer(&question);
                known.lock().unwrap().push(question);
                match reply {
                    ProviderReply::NoResponse => held.push(stream),
                    ProviderReply::Respond(status, headers, body) => {
                        let head =
                            format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n{headers}");
                        let length = body.len();
                        // The client may have closed the connection.
                        drop(write!(stream, "{head}content-length: {length}\r\n\r\n{body}"));
                    }
                }
            }
        });
        Self { address, received }
    }

    /// Starts a provider that sends these replies in order and then repeats the last one.
    pub(crate) fn with_replies(replies: impl IntoIterator<Item = ProviderReply>) -> Self {
        let mut replies: VecDeque<ProviderReply> = replies.into_iter().collect();
        Self::new(move |_| match replies.len() {
            1 => replies[0].clone(),
            _ => replies.pop_front().unwrap(),
        })
    }

    /// Returns the provider's URL with this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns all requests received so far.
    pub(crate) fn requests(&self) -> Vec<ProviderRequest> {
        self.received.lock().unwrap().clone()
    }
}
