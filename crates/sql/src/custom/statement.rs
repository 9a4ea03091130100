//! Custom statements: the check of their definitions, and calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde_json::value::RawValue;

use super::{
    literal::Literal,
    parameter::ParameterRule,
    value::{Argument, StatementWriter},
};
use crate::{
    Column, Engine, ErrorCode, Parameter, Profile, ProfileConnection, Profiles, QueryCaps,
    SqlError,
    driver::WriteResult,
    guard::{self, PlaceForm, StatementKind, StatementTemplate, TemplatePart},
    identifier::quote_identifier,
};
use vademecum_core::config::{CustomTool, ParameterKind};

/// Verbs of statements that write and that the engines explain without running them.
const EXPLAINED_VERBS: [&str; 6] = ["insert", "update", "delete", "merge", "replace", "with"];

/// Statement of the settings, checked as far as that is possible without the database.
#[derive(Clone, Debug)]
pub struct CustomStatement {
    profile: Arc<Profile>,
    template: StatementTemplate,
    parameters: Vec<ParameterRule>,
    is_read_only: bool,
    caps: QueryCaps,
}

/// Statement with the values of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundStatement {
    /// Text with numbered or nameless places.
    pub text: String,
    /// Value of each place.
    pub parameters: Vec<Parameter>,
}

/// Error in the definition of a custom statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct DefinitionError {
    /// Key in the settings, below that of the tool.
    pub key: String,
    /// Description of the error, with the remedy.
    pub message: String,
}

impl DefinitionError {
    fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }

    fn in_statement(error: SqlError) -> Self {
        Self::new("statement", error.message)
    }
}

