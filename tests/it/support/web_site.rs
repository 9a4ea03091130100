//! A web site on a local port: metadata documents of clients, or an identity provider.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A web site that answers until the test process ends.
pub(crate) struct WebSite {
    address: String,
    received: Arc<Mutex<Vec<WebRequest>>>,
}

/// A request that the site received.
#[derive(Clone, Debug)]
pub(crate) struct WebRequest {
    /// Path with query.
    pub(crate) path: String,
    /// The `Authorization` header.
    pub(crate) authorization: Option<String>,
    /// The `Range` header.
    pub(crate) range: Option<String>,
    pub(crate) body: String,
}

/// A response: status, additional header lines, body.
#[derive(Clone, Debug)]
pub(crate) struct WebReply(pub(crate) u16, pub(crate) String, pub(crate) String);

impl WebReply {
    /// A response with JSON.
    pub(crate) fn json(body: &serde_json::Value) -> Self {
        Self(200, "content-type: application/json\r\n".to_owned(), body.to_string())
    }
}

impl WebRequest {
    fn read_from(stream: &mut TcpStream) -> Option<Self> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).ok()?;
        let header = |name: &str| {
            head.lines().find_map(|line| {
                let (known, value) = line.split_once(": ")?;
                known.eq_ignore_ascii_case(name).then(|| value.to_owned())
            })
        };
        let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        Some(Self {
            path: head.split(' ').nth(1)?.to_owned(),
            authorization: header("authorization"),
            range: header("range"),
            body: String::from_utf8(body).ok()?,
        })
    }
}

impl WebSite {
    /// Starts a site; `answer` receives its address and each request.
    pub(crate) fn new(
        mut answer: impl FnMut(&str, &WebRequest) -> WebReply + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<WebRequest>>> = Arc::default();
        let (known, own) = (Arc::clone(&received), address.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = WebRequest::read_from(&mut stream) else { continue };
                let WebReply(status, headers, body) = answer(&own, &request);
                known.lock().unwrap().push(request);
                let head = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n{headers}");
                // The client may have closed the connection.
                drop(write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()));
            }
        });
        Self { address, received }
    }

    /// Returns the address of this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Returns all requests received so far.
    pub(crate) fn received(&self) -> Vec<WebRequest> {
        self.received.lock().unwrap().clone()
    }
}
