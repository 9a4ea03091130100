//! Parameters of custom statements: the check of their definitions and of the arguments of calls.

use serde_json::{Map, Value, json};

use super::{
    decimal::Decimal,
    literal::Literal,
    value::{Argument, Scalar},
};
use vademecum_core::config::{CustomParameter, ParameterKind};

/// Maximum length of a string, in characters, without `max_length`.
const DEFAULT_MAX_LENGTH: usize = 10_000;
/// Maximum number of values in a list, without `max_items`.
const DEFAULT_MAX_ITEMS: usize = 100;
/// Largest `max_items`; each value may be a parameter of the statement.
const LARGEST_MAX_ITEMS: usize = 1_000;
/// Maximum length of a value that an error quotes, in characters.
const MAX_QUOTED_LENGTH: usize = 60;

/// Parameter whose definition was checked.
#[derive(Clone, Debug)]
pub struct ParameterRule {
    name: String,
    kind: ParameterKind,
    description: String,
    is_array: bool,
    is_required: bool,
    default: Option<Argument>,
    values: Option<Vec<Scalar>>,
    minimum: Option<Decimal>,
    maximum: Option<Decimal>,
    max_length: usize,
    max_items: usize,
}

/// Invalid setting of a parameter: its key, and the message.
pub(super) type InvalidParameter = (&'static str, String);

impl ParameterRule {
    /// Checks the definition of a parameter.
    pub(super) fn new(name: &str, settings: &CustomParameter) -> Result<Self, InvalidParameter> {
        check_keys(settings)?;
        let limit = |key, number: &Option<serde_json::Number>| match number {
            None => Ok(None),
            Some(number) => Decimal::parse(&number.to_string())
                .map(Some)
                .ok_or((key, format!("{number} is not a finite number"))),
        };
        let (minimum, maximum) =
            (limit("minimum", &settings.minimum)?, limit("maximum", &settings.maximum)?);
        if let (Some(low), Some(high)) = (&minimum, &maximum)
            && low > high
        {
            return Err((
                "minimum",
                format!("{low} is larger than maximum, {high}; exchange them"),
            ));
        }
        let mut rule = Self {
            name: name.to_owned(),
            kind: settings.kind,
            description: settings.description.clone(),
            is_array: settings.array,
            is_required: settings.required.unwrap_or(settings.default.is_none()),
            default: None,
            values: None,
            minimum,
            maximum,
            max_length: settings.max_length.map_or(DEFAULT_MAX_LENGTH, Into::into),
            max_items: settings.max_items.map_or(DEFAULT_MAX_ITEMS, Into::into),
        };
        if let Some(values) = &settings.values {
            let values =
                values.iter().map(|value| rule.parse_scalar(&Literal::from_setting(value)));
            rule.values = Some(values.collect::<Result<_, _>>().map_err(|why| ("values", why))?);
        }
        if let Some(default) = &settings.default {
            let default = Literal::from_setting(default);
            let default = rule.parse_literal(&default).map_err(|why| ("default", why))?;
            if default == Argument::Null {
                let message = "is null; leave it out and write required = false".to_owned();
                return Err(("default", message));
            }
            rule.default = Some(default);
        }
        Ok(rule)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type of the values.
    pub(super) fn kind(&self) -> ParameterKind {
        self.kind
    }

    /// Returns true if the argument is a list.
    pub fn is_array(&self) -> bool {
        self.is_array
    }

    /// Returns true if the values are texts, which may contain any sign.
    pub fn has_free_texts(&self) -> bool {
        self.kind == ParameterKind::String
    }

    /// Returns true if a call must give the argument.
    pub fn is_required(&self) -> bool {
        self.is_required
    }

    /// Returns the arguments with which the statement is checked before any call: each identifier,
    /// and else one that stands for all.
    pub(super) fn samples(&self) -> Vec<Argument> {
        match (self.kind, &self.values) {
            (ParameterKind::Identifier, Some(values)) => {
                let names = values.iter().filter_map(Scalar::text);
                names.map(|name| Argument::Identifier(name.to_owned())).collect()
            }
            _ if self.is_array => vec![Argument::List(Vec::new()), Argument::Null],
            _ => vec![Argument::Null],
        }
    }

    /// Parses the argument of a call; `None` means that the call does not give it.
    pub(super) fn parse_argument(&self, given: Option<&Literal>) -> Result<Argument, String> {
        match (given.unwrap_or(&Literal::Null), &self.default) {
            (Literal::Null, Some(default)) => Ok(default.clone()),
            (Literal::Null, None) if self.is_required => {
                Err(format!("{}: is required; expected {}", self.name, self.expectation()))
            }
            (given, _) => self.parse_literal(given).map_err(|why| format!("{}: {why}", self.name)),
        }
    }

    /// Returns the JSON Schema of the argument.
    pub fn schema(&self) -> Value {
        let mut schema = self.scalar_schema();
        if self.is_array {
            schema = Map::from_iter([
                ("type".to_owned(), "array".into()),
                ("items".to_owned(), schema.into()),
                ("maxItems".to_owned(), self.max_items.into()),
            ]);
        }
        if !self.description.is_empty() {
            schema.insert("description".to_owned(), self.description.clone().into());
        }
        if let Some(default) = &self.default {
            schema.insert("default".to_owned(), argument_json(default));
        }
        schema.into()
    }

    fn scalar_schema(&self) -> Map<String, Value> {
        let (kind, format) = match self.kind {
            ParameterKind::String | ParameterKind::Identifier => ("string", None),
            ParameterKind::Integer => ("integer", None),
            ParameterKind::Number => ("number", None),
            ParameterKind::Boolean => ("boolean", None),
            ParameterKind::Date => ("string", Some("date")),
            ParameterKind::Timestamp => ("string", Some("date-time")),
        };
        // A limit that a JSON number cannot hold is checked, but not shown.
        let limit = |number: &Decimal| {
            let number = Scalar::parse(self.kind, &number.to_string()).ok()?.to_json();
            number.is_number().then_some(number)
        };
        let fields = [
            ("type", Some(self.json_type(kind))),
            ("format", format.map(Value::from)),
            (
                "enum",
                self.values.as_ref().map(|values| values.iter().map(Scalar::to_json).collect()),
            ),
            ("minimum", self.minimum.as_ref().and_then(limit)),
            ("maximum", self.maximum.as_ref().and_then(limit)),
            (
                "maxLength",
                (self.kind == ParameterKind::String && self.values.is_none())
                    .then(|| self.max_length.into()),
            ),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// Returns the JSON type of a value. A number with more digits than a JSON number has is text.
    fn json_type(&self, kind: &str) -> Value {
        let default = self.default.iter().flat_map(Argument::scalars);
        let mut shown = self.values.iter().flatten().chain(default);
        if self.kind == ParameterKind::Number && shown.any(|it| it.to_json().is_string()) {
            return json!([kind, "string"]);
        }
        kind.into()
    }

    fn parse_literal(&self, given: &Literal) -> Result<Argument, String> {
        if *given == Literal::Null {
            return Ok(Argument::Null);
        }
        if !self.is_array {
            let value = self.parse_scalar(given)?;
            return Ok(match (self.kind, value.text()) {
                (ParameterKind::Identifier, Some(name)) => Argument::Identifier(name.to_owned()),
                _ => Argument::One(value),
            });
        }
        let one;
        let items = match given.clone().unquote_list() {
            Literal::List(items) => items,
            // A single value is a list of one.
            other => {
                one = vec![other];
                one
            }
        };
        if items.len() > self.max_items {
            let (count, most) = (items.len(), self.max_items);
            return Err(format!("has {count} values; pass at most {most}"));
        }
        let values = items.iter().map(|item| self.parse_scalar(item));
        values.collect::<Result<_, _>>().map(Argument::List)
    }

    fn parse_scalar(&self, given: &Literal) -> Result<Scalar, String> {
        let is_text = !matches!(
            self.kind,
            ParameterKind::Integer | ParameterKind::Number | ParameterKind::Boolean
        );
        let shown = match given {
            Literal::Null => "null".to_owned(),
            Literal::List(_) => "a list".to_owned(),
            Literal::Other => "an object or a list in a list".to_owned(),
            Literal::Scalar { text, .. } => format!("`{}`", shorten(text)),
        };
        let wrong = |expected: &str| format!("expected {expected}, got {shown}");
        let text = match given {
            // A number or a truth value in quotes is one; the opposite is not clear.
            Literal::Scalar { text, is_string } if *is_string || !is_text => {
                if is_text {
                    text.as_str()
                } else {
                    text.trim()
                }
            }
            _ => return Err(wrong(&self.expectation())),
        };
        let length = text.chars().count();
        if is_text && self.values.is_none() && length > self.max_length {
            let most = self.max_length;
            return Err(format!("has {length} characters; pass at most {most}"));
        }
        let value = Scalar::parse(self.kind, text).map_err(&wrong)?;
        self.check_range(&value).map_err(|()| wrong(&self.expectation()))?;
        match &self.values {
            Some(values) if !values.contains(&value) => Err(wrong(&self.expectation())),
            _ => Ok(value),
        }
    }

    fn check_range(&self, value: &Scalar) -> Result<(), ()> {
        let Some(number) = value.number() else { return Ok(()) };
        let is_low = self.minimum.as_ref().is_some_and(|least| number < *least);
        let is_high = self.maximum.as_ref().is_some_and(|most| number > *most);
        if is_low || is_high { Err(()) } else { Ok(()) }
    }

    /// Returns a description of the permitted values.
    fn expectation(&self) -> String {
        if let Some(values) = &self.values {
            let values: Vec<String> =
                values.iter().map(|value| value.to_json().to_string()).collect();
            return format!("one of {}", values.join(", "));
        }
        let kind = match self.kind {
            ParameterKind::String | ParameterKind::Identifier => "text",
            ParameterKind::Integer => "an integer",
            ParameterKind::Number => "a number",
            ParameterKind::Boolean => "true or false",
            ParameterKind::Date => "a date such as \"2026-01-31\"",
            ParameterKind::Timestamp => "a time such as \"2026-01-31T12:00:00Z\"",
        };
        match (&self.minimum, &self.maximum) {
            (Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
            (Some(least), None) => format!("{kind} of at least {least}"),
            (None, Some(most)) => format!("{kind} of at most {most}"),
            (None, None) => kind.to_owned(),
        }
    }
}

/// Rejects keys that do not fit the type, and combinations that contradict each other.
fn check_keys(settings: &CustomParameter) -> Result<(), InvalidParameter> {
    let kind = settings.kind;
    let is_number = matches!(kind, ParameterKind::Integer | ParameterKind::Number);
    let is_identifier = kind == ParameterKind::Identifier;
    let misplaced = [
        ("minimum", settings.minimum.is_some() && !is_number, "integer or number"),
        ("maximum", settings.maximum.is_some() && !is_number, "integer or number"),
        ("max_length", settings.max_length.is_some() && kind != ParameterKind::String, "string"),
        ("values", settings.values.is_some() && kind == ParameterKind::Boolean, "another type"),
    ];
    if let Some((key, _, fitting)) = misplaced.into_iter().find(|(_, is_wrong, _)| *is_wrong) {
        let kind = kind.name();
        return Err((key, format!("is for the type {fitting}, not for {kind}; remove it")));
    }
    if settings.max_items.is_some() && !settings.array {
        return Err(("max_items", "is for lists; remove it, or write array = true".to_owned()));
    }
    if settings.max_items.is_some_and(|most| most.get() > LARGEST_MAX_ITEMS) {
        return Err(("max_items", format!("is larger than {LARGEST_MAX_ITEMS}; lower it")));
    }
    if settings.required == Some(true) && settings.default.is_some() {
        let message =
            "contradicts default: an argument with a default need not be given; remove one";
        return Err(("required", message.to_owned()));
    }
    if settings.values.as_ref().is_some_and(Vec::is_empty) {
        return Err(("values", "is empty, so no value is permitted; add some".to_owned()));
    }
    if is_identifier && settings.values.is_none() {
        let message = "is missing: an identifier is written into the statement, so list every \
                       permitted name, values = [\"…\"]";
        return Err(("values", message.to_owned()));
    }
    if is_identifier && settings.array {
        let message = "is not possible for an identifier; use one parameter for each";
        return Err(("array", message.to_owned()));
    }
    if is_identifier && settings.required == Some(false) && settings.default.is_none() {
        let message = "is false, but an identifier cannot be NULL; add a default";
        return Err(("required", message.to_owned()));
    }
    Ok(())
}

fn argument_json(argument: &Argument) -> Value {
    match argument {
        Argument::Null => Value::Null,
        Argument::One(value) => value.to_json(),
        Argument::List(values) => values.iter().map(Scalar::to_json).collect(),
        Argument::Identifier(name) => name.as_str().into(),
    }
}

/// Shortens a value that an error quotes.
fn shorten(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_QUOTED_LENGTH).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::config::Settings;

    fn parse_rule(text: &str) -> Result<ParameterRule, String> {
        let text = format!(
            "[tools.custom.t]\ndescription = \"\"\nprofile = \"p\"\nstatement = \"\"\n\
             [tools.custom.t.parameters.x]\n{text}"
        );
        let settings = Settings::parse(&text).unwrap();
        let parameters = &settings.tools.custom.first_key_value().unwrap().1.parameters;
        let (name, parameter) = parameters.first_key_value().unwrap();
        ParameterRule::new(name.as_str(), parameter).map_err(|(key, why)| format!("{key}: {why}"))
    }

    fn parse_argument(rule: &ParameterRule, json: &str) -> Result<Argument, String> {
        rule.parse_argument(Some(&Literal::parse(json).unwrap()))
    }

    #[test]
    fn contradictory_definition_is_rejected() {
        for (text, expected) in [
            ("type = \"string\"\nminimum = 1", "minimum: is for the type integer or number"),
            ("type = \"integer\"\nminimum = 5\nmaximum = 1", "minimum: 5 is larger than maximum"),
            ("type = \"integer\"\nminimum = 1\ndefault = 0", "default: expected an integer of at"),
            ("type = \"integer\"\ndefault = \"x\"", "default: expected an integer"),
            (
                "type = \"string\"\nvalues = [\"a\"]\ndefault = \"b\"",
                "default: expected one of \"a\"",
            ),
            ("type = \"string\"\nvalues = []", "values: is empty"),
            ("type = \"integer\"\nmaximum = 3\nvalues = [4]", "values: expected an integer of at"),
            ("type = \"identifier\"", "values: is missing"),
            ("type = \"identifier\"\nvalues = [\"a\"]\narray = true", "array: is not possible"),
            ("type = \"identifier\"\nvalues = [\"a\"]\nrequired = false", "add a default"),
            ("type = \"date\"\nrequired = true\ndefault = 2026-01-31", "required: contradicts"),
            ("type = \"date\"\nmax_items = 3", "max_items: is for lists"),
            ("type = \"date\"\narray = true\nmax_items = 1001", "max_items: is larger"),
            ("type = \"boolean\"\nvalues = [true]", "values: is for"),
            ("type = \"date\"\nmax_length = 3", "max_length: is for the type string"),
        ] {
            let error = parse_rule(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn argument_is_checked_against_rule() {
        let limit =
            parse_rule("type = \"integer\"\nminimum = 1\nmaximum = 9\ndefault = 5").unwrap();
        assert_eq!(parse_argument(&limit, "\" 7 \""), parse_argument(&limit, "7"));
        assert_eq!(limit.parse_argument(None), parse_argument(&limit, "5"));
        assert_eq!(parse_argument(&limit, "null"), parse_argument(&limit, "5"));
        for json in ["0", "10", "1.5", "true", "[1]", "{}", "\"a\""] {
            let error = parse_argument(&limit, json).unwrap_err();
            assert!(error.starts_with("x: expected an integer"), "{json}: {error}");
        }
        let text = parse_rule("type = \"string\"\nmax_length = 3").unwrap();
        assert!(parse_argument(&text, "\"äöü\"").is_ok());
        assert!(parse_argument(&text, "\"four\"").unwrap_err().contains("at most 3"));
        assert!(parse_argument(&text, "5").unwrap_err().contains("expected text"));
        assert!(text.parse_argument(None).unwrap_err().contains("x: is required; expected text"));
        let date = parse_rule("type = \"date\"\ndefault = 2026-01-31").unwrap();
        assert_eq!(date.parse_argument(None), parse_argument(&date, "\"2026-01-31\""));
    }

    #[test]
    fn list_accepts_single_value_and_text() {
        let ids = parse_rule("type = \"integer\"\narray = true\nmax_items = 2").unwrap();
        assert_eq!(parse_argument(&ids, "\"[1, 2]\""), parse_argument(&ids, "[1, 2]"));
        assert_eq!(parse_argument(&ids, "1"), parse_argument(&ids, "[\"1\"]"));
        assert_eq!(parse_argument(&ids, "[]"), Ok(Argument::List(Vec::new())));
        for json in ["[1, 2, 3]", "[null]", "[[1]]", "[1.5]"] {
            assert!(parse_argument(&ids, json).is_err(), "{json}");
        }
    }

    #[test]
    fn shown_default_is_accepted_back() {
        for (text, shown) in [
            ("type = \"integer\"\ndefault = -5", json!(-5)),
            ("type = \"integer\"\ndefault = 9223372036854775807", json!(i64::MAX)),
            ("type = \"number\"\ndefault = 1.50", json!(1.5)),
            ("type = \"number\"\ndefault = 1e300", json!(1e300)),
            ("type = \"number\"\ndefault = \"0.10000000000000000001\"", {
                json!("0.10000000000000000001")
            }),
            ("type = \"boolean\"\ndefault = false", json!(false)),
            ("type = \"string\"\ndefault = \"[1] \\\"a\\\"\"", json!("[1] \"a\"")),
            ("type = \"date\"\ndefault = 2026-01-31", json!("2026-01-31")),
            ("type = \"timestamp\"\ndefault = 2026-01-31T12:00:00.5+02:00", {
                json!("2026-01-31T10:00:00.5Z")
            }),
            ("type = \"identifier\"\nvalues = [\"a\", \"b\"]\ndefault = \"b\"", json!("b")),
            ("type = \"string\"\narray = true\ndefault = [\"a,b\", \"[\"]", json!(["a,b", "["])),
            ("type = \"integer\"\narray = true\ndefault = []", json!([])),
            ("type = \"timestamp\"\narray = true\ndefault = [2026-01-31T12:00:00Z]", {
                json!(["2026-01-31T12:00:00Z"])
            }),
        ] {
            let rule = parse_rule(text).unwrap();
            let schema = rule.schema();
            assert_eq!(schema["default"], shown, "{text}");
            assert_eq!(parse_argument(&rule, &shown.to_string()), rule.parse_argument(None));
            let types = if rule.is_array() { &schema["items"]["type"] } else { &schema["type"] };
            let values = if rule.is_array() { shown } else { json!([shown]) };
            for value in values.as_array().unwrap() {
                let kind = match value {
                    Value::String(_) => "string",
                    Value::Bool(_) => "boolean",
                    Value::Number(number) if number.is_f64() => "number",
                    _ => "integer",
                };
                assert!(types.to_string().contains(kind), "{schema}");
            }
        }
        // Without a default, NULL is one.
        let optional = parse_rule("type = \"date\"\nrequired = false").unwrap();
        assert_eq!(parse_argument(&optional, "null"), optional.parse_argument(None));
    }

    #[test]
    fn schema_describes_permitted_values() {
        let rule = parse_rule(
            "type = \"number\"\nminimum = 0.5\ndescription = \"Price.\"\ndefault = 1.25",
        );
        assert_eq!(
            rule.unwrap().schema(),
            json!({ "type": "number", "minimum": 0.5, "description": "Price.", "default": 1.25 })
        );
        let rule = parse_rule("type = \"date\"\narray = true\nrequired = false");
        assert_eq!(
            rule.unwrap().schema(),
            json!({ "type": "array", "maxItems": 100, "items": { "type": "string", "format": "date" } })
        );
    }
}