impl CustomStatement {
    /// Checks a definition: the profile, the parameters and their places, and the statement itself
    /// by the guard.
    pub fn new(settings: &CustomTool, profiles: &Profiles) -> Result<Self, DefinitionError> {
        let profile = profiles.get(&settings.profile).ok_or_else(|| {
            let known = profiles.names().collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "there are none".to_owned() } else { known };
            let name = &settings.profile;
            let message = format!(
                "there is no profile `{name}`; add [profiles.{name}], or name one of: {known}"
            );
            DefinitionError::new("profile", message)
        })?;
        let engine = profile.engine();
        if !settings.read_only && !profile.may_write() {
            let name = profile.name();
            let message = format!(
                "is false, but the profile `{name}` only reads; set allow and tables, or \
                 unsafe_allow_write = true in [profiles.{name}], or remove read_only"
            );
            return Err(DefinitionError::new("read_only", message));
        }
        let template = StatementTemplate::parse(engine, &settings.statement)
            .map_err(DefinitionError::in_statement)?;
        let parameters = settings.parameters.iter().map(|(name, parameter)| {
            let name = name.as_str();
            ParameterRule::new(name, parameter).map_err(|(key, message)| {
                DefinitionError::new(format!("parameters.{name}.{key}"), message)
            })
        });
        let statement = Self {
            caps: statement_caps(settings, profile)?,
            profile: Arc::clone(profile),
            template,
            parameters: parameters.collect::<Result<_, _>>()?,
            is_read_only: settings.read_only,
        };
        statement.check_places()?;
        statement.check_samples()?;
        Ok(statement)
    }

    /// Returns the profile of the database on which the statement runs.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// Returns the parameters, by name.
    pub fn parameters(&self) -> &[ParameterRule] {
        &self.parameters
    }

    /// Returns true if the statement only reads.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Binds the arguments of a call, a JSON object. Fails if one is unknown, missing or invalid.
    pub fn bind(&self, arguments: &RawValue) -> Result<BoundStatement, String> {
        let given: BTreeMap<String, &RawValue> = match arguments.get() {
            "null" => BTreeMap::new(),
            json => serde_json::from_str(json).map_err(|_| "expected an object".to_owned())?,
        };
        let known: Vec<&str> = self.parameters.iter().map(ParameterRule::name).collect();
        if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
            let name: String = name.chars().take(60).collect();
            let known = if known.is_empty() {
                "this tool has no arguments".to_owned()
            } else {
                format!("expected {}", known.join(", "))
            };
            return Err(format!("unknown argument `{name}`; {known}"));
        }
        let mut values = BTreeMap::new();
        for rule in &self.parameters {
            let literal = given.get(rule.name()).map(|json| {
                Literal::parse(json.get()).ok_or_else(|| format!("{}: is not JSON", rule.name()))
            });
            let argument = rule.parse_argument(literal.transpose()?.as_ref())?;
            values.insert(rule.name(), argument);
        }
        self.write(&values)
    }

    /// Runs a bound statement.
    pub async fn run(
        &self,
        connection: &ProfileConnection,
        bound: &BoundStatement,
    ) -> Result<WriteResult, SqlError> {
        let BoundStatement { text, parameters } = bound;
        if !self.is_read_only {
            return connection.run_write(text, parameters, self.caps).await;
        }
        let rows = connection.run_query(text, parameters, self.caps).await?;
        Ok(WriteResult { rows_affected: 0, rows })
    }

    /// Has the database prepare the statement without running it, and returns the columns of its
    /// rows; `None` if they are not known. Every identifier is tried.
    pub async fn describe(
        &self,
        connection: &ProfileConnection,
    ) -> Result<Option<Vec<Column>>, SqlError> {
        let mut columns = None;
        for bound in self.samples() {
            let BoundStatement { text, parameters } = bound.map_err(|why| {
                SqlError::new(ErrorCode::XsqlInternal, format!("cannot bind a sample: {why}"))
            })?;
            let described = self.describe_text(connection, &text, &parameters).await?;
            columns = columns.or(described);
        }
        if let Some(twice) = columns.as_deref().and_then(repeated_column) {
            let message = format!("two columns have the name `{twice}`; rename one with AS");
            return Err(SqlError::new(ErrorCode::XsqlDbExecFailed, message));
        }
        Ok(columns)
    }

    async fn describe_text(
        &self,
        connection: &ProfileConnection,
        text: &str,
        parameters: &[Parameter],
    ) -> Result<Option<Vec<Column>>, SqlError> {
        let caps = QueryCaps { max_rows: 1, ..self.caps };
        if !self.is_read_only {
            let verb = text.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            if EXPLAINED_VERBS.contains(&verb.as_str()) {
                connection.run_write(&format!("EXPLAIN {text}"), parameters, caps).await?;
            }
            return Ok(None);
        }
        let query = guard::check_query(self.template.engine(), text)?;
        if query.kind() != StatementKind::Rows {
            return Ok(None);
        }
        // Names of columns that occur twice would make this an error of its own in `MySQL`, with
        // the same message.
        let wrapped = format!("SELECT * FROM (\n{}\n) AS custom_statement LIMIT 0", query.text());
        let rows = connection.run_query(&wrapped, parameters, caps).await?;
        Ok(Some(rows.columns))
    }

    /// Checks that places and parameters agree.
    fn check_places(&self) -> Result<(), DefinitionError> {
        let used: BTreeSet<&str> = self.template.placeholders().map(|(name, _)| name).collect();
        let rule = |name: &str| self.parameters.iter().find(|rule| rule.name() == name);
        if let Some(name) = used.iter().find(|name| rule(name).is_none()) {
            let message = format!(
                "`:{name}` has no definition; add a section for parameters.{name}, or put a space \
                 after the colon if it is none"
            );
            return Err(DefinitionError::new("statement", message));
        }
        if let Some(rule) = self.parameters.iter().find(|rule| !used.contains(rule.name())) {
            let name = rule.name();
            let message =
                format!("the statement does not contain `:{name}`; add it, or remove this");
            return Err(DefinitionError::new(format!("parameters.{name}"), message));
        }
        let list_in_parentheses = self.template.placeholders().find(|(name, form)| {
            *form == PlaceForm::InList && rule(name).is_some_and(ParameterRule::is_array)
        });
        match (self.template.engine(), list_in_parentheses) {
            (Engine::Postgres, Some((name, _))) => {
                let message = format!(
                    "`IN (:{name})` compares with the list as one value; write `= ANY(:{name})`"
                );
                Err(DefinitionError::new("statement", message))
            }
            (Engine::Postgres | Engine::MySql | Engine::Sqlite, _) => Ok(()),
        }
    }

    /// Has the guard check the statement with each identifier.
    fn check_samples(&self) -> Result<(), DefinitionError> {
        let engine = self.template.engine();
        for bound in self.samples() {
            let text = bound.map_err(|why| DefinitionError::new("statement", why))?.text;
            let checked = if self.is_read_only {
                guard::check_query(engine, &text).map(drop)
            } else {
                self.profile.check_write(&text).map(drop)
            };
            checked.map_err(DefinitionError::in_statement)?;
        }
        Ok(())
    }

    /// Returns the statement with the samples of each parameter in turn, and the first sample of all
    /// others.
    fn samples(&self) -> impl Iterator<Item = Result<BoundStatement, String>> {
        let samples: Vec<_> =
            self.parameters.iter().map(|rule| (rule.name(), rule.samples())).collect();
        let first: BTreeMap<&str, Argument> = samples
            .iter()
            .filter_map(|(name, samples)| Some((*name, samples.first()?.clone())))
            .collect();
        let mut variants = vec![first.clone()];
        for (name, samples) in &samples {
            variants.extend(samples.iter().skip(1).map(|sample| {
                let mut variant = first.clone();
                variant.insert(name, sample.clone());
                variant
            }));
        }
        variants.into_iter().map(|variant| self.write(&variant))
    }

    /// Writes the statement with these values.
    fn write(&self, values: &BTreeMap<&str, Argument>) -> Result<BoundStatement, String> {
        let engine = self.template.engine();
        let mut writer = StatementWriter::new(engine);
        for part in self.template.parts() {
            let (name, form) = match part {
                TemplatePart::Text(text) => {
                    writer.push_text(text);
                    continue;
                }
                TemplatePart::Place { name, form } => (name, *form),
            };
            let kind = self.parameters.iter().find(|rule| rule.name() == name);
            let kind = kind.map_or(ParameterKind::String, ParameterRule::kind);
            let argument = values.get(name.as_str()).unwrap_or(&Argument::Null);
            let written = match (argument, form) {
                (Argument::Identifier(identifier), _) => {
                    writer.push_text(&quote_identifier(engine, identifier));
                    Ok(())
                }
                (Argument::List(values), PlaceForm::InList) if engine != Engine::Postgres => {
                    writer.push_list(kind, values)
                }
                _ => writer.push_value(name, kind, argument, form),
            };
            written.map_err(|why| format!("{name}: {why}"))?;
        }
        let (text, parameters) = writer.finish();
        Ok(BoundStatement { text: text.trim().to_owned(), parameters })
    }
}

