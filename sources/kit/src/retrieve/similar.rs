//! Words that are stored and look like one that is not: what was probably meant.

use rusqlite::named_params;
use strsim::osa_distance;
use vademecum_fts5::{EXACT, exact_token};

use crate::store::{Reader, StoreError, Table};

/// Shortest word that is corrected, in characters: shorter ones look like too
/// many others.
const SHORTEST: usize = 4;
/// From this length on, a word may differ in two places.
const LONG: usize = 8;

/// A stored word that looks like one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Similar {
    /// The word that was asked for, folded.
    pub asked: String,
    /// The stored one.
    pub stored: String,
    /// In how many places they differ: letters that are left out, added,
    /// replaced or swapped with their neighbour.
    pub distance: usize,
    /// In how many rows it is.
    pub rows: u64,
}

/// The words of a table that look like any of `asked`. They begin with the
/// same letter: who types a word wrong begins it right.
pub(crate) fn similar(
    reader: &Reader<'_>,
    table: &Table,
    asked: &[String],
) -> Result<Vec<Similar>, StoreError> {
    let mut found = Vec::new();
    for word in asked {
        let length = word.chars().count();
        let Some(first) = word.chars().next().filter(|_| length >= SHORTEST) else { continue };
        let most = if length >= LONG { 2 } else { 1 };
        // Words of ASCII letters are stored as they are; others only so.
        let mark = exact_token(word).strip_suffix(word.as_str()).unwrap_or_default().to_owned();
        let next = char::from_u32(u32::from(first) + 1).unwrap_or(char::MAX);
        let (from, to) = (format!("{mark}{first}"), format!("{mark}{next}"));
        reader.each(table.words, named_params! { ":from": from, ":to": to }, |row| {
            let stored = row.get_ref("term")?.as_str()?.trim_start_matches(EXACT);
            let near = stored.chars().count().abs_diff(length) <= most;
            let distance = if near { osa_distance(word, stored) } else { usize::MAX };
            if distance <= most {
                let rows = u64::try_from(row.get::<_, i64>("doc")?).unwrap_or(0);
                let (asked, stored) = (word.clone(), stored.to_owned());
                found.push(Similar { asked, stored, distance, rows });
            }
            Ok(())
        })?;
    }
    Ok(found)
}
