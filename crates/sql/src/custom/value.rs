//! Values of parameters, and their form for each engine.

use serde_json::{Value, json};
use time::{
    Date, OffsetDateTime, UtcOffset,
    format_description::{BorrowedFormatItem, well_known::Rfc3339},
    macros::format_description,
};

use super::decimal::Decimal;
use crate::{Engine, Parameter, guard::PlaceForm};
use vademecum_core::config::ParameterKind;

const DATE: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
const UTC_TIME: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
const UTC_TIME_WITH_FRACTION: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day] [hour]:[minute]:[second].[subsecond digits:6]");
/// Digits before and after the point of the numbers that `MySQL` computes with exactly.
const MYSQL_DIGITS: (usize, usize) = (35, 30);
/// Place of a number in `MySQL`, which would compare text as a floating-point number.
const MYSQL_NUMBER: &str = "CAST(? AS DECIMAL(65, 30))";

/// Value of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// NULL.
    Null,
    /// One value.
    One(Scalar),
    /// List of values.
    List(Vec<Scalar>),
    /// Identifier, one of those in the settings.
    Identifier(String),
}

impl Argument {
    /// Returns the values, without identifiers.
    pub(super) fn scalars(&self) -> &[Scalar] {
        match self {
            Self::Null | Self::Identifier(_) => &[],
            Self::One(value) => std::slice::from_ref(value),
            Self::List(values) => values,
        }
    }
}

/// Value that is sent to the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar(ScalarKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScalarKind {
    Text(String),
    Integer(i64),
    Number(Decimal),
    Boolean(bool),
    Date(Date),
    Time(OffsetDateTime),
}

impl Scalar {
    /// Parses a value of this type. `text` is a JSON number, `true`, `false`, or the contents of a
    /// string. The error says what was expected.
    pub(super) fn parse(kind: ParameterKind, text: &str) -> Result<Self, &'static str> {
        let parsed = match kind {
            ParameterKind::String | ParameterKind::Identifier => {
                if text.contains('\0') {
                    return Err("text without NUL characters");
                }
                Some(ScalarKind::Text(text.to_owned()))
            }
            ParameterKind::Integer => {
                Decimal::parse(text).and_then(|it| it.to_integer()).map(ScalarKind::Integer)
            }
            ParameterKind::Number => Decimal::parse(text).map(ScalarKind::Number),
            ParameterKind::Boolean => text.parse().ok().map(ScalarKind::Boolean),
            ParameterKind::Date => Date::parse(text, DATE).ok().map(ScalarKind::Date),
            ParameterKind::Timestamp => OffsetDateTime::parse(text, &Rfc3339)
                .ok()
                .and_then(|time| time.checked_to_offset(UtcOffset::UTC))
                .map(ScalarKind::Time),
        };
        parsed.map(Self).ok_or(match kind {
            ParameterKind::String | ParameterKind::Identifier => "text",
            ParameterKind::Integer => "an integer of 64 bits",
            ParameterKind::Number => "a number of at most 1000 digits",
            ParameterKind::Boolean => "true or false",
            ParameterKind::Date => "a date such as 2026-01-31",
            ParameterKind::Timestamp => {
                "a time with a time zone, such as 2026-01-31T12:00:00Z or 2026-01-31T12:00:00+01:00"
            }
        })
    }

    /// Returns the text, if the value is one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.0 {
            ScalarKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if the value is one.
    pub(super) fn number(&self) -> Option<Decimal> {
        match &self.0 {
            ScalarKind::Integer(number) => Decimal::parse(&number.to_string()),
            ScalarKind::Number(number) => Some(number.clone()),
            _ => None,
        }
    }

    /// Returns the value as shown to people and clients, who may pass it as an argument.
    pub(super) fn to_json(&self) -> Value {
        match &self.0 {
            ScalarKind::Integer(number) => json!(number),
            ScalarKind::Boolean(is_true) => json!(is_true),
            ScalarKind::Number(number) => {
                // A number that a float cannot hold stays text.
                let text = number.to_string();
                let float = text.parse::<f64>().ok().filter(|float| float.to_string() == text);
                number
                    .to_integer()
                    .map_or_else(|| float.map_or(json!(text), |it| json!(it)), |it| json!(it))
            }
            ScalarKind::Text(_) | ScalarKind::Date(_) => json!(self.written()),
            ScalarKind::Time(time) => {
                json!(time.format(&Rfc3339).unwrap_or_else(|_| self.written()))
            }
        }
    }

    /// Returns the value as it is in a list of JSON, which `MySQL` and `SQLite` read.
    fn to_list_item(&self) -> Value {
        match &self.0 {
            ScalarKind::Time(_) => json!(self.written()),
            _ => self.to_json(),
        }
    }

    /// Returns the value as text that every engine reads.
    fn written(&self) -> String {
        match &self.0 {
            ScalarKind::Text(text) => text.clone(),
            ScalarKind::Integer(number) => number.to_string(),
            ScalarKind::Number(number) => number.to_string(),
            ScalarKind::Boolean(is_true) => is_true.to_string(),
            ScalarKind::Date(date) => date.format(DATE).unwrap_or_default(),
            // `SQLite` compares text, so a whole second has no fraction.
            ScalarKind::Time(time) => match time.microsecond() {
                0 => time.format(UTC_TIME).unwrap_or_default(),
                _ => time.format(UTC_TIME_WITH_FRACTION).unwrap_or_default(),
            },
        }
    }

    /// Returns the value for `PostgreSQL`, which parses it as the type of its place.
    fn for_postgres(&self) -> String {
        match &self.0 {
            ScalarKind::Time(_) => self.written() + "+00",
            _ => self.written(),
        }
    }

    /// Returns the value as a parameter. Fails if the engine cannot represent the value exactly.
    fn to_parameter(&self, engine: Engine) -> Result<Parameter, String> {
        Ok(match (&self.0, engine) {
            (ScalarKind::Integer(number), _) => Parameter::Integer(*number),
            (_, Engine::Postgres) => Parameter::Text(self.for_postgres()),
            (ScalarKind::Boolean(is_true), _) => Parameter::Integer(i64::from(*is_true)),
            (ScalarKind::Number(number), Engine::Sqlite) => match number.to_integer() {
                Some(integer) => Parameter::Integer(integer),
                None => Parameter::Real(number.to_string().parse().unwrap_or_default()),
            },
            (ScalarKind::Number(number), Engine::MySql) => {
                let (whole, fraction) = number.digits();
                if whole > MYSQL_DIGITS.0 || fraction > MYSQL_DIGITS.1 {
                    return Err(
                        "expected a number of at most 35 digits before and 30 after the point"
                            .to_owned(),
                    );
                }
                Parameter::Text(number.to_string())
            }
            _ => Parameter::Text(self.written()),
        })
    }
}

