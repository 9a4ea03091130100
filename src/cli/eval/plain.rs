//! What anybody gets without us: one plain FTS5 table over everything.
//!
//! It has a connection of its own, in memory, because it is no store: it is
//! filled in every run and measured in the same run as the library.

use anyhow::Result;
use rusqlite::{Connection, named_params};
use vademecum_kit::retrieve::is_stop_word;

use super::{collection::Document, measures::DEPTH};

/// The plain table.
#[derive(Debug)]
pub(super) struct Plain {
    connection: Connection,
}

impl Plain {
    /// Puts all documents into one table.
    pub(super) fn fill(documents: &[Document]) -> Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(include_str!("sql/table.sql"))?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare(include_str!("sql/insert.sql"))?;
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

    /// The places of the documents that hold any word of the question, best
    /// first.
    pub(super) fn search(&self, question: &str) -> Result<Vec<usize>> {
        let Some(query) = any_word(question) else { return Ok(Vec::new()) };
        let mut search = self.connection.prepare_cached(include_str!("sql/search.sql"))?;
        let limit = i64::try_from(DEPTH)?;
        let rows = search.query_map(named_params! { ":query": query, ":limit": limit }, |row| {
            row.get::<_, i64>("place")
        })?;
        rows.map(|place| Ok(usize::try_from(place?)?)).collect()
    }
}

/// The words of a question as quoted strings, any of which may match. Stop
/// words are dropped unless nothing remains.
fn any_word(question: &str) -> Option<String> {
    let words: Vec<&str> = question
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .collect();
    let telling: Vec<&str> =
        words.iter().copied().filter(|word| !is_stop_word(&word.to_lowercase())).collect();
    let asked = if telling.is_empty() { words } else { telling };
    let quoted: Vec<String> = asked.iter().map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, text: &str) -> Document {
        Document { id: String::new(), title: title.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn any_word_may_match_and_stop_words_are_dropped_unless_nothing_remains() {
        assert_eq!(any_word("What's the DOUGH?").as_deref(), Some("\"DOUGH\""));
        assert_eq!(any_word("To be, or").as_deref(), Some("\"To\" OR \"be\" OR \"or\""));
        assert_eq!(any_word("foo-bar \"NEAR").as_deref(), Some("\"foo\" OR \"bar\" OR \"NEAR\""));
        assert_eq!(any_word("?!"), None);
    }

    #[test]
    fn a_title_counts_more_than_a_text_and_endings_do_not_matter() {
        let documents = [
            document("", "nothing of it"),
            document("oven", "dough"),
            document("kneading", "stone"),
        ];
        let plain = Plain::fill(&documents).unwrap();
        assert_eq!(plain.search("who kneads doughs?").unwrap(), [2, 1]);
        assert!(plain.search("zebra").unwrap().is_empty());
        assert!(plain.search("?").unwrap().is_empty());
    }
}
