//! What HTTP headers say of a message, for intermediaries that do not read
//! bodies. Where they are required, they must say what the message says.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, value::RawValue};

use crate::Failure;
use vademecum_core::telemetry::Trace;

/// The headers of a request that say something of its message.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    /// `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// `Mcp-Method`.
    pub method: Option<String>,
    /// `Mcp-Name`.
    pub name: Option<String>,
    /// `Mcp-Param-…`: names in lower case without that, and values; no value
    /// if it is not visible ASCII.
    pub parameters: Vec<(String, Option<String>)>,
    /// `traceparent`, as far as it can be read.
    pub trace: Option<Trace>,
}

impl Mirror {
    /// That version, method and name are there and say what the message says.
    pub(super) fn check(
        &self,
        version: &str,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), Failure> {
        same("MCP-Protocol-Version", self.version.as_deref(), version)?;
        same("Mcp-Method", self.method.as_deref(), method)?;
        let field = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return Ok(()),
        };
        let params: Option<Value> = params.and_then(|text| serde_json::from_str(text.get()).ok());
        let name = params.as_ref().and_then(|params| params.get(field)?.as_str());
        // Without a name the message is wrong by itself, and is told so.
        name.map_or(Ok(()), |name| same("Mcp-Name", self.name.as_deref(), name))
    }
}

fn same(header: &str, found: Option<&str>, wanted: &str) -> Result<(), Failure> {
    match found.map(decode) {
        Some(Some(found)) if found == wanted => Ok(()),
        Some(Some(found)) => Err(Failure::header(format!(
            "the header {header} says `{found}`, the message says `{wanted}`"
        ))),
        Some(None) => Err(Failure::header(format!("the header {header} is not right base64"))),
        None => Err(Failure::header(format!(
            "the header {header} is missing; it must say `{wanted}`, as the message does"
        ))),
    }
}

/// That the headers of the parameters that have one say what the message says.
/// A schema marks such a parameter with `x-mcp-header`.
pub(crate) fn check_parameters(
    mirror: &Mirror,
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
        let wanted = arguments.get(name).and_then(text_of);
        let found = mirror
            .parameters
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(header))
            .map(|(_, value)| value.as_deref().unwrap_or_default());
        match (found, wanted) {
            (None, None) => {}
            (found, Some(wanted)) => same(&format!("Mcp-Param-{header}"), found, &wanted)?,
            (Some(_), None) => {
                return Err(Failure::header(format!(
                    "the header Mcp-Param-{header} is there, but not the argument `{name}`"
                )));
            }
        }
    }
    Ok(())
}

/// An argument as a header has it.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A value as it was meant: what is no visible ASCII comes as `=?base64?…?=`.
fn decode(value: &str) -> Option<String> {
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
    use crate::error::Kind;

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    fn mirror(version: &str, method: &str, name: Option<&str>) -> Mirror {
        Mirror {
            version: Some(version.to_owned()),
            method: Some(method.to_owned()),
            name: name.map(str::to_owned),
            parameters: Vec::new(),
            ..Mirror::default()
        }
    }

    #[test]
    fn headers_say_what_the_message_says() {
        let params = raw(&json!({ "name": "Ünsal" }));
        let check = |mirror: Mirror| mirror.check("2026-07-28", "tools/call", Some(&params));
        let encoded = "=?base64?w5xuc2Fs?=";
        check(mirror("2026-07-28", "tools/call", Some(encoded))).unwrap();
        for wrong in [
            mirror("2025-11-25", "tools/call", Some(encoded)),
            mirror("2026-07-28", "tools/list", Some(encoded)),
            mirror("2026-07-28", "tools/call", Some("other")),
            mirror("2026-07-28", "tools/call", Some("=?base64?%%?=")),
            mirror("2026-07-28", "tools/call", None),
            Mirror::default(),
        ] {
            assert_eq!(check(wrong).unwrap_err().kind, Kind::HeaderMismatch);
        }
    }

    #[test]
    fn parameters_with_a_header_are_the_same_there() {
        let schema = json!({ "properties": { "region": { "x-mcp-header": "Region" }, "q": {} } });
        let check = |header: Option<&str>, argument: Value| {
            let parameters =
                header.map(|value| ("region".to_owned(), Some(value.to_owned()))).into_iter();
            let mirror = Mirror { parameters: parameters.collect(), ..Mirror::default() };
            check_parameters(&mirror, &schema, Some(&raw(&argument)))
        };
        check(Some("eu"), json!({ "region": "eu" })).unwrap();
        check(Some("7"), json!({ "region": 7 })).unwrap();
        check(None, json!({ "q": "x" })).unwrap();
        for (header, argument) in [
            (Some("us"), json!({ "region": "eu" })),
            (None, json!({ "region": "eu" })),
            (Some("eu"), json!({})),
        ] {
            assert_eq!(check(header, argument).unwrap_err().kind, Kind::HeaderMismatch);
        }
    }
}
