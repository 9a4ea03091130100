//! `[tools.custom.<name>]`: tools that run one statement with parameters on the database of a
//! profile.
//!
//! This module reads what the settings say. The meaning of a definition depends on the engine of
//! its profile, so `vademecum-sql` checks it.

use std::{
    collections::BTreeMap,
    fmt,
    num::{NonZeroU32, NonZeroUsize},
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value, json};

/// Maximum length of the name of a tool or a parameter, in bytes; clients accept no more.
const MAX_NAME_BYTES: usize = 64;

/// Name of a custom tool, which every client accepts: letters, digits, `_` and `-`, with a letter
/// first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct CustomToolName(String);

/// Name of a parameter: letters, digits and `_`, without a digit first. The statement contains it
/// after a colon.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct ParameterName(String);

/// Tool that runs one statement on the database of a profile; docs/databases.md has the details.
/// Changes of these sections apply without a restart.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomTool {
    /// Title for people. Default: the name.
    #[schemars(example = "Orders of a customer")]
    pub title: Option<String>,
    /// Description for the model: what the tool does and when to use it.
    #[schemars(example = "List the newest orders of a customer.")]
    pub description: String,
    /// Name of the database profile.
    #[schemars(example = &"shop")]
    pub profile: String,
    /// Statement. A parameter is written `:name`. Its value is always bound, only an identifier is
    /// written into the text.
    #[schemars(
        example = "SELECT * FROM orders WHERE customer_id = :customer ORDER BY :by DESC LIMIT :limit"
    )]
    pub statement: String,
    /// Parameters, which are the arguments of the tool, by name.
    #[serde(default)]
    #[schemars(example = json!({ "customer": {
        "type": null, "description": null, "array": null, "required": null, "minimum": null,
        "maximum": null
    } }))]
    #[schemars(example = json!({ "by": {
        "type": "identifier", "values": ["ordered_on", "total"], "default": "ordered_on"
    } }))]
    #[schemars(example = json!({ "limit": { "type": "integer", "default": 20 } }))]
    pub parameters: BTreeMap<ParameterName, CustomParameter>,
    /// Whether the statement only reads. One that writes also needs `unsafe_allow_write` or `allow` of the
    /// profile and `tools.write`.
    #[serde(default = "default_true")]
    pub read_only: bool,
    /// Annotation of a statement that writes: whether it may destroy data.
    #[serde(default = "default_true")]
    pub destructive: bool,
    /// Annotation of a statement that writes: whether repeating it has no further effect.
    #[serde(default)]
    pub idempotent: bool,
    /// Maximum number of returned rows, at most that of the profile, which is the default.
    #[schemars(example = 50)]
    pub max_rows: Option<NonZeroUsize>,
    /// Maximum size of the returned rows, in bytes, at most that of the profile, which is the
    /// default.
    #[schemars(example = 100_000)]
    pub max_bytes: Option<NonZeroUsize>,
    /// Maximum duration of the statement, in milliseconds, at most that of the profile, which is
    /// the default.
    #[schemars(example = 5_000)]
    pub timeout_ms: Option<NonZeroU32>,
}

/// Parameter of the statement, and argument of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomParameter {
    /// Type of the values.
    #[serde(rename = "type")]
    #[schemars(example = &"integer")]
    pub kind: ParameterKind,
    /// Description for the model.
    #[serde(default)]
    #[schemars(example = "Number of the customer.")]
    pub description: String,
    /// Whether the argument is a list, of at most `max_items` values.
    #[serde(default)]
    pub array: bool,
    /// Whether a call must give the argument, if it has no `default`. It is NULL otherwise.
    #[schemars(example = true)]
    pub required: Option<bool>,
    /// Value of an argument that is not given.
    pub default: Option<Value>,
    /// The only permitted values. An identifier needs them.
    pub values: Option<Vec<Value>>,
    /// Smallest permitted number. For a string there is `max_length`, in characters.
    #[schemars(example = 1)]
    pub minimum: Option<Number>,
    /// Largest permitted number.
    #[schemars(example = 1_000_000)]
    pub maximum: Option<Number>,
    /// Maximum length of a string, in characters.
    pub max_length: Option<NonZeroUsize>,
    /// Maximum number of values in a list.
    pub max_items: Option<NonZeroUsize>,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterKind {
    /// Text.
    String,
    /// Integer of 64 bits.
    Integer,
    /// Decimal number.
    Number,
    /// True or false.
    Boolean,
    /// Date, `2026-01-31`.
    Date,
    /// Time with a time zone, `2026-01-31T12:00:00Z`; bound in UTC.
    Timestamp,
    /// Name of a column, a table or another object: one of the permitted values, quoted.
    Identifier,
}

fn default_true() -> bool {
    true
}

/// Returns whether the name consists of ASCII letters, digits and characters in `others`, has a
/// permitted length and begins with a character that `first` accepts.
fn is_valid_name(name: &str, others: &[char], first: impl Fn(char) -> bool) -> bool {
    let is_inner = |sign: char| sign.is_ascii_alphanumeric() || others.contains(&sign);
    name.len() <= MAX_NAME_BYTES && name.starts_with(first) && name.chars().all(is_inner)
}

impl TryFrom<String> for CustomToolName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if is_valid_name(&name, &['_', '-'], |sign| sign.is_ascii_alphabetic()) {
            return Ok(Self(name));
        }
        Err(format!(
            "the name of a custom tool has at most {MAX_NAME_BYTES} ASCII letters, digits, `_` and \
             `-`, and a letter first, so that every client accepts it; rename `{name}`"
        ))
    }
}

impl TryFrom<String> for ParameterName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if is_valid_name(&name, &['_'], |sign| sign.is_ascii_alphabetic() || sign == '_') {
            return Ok(Self(name));
        }
        Err(format!(
            "the name of a parameter has at most {MAX_NAME_BYTES} ASCII letters, digits and `_`, and \
             no digit first, so that a statement can contain it; rename `{name}`"
        ))
    }
}

impl CustomToolName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ParameterName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ParameterKind {
    /// Returns the name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::Identifier => "identifier",
        }
    }
}

impl fmt::Display for CustomToolName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    const TOOL: &str = "[tools.custom.orders]\ndescription = \"d\"\nprofile = \"shop\"\n\
                        statement = \"SELECT :id\"\n";

    fn parse_error(text: &str) -> String {
        Settings::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn definition_has_safe_defaults() {
        let text = format!("{TOOL}[tools.custom.orders.parameters.id]\ntype = \"integer\"");
        let settings = Settings::parse(&text).unwrap();
        let (name, tool) = settings.tools.custom.first_key_value().unwrap();
        assert_eq!((name.as_str(), tool.parameters.len()), ("orders", 1));
        assert!(tool.read_only && tool.destructive && !tool.idempotent);
    }

    #[test]
    fn error_names_key_and_line() {
        let wrong_type = format!("{TOOL}[tools.custom.orders.parameters.id]\ntype = \"int\"");
        for (text, parts) in [
            (wrong_type.as_str(), ["line 6", "tools.custom.orders.parameters.id.type", "`int`"]),
            (&format!("{TOOL}rows = 1"), ["line 5", "tools.custom.orders", "`rows`"]),
            ("[tools.custom.\"a b\"]\ndescription = \"\"", ["line 1", "rename `a b`", "letter"]),
            (
                &format!("{TOOL}[tools.custom.orders.parameters.1st]\ntype = \"date\""),
                ["line 5", "rename `1st`", "no digit first"],
            ),
        ] {
            let error = parse_error(text);
            assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
        }
    }
}