/// Returns the limits of a statement. Fails if one is above that of the profile.
fn statement_caps(settings: &CustomTool, profile: &Profile) -> Result<QueryCaps, DefinitionError> {
    let caps = profile.query_caps();
    let name = profile.name();
    let above = |key: &str, most: String| {
        let message =
            format!("is above {most}, the limit of [profiles.{name}]; raise {key} there first");
        DefinitionError::new(key, message)
    };
    let max_rows = settings.max_rows.map_or(caps.max_rows, Into::into);
    let max_bytes = settings.max_bytes.map_or(caps.max_bytes, Into::into);
    let timeout = settings
        .timeout_ms
        .map_or(caps.timeout, |most| Duration::from_millis(u64::from(most.get())));
    if max_rows > caps.max_rows {
        return Err(above("max_rows", caps.max_rows.to_string()));
    }
    if max_bytes > caps.max_bytes {
        return Err(above("max_bytes", caps.max_bytes.to_string()));
    }
    if timeout > caps.timeout {
        return Err(above("timeout_ms", caps.timeout.as_millis().to_string()));
    }
    Ok(QueryCaps { timeout, offset: 0, max_rows, max_bytes })
}

/// Returns the first column name that occurs twice. `SQLite` has added a number to the second one,
/// as in `id:1`, because the statement was a sub-select.
fn repeated_column(columns: &[Column]) -> Option<&str> {
    let mut names = BTreeSet::new();
    columns.iter().map(|column| column.name.as_str()).find(|name| {
        let original = name.rsplit_once(':').filter(|(_, number)| number.parse::<u32>().is_ok());
        !names.insert(*name) || original.is_some_and(|(original, _)| names.contains(original))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::config::Settings;

    const PROFILES: &str = "[profiles.pg]\ndsn = \"postgres://a@b/c\"\n\
        [profiles.maria]\ndsn = \"mysql://a@b/c\"\n\
        [profiles.lite]\ndsn = \"/tmp/x.db\"\nunsafe_allow_write = true\nmax_rows = 10\n";

    fn parse_statement(definition: &str) -> Result<CustomStatement, String> {
        let text = format!("{PROFILES}[tools.custom.t]\ndescription = \"\"\n{definition}");
        let settings = Settings::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let unlock = settings.secrets.passphrase_source();
        let profiles = Profiles::new(&settings.profiles, &unlock).unwrap();
        let (_, tool) = settings.tools.custom.first_key_value().unwrap();
        CustomStatement::new(tool, &profiles).map_err(|error| error.to_string())
    }

    fn bind(statement: &CustomStatement, json: &str) -> Result<BoundStatement, String> {
        statement.bind(&RawValue::from_string(json.to_owned()).unwrap())
    }

    const ORDERS: &str = "[tools.custom.t.parameters.ids]\ntype = \"integer\"\narray = true\n\
        [tools.custom.t.parameters.status]\ntype = \"string\"\nrequired = false\n\
        [tools.custom.t.parameters.least]\ntype = \"number\"\ndefault = 0\n\
        [tools.custom.t.parameters.by]\ntype = \"identifier\"\nvalues = [\"id\", \"a`b\\\"c\"]\n\
        default = \"id\"\n";

    #[test]
    fn values_are_bound_and_identifiers_quoted() {
        let statement = |profile: &str, is_in: &str| {
            let text = format!(
                "profile = \"{profile}\"\nstatement = \"SELECT id FROM orders WHERE id {is_in} AND \
                 (:status IS NULL OR status = :status) AND price >= :least ORDER BY :by -- :x\"\n"
            );
            parse_statement(&format!("{text}{ORDERS}")).unwrap()
        };
        let json = r#"{ "ids": [1, 2], "status": "'; DROP", "least": 0.10, "by": "a`b\"c" }"#;
        let text = |text: &str| Parameter::Text(text.to_owned());
        let bound = bind(&statement("pg", "= ANY(:ids)"), json).unwrap();
        assert_eq!(
            bound.text,
            "SELECT id FROM orders WHERE id = ANY($1) AND ($2::pg_catalog.text IS NULL OR status = \
             $3) AND price >= $4 ORDER BY \"a`b\"\"c\""
        );
        let expected = [text("{\"1\",\"2\"}"), text("'; DROP"), text("'; DROP"), text("0.1")];
        assert_eq!(bound.parameters, expected);
        let [one, two] = [1, 2].map(Parameter::Integer);
        let drop = || text("'; DROP");
        for (profile, number, parameter) in [
            ("maria", "CAST(? AS DECIMAL(65, 30))", text("0.1")),
            ("lite", "?", Parameter::Real(0.1)),
        ] {
            let bound = bind(&statement(profile, "IN (:ids)"), json).unwrap();
            assert_eq!(
                bound.text,
                format!(
                    "SELECT id FROM orders WHERE id IN (?, ?) AND (? IS NULL OR status = ?) AND \
                     price >= {number} ORDER BY `a``b\"c`"
                )
            );
            let expected = [one.clone(), two.clone(), drop(), drop(), parameter];
            assert_eq!(bound.parameters, expected);
            let empty = bind(&statement(profile, "IN (:ids)"), "{\"ids\": []}").unwrap();
            assert!(empty.text.contains("IN (SELECT NULL"), "{empty:?}");
            assert_eq!(empty.parameters.first(), Some(&Parameter::Null));
        }
    }

    #[test]
    fn definition_error_names_key_and_remedy() {
        let with = |rest: &str| format!("profile = \"lite\"\n{rest}");
        let id = "[tools.custom.t.parameters.id]\ntype = \"integer\"\n";
        for (definition, parts) in [
            ("profile = \"x\"\nstatement = \"\"".to_owned(), ["profile: ", "lite, maria, pg"]),
            (with("statement = \"DELETE FROM t\""), ["statement: ", "`DELETE`"]),
            (with("statement = \"SELECT 1; SELECT 2\""), ["statement: ", "one statement"]),
            (with("statement = \"SELECT 'x\""), ["statement: ", "line 1, column 8"]),
            (with("statement = \"SELECT :id\""), ["statement: `:id`", "parameters.id"]),
            (with("statement = \"SELECT ?\""), ["statement: ", "write `:name`"]),
            (with(&format!("statement = \"SELECT ':id'\"\n{id}")), ["parameters.id: ", "`:id`"]),
            (with("statement = \"SELECT 1\"\nmax_rows = 11"), ["max_rows: is above 10", "lite"]),
            (
                with(&format!("statement = \"SELECT :id\"\n{id}minimum = 2\nmaximum = 1")),
                ["parameters.id.minimum: ", "exchange"],
            ),
            (
                "profile = \"pg\"\nread_only = false\nstatement = \"DELETE FROM t\"".to_owned(),
                ["read_only: ", "[profiles.pg]"],
            ),
            (
                format!("profile = \"pg\"\nstatement = \"SELECT 1 IN (:id)\"\n{id}array = true"),
                ["statement: `IN (:id)`", "= ANY(:id)"],
            ),
        ] {
            let error = parse_statement(&definition).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{definition}: {error}");
        }
    }

    #[test]
    fn unknown_argument_error_lists_known_ones() {
        let statement = parse_statement(
            "profile = \"lite\"\nstatement = \"SELECT :id\"\n\
             [tools.custom.t.parameters.id]\ntype = \"integer\"\n",
        );
        let statement = statement.unwrap();
        let error = bind(&statement, "{\"id\": 1, \"idd\": 2}").unwrap_err();
        assert_eq!(error, "unknown argument `idd`; expected id");
        assert_eq!(bind(&statement, "null").unwrap_err(), "id: is required; expected an integer");
        assert_eq!(bind(&statement, "[1]").unwrap_err(), "expected an object");
    }
}
