//! A provider of embeddings on a port of this machine, which answers as a test
//! tells it to and remembers what it was asked.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

/// A provider of embeddings. It answers for as long as the tests run.
pub(crate) struct Provider {
    address: String,
    asked: Arc<Mutex<Vec<Question>>>,
}

/// What a provider was asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) path: String,
    /// The header of that name.
    pub(crate) authorization: Option<String>,
    pub(crate) body: Value,
}

/// What a provider does with a question.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Says this: status, further headers, body.
    Says(u16, &'static str, String),
    /// Holds the line and says nothing.
    Silence,
}

impl Reply {
    /// An answer that is right.
    pub(crate) fn ok(body: &Value) -> Self {
        Self::Says(200, "", body.to_string())
    }

    /// An answer as `OpenAI` and Voyage give it, the last vector first.
    pub(crate) fn numbered(vectors: &[Vec<f32>]) -> Self {
        let entries = vectors.iter().enumerate().rev();
        let entries = entries.map(|(index, vector)| json!({ "index": index, "embedding": vector }));
        Self::ok(&json!({ "data": entries.collect::<Vec<_>>(), "usage": { "total_tokens": 1 } }))
    }
}

impl Question {
    /// The texts to embed.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
    }

    fn read(stream: &mut TcpStream) -> Self {
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

impl Provider {
    /// One that answers so.
    pub(crate) fn new(mut answer: impl FnMut(&Question) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked: Arc<Mutex<Vec<Question>>> = Arc::default();
        let known = Arc::clone(&asked);
        thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let question = Question::read(&mut stream);
                let reply = answer(&question);
                known.lock().unwrap().push(question);
                match reply {
                    Reply::Silence => held.push(stream),
                    Reply::Says(status, headers, body) => {
                        let head =
                            format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n{headers}");
                        let length = body.len();
                        // Whoever asked may have hung up.
                        drop(write!(stream, "{head}content-length: {length}\r\n\r\n{body}"));
                    }
                }
            }
        });
        Self { address, asked }
    }

    /// One that gives these answers, and then the last of them again and again.
    pub(crate) fn saying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        Self::new(move |_| match replies.len() {
            1 => replies[0].clone(),
            _ => replies.pop_front().unwrap(),
        })
    }

    /// Where it is, with this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}
