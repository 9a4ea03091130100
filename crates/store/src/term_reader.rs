//! Reading the rows of terms from the pages of a full-text table.

use std::sync::Arc;

use rusqlite::named_params;
use vademecum_model::FtsTable;

use super::{
    Reader, StoreError,
    doclist::Doclist,
    segments::{FTS_BLOCKS_SQL, Segment, SegmentRows},
    term_page::{PlaceOfTerm, find_term, stored_term},
    term_postings::TermRows,
};

/// Reads terms of one table in one snapshot.
#[derive(Debug)]
pub(super) struct TermReader<'a> {
    reader: &'a Reader<'a>,
    segments: &'a [SegmentRows],
    page_sql: String,
    blocks_sql: String,
}

/// A page with terms.
#[derive(Debug)]
struct TermPage {
    /// Number of its block.
    block: i64,
    bytes: Vec<u8>,
}

impl<'a> TermReader<'a> {
    /// Creates a reader of terms in these segments of a table.
    pub(super) fn new(
        reader: &'a Reader<'a>,
        table: &FtsTable,
        segments: &'a [SegmentRows],
    ) -> Self {
        let page_sql = table.statement(include_str!("sql/fts_page_of_term.sql"));
        Self { reader, segments, page_sql, blocks_sql: table.statement(FTS_BLOCKS_SQL) }
    }

    /// Returns the rows of the terms, by term and the newest segment first, or `None` if a page is not as
    /// expected.
    pub(super) fn read(&self, terms: &[String]) -> Result<Option<Vec<TermRows>>, StoreError> {
        let mut sorted: Vec<(Vec<u8>, usize)> =
            terms.iter().enumerate().map(|(index, term)| (stored_term(term), index)).collect();
        sorted.sort_unstable();
        let mut found = Vec::new();
        for SegmentRows { segment, removed } in self.segments {
            let mut page = None;
            for (term, alternative) in &sorted {
                let Some(rows) = self.read_term(*segment, term, &mut page)? else {
                    return Ok(None);
                };
                if !rows.is_empty() {
                    let (alternative, removed) = (*alternative, Arc::clone(removed));
                    found.push(TermRows { alternative, rows, removed });
                }
            }
        }
        found.sort_by_key(|rows| rows.alternative);
        Ok(Some(found))
    }

    /// Returns the rows of a term in a segment; `page` is the one that was read last. Returns `None` if
    /// a page is not as expected.
    fn read_term(
        &self,
        segment: Segment,
        term: &[u8],
        page: &mut Option<TermPage>,
    ) -> Result<Option<Doclist>, StoreError> {
        let near = page.as_ref().map(|page| find_term(&page.bytes, term));
        match near {
            // Terms are read in ascending order, so the term is not on an earlier page.
            Some(Some(PlaceOfTerm::Passed)) => return Ok(Some(Doclist::default())),
            Some(None) => return Ok(None),
            Some(Some(PlaceOfTerm::At { .. } | PlaceOfTerm::Behind)) | None => {}
        }
        let block = match (near, &page) {
            (Some(Some(PlaceOfTerm::At { .. })), Some(page)) => page.block,
            _ => segment.block_of_page(self.find_page(segment, term)?),
        };
        let range = named_params! { ":first": block, ":last": segment.last_block() };
        let mut statement = self.reader.prepare(&self.blocks_sql)?;
        let failed = |error| self.reader.to_store_error(error);
        let mut blocks = statement.query(range).map_err(failed)?;
        let mut list = Doclist::default();
        for block in block.. {
            let Some(row) = blocks.next().map_err(failed)? else {
                // The rows of the last term end with the segment.
                return Ok((block > segment.last_block()).then_some(list));
            };
            let bytes = row.get_ref("block").and_then(|block| Ok(block.as_blob()?));
            let bytes = bytes.map_err(failed)?;
            let goes_on = if list.is_empty() {
                match find_term(bytes, term) {
                    Some(PlaceOfTerm::At { rows, next }) => list.begin(bytes, rows, next),
                    Some(PlaceOfTerm::Passed | PlaceOfTerm::Behind) => Some(false),
                    None => None,
                }
            } else {
                self.reader.check_deadline()?;
                list.go_on(bytes)
            };
            let Some(goes_on) = goes_on else { return Ok(None) };
            if !goes_on {
                *page = Some(TermPage { block, bytes: bytes.to_vec() });
                break;
            }
        }
        Ok(Some(list))
    }

    fn find_page(&self, segment: Segment, term: &[u8]) -> Result<Option<i64>, StoreError> {
        let term = named_params! { ":segment": segment.number, ":term": term };
        self.reader.query_first(&self.page_sql, term, |row| row.get("page"))
    }
}
