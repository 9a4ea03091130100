//! The terms on a leaf page of an FTS5 segment.
//!
//! The virtual table `fts5vocab` counts the rows of each term that it lists, which takes as long as
//! reading the postings of all of them. A page has a list of the places of its terms.
//!
//! The format is described in SQLite's `fts5_index.c`, "Segment leaves": two bytes with the place of
//! the first row number, two with the length of the content (big-endian), the content, and the places
//! of the terms as varints, each counted from the one before. The first term is a length and its
//! bytes. Each other term is the number of bytes that it shares with the one before, the number of
//! bytes that follow, and these.

use std::{cmp::Ordering, ops::ControlFlow};

use super::varint::{decode_varints, split_varint};

/// Byte with which the terms of the main index begin. Others belong to indexes of prefixes.
const MAIN_INDEX: u8 = b'0';

/// Returns a term as the main index stores it, after the byte of that index.
pub(super) fn stored_term(term: &str) -> Vec<u8> {
    [&[MAIN_INDEX], term.as_bytes()].concat()
}

/// The place of a term on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceOfTerm {
    /// The page has the term.
    At {
        /// Place after the term, of its rows.
        rows: usize,
        /// Place of the next term of the page.
        next: Option<usize>,
    },
    /// The page has a greater term and not this one.
    Passed,
    /// All terms of the page are less.
    Behind,
}

/// Finds a stored term on a page. Returns `None` if the page is malformed.
pub(super) fn find_term(page: &[u8], wanted: &[u8]) -> Option<PlaceOfTerm> {
    let mut place = PlaceOfTerm::Behind;
    for_each_stored_term(page, |term, rows, next| {
        place = match term.cmp(wanted) {
            Ordering::Less => return ControlFlow::Continue(()),
            Ordering::Equal => PlaceOfTerm::At { rows, next },
            Ordering::Greater => PlaceOfTerm::Passed,
        };
        ControlFlow::Break(())
    })?;
    Some(place)
}

/// Calls `visit` for the terms of a page in the main index, in ascending order. Returns `None` if the
/// page is malformed.
pub(super) fn for_each_term(page: &[u8], mut visit: impl FnMut(&str)) -> Option<()> {
    for_each_stored_term(page, |term, _, _| {
        // FTS5 cuts off very long terms, even inside a character.
        if let Some((&MAIN_INDEX, term)) = term.split_first()
            && let Ok(term) = str::from_utf8(term)
        {
            visit(term);
        }
        ControlFlow::Continue(())
    })
}

