//! Finds the vector columns of a table, the text columns they belong to, and their weights.

use serde_json::Value;
use vademecum_actors::CallError;
use vademecum_sql::{Engine, Parameter, ProfileConnection, Rows, SqlError};

/// Total weight of all title columns and of all content columns, if a table has both.
const TITLE_WEIGHT: f64 = 0.3;
const CONTENT_WEIGHT: f64 = 0.7;
/// A text column with a smaller mean length, in characters, is a title.
const MAX_TITLE_MEAN_CHARS: f64 = 100.0;
/// Number of rows sampled for the mean length of texts.
const SAMPLE_ROWS: usize = 100;
/// Suffixes that turn the name of a text column into that of its vector column.
const VECTOR_SUFFIXES: [&str; 6] =
    ["_embeddings", "_embedding", "_vectors", "_vector", "_vec", "_emb"];
/// Parts of names that mark a title column.
const TITLE_NAMES: [&str; 7] =
    ["title", "name", "subject", "headline", "heading", "caption", "label"];
/// Parts of names that mark a content column.
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

/// A table with vector columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VectorTable {
    pub(super) schema: String,
    pub(super) name: String,
    /// Whether rows have a physical location (`ctid`): true for tables and materialized views,
    /// false for views.
    pub(super) is_stored: bool,
    /// Columns of the primary key.
    pub(super) key_columns: Vec<String>,
    pub(super) vector_columns: Vec<VectorColumn>,
}

/// A vector column and its text column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VectorColumn {
    pub(super) column: String,
    /// Type: `vector` or `halfvec`.
    pub(super) type_name: String,
    /// Number of dimensions; `None` if the column declares none.
    pub(super) dimensions: Option<usize>,
    pub(super) text_column: String,
    pub(super) is_title: bool,
    /// Weight of the column; all weights sum to 1.
    pub(super) weight: f64,
}

/// A column as described by the database catalogue.
#[derive(Clone, Debug, Default)]
struct ColumnInfo {
    name: String,
    type_name: String,
    is_text: bool,
    dimensions: Option<usize>,
    description: String,
    is_key: bool,
}

impl ColumnInfo {
    fn is_vector(&self) -> bool {
        matches!(self.type_name.as_str(), "vector" | "halfvec")
    }
}

/// Quotes an identifier for a statement.
pub(super) fn quote_identifier(name: &str) -> String {
    vademecum_sql::quote_identifier(Engine::Postgres, name)
}

impl VectorTable {
    /// Finds a table by `table` or `schema.table`, each optionally in double quotes. Fails if it
    /// has no vector or no text column.
    pub(super) async fn find_table(
        connection: &ProfileConnection,
        named: &str,
    ) -> Result<Self, CallError> {
        let (schema, name) = split_table_name(named).ok_or_else(|| {
            CallError::Invalid(format!("table_name: `{named}` is not a valid table name"))
        })?;
        let parameters = [
            schema.clone().map_or(Parameter::Null, Parameter::Text),
            Parameter::Text(name.clone()),
        ];
        let caps = connection.profile().query_caps();
        let rows = connection.run_query(include_str!("columns.sql"), &parameters, caps).await?;
        let (found, columns) = parse_columns(&rows);
        let Some((schema, kind)) = found else {
            return Err(CallError::Invalid(format!(
                "table_name: there is no table `{named}`; get_schema_info with \
                 vector_tables_only=true lists the tables that can be searched"
            )));
        };
        let is_stored = matches!(kind.as_str(), "r" | "p" | "m");
        let mut table =
            Self { schema, name, is_stored, key_columns: Vec::new(), vector_columns: Vec::new() };
        table.key_columns =
            columns.iter().filter(|it| it.is_key).map(|it| it.name.clone()).collect();
        if !columns.iter().any(ColumnInfo::is_vector) {
            return Err(CallError::Refused(format!(
                "table `{named}` has no column of type vector or halfvec; get_schema_info with \
                 vector_tables_only=true lists the tables with one"
            )));
        }
        let texts: Vec<&ColumnInfo> = columns.iter().filter(|column| column.is_text).collect();
        if texts.is_empty() {
            return Err(CallError::Refused(format!(
                "table `{named}` has vector columns but no text column to return"
            )));
        }
        let lengths = table.mean_text_lengths(connection, &texts).await?;
        table.vector_columns = pair_columns(&columns, &lengths);
        Ok(table)
    }

