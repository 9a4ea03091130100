//! A tantivy index with the same passages, for comparison.
//!
//! It receives stems separated by spaces, so both indexes contain the same terms. tantivy scores
//! title and text with separate statistics, FTS5 with common ones. Their first ten results
//! therefore differ, most for frequent words, and only their cost is comparable.

use std::path::Path;

use anyhow::{Context, Result};
use tantivy::{
    DocAddress, Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term,
    collector::{Count, TopDocs},
    columnar::Column,
    query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery},
    schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    tokenizer::{TextAnalyzer, WhitespaceTokenizer},
};

use super::{Passage, queries::expression_words, stems::stem_text};

/// Memory of the writer before it flushes, in bytes.
const WRITER_BUFFER_BYTES: usize = 200_000_000;
/// Boost of title matches, as for notes.
const TITLE_BOOST: f32 = 2.0;
const TOKENIZER: &str = "folded";

/// An index being filled.
pub struct TantivyWriter {
    writer: IndexWriter,
    fields: IndexFields,
    rows: u64,
}

/// An index open for searching.
pub struct TantivyIndex {
    searcher: Searcher,
    fields: IndexFields,
    /// For each segment, the column with the row of each document.
    rows: Vec<Column<u64>>,
}

#[derive(Clone, Copy)]
struct IndexFields {
    row: Field,
    title: Field,
    body: Field,
}

impl TantivyWriter {
    /// Creates an empty index in this folder.
    pub fn new(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let words = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqs);
        let text = TextOptions::default().set_indexing_options(words);
        let mut schema = Schema::builder();
        schema.add_u64_field("row", FAST);
        schema.add_text_field("title", text.clone());
        schema.add_text_field("body", text);
        let index = Index::create_in_dir(folder, schema.build())?;
        register_tokenizer(&index);
        let writer = index.writer_with_num_threads(1, WRITER_BUFFER_BYTES)?;
        Ok(Self { writer, fields: index_fields(&index)?, rows: 0 })
    }

    /// Adds a passage. Rows start at 1.
    pub fn add_passage(&mut self, passage: &Passage) -> Result<()> {
        self.rows += 1;
        let mut document = TantivyDocument::new();
        document.add_u64(self.fields.row, self.rows);
        document.add_text(self.fields.title, stem_text(&passage.title));
        document.add_text(self.fields.body, stem_text(&passage.body));
        self.writer.add_document(document)?;
        Ok(())
    }

    /// Commits and waits for all merges.
    pub fn finish(mut self) -> Result<()> {
        self.writer.commit()?;
        Ok(self.writer.wait_merging_threads()?)
    }
}

impl TantivyIndex {
    /// Opens the index in this folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let index = Index::open_in_dir(folder)?;
        register_tokenizer(&index);
        let reader: IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let segments = searcher.segment_readers().iter();
        let rows = segments.map(|segment| segment.fast_fields().u64("row"));
        let rows = rows.collect::<tantivy::Result<_>>()?;
        Ok(Self { searcher, fields: index_fields(&index)?, rows })
    }

    /// Returns the best rows that contain any word of a match expression. If `counted`, all of them
    /// are counted too.
    pub fn best_rows(&self, expression: &str, limit: usize, counted: bool) -> Result<Vec<i64>> {
        let query = BooleanQuery::new(
            expression_words(expression).flat_map(|it| self.word_clauses(it)).collect(),
        );
        let best = TopDocs::with_limit(limit).order_by_score();
        let found = if counted {
            self.searcher.search(&query, &(best, Count))?.0
        } else {
            self.searcher.search(&query, &best)?
        };
        found
            .into_iter()
            .map(|(_, DocAddress { segment_ord, doc_id })| {
                let rows = usize::try_from(segment_ord).ok().and_then(|at| self.rows.get(at));
                let row = rows.and_then(|rows| rows.first(doc_id));
                Ok(i64::try_from(row.context("a passage without a row")?)?)
            })
            .collect()
    }

    fn word_clauses(&self, word: &str) -> [(Occur, Box<dyn Query>); 2] {
        let at = |field| -> Box<dyn Query> {
            let term = Term::from_field_text(field, word);
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
        };
        let title = Box::new(BoostQuery::new(at(self.fields.title), TITLE_BOOST));
        [(Occur::Should, title), (Occur::Should, at(self.fields.body))]
    }
}

fn register_tokenizer(index: &Index) {
    index.tokenizers().register(TOKENIZER, TextAnalyzer::from(WhitespaceTokenizer::default()));
}

fn index_fields(index: &Index) -> Result<IndexFields> {
    let schema = index.schema();
    let field = |name| schema.get_field(name).context("the index has another schema");
    Ok(IndexFields { row: field("row")?, title: field("title")?, body: field("body")? })
}

impl std::fmt::Debug for TantivyWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TantivyWriter").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TantivyIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("TantivyIndex").finish_non_exhaustive()
    }
}
