//! MCP HTTP headers, which repeat parts of the message for intermediaries that do not read bodies.
//! A header that is required must match the message.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, value::RawValue};

use crate::Failure;
use vademecum_core::telemetry::TraceContext;

/// MCP headers of an HTTP request.
#[derive(Clone, Debug, Default)]
pub struct MessageHeaders {
    /// `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// `Mcp-Method`.
    pub method: Option<String>,
    /// `Mcp-Name`.
    pub name: Option<String>,
    /// `Mcp-Param-…`: lower-case names without the prefix, and values; `None` if a value is not
    /// visible ASCII.
    pub parameters: Vec<(String, Option<String>)>,
    /// `traceparent`, if valid.
    pub trace: Option<TraceContext>,
}

impl MessageHeaders {
    /// Checks that version, method and name headers are present and match the message.
    pub(super) fn check_message(
        &self,
        version: &str,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), Failure> {
        check_header("MCP-Protocol-Version", self.version.as_deref(), version)?;
        check_header("Mcp-Method", self.method.as_deref(), method)?;
        let field = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return Ok(()),
        };
        let params: Option<Value> = params.and_then(|text| serde_json::from_str(text.get()).ok());
        let name = params.as_ref().and_then(|params| params.get(field)?.as_str());
        // A message without a name is invalid by itself and is rejected later.
        name.map_or(Ok(()), |name| check_header("Mcp-Name", self.name.as_deref(), name))
    }
}

fn check_header(header: &str, found: Option<&str>, expected: &str) -> Result<(), Failure> {
    match found.map(decode_header) {
        Some(Some(found)) if found == expected => Ok(()),
        Some(Some(found)) => Err(Failure::header_mismatch(format!(
            "the header {header} is `{found}`, but the message has `{expected}`"
        ))),
        Some(None) => {
            Err(Failure::header_mismatch(format!("the header {header} is not valid base64")))
        }
        None => Err(Failure::header_mismatch(format!(
            "the header {header} is missing; it must be `{expected}`, as in the message"
        ))),
    }
}

/// Checks that `Mcp-Param-…` headers match the arguments. A schema marks such a parameter with
/// `x-mcp-header`.
pub(crate) fn check_parameter_headers(
    headers: &MessageHeaders,
    schema: &Value,
    arguments: Option<&RawValue>,
) -> Result<(), Failure> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    let marked = properties
        .iter()
        .filter_map(|(name, property)| Some((name, property.get("x-mcp-header")?.as_str()?)));
    for (name, header) in marked {
        let arguments: Value =
            arguments.and_then(|text| serde_json::from_str(text.get()).ok()).unwrap_or_default();
        let expected = arguments.get(name).and_then(argument_text);
        let found = headers
            .parameters
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(header))
            .map(|(_, value)| value.as_deref().unwrap_or_default());
        match (found, expected) {
            (None, None) => {}
            (found, Some(expected)) => {
                check_header(&format!("Mcp-Param-{header}"), found, &expected)?;
            }
            (Some(_), None) => {
                return Err(Failure::header_mismatch(format!(
                    "the header Mcp-Param-{header} is present, but the argument `{name}` is missing"
                )));
            }
        }
    }
    Ok(())
}

/// Returns an argument as its header text; `None` for null, arrays and objects.
fn argument_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Decodes a header value. Text that is not visible ASCII is sent as `=?base64?…?=`.
fn decode_header(value: &str) -> Option<String> {
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::FailureKind;

    fn raw_json(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    fn headers(version: &str, method: &str, name: Option<&str>) -> MessageHeaders {
        MessageHeaders {
            version: Some(version.to_owned()),
            method: Some(method.to_owned()),
            name: name.map(str::to_owned),
            parameters: Vec::new(),
            ..MessageHeaders::default()
        }
    }

    #[test]
    fn headers_must_match_message() {
        let params = raw_json(&json!({ "name": "Ünsal" }));
        let check = |headers: MessageHeaders| {
            headers.check_message("2026-07-28", "tools/call", Some(&params))
        };
        let encoded = "=?base64?w5xuc2Fs?=";
        check(headers("2026-07-28", "tools/call", Some(encoded))).unwrap();
        for wrong in [
            headers("2025-11-25", "tools/call", Some(encoded)),
            headers("2026-07-28", "tools/list", Some(encoded)),
            headers("2026-07-28", "tools/call", Some("other")),
            headers("2026-07-28", "tools/call", Some("=?base64?%%?=")),
            headers("2026-07-28", "tools/call", None),
            MessageHeaders::default(),
        ] {
            assert_eq!(check(wrong).unwrap_err().kind, FailureKind::HeaderMismatch);
        }
    }

    #[test]
    fn parameter_headers_must_match_arguments() {
        let schema = json!({ "properties": { "region": { "x-mcp-header": "Region" }, "q": {} } });
        let check = |header: Option<&str>, argument: Value| {
            let parameters =
                header.map(|value| ("region".to_owned(), Some(value.to_owned()))).into_iter();
            let headers =
                MessageHeaders { parameters: parameters.collect(), ..MessageHeaders::default() };
            check_parameter_headers(&headers, &schema, Some(&raw_json(&argument)))
        };
        check(Some("eu"), json!({ "region": "eu" })).unwrap();
        check(Some("7"), json!({ "region": 7 })).unwrap();
        check(None, json!({ "q": "x" })).unwrap();
        for (header, argument) in [
            (Some("us"), json!({ "region": "eu" })),
            (None, json!({ "region": "eu" })),
            (Some("eu"), json!({})),
        ] {
            assert_eq!(check(header, argument).unwrap_err().kind, FailureKind::HeaderMismatch);
        }
    }
}
