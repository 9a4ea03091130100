//! The same passages in tantivy, the full-text index that is fast.
//!
//! It is given folded words, cut at spaces, as the full-text tables are: so
//! both know the same words. It scores a title and a text each by its own
//! statistics, FTS5 both together: so their first ten differ, most for frequent
//! words, and only what they cost is to be compared.

use std::path::Path;

use anyhow::{Context, Result};
use tantivy::{
    DocAddress, Index, IndexReader, IndexWriter, ReloadPolicy, Searcher, TantivyDocument, Term,
    collector::TopDocs,
    columnar::Column,
    query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery},
    schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    tokenizer::{TextAnalyzer, WhitespaceTokenizer},
};

use super::{Passage, queries::words_of, stems::stems};

/// Bytes that may be in memory before they are written.
const BUFFER: usize = 200_000_000;
/// What a word in the title counts, as in the notes.
const TITLE: f32 = 2.0;
const TOKENIZER: &str = "folded";

/// An index that is being filled.
pub struct TantivyWriter {
    writer: IndexWriter,
    fields: Fields,
    rows: u64,
}

/// An index that can be searched.
pub struct TantivyIndex {
    searcher: Searcher,
    fields: Fields,
    /// For each segment, which row a passage is.
    rows: Vec<Column<u64>>,
}

#[derive(Clone, Copy)]
struct Fields {
    row: Field,
    title: Field,
    body: Field,
}

impl TantivyWriter {
    /// An empty index in this folder.
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
        register(&index);
        let writer = index.writer_with_num_threads(1, BUFFER)?;
        Ok(Self { writer, fields: fields(&index)?, rows: 0 })
    }

    /// Adds a passage; the first is row 1.
    pub fn add(&mut self, passage: &Passage) -> Result<()> {
        self.rows += 1;
        let mut document = TantivyDocument::new();
        document.add_u64(self.fields.row, self.rows);
        document.add_text(self.fields.title, stems(&passage.title));
        document.add_text(self.fields.body, stems(&passage.body));
        self.writer.add_document(document)?;
        Ok(())
    }

    /// Writes everything, and waits until nothing more is merged.
    pub fn finish(mut self) -> Result<()> {
        self.writer.commit()?;
        Ok(self.writer.wait_merging_threads()?)
    }
}

impl TantivyIndex {
    /// Opens the index in this folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let index = Index::open_in_dir(folder)?;
        register(&index);
        let reader: IndexReader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let segments = searcher.segment_readers().iter();
        let rows = segments.map(|segment| segment.fast_fields().u64("row"));
        let rows = rows.collect::<tantivy::Result<_>>()?;
        Ok(Self { searcher, fields: fields(&index)?, rows })
    }

    /// The best rows of any of the words of a match expression.
    pub fn best(&self, expression: &str, limit: usize) -> Result<Vec<i64>> {
        let wanted = BooleanQuery::new(words_of(expression).flat_map(|it| self.word(it)).collect());
        let found = self.searcher.search(&wanted, &TopDocs::with_limit(limit).order_by_score())?;
        found
            .into_iter()
            .map(|(_, DocAddress { segment_ord, doc_id })| {
                let rows = usize::try_from(segment_ord).ok().and_then(|at| self.rows.get(at));
                let row = rows.and_then(|rows| rows.first(doc_id));
                Ok(i64::try_from(row.context("a passage without a row")?)?)
            })
            .collect()
    }

    fn word(&self, word: &str) -> [(Occur, Box<dyn Query>); 2] {
        let at = |field| -> Box<dyn Query> {
            let term = Term::from_field_text(field, word);
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
        };
        let title = Box::new(BoostQuery::new(at(self.fields.title), TITLE));
        [(Occur::Should, title), (Occur::Should, at(self.fields.body))]
    }
}

fn register(index: &Index) {
    index.tokenizers().register(TOKENIZER, TextAnalyzer::from(WhitespaceTokenizer::default()));
}

fn fields(index: &Index) -> Result<Fields> {
    let schema = index.schema();
    let field = |name| schema.get_field(name).context("the index is another one");
    Ok(Fields { row: field("row")?, title: field("title")?, body: field("body")? })
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
