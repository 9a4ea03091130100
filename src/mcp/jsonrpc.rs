//! One message of JSON-RPC 2.0, taken apart and put together.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::Failure;

/// A message from the other side.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request {
        /// Goes back with the answer, as it is.
        id: &'a RawValue,
        /// What is asked.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification,
    /// Answers a request of ours.
    Response,
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

/// Reads one message.
pub(crate) fn parse(text: &str) -> Result<Message<'_>, Unreadable<'_>> {
    let refuse = |id, failure| Err(Unreadable { id, failure });
    if text.trim_start().starts_with('[') && serde_json::from_str::<&RawValue>(text).is_ok() {
        return refuse(
            None,
            Failure::request("batches are not served: send one message at a time"),
        );
    }
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
    match (envelope.method, id) {
        (Some(method), Some(id)) => Ok(Message::Request { id, method, params: envelope.params }),
        (Some(_), None) => Ok(Message::Notification),
        (None, Some(_)) if envelope.result.is_some() || envelope.error.is_some() => {
            Ok(Message::Response)
        }
        (None, id) => refuse(id, Failure::request("`method` is missing")),
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

/// Writes that a request failed.
pub(crate) fn failure(id: Option<&RawValue>, failure: &Failure) -> String {
    #[derive(Serialize)]
    struct Answer<'a> {
        jsonrpc: &'a str,
        id: Option<&'a RawValue>,
        error: &'a Failure,
    }
    json(&Answer { jsonrpc: "2.0", id, error: failure })
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

    fn code(text: &str) -> i32 {
        parse(text).unwrap_err().failure.code
    }

    #[test]
    fn what_is_no_message_is_told_why() {
        assert_eq!(code("{"), -32_700);
        assert_eq!(code("[]"), -32_600);
        assert_eq!(code("7"), -32_600);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1}"#), -32_600);
        assert_eq!(code(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#), -32_600);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), -32_600);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), -32_600);
    }

    #[test]
    fn an_id_comes_back_as_it_was() {
        for id in ["1", "\"a\\u0041\"", "-7", "9007199254740993"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Ok(Message::Request { id: read, .. }) = parse(&text) else { panic!("{text}") };
            assert!(result(read, "{}").contains(&format!(r#""id":{id},"#)));
        }
    }
}