/// Writes the values of a statement: places into its text, and the values apart from it.
#[derive(Debug)]
pub(super) struct StatementWriter {
    engine: Engine,
    text: String,
    parameters: Vec<Parameter>,
    /// In `PostgreSQL`, the numbers of the names that were written.
    numbers: Vec<String>,
}

impl StatementWriter {
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine, text: String::new(), parameters: Vec::new(), numbers: Vec::new() }
    }

    /// Returns the text and its parameters.
    pub(super) fn finish(self) -> (String, Vec<Parameter>) {
        (self.text, self.parameters)
    }

    /// Writes text of the definition.
    pub(super) fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes a value. In `PostgreSQL`, all places of a name have one number, so that the server
    /// finds one type for them. A place that is only tested for NULL says nothing about the type, so
    /// it has a number of its own.
    pub(super) fn push_value(
        &mut self,
        name: &str,
        kind: ParameterKind,
        argument: &Argument,
        form: PlaceForm,
    ) -> Result<(), String> {
        if self.engine == Engine::Postgres {
            let (name, cast) = match form {
                PlaceForm::NullTest => (format!("{name} IS NULL"), "::pg_catalog.text"),
                PlaceForm::InList | PlaceForm::Single => (name.to_owned(), ""),
            };
            let known = self.numbers.iter().position(|known| *known == name);
            if known.is_none() {
                self.numbers.push(name);
                self.parameters.push(self.single_parameter(argument)?);
            }
            let number = known.map_or(self.numbers.len(), |at| at + 1);
            for part in ["$", &number.to_string(), cast] {
                self.text.push_str(part);
            }
            return Ok(());
        }
        let is_list = matches!(argument, Argument::List(_));
        self.parameters.push(self.single_parameter(argument)?);
        self.text.push_str(if is_list { "?" } else { self.place(kind) });
        Ok(())
    }

    /// Writes the values of a list into the parentheses of `IN (…)`. An empty list becomes a query
    /// without rows, so that nothing is in it.
    pub(super) fn push_list(
        &mut self,
        kind: ParameterKind,
        values: &[Scalar],
    ) -> Result<(), String> {
        if values.is_empty() {
            self.text.push_str(match self.engine {
                Engine::MySql => "SELECT NULL FROM DUAL WHERE 1 = 0",
                Engine::Postgres | Engine::Sqlite => "SELECT NULL WHERE 1 = 0",
            });
        }
        for (at, value) in values.iter().enumerate() {
            self.text.push_str(if at == 0 { "" } else { ", " });
            self.text.push_str(self.place(kind));
            self.parameters.push(value.to_parameter(self.engine)?);
        }
        Ok(())
    }

    /// Returns a place of a statement without numbered places.
    fn place(&self, kind: ParameterKind) -> &'static str {
        match (self.engine, kind) {
            (Engine::MySql, ParameterKind::Number) => MYSQL_NUMBER,
            _ => "?",
        }
    }

    /// Returns an argument as one parameter; a list as an array, or else as JSON.
    fn single_parameter(&self, argument: &Argument) -> Result<Parameter, String> {
        match argument {
            Argument::Null => Ok(Parameter::Null),
            Argument::One(value) => value.to_parameter(self.engine),
            Argument::Identifier(name) => Ok(Parameter::Text(name.clone())),
            Argument::List(values) if self.engine == Engine::Postgres => {
                Ok(Parameter::Text(postgres_array(values)))
            }
            Argument::List(values) => {
                let values: Vec<Value> = values.iter().map(Scalar::to_list_item).collect();
                Ok(Parameter::Text(Value::from(values).to_string()))
            }
        }
    }
}

