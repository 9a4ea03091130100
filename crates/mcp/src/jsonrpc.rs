//! One message of JSON-RPC 2.0, taken apart and put together.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json, value::RawValue};

use super::Failure;

/// What came in: a message, or several of them.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    /// One message.
    One(Message<'a>),
    /// Messages that are answered together; each may be unreadable by itself.
    Batch(Vec<&'a RawValue>),
}

/// A message from the other side.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification {
        /// What is told.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// Answers a request of ours.
    Response {
        /// Which request.
        id: &'a RawValue,
        /// With what, or why not.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// Wants an answer.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    /// Goes back with the answer, as it is.
    pub(crate) id: &'a RawValue,
    /// What is asked.
    pub(crate) method: Cow<'a, str>,
    /// With what.
    pub(crate) params: Option<&'a RawValue>,
}

/// Why a message cannot be read, and which request that concerns.
#[derive(Debug)]
pub(crate) struct Unreadable<'a> {
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) failure: Failure,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Whatever is there, `null` too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads what came in.
pub(crate) fn parse(text: &str) -> Result<Incoming<'_>, Unreadable<'_>> {
    if !text.trim_start().starts_with('[') {
        return read(text).map(Incoming::One);
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(messages) if messages.is_empty() => {
            Err(Unreadable { id: None, failure: Failure::request("the batch is empty") })
        }
        Ok(messages) => Ok(Incoming::Batch(messages)),
        Err(error) => {
            Err(Unreadable { id: None, failure: Failure::parse(format!("not JSON: {error}")) })
        }
    }
}

/// Reads one message.
pub(crate) fn read(text: &str) -> Result<Message<'_>, Unreadable<'_>> {
    let refuse = |id, failure| Err(Unreadable { id, failure });
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            return refuse(None, Failure::request(format!("not a JSON-RPC message: {error}")));
        }
        Err(error) => return refuse(None, Failure::parse(format!("not JSON: {error}"))),
    };
    let id = match envelope.id {
        Some(id) if !is_id(id) => {
            return refuse(None, Failure::request("`id` must be a text or a whole number"));
        }
        id => id,
    };
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return refuse(id, Failure::request("`jsonrpc` must be \"2.0\""));
    }
    let Envelope { params, result, error, .. } = envelope;
    match (envelope.method, id) {
        (Some(method), Some(id)) => Ok(Message::Request(Request { id, method, params })),
        (Some(method), None) => Ok(Message::Notification { method, params }),
        (None, id) => match (id, result, error) {
            (Some(id), Some(result), None) => Ok(Message::Response { id, outcome: Ok(result) }),
            (Some(id), _, Some(error)) => Ok(Message::Response { id, outcome: Err(error) }),
            (id, ..) => refuse(id, Failure::request("`method` is missing")),
        },
    }
}

/// A text or a whole number; a fraction or `null` would not come back as it was.
fn is_id(id: &RawValue) -> bool {
    let text = id.get();
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.starts_with('"') || digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Writes the answer to a request. `result` is JSON already.
pub(crate) fn result(id: &RawValue, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get())
}

/// Writes that a request failed, with the code that its revision has for that.
pub(crate) fn failure(id: Option<&RawValue>, code: i32, failure: &Failure) -> String {
    #[derive(Serialize)]
    struct Answer<'a> {
        jsonrpc: &'a str,
        /// Left out where it could not be read: `null` is no id.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RawValue>,
        error: Error<'a>,
    }
    #[derive(Serialize)]
    struct Error<'a> {
        code: i32,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a Value>,
    }
    let error = Error { code, message: &failure.message, data: failure.data.as_ref() };
    json(&Answer { jsonrpc: "2.0", id, error })
}

/// Writes a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    json(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// Writes a value as JSON. Our own types always can be.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| {
        tracing::error!(%error, "a value could not be written as JSON");
        "null".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn kind(text: &str) -> Kind {
        parse(text).unwrap_err().failure.kind
    }

    #[test]
    fn what_is_no_message_is_told_why() {
        for text in ["{", "[{", "[1,"] {
            assert_eq!(kind(text), Kind::Parse, "{text}");
        }
        for text in [
            "[]",
            "7",
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        ] {
            assert_eq!(kind(text), Kind::Request, "{text}");
        }
    }

    #[test]
    fn an_id_comes_back_as_it_was() {
        for id in ["1", "\"a\\u0041\"", "-7", "9007199254740993"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Ok(Message::Request(request)) = read(&text) else { panic!("{text}") };
            assert!(result(request.id, "{}").contains(&format!(r#""id":{id},"#)));
        }
    }
}
