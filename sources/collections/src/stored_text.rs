//! The texts of documents and chunks in the form in which they are stored.
//!
//! A chunk of a short document is stored as its place in the text of the document. Chunks of long
//! documents have texts of their own, because reading one must not take as long as reading the
//! document. A compressed text is a BLOB, any other a TEXT.

use std::cell::RefCell;

use rusqlite::{
    Row, ToSql, named_params,
    types::{ToSqlOutput, ValueRef},
};
use vademecum_source::SourceError;
use vademecum_store::{Reader, TextCompressor, TextDecompressor, Writer, char_slice};

use crate::{Collection, Document, NewChunk};

/// Reads the dictionary of compressed texts.
const DICTIONARY_SQL: &str = "SELECT dictionary FROM rag_text_dictionary";
/// Stores the dictionary of compressed texts. There is at most one.
const PUT_DICTIONARY_SQL: &str =
    "INSERT INTO rag_text_dictionary (id, dictionary) VALUES (1, :dictionary)";

/// Maximum size of a document whose text its chunks share, in bytes.
const MAX_SHARED_BYTES: usize = 64 << 10;

/// The texts of a document as they are stored.
#[derive(Debug)]
pub struct StoredTexts {
    /// The compressed text of the document, if it is compressed.
    body: Option<Vec<u8>>,
    /// The metadata of the document, compressed or as JSON.
    metadata: Result<Vec<u8>, String>,
    chunks: Vec<ChunkText>,
}

/// Form in which the text of a chunk is stored.
#[derive(Debug)]
enum ChunkText {
    /// It is a part of the document's text.
    InDocument,
    Plain,
    Compressed(Vec<u8>),
}

impl StoredTexts {
    /// Compresses the texts of a document where that makes them shorter.
    pub fn compressed(document: &Document, compressor: &mut TextCompressor) -> Self {
        Self::new(document, |text| compressor.compress(text))
    }

    /// Leaves the texts of a document uncompressed.
    pub(crate) fn plain(document: &Document) -> Self {
        Self::new(document, |_| None)
    }

    fn new(document: &Document, mut compress: impl FnMut(&str) -> Option<Vec<u8>>) -> Self {
        let mut store = |chunk: &NewChunk| {
            if shares_text(document, chunk) {
                return ChunkText::InDocument;
            }
            compress(&chunk.body).map_or(ChunkText::Plain, ChunkText::Compressed)
        };
        let chunks = document.chunks.iter().map(&mut store).collect();
        let metadata = document.metadata_json();
        Self {
            body: compress(&document.body),
            metadata: compress(&metadata).ok_or(metadata),
            chunks,
        }
    }

    /// Returns the value to store as the text of the document.
    pub(crate) fn body<'a>(&'a self, document: &'a Document) -> StoredText<'a> {
        self.body.as_deref().map_or(StoredText::Plain(&document.body), StoredText::Compressed)
    }

    /// Returns the value to store as the metadata of the document.
    pub(crate) fn metadata(&self) -> StoredText<'_> {
        match &self.metadata {
            Ok(bytes) => StoredText::Compressed(bytes),
            Err(json) => StoredText::Plain(json),
        }
    }

    /// Returns the value to store as the text of the chunk at `index`.
    pub(crate) fn chunk<'a>(&'a self, index: usize, chunk: &'a NewChunk) -> StoredText<'a> {
        match self.chunks.get(index) {
            Some(ChunkText::InDocument) => StoredText::Plain(""),
            Some(ChunkText::Compressed(bytes)) => StoredText::Compressed(bytes),
            Some(ChunkText::Plain) | None => StoredText::Plain(&chunk.body),
        }
    }
}

fn shares_text(document: &Document, chunk: &NewChunk) -> bool {
    document.body.len() <= MAX_SHARED_BYTES
        && char_slice(&document.body, chunk.start, chunk.end) == Some(&chunk.body)
}

/// A text as a parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoredText<'a> {
    Plain(&'a str),
    Compressed(&'a [u8]),
}

impl ToSql for StoredText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Plain(text) => ValueRef::Text(text.as_bytes()),
            Self::Compressed(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Reads stored texts.
#[derive(Debug)]
pub(crate) struct TextReader(RefCell<TextDecompressor>);

impl TextReader {
    /// Reads the text in a column, compressed or not.
    pub(crate) fn column(&self, row: &Row<'_>, name: &str) -> rusqlite::Result<String> {
        self.0.borrow_mut().read(row.get_ref(name)?)
    }

    /// Reads the text of a chunk, from its row with `body`, `document_body`, `start_char` and
    /// `end_char`.
    pub(crate) fn chunk(&self, row: &Row<'_>) -> rusqlite::Result<String> {
        let own = self.column(row, "body")?;
        if !own.is_empty() {
            return Ok(own);
        }
        let document = self.column(row, "document_body")?;
        let place = |name| row.get::<_, i64>(name).map(|at| usize::try_from(at).unwrap_or(0));
        let slice = char_slice(&document, place("start_char")?, place("end_char")?);
        Ok(slice.unwrap_or_default().to_owned())
    }
}

impl Collection {
    /// Stores the dictionary with which texts are compressed. Fails if there is one already.
    pub fn put_text_dictionary(
        &self,
        writer: &Writer<'_>,
        dictionary: &[u8],
    ) -> Result<(), SourceError> {
        let parameters = named_params! { ":dictionary": dictionary };
        writer.execute(PUT_DICTIONARY_SQL, parameters)?;
        Ok(())
    }

    /// Returns the dictionary with which texts are compressed; empty if there is none.
    pub fn text_dictionary(&self, reader: &Reader<'_>) -> Result<Vec<u8>, SourceError> {
        let stored = reader.query_first(DICTIONARY_SQL, &[], |row| row.get("dictionary"))?;
        Ok(stored.unwrap_or_default())
    }

    pub(crate) fn text_reader(&self, reader: &Reader<'_>) -> Result<TextReader, SourceError> {
        Ok(TextReader(RefCell::new(TextDecompressor::new(self.text_dictionary(reader)?))))
    }
}
