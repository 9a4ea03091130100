//! Parsing and serialization of JSON-RPC 2.0 messages.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::Failure;

/// Parsed input: one message or a batch.
#[derive(Debug)]
pub(crate) enum ParsedInput<'a> {
    /// Message that is not in an array.
    Single(Message<'a>),
    /// Batch of messages with one combined reply; each may be invalid by itself.
    Batch(Vec<&'a RawValue>),
}

/// Message from the client.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Request, which expects a response.
    Request(Request<'a>),
    /// Notification, which expects no response.
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// Response to a server request.
    Response {
        /// Id of the server request.
        id: &'a RawValue,
        /// Result, or the error object.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// Request of the client.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    /// Request id, returned unchanged in the response.
    pub(crate) id: &'a RawValue,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

/// Parse error and the id of the request, if readable.
#[derive(Debug)]
pub(crate) struct ParseFailure<'a> {
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) failure: Failure,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "deserialize_present")]
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

/// Deserializes a field that is present as `Some`, even if it is `null`.
fn deserialize_present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses a message or a batch.
pub(crate) fn parse_input(text: &str) -> Result<ParsedInput<'_>, ParseFailure<'_>> {
    if !text.trim_start().starts_with('[') {
        return parse_message(text).map(ParsedInput::Single);
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(messages) if messages.is_empty() => {
            Err(ParseFailure { id: None, failure: Failure::invalid_request("the batch is empty") })
        }
        Ok(messages) => Ok(ParsedInput::Batch(messages)),
        Err(error) => Err(ParseFailure {
            id: None,
            failure: Failure::parse_error(format!("not JSON: {error}")),
        }),
    }
}

/// Parses a message that is not in an array. A failure keeps the request id, if that is valid.
pub(crate) fn parse_message(text: &str) -> Result<Message<'_>, ParseFailure<'_>> {
    let refuse = |id, failure| Err(ParseFailure { id, failure });
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            return refuse(
                None,
                Failure::invalid_request(format!("not a JSON-RPC message: {error}")),
            );
        }
        Err(error) => return refuse(None, Failure::parse_error(format!("not JSON: {error}"))),
    };
    let id = match envelope.id {
        Some(id) if !is_valid_id(id) => {
            return refuse(None, Failure::invalid_request("`id` must be a string or an integer"));
        }
        id => id,
    };
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return refuse(id, Failure::invalid_request("`jsonrpc` must be \"2.0\""));
    }
    let Envelope { params, result, error, .. } = envelope;
    match (envelope.method, id) {
        (Some(method), Some(id)) => Ok(Message::Request(Request { id, method, params })),
        (Some(method), None) => Ok(Message::Notification { method, params }),
        (None, id) => match (id, result, error) {
            (Some(id), Some(result), None) => Ok(Message::Response { id, outcome: Ok(result) }),
            (Some(id), _, Some(error)) => Ok(Message::Response { id, outcome: Err(error) }),
            (id, ..) => refuse(id, Failure::invalid_request("`method` is missing")),
        },
    }
}

/// Returns `true` for strings and integers. Fractions and `null` would not survive the round trip.
fn is_valid_id(id: &RawValue) -> bool {
    let text = id.get();
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.starts_with('"') || digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Serializes a response. `result` is JSON text.
pub(crate) fn result_response(id: &RawValue, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id.get())
}

/// Serializes an error response with the error code of the protocol version.
pub(crate) fn error_response(id: Option<&RawValue>, code: i32, failure: &Failure) -> String {
    #[derive(Serialize)]
    struct Answer<'a> {
        jsonrpc: &'a str,
        /// Omitted when it could not be read: `null` is not a valid id.
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
    to_json(&Answer { jsonrpc: "2.0", id, error })
}

/// Serializes a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    to_json(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// Serializes a value as JSON. This cannot fail for the types of this crate; on failure it logs and
/// returns `null`.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| {
        tracing::error!(%error, "serialization to JSON failed");
        "null".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailureKind;

    fn failure_kind(text: &str) -> FailureKind {
        parse_input(text).unwrap_err().failure.kind
    }

    #[test]
    fn invalid_message_is_rejected_with_reason() {
        for text in ["{", "[{", "[1,"] {
            assert_eq!(failure_kind(text), FailureKind::ParseError, "{text}");
        }
        for text in [
            "[]",
            "7",
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        ] {
            assert_eq!(failure_kind(text), FailureKind::InvalidRequest, "{text}");
        }
    }

    #[test]
    fn request_id_is_returned_unchanged() {
        for id in ["1", "\"a\\u0041\"", "-7", "9007199254740993"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let Ok(Message::Request(request)) = parse_message(&text) else { panic!("{text}") };
            assert!(result_response(request.id, "{}").contains(&format!(r#""id":{id},"#)));
        }
    }
}