/// Calls `visit` for the stored terms of a page, in ascending order, with the place after each and that of
/// the next one. Returns `None` if the page is malformed.
fn for_each_stored_term(
    page: &[u8],
    mut visit: impl FnMut(&[u8], usize, Option<usize>) -> ControlFlow<()>,
) -> Option<()> {
    let length = page.get(2..4)?.try_into().ok().map(u16::from_be_bytes)?;
    let (content, distances) = page.split_at_checked(length.into())?;
    let mut term: Vec<u8> = Vec::new();
    let mut places = decode_varints(distances).scan(0_usize, |place, distance| {
        let distance = usize::try_from(distance).ok();
        let next = distance.and_then(|distance| place.checked_add(distance));
        *place = next.unwrap_or(usize::MAX);
        Some(*place)
    });
    let mut next = places.next();
    let mut is_first = true;
    while let Some(place) = next {
        next = places.next();
        let rest = content.get(place..)?;
        let (shared, rest) = if is_first { (0, rest) } else { split_varint(rest)? };
        is_first = false;
        let (added, rest) = split_varint(rest)?;
        let shared = usize::try_from(shared).ok().filter(|shared| *shared <= term.len())?;
        let added = usize::try_from(added).ok()?;
        term.truncate(shared);
        term.extend_from_slice(rest.get(..added)?);
        let rows = content.len() - rest.len() + added;
        if visit(&term, rows, next).is_break() {
            break;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ops::Range};

    use rusqlite::{Connection, named_params, params};
    use vademecum_model::FtsTable;

    use super::*;

    const TABLE: FtsTable = FtsTable::new("words_fts", "words", &[]);

    fn new_table(options: &str) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let created = connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE words_fts USING fts5 (text, content = '' {options});
             CREATE VIRTUAL TABLE words USING fts5vocab (words_fts, row);"
        ));
        created.unwrap();
        connection
    }

    /// Returns the terms of a range on the pages, and those that `fts5vocab` lists.
    fn both_lists(connection: &Connection, range: Range<&str>) -> [BTreeSet<String>; 2] {
        let mut read = BTreeSet::new();
        let mut pages =
            connection.prepare(&TABLE.statement(include_str!("sql/fts_term_pages.sql"))).unwrap();
        let (from, to) = (stored_term(range.start), stored_term(range.end));
        let mut rows = pages.query(named_params! { ":from": from, ":to": to }).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let found = for_each_term(row.get_ref(0).unwrap().as_blob().unwrap(), |term| {
                read.extend(range.contains(&term).then(|| term.to_owned()));
            });
            assert_eq!(found, Some(()));
        }
        let sql = "SELECT term FROM words WHERE term >= ?1 AND term < ?2";
        let mut listed = connection.prepare(sql).unwrap();
        let listed = listed.query_map([range.start, range.end], |row| row.get(0)).unwrap();
        [read, listed.map(Result::unwrap).collect()]
    }

    #[test]
    fn pages_list_terms_of_vocabulary() {
        // The many rows of `every` fill pages without a term; merges remove pages of segments.
        let connection = new_table(", prefix = 2");
        let configure = "INSERT INTO words_fts (words_fts, rank) VALUES (?1, ?2)";
        connection.execute(configure, params!["pgsz", 64]).unwrap();
        for row in 0_u16..400 {
            let long = "long".repeat((row % 40).into());
            let text = format!("every w{row} häuser{} 東京 {long}", row % 7);
            let insert = "INSERT INTO words_fts (rowid, text) VALUES (?1, ?2)";
            connection.execute(insert, params![row, text]).unwrap();
            if row % 10 == 0 {
                connection.execute(configure, params!["merge", 3]).unwrap();
            }
            if row % 50 == 49 {
                for range in
                    ["".."\u{10ffff}", "w1".."w2", "w17".."w18", "every".."f", "h".."häuser3"]
                {
                    let [read, listed] = both_lists(&connection, range.clone());
                    assert_eq!(read, listed, "{range:?} of {row}");
                    assert!(!listed.is_empty(), "{range:?} of {row}");
                }
                assert_eq!(both_lists(&connection, "x".."y"), [const { BTreeSet::new() }; 2]);
            }
        }
    }

    #[test]
    fn malformed_page_is_refused() {
        let connection = new_table("");
        connection
            .execute("INSERT INTO words_fts (rowid, text) VALUES (1, 'bread rye salt')", [])
            .unwrap();
        let page: Vec<u8> = connection
            .query_row("SELECT block FROM words_fts_data WHERE id > 10", [], |row| row.get(0))
            .unwrap();
        let mut terms = Vec::new();
        assert_eq!(for_each_term(&page, |term| terms.push(term.to_owned())), Some(()));
        assert_eq!(terms, ["bread", "rye", "salt"]);
        for length in 0..page.len() {
            for_each_term(&page[..length], |_| {});
        }
        for (place, byte) in (0..page.len()).flat_map(|place| [(place, 0), (place, 0xFF)]) {
            let mut damaged = page.clone();
            damaged[place] = byte;
            for_each_term(&damaged, |_| {});
        }
        assert_eq!(for_each_term(&page[..3], |_| {}), None);
        assert_eq!(for_each_term(&[0, 0, 0xFF, 0xFF, 1], |_| {}), None);
    }
}
