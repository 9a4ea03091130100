//! The baseline: a single plain FTS5 table with all documents.
//!
//! It uses its own in-memory connection instead of a store: it is filled in every run and measured
//! in the same run as the library.

use rusqlite::{Connection, Result, named_params};
use vademecum_fts5::is_stop_word;

use super::{judged_collection::CorpusDocument, metrics::RECALL_DEPTH};

/// Inserts the document at this position of the corpus.
const INSERT_SQL: &str = "INSERT INTO f (rowid, title, text) VALUES (:place, :title, :text)";
/// Positions of the documents that match `:query`, best first. Title terms have double weight.
const SEARCH_SQL: &str =
    "SELECT rowid AS place FROM f WHERE f MATCH :query ORDER BY bm25(f, 2.0, 1.0) LIMIT :limit";
/// A plain FTS5 table, used as the baseline.
const TABLE_SQL: &str =
    "CREATE VIRTUAL TABLE f USING fts5 (title, text, tokenize = 'porter unicode61')";

/// A plain FTS5 table with all documents.
#[derive(Debug)]
pub struct Fts5Baseline {
    connection: Connection,
}

impl Fts5Baseline {
    /// Creates the table with all documents.
    pub fn build(documents: &[CorpusDocument]) -> Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(TABLE_SQL)?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare(INSERT_SQL)?;
            for (place, document) in (0_i64..).zip(documents) {
                insert.execute(named_params! {
                    ":place": place,
                    ":title": document.title,
                    ":text": document.text,
                })?;
            }
        }
        transaction.commit()?;
        Ok(Self { connection })
    }

    /// Returns the corpus positions of the documents that contain any word of the query, best
    /// first.
    pub fn search(&self, query: &str) -> Result<Vec<usize>> {
        let Some(expression) = any_word_query(query) else { return Ok(Vec::new()) };
        let mut search = self.connection.prepare_cached(SEARCH_SQL)?;
        let limit = i64::try_from(RECALL_DEPTH).unwrap_or(i64::MAX);
        let parameters = named_params! { ":query": expression, ":limit": limit };
        let rows = search.query_map(parameters, |row| row.get("place"))?;
        rows.map(|place: Result<u32>| Ok(place? as usize)).collect()
    }
}

/// Returns the words of a query as quoted strings joined by `OR`, or `None` if there are none. Stop
/// words are dropped, unless there are no other words.
fn any_word_query(query: &str) -> Option<String> {
    let words: Vec<&str> =
        query.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty()).collect();
    let content_words: Vec<&str> =
        words.iter().copied().filter(|word| !is_stop_word(&word.to_lowercase())).collect();
    let chosen = if content_words.is_empty() { words } else { content_words };
    let quoted: Vec<String> = chosen.iter().map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, text: &str) -> CorpusDocument {
        CorpusDocument {
            id: String::new(),
            title: title.to_owned(),
            text: text.to_owned(),
            message: None,
        }
    }

    #[test]
    fn any_word_query_drops_stop_words() {
        assert_eq!(any_word_query("What's the DOUGH?").as_deref(), Some("\"DOUGH\""));
        assert_eq!(any_word_query("To be, or").as_deref(), Some("\"To\" OR \"be\" OR \"or\""));
        assert_eq!(
            any_word_query("foo-bar \"NEAR").as_deref(),
            Some("\"foo\" OR \"bar\" OR \"NEAR\"")
        );
        assert_eq!(any_word_query("?!"), None);
    }

    #[test]
    fn baseline_weighs_title_and_stems_words() {
        let documents = [
            document("", "nothing of it"),
            document("oven", "dough"),
            document("kneading", "stone"),
        ];
        let plain = Fts5Baseline::build(&documents).unwrap();
        assert_eq!(plain.search("who kneads doughs?").unwrap(), [2, 1]);
        assert!(plain.search("zebra").unwrap().is_empty());
        assert!(plain.search("?").unwrap().is_empty());
    }
}
