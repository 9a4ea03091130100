//! Spelling suggestions: stored words similar to a query word that is not stored.

use std::collections::BTreeMap;

use strsim::osa_distance;
use vademecum_fts5::{EXACT_MARK, exact_token};
use vademecum_model::FtsTable;
use vademecum_search::{Phrase, QueryWord};
use vademecum_store::{Reader, StoreError};

use super::rank::{count_visible, phrase_postings};

/// Minimum length of a word that is corrected, in characters. Shorter words resemble too many
/// others.
const MIN_CORRECTED_CHARS: usize = 4;
/// Minimum length of a word that may differ by two edits, in characters. Shorter words may differ
/// by one.
const MIN_TWO_EDITS_CHARS: usize = 8;

/// A stored word that resembles a query word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarWord {
    /// The query word, folded.
    pub query_word: String,
    /// The stored word, as the full-text table has it.
    pub stored_word: String,
    /// Optimal string alignment distance: the number of insertions, deletions, replacements and
    /// swaps of neighbours.
    pub distance: usize,
    /// Number of rows that contain the stored word.
    pub rows: u64,
}

/// Finds the words of a table that resemble the words in `query_words`. Only words with the same
/// first letter are compared, because the first letter is rarely mistyped. Words that occur in
/// `hidden` rows only are not found.
pub(crate) fn find_similar_words(
    reader: &Reader<'_>,
    table: &'static FtsTable,
    query_words: &[String],
    hidden: &[i64],
) -> Result<Vec<SimilarWord>, StoreError> {
    let index = reader.open_index(table)?;
    let mut found = Vec::new();
    for word in query_words {
        let length = word.chars().count();
        let Some(first) = word.chars().next().filter(|_| length >= MIN_CORRECTED_CHARS) else {
            continue;
        };
        let most = if length >= MIN_TWO_EDITS_CHARS { 2 } else { 1 };
        // Words that may be inflected are stored with the exact mark, all others without.
        let mark = exact_token(word).strip_suffix(word.as_str()).unwrap_or_default().to_owned();
        let next = char::from_u32(u32::from(first) + 1).unwrap_or(char::MAX);
        let (from, to) = (format!("{mark}{first}"), format!("{mark}{next}"));
        let mut near = BTreeMap::new();
        index.for_each_term(&from, &to, |term| {
            let stored = term.trim_start_matches(EXACT_MARK);
            let has_length = stored.chars().count().abs_diff(length) <= most;
            let distance = if has_length { osa_distance(word, stored) } else { usize::MAX };
            if distance <= most {
                near.insert(term.to_owned(), distance);
            }
        })?;
        for (term, distance) in near {
            let rows = index.count_rows(&term)?;
            if rows > 0 {
                let stored_word = term.trim_start_matches(EXACT_MARK).to_owned();
                found.push(SimilarWord { query_word: word.clone(), stored_word, distance, rows });
            }
        }
    }
    if hidden.is_empty() {
        return Ok(found);
    }
    let mut visible = Vec::with_capacity(found.len());
    for word in found {
        let phrase = Phrase::from(QueryWord::exact(&word.stored_word));
        let postings = phrase_postings(&index, &phrase, table, &[])?;
        let rows = count_visible(&postings, hidden);
        if rows > 0 {
            visible.push(SimilarWord { rows, ..word });
        }
    }
    Ok(visible)
}
