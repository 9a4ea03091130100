//! A full-text table within a read transaction, with its cache.

use std::{collections::BTreeSet, ops::RangeInclusive, sync::Arc};

use rusqlite::{Row, ffi, named_params};
use vademecum_fts5::{
    LANGUAGE_MARK, LONG_ROW_WORDS, LanguageSet, Postings, RowLanguages, RowLengths,
    collect_postings,
};
use vademecum_model::FtsTable;

use super::{
    Reader, StoreError,
    index_cache::{IndexCache, TableState},
    row_expression::RowExpression,
    segments::{FTS_BLOCKS_SQL, SegmentRows, add_tombstones, decode_segments},
    term_page::{for_each_term, stored_term},
    term_postings::{TermRows, Weights, count_rows, merge_postings},
    term_reader::TermReader,
    varint::decode_varints,
};

/// Names of the columns of the full-text table `:table`, in their order.
const FTS_COLUMNS_SQL: &str = "SELECT name FROM pragma_table_info(:table) ORDER BY cid";
/// Lengths of the rows `:first` to `:last` of {table}.
const FTS_LENGTHS_SQL: &str =
    "SELECT id, sz FROM {table}_docsize WHERE id BETWEEN :first AND :last";
/// Number of rows that contain `:term`, if there are any.
const FTS_TERM_ROWS_SQL: &str = "SELECT doc FROM {vocabulary} WHERE term = :term";

/// All possible row numbers.
const ALL_ROWS: RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// An expression, and what is needed to search it.
#[derive(Debug)]
struct Search {
    expression: RowExpression,
    /// Names of the columns in the order of the stored table.
    names: Vec<String>,
}

/// A full-text table as seen by one reader.
#[derive(Debug)]
pub struct FtsIndex<'a> {
    reader: &'a Reader<'a>,
    table: &'static FtsTable,
    cache: Arc<IndexCache>,
}

impl Reader<'_> {
    /// Opens a full-text table in this snapshot.
    pub fn open_index(&self, table: &'static FtsTable) -> Result<FtsIndex<'_>, StoreError> {
        let state = self.query_all(&TableState::sql(table), &[], |row| row.get("block"))?;
        let cache = self.index_caches().cache_for_state(table, TableState::new(state));
        Ok(FtsIndex { reader: self, table, cache })
    }
}

