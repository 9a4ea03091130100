//! Which columns of a table are searched, and how much each counts.

use serde_json::Value;

use crate::actors::CallError;
use vademecum_sql::{Connection, Engine, Parameter, Rows, SqlError};

/// How much all titles count together, and all contents, where there are both.
const TITLES: f64 = 0.3;
const CONTENTS: f64 = 0.7;
/// A text that is shorter on average, in characters, is a title.
const SHORT: f64 = 100.0;
/// Rows that are looked at to know how long texts are.
const SAMPLE: usize = 100;
/// What is added to the name of a text to name its vector.
const SUFFIXES: [&str; 6] = ["_embeddings", "_embedding", "_vectors", "_vector", "_vec", "_emb"];
/// What columns that say what something is called are called.
const TITLE_NAMES: [&str; 7] =
    ["title", "name", "subject", "headline", "heading", "caption", "label"];
/// What columns that say what is in it are called.
const CONTENT_NAMES: [&str; 9] = [
    "content",
    "body",
    "text",
    "description",
    "article",
    "document",
    "chunk",
    "message",
    "summary",
];

/// A table with vectors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) schema: String,
    pub(super) name: String,
    /// Whether its rows have places of their own: it is no view.
    pub(super) is_stored: bool,
    /// The columns of its primary key.
    pub(super) key: Vec<String>,
    pub(super) pairs: Vec<Pair>,
}

/// A column of vectors, and the column with the texts that they are of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) vector: String,
    /// `vector` or `halfvec`.
    pub(super) kind: String,
    /// None if the column does not say.
    pub(super) dimensions: Option<usize>,
    pub(super) text: String,
    pub(super) is_title: bool,
    /// All weights together are 1.
    pub(super) weight: f64,
}

/// A column as the database describes it.
#[derive(Clone, Debug, Default)]
struct Column {
    name: String,
    kind: String,
    is_text: bool,
    dimensions: Option<usize>,
    description: String,
    is_key: bool,
}

impl Column {
    fn is_vector(&self) -> bool {
        matches!(self.kind.as_str(), "vector" | "halfvec")
    }
}

/// An identifier as it stands in a statement.
pub(super) fn quoted(name: &str) -> String {
    vademecum_sql::quoted(Engine::Postgres, name)
}

impl Table {
    /// The table that is called so: `table`, `schema.table`, each perhaps in double
    /// quotes.
    pub(super) async fn find(connection: &Connection, named: &str) -> Result<Self, CallError> {
        let (schema, name) = split(named)
            .ok_or_else(|| CallError::Invalid(format!("table_name: `{named}` names no table")))?;
        let parameters = [
            schema.clone().map_or(Parameter::Null, Parameter::Text),
            Parameter::Text(name.clone()),
        ];
        let caps = connection.profile().caps();
        let rows = connection.read(include_str!("columns.sql"), &parameters, caps).await?;
        let (found, columns) = columns(&rows);
        let Some((schema, kind)) = found else {
            return Err(CallError::Invalid(format!(
                "table_name: there is no table `{named}`; get_schema_info with \
                 vector_tables_only=true lists those that can be searched"
            )));
        };
        let is_stored = matches!(kind.as_str(), "r" | "p" | "m");
        let mut table = Self { schema, name, is_stored, key: Vec::new(), pairs: Vec::new() };
        table.key = columns.iter().filter(|it| it.is_key).map(|it| it.name.clone()).collect();
        if !columns.iter().any(Column::is_vector) {
            return Err(CallError::Refused(format!(
                "table `{named}` has no column of type vector or halfvec; get_schema_info with \
                 vector_tables_only=true lists the tables that have"
            )));
        }
        let texts: Vec<&Column> = columns.iter().filter(|column| column.is_text).collect();
        if texts.is_empty() {
            return Err(CallError::Refused(format!(
                "table `{named}` has vectors but no column of text that they could be of"
            )));
        }
        let lengths = table.lengths(connection, &texts).await?;
        table.pairs = pairs(&columns, &lengths);
        Ok(table)
    }

    /// As it stands in a statement.
    pub(super) fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    /// The columns whose texts are shown: contents, or titles where there is nothing
    /// else. Each once.
    pub(super) fn shown(&self) -> Vec<&str> {
        let only_titles = self.pairs.iter().all(|pair| pair.is_title);
        let mut shown: Vec<&str> = Vec::new();
        for pair in self.pairs.iter().filter(|pair| only_titles || !pair.is_title) {
            if !shown.contains(&pair.text.as_str()) {
                shown.push(&pair.text);
            }
        }
        shown
    }

    /// How long texts are, as far as some rows tell.
    async fn lengths(
        &self,
        connection: &Connection,
        texts: &[&Column],
    ) -> Result<Vec<(String, f64)>, SqlError> {
        let means: Vec<String> = (1..)
            .zip(texts)
            .map(|(number, text)| {
                format!(
                    "coalesce(avg(length({}::text)), 0)::float8 AS c{number}",
                    quoted(&text.name)
                )
            })
            .collect();
        let sql = format!(
            "SELECT {} FROM (SELECT * FROM {} LIMIT {SAMPLE}) AS sample",
            means.join(", "),
            self.quoted()
        );
        let rows = connection.read(&sql, &[], connection.profile().caps()).await?;
        let means = rows.rows.into_iter().next().unwrap_or_default();
        let named = texts.iter().map(|text| text.name.clone());
        Ok(named.zip(means.iter().map(|mean| mean.as_f64().unwrap_or(0.0))).collect())
    }
}