    /// Returns the qualified, quoted name of the table.
    pub(super) fn quoted_name(&self) -> String {
        format!("{}.{}", quote_identifier(&self.schema), quote_identifier(&self.name))
    }

    /// Returns the text columns to show, each once: content columns, or titles if there are no
    /// others.
    pub(super) fn text_columns(&self) -> Vec<&str> {
        let only_titles = self.vector_columns.iter().all(|pair| pair.is_title);
        let mut shown: Vec<&str> = Vec::new();
        for pair in self.vector_columns.iter().filter(|pair| only_titles || !pair.is_title) {
            if !shown.contains(&pair.text_column.as_str()) {
                shown.push(&pair.text_column);
            }
        }
        shown
    }

    /// Returns the mean length of each text column, from a sample of rows.
    async fn mean_text_lengths(
        &self,
        connection: &ProfileConnection,
        texts: &[&ColumnInfo],
    ) -> Result<Vec<(String, f64)>, SqlError> {
        let means: Vec<String> = (1..)
            .zip(texts)
            .map(|(number, text)| {
                format!(
                    "coalesce(avg(length({}::text)), 0)::float8 AS c{number}",
                    quote_identifier(&text.name)
                )
            })
            .collect();
        let sql = format!(
            "SELECT {} FROM (SELECT * FROM {} LIMIT {SAMPLE_ROWS}) AS sample",
            means.join(", "),
            self.quoted_name()
        );
        let rows = connection.run_query(&sql, &[], connection.profile().query_caps()).await?;
        let means = rows.rows.into_iter().next().unwrap_or_default();
        let named = texts.iter().map(|text| text.name.clone());
        Ok(named.zip(means.iter().map(|mean| mean.as_f64().unwrap_or(0.0))).collect())
    }
}