/// Returns the text of an array, every value in quotes.
fn postgres_array(values: &[Scalar]) -> String {
    let quoted = values.iter().map(|value| {
        let escaped = value.for_postgres().replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    });
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(kind: ParameterKind, text: &str) -> Scalar {
        Scalar::parse(kind, text).unwrap()
    }

    #[test]
    fn values_have_form_of_their_engine() {
        let time = scalar(ParameterKind::Timestamp, "2026-01-31T12:00:00.5+02:00");
        let number = scalar(ParameterKind::Number, "0.10");
        let text = |text: &str| Ok(Parameter::Text(text.to_owned()));
        for (value, engine, parameter) in [
            (&time, Engine::Postgres, text("2026-01-31 10:00:00.500000+00")),
            (&time, Engine::MySql, text("2026-01-31 10:00:00.500000")),
            (&number, Engine::Postgres, text("0.1")),
            (&number, Engine::Sqlite, Ok(Parameter::Real(0.1))),
            (&scalar(ParameterKind::Boolean, "true"), Engine::Postgres, text("true")),
            (&scalar(ParameterKind::Boolean, "true"), Engine::MySql, Ok(Parameter::Integer(1))),
        ] {
            assert_eq!(value.to_parameter(engine), parameter, "{value:?} {engine}");
        }
        let long = scalar(ParameterKind::Number, &"9".repeat(36));
        assert!(long.to_parameter(Engine::MySql).is_err());
        assert!(long.to_parameter(Engine::Postgres).is_ok());
    }

    #[test]
    fn array_quotes_every_value() {
        let values = ["a,b", "NULL", "\"}\\", ""].map(|it| scalar(ParameterKind::String, it));
        assert_eq!(postgres_array(&values), r#"{"a,b","NULL","\"}\\",""}"#);
        assert_eq!(postgres_array(&[]), "{}");
    }

    #[test]
    fn invalid_values_are_rejected() {
        for (kind, text) in [
            (ParameterKind::Date, "2026-02-30"),
            (ParameterKind::Date, "2026-1-1"),
            (ParameterKind::Timestamp, "2026-01-31T12:00:00"),
            (ParameterKind::Timestamp, "2026-01-31"),
            (ParameterKind::Integer, "1.5"),
            (ParameterKind::Integer, "9223372036854775808"),
            (ParameterKind::Boolean, "yes"),
            (ParameterKind::String, "a\0b"),
        ] {
            assert!(Scalar::parse(kind, text).is_err(), "{text}");
        }
    }
}