/// `schema.table`, with quotes taken off.
fn split(named: &str) -> Option<(Option<String>, String)> {
    let mut parts = vec![String::new()];
    let (mut is_quoted, mut letters) = (false, named.trim().chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                parts.last_mut()?.push('"');
                letters.next();
            }
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(String::new()),
            letter => parts.last_mut()?.push(letter),
        }
    }
    if is_quoted || parts.iter().any(String::is_empty) {
        return None;
    }
    let name = parts.pop()?;
    match parts.len() {
        0 => Some((None, name)),
        1 => Some((parts.pop(), name)),
        _ => None,
    }
}

/// The rows of `columns.sql`: schema and kind of the table, and its columns.
fn columns(rows: &Rows) -> (Option<(String, String)>, Vec<Column>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut table = None;
    let columns = rows.rows.iter().filter_map(|row| {
        let [schema, relation, name, kind, category, dimensions, description, is_key] = &row[..]
        else {
            return None;
        };
        table = Some((text(schema), text(relation)));
        Some(Column {
            name: text(name),
            kind: text(kind),
            is_text: category == "S",
            dimensions: dimensions.as_u64().and_then(|it| it.try_into().ok()),
            description: text(description),
            is_key: is_key.as_bool().unwrap_or_default(),
        })
    });
    let columns = columns.collect();
    (table, columns)
}

/// Each column of vectors with its texts.
fn pairs(columns: &[Column], lengths: &[(String, f64)]) -> Vec<Pair> {
    let length = |name: &str| {
        lengths.iter().find(|(known, _)| known == name).map_or(0.0, |(_, length)| *length)
    };
    let texts = || columns.iter().filter(|column| column.is_text);
    let text_of = |vector: &Column| -> Option<Column> {
        let name = vector.name.to_lowercase();
        let base = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
        let base = base.or_else(|| name.strip_prefix("embedding_")).unwrap_or_default();
        let named = |wanted: &str| texts().find(|text| text.name.eq_ignore_ascii_case(wanted));
        let longest =
            || texts().max_by(|one, other| length(&one.name).total_cmp(&length(&other.name)));
        let content = || CONTENT_NAMES.iter().find_map(|name| named(name));
        named(base).or_else(content).or_else(longest).cloned()
    };
    let mut pairs: Vec<Pair> = columns
        .iter()
        .filter(|column| column.is_vector())
        .filter_map(|vector| {
            let text = text_of(vector)?;
            Some(Pair {
                vector: vector.name.clone(),
                kind: vector.kind.clone(),
                dimensions: vector.dimensions,
                is_title: is_title(&text, length(&text.name)),
                text: text.name,
                weight: 0.0,
            })
        })
        .collect();
    let titles = count(&pairs, true);
    let contents = count(&pairs, false);
    for pair in &mut pairs {
        pair.weight = match (pair.is_title, titles > 0.0 && contents > 0.0) {
            (true, true) => TITLES / titles,
            (false, true) => CONTENTS / contents,
            (_, false) => 1.0 / (titles + contents),
        };
    }
    pairs
}

fn count(pairs: &[Pair], titles: bool) -> f64 {
    pairs.iter().filter(|pair| pair.is_title == titles).map(|_| 1.0).sum()
}

/// Whether a text says what something is called: its name tells, or its
/// description, or else how long it is.
fn is_title(column: &Column, length: f64) -> bool {
    let has = |text: &str, names: &[&str]| {
        let text = text.to_lowercase();
        names.iter().any(|name| text.contains(name))
    };
    for text in [&column.name, &column.description] {
        match (has(text, &TITLE_NAMES), has(text, &CONTENT_NAMES)) {
            (true, false) => return true,
            (false, true) => return false,
            (true, true) | (false, false) => {}
        }
    }
    length < SHORT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str) -> Column {
        Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            is_text: kind == "text",
            ..Column::default()
        }
    }

    #[test]
    fn names_are_split_at_dots_outside_of_quotes() {
        let some =
            |schema: Option<&str>, name: &str| Some((schema.map(str::to_owned), name.to_owned()));
        assert_eq!(split("wiki"), some(None, "wiki"));
        assert_eq!(split("docs.wiki"), some(Some("docs"), "wiki"));
        assert_eq!(split("\"My.Docs\".\"a\"\"b\""), some(Some("My.Docs"), "a\"b"));
        assert_eq!(
            (split("a.b.c"), split("a."), split("\"a"), split("")),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_vector_is_of_the_text_of_its_name_and_titles_count_less() {
        let columns = [
            column("title", "text"),
            column("content", "text"),
            column("title_embedding", "vector"),
            column("content_embedding", "halfvec"),
        ];
        let pairs = pairs(&columns, &[]);
        let told: Vec<_> =
            pairs.iter().map(|it| (it.text.as_str(), it.is_title, it.weight)).collect();
        assert_eq!(told, [("title", true, 0.3), ("content", false, 0.7)]);
    }

    #[test]
    fn a_vector_without_a_text_of_its_name_is_of_the_longest() {
        let columns =
            [column("tag", "text"), column("words", "text"), column("embedding", "vector")];
        let lengths = [("tag".to_owned(), 9.0), ("words".to_owned(), 900.0)];
        let [pair] = &pairs(&columns, &lengths)[..] else { panic!() };
        assert_eq!((pair.text.as_str(), pair.is_title, pair.weight), ("words", false, 1.0));
    }

    #[test]
    fn what_no_name_tells_the_description_or_the_length_tells() {
        let described =
            Column { description: "The headline of it".to_owned(), ..column("h", "text") };
        assert!(is_title(&described, 900.0));
        assert!(is_title(&column("x", "text"), 12.0) && !is_title(&column("x", "text"), 500.0));
    }
}