/// Splits `table` or `schema.table` at dots outside of quotes and removes the quotes.
fn split_table_name(named: &str) -> Option<(Option<String>, String)> {
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

/// Parses the result of `columns.sql`: schema and kind of the table, and its columns.
fn parse_columns(rows: &Rows) -> (Option<(String, String)>, Vec<ColumnInfo>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut table = None;
    let columns = rows.rows.iter().filter_map(|row| {
        let [schema, relation, name, kind, category, dimensions, description, is_key] = &row[..]
        else {
            return None;
        };
        table = Some((text(schema), text(relation)));
        Some(ColumnInfo {
            name: text(name),
            type_name: text(kind),
            is_text: category == "S",
            dimensions: dimensions.as_u64().and_then(|it| it.try_into().ok()),
            description: text(description),
            is_key: is_key.as_bool().unwrap_or_default(),
        })
    });
    let columns = columns.collect();
    (table, columns)
}

/// Pairs each vector column with its text column: by name, else by a usual content name, else the
/// longest text.
fn pair_columns(columns: &[ColumnInfo], lengths: &[(String, f64)]) -> Vec<VectorColumn> {
    let length = |name: &str| {
        lengths.iter().find(|(known, _)| known == name).map_or(0.0, |(_, length)| *length)
    };
    let texts = || columns.iter().filter(|column| column.is_text);
    let text_of = |vector: &ColumnInfo| -> Option<ColumnInfo> {
        let name = vector.name.to_lowercase();
        let base = VECTOR_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
        let base = base.or_else(|| name.strip_prefix("embedding_")).unwrap_or_default();
        let named = |name: &str| texts().find(|text| text.name.eq_ignore_ascii_case(name));
        let longest =
            || texts().max_by(|one, other| length(&one.name).total_cmp(&length(&other.name)));
        let content = || CONTENT_NAMES.iter().find_map(|name| named(name));
        named(base).or_else(content).or_else(longest).cloned()
    };
    let mut pairs: Vec<VectorColumn> = columns
        .iter()
        .filter(|column| column.is_vector())
        .filter_map(|vector| {
            let text = text_of(vector)?;
            Some(VectorColumn {
                column: vector.name.clone(),
                type_name: vector.type_name.clone(),
                dimensions: vector.dimensions,
                is_title: is_title_column(&text, length(&text.name)),
                text_column: text.name,
                weight: 0.0,
            })
        })
        .collect();
    let titles = count_columns(&pairs, true);
    let contents = count_columns(&pairs, false);
    for pair in &mut pairs {
        pair.weight = match (pair.is_title, titles > 0.0 && contents > 0.0) {
            (true, true) => TITLE_WEIGHT / titles,
            (false, true) => CONTENT_WEIGHT / contents,
            (_, false) => 1.0 / (titles + contents),
        };
    }
    pairs
}

fn count_columns(pairs: &[VectorColumn], titles: bool) -> f64 {
    pairs.iter().filter(|pair| pair.is_title == titles).map(|_| 1.0).sum()
}

/// Whether a column is a title: by its name, else by its description, else by its mean length.
fn is_title_column(column: &ColumnInfo, length: f64) -> bool {
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
    length < MAX_TITLE_MEAN_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column_info(name: &str, kind: &str) -> ColumnInfo {
        ColumnInfo {
            name: name.to_owned(),
            type_name: kind.to_owned(),
            is_text: kind == "text",
            ..ColumnInfo::default()
        }
    }

    #[test]
    fn table_name_splits_at_unquoted_dots() {
        let some =
            |schema: Option<&str>, name: &str| Some((schema.map(str::to_owned), name.to_owned()));
        assert_eq!(split_table_name("wiki"), some(None, "wiki"));
        assert_eq!(split_table_name("docs.wiki"), some(Some("docs"), "wiki"));
        assert_eq!(split_table_name("\"My.Docs\".\"a\"\"b\""), some(Some("My.Docs"), "a\"b"));
        assert_eq!(
            (
                split_table_name("a.b.c"),
                split_table_name("a."),
                split_table_name("\"a"),
                split_table_name("")
            ),
            (None, None, None, None)
        );
    }

    #[test]
    fn vector_pairs_by_name_and_titles_weigh_less() {
        let columns = [
            column_info("title", "text"),
            column_info("content", "text"),
            column_info("title_embedding", "vector"),
            column_info("content_embedding", "halfvec"),
        ];
        let pairs = pair_columns(&columns, &[]);
        let found: Vec<_> =
            pairs.iter().map(|it| (it.text_column.as_str(), it.is_title, it.weight)).collect();
        assert_eq!(found, [("title", true, 0.3), ("content", false, 0.7)]);
    }

    #[test]
    fn unmatched_vector_pairs_with_longest_text() {
        let columns = [
            column_info("tag", "text"),
            column_info("words", "text"),
            column_info("embedding", "vector"),
        ];
        let lengths = [("tag".to_owned(), 9.0), ("words".to_owned(), 900.0)];
        let [pair] = &pair_columns(&columns, &lengths)[..] else { panic!() };
        assert_eq!((pair.text_column.as_str(), pair.is_title, pair.weight), ("words", false, 1.0));
    }

    #[test]
    fn title_falls_back_to_description_then_length() {
        let described =
            ColumnInfo { description: "The headline of it".to_owned(), ..column_info("h", "text") };
        assert!(is_title_column(&described, 900.0));
        assert!(
            is_title_column(&column_info("x", "text"), 12.0)
                && !is_title_column(&column_info("x", "text"), 500.0)
        );
    }
}