impl FtsIndex<'_> {
    /// Returns the cache of this state of the table.
    pub fn cache(&self) -> &IndexCache {
        &self.cache
    }

    /// Returns the weight of a form of a word that the query does not have.
    pub fn variant_weight(&self) -> f64 {
        self.table.variant_weight
    }

    /// Calls `visit` for each term from `from` (inclusive) to `to` (exclusive). A term may come several
    /// times, and its rows may all have been removed since.
    pub fn for_each_term(
        &self,
        from: &str,
        to: &str,
        mut visit: impl FnMut(&str),
    ) -> Result<(), StoreError> {
        let range = named_params! { ":from": stored_term(from), ":to": stored_term(to) };
        let pages = self.table.statement(include_str!("sql/fts_term_pages.sql"));
        self.reader.for_each_row(&pages, range, |row| {
            let page = row.get_ref("block")?.as_blob()?;
            let read = for_each_term(page, |term| {
                if (from..to).contains(&term) {
                    visit(term);
                }
            });
            read.ok_or_else(|| {
                let reason = format!("a page of {} is malformed", self.table.name);
                rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(reason))
            })
        })
    }

    /// Returns the number of rows that contain a term.
    pub fn count_rows(&self, term: &str) -> Result<u64, StoreError> {
        let terms = self.read_terms(&[term.to_owned()])?;
        if let Some(rows) = terms.and_then(|terms| count_rows(&terms)) {
            return Ok(rows);
        }
        let count = self.table.statement(FTS_TERM_ROWS_SQL);
        let term = named_params! { ":term": term };
        let found: Option<i64> = self.reader.query_first(&count, term, |row| row.get("doc"))?;
        Ok(found.and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0))
    }

    /// Returns the languages of each row.
    pub fn languages(&self) -> Result<Arc<RowLanguages>, StoreError> {
        let known = self.cache.languages_with_changes();
        if let Some((known, changed)) = &known
            && changed.is_empty()
        {
            return Ok(Arc::clone(known));
        }
        let names = self.column_names()?;
        let mut searches = Vec::new();
        for token in self.language_tokens()? {
            let language = LanguageSet::of_code(token.trim_start_matches(LANGUAGE_MARK));
            let expression = RowExpression { terms: vec![token], ..RowExpression::default() };
            searches.push((language, Search { expression, names: names.clone() }));
        }
        let found = match known {
            None => {
                let mut languages = Vec::with_capacity(searches.len());
                for (language, search) in &searches {
                    let decoded = self.decode_postings(search, |_| false)?;
                    let postings = match decoded {
                        Some(decoded) => decoded,
                        None => self.read_postings(search, ALL_ROWS)?,
                    };
                    languages.push((*language, postings.rows().map(|it| it.row).collect()));
                }
                RowLanguages::new(&languages)
            }
            Some((known, changed)) => {
                let mut rows = Vec::with_capacity(changed.len());
                for row in changed.iter().copied() {
                    let mut of_row = LanguageSet::default();
                    for (language, search) in &searches {
                        if !self.read_postings(search, row..=row)?.is_empty() {
                            of_row = of_row.union(*language);
                        }
                    }
                    rows.push((row, of_row));
                }
                known.with_rows(&rows)
            }
        };
        let found = Arc::new(found);
        self.cache.store_languages(&found);
        Ok(found)
    }

    /// Returns the tokens of the languages that the table has, or had.
    fn language_tokens(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut tokens = BTreeSet::new();
        let first = LANGUAGE_MARK.to_string();
        self.for_each_term(&first, &format!("{first}{}", char::MAX), |term| {
            tokens.insert(term.to_owned());
        })?;
        Ok(tokens)
    }

    /// Returns the postings that are cached as `key`. `find_expression` is called if they are not up
    /// to date.
    pub fn postings(
        &self,
        key: &str,
        find_expression: impl FnOnce() -> Result<RowExpression, StoreError>,
    ) -> Result<Arc<Postings>, StoreError> {
        let known = self.cache.postings_with_changes(key);
        if let Some((known, changed)) = &known
            && changed.is_empty()
        {
            return Ok(Arc::clone(known));
        }
        // Words that are new since the last time stand in changed rows only.
        let search = Search { expression: find_expression()?, names: self.column_names()? };
        // Passages are scored in long rows only.
        let lengths = self.lengths()?;
        let is_long = |row| lengths.words_in_row(row) > LONG_ROW_WORDS;
        let found = match known {
            None => match self.decode_postings(&search, is_long)? {
                Some(decoded) => decoded,
                None => self.read_postings(&search, ALL_ROWS)?.with_segments_of(is_long),
            },
            Some((known, changed)) => {
                let mut others = Postings::default();
                for row in changed.iter().copied() {
                    if let Some(search) = self.search_in_row(&search, row)? {
                        others.append(&self.read_postings(&search, row..=row)?);
                    }
                }
                known.with_rows_replaced(&changed, &others).with_segments_of(is_long)
            }
        };
        let found = Arc::new(found);
        self.cache.store_postings(key, &found);
        Ok(found)
    }

    /// Decodes the postings of terms from the pages of the table. Returns `None` if there are none, and if
    /// a page is not as expected: FTS5 then tells what is wrong.
    fn decode_postings(
        &self,
        search: &Search,
        is_long: impl Fn(i64) -> bool,
    ) -> Result<Option<Postings>, StoreError> {
        let Search { expression, names } = search;
        if expression.terms.is_empty() {
            return Ok(None);
        }
        let Some(terms) = self.read_terms(&expression.terms)? else { return Ok(None) };
        let is_searched = |name: &String| {
            expression.columns.is_empty() || expression.columns.iter().any(|column| column == name)
        };
        let weights = names.iter().zip(self.table.column_weights(names));
        let columns: Vec<Option<f64>> =
            weights.map(|(name, weight)| is_searched(name).then_some(weight)).collect();
        let weights = Weights { alternatives: expression.alternatives, columns: &columns };
        if !expression.has_languages() {
            return Ok(merge_postings(&terms, weights, is_long, |_, _| true));
        }
        let languages = self.languages()?;
        let counts = |row, term| {
            expression.languages_of_term(term).is_none_or(|it| languages.has_form(row, it))
        };
        Ok(merge_postings(&terms, weights, is_long, counts))
    }

    /// Returns the search with the terms that count in a row, if there are any.
    fn search_in_row(&self, search: &Search, row: i64) -> Result<Option<Search>, StoreError> {
        let (mut expression, names) = (search.expression.clone(), search.names.clone());
        if expression.has_languages() {
            let languages = self.languages()?;
            let mut number = 0..;
            expression.terms.retain(|_| {
                let of_term =
                    number.next().and_then(|term| search.expression.languages_of_term(term));
                of_term.is_none_or(|it| languages.has_form(row, it))
            });
            expression.languages = Vec::new();
            if expression.terms.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(Search { expression, names }))
    }

    /// Returns the rows of terms, or `None` if a page is not as expected.
    fn read_terms(&self, terms: &[String]) -> Result<Option<Vec<TermRows>>, StoreError> {
        let Some(segments) = self.segments()? else { return Ok(None) };
        TermReader::new(self.reader, self.table, &segments).read(terms)
    }

    /// Returns the segments of the table with their removed rows, or `None` if the records are not as
    /// expected.
    fn segments(&self) -> Result<Option<Arc<[SegmentRows]>>, StoreError> {
        if let Some(known) = self.cache.segments() {
            return Ok(Some(known));
        }
        let Some(segments) = decode_segments(self.cache.structure()) else { return Ok(None) };
        let tombstones = self.table.statement(FTS_BLOCKS_SQL);
        let mut all = Vec::with_capacity(segments.len());
        for segment in segments {
            let (mut removed, mut is_readable) = (Vec::new(), true);
            if segment.tombstone_pages > 0 {
                let (first, last) = segment.tombstone_blocks();
                let blocks = named_params! { ":first": first, ":last": last };
                self.reader.for_each_row(&tombstones, blocks, |row| {
                    let page = row.get_ref("block")?.as_blob()?;
                    is_readable &= add_tombstones(page, &mut removed).is_some();
                    Ok(())
                })?;
            }
            if !is_readable {
                return Ok(None);
            }
            removed.sort_unstable();
            all.push(SegmentRows { segment, removed: removed.into() });
        }
        Ok(Some(self.cache.store_segments(all.into())))
    }

    /// Reads postings by FTS5.
    fn read_postings(
        &self,
        search: &Search,
        rows: RangeInclusive<i64>,
    ) -> Result<Postings, StoreError> {
        let mut statement =
            self.reader.prepare(&self.table.statement(include_str!("sql/fts_postings.sql")))?;
        let Search { expression, names } = search;
        let (text, alternatives) = (expression.fts5_expression(), expression.alternatives);
        let weights = self.table.column_weights(names);
        let found = collect_postings(&mut statement, &text, alternatives, rows, &weights);
        found.map_err(|error| self.reader.to_store_error(error))
    }

    /// Returns the names of the columns in the order of the stored table.
    fn column_names(&self) -> Result<Vec<String>, StoreError> {
        let name = named_params! { ":table": self.table.name };
        self.reader.query_all(FTS_COLUMNS_SQL, name, |row| row.get("name"))
    }

    /// Returns the number of words in each row.
    pub fn lengths(&self) -> Result<Arc<RowLengths>, StoreError> {
        let lengths = match self.cache.lengths_with_changes() {
            None => RowLengths::new(self.read_lengths(ALL_ROWS)?),
            Some((known, changed)) if changed.is_empty() => return Ok(known),
            Some((known, changed)) => {
                let mut rows = Vec::with_capacity(changed.len());
                for row in changed.iter().copied() {
                    let length = self.read_lengths(row..=row)?.first().map(|(_, length)| *length);
                    rows.push((row, length.unwrap_or(0)));
                }
                known.with_rows(&rows)
            }
        };
        let lengths = Arc::new(lengths);
        self.cache.store_lengths(&lengths);
        Ok(lengths)
    }

    fn read_lengths(&self, rows: RangeInclusive<i64>) -> Result<Vec<(i64, u32)>, StoreError> {
        let range = named_params! { ":first": rows.start(), ":last": rows.end() };
        let lengths = self.table.statement(FTS_LENGTHS_SQL);
        self.reader.query_all(&lengths, range, read_length)
    }
}

fn read_length(row: &Row<'_>) -> rusqlite::Result<(i64, u32)> {
    let words: u64 = decode_varints(row.get_ref("sz")?.as_blob()?).sum();
    Ok((row.get("id")?, u32::try_from(words).unwrap_or(u32::MAX)))
}
