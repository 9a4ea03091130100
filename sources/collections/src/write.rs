//! Storing documents in a collection and removing them.

use std::collections::HashMap;

use rusqlite::{
    Row, named_params,
    types::{Value, ValueRef},
};
use serde_json::json;
use vademecum_model::Timestamp;
use vademecum_source::SourceError;
use vademecum_store::{Reader, Writer};

use crate::{
    Collection, Document, PutOutcome, StoredTexts,
    collection::CollectionIndexes,
    full_text::{FULL_TEXT_REBUILD, FULL_TEXT_TABLE},
    nearest::delete_vector,
};

/// The chunks of a document, in order.
const CHUNKS_OF_SQL: &str =
    "SELECT id FROM rag_chunks WHERE document = :document ORDER BY chunk_index";
/// Deletes the access tags of a document.
const DELETE_ACCESS_SQL: &str = "DELETE FROM rag_document_access WHERE document = :document";
/// Deletes the chunks of a document.
const DELETE_CHUNKS_SQL: &str = "DELETE FROM rag_chunks WHERE document = :document";
/// Deletes a document.
const DELETE_DOCUMENT_SQL: &str = "DELETE FROM rag_documents WHERE id = :id";
/// Deletes the tags of a document.
const DELETE_TAGS_SQL: &str = "DELETE FROM rag_document_tags WHERE document = :document";
/// Content hashes of the documents of the source `:source_id`.
const HASHES_SQL: &str =
    "SELECT doc_id, content_hash FROM rag_documents WHERE source_id = :source_id AND deleted = 0";
/// Indexes a chunk, replacing its previous entry.
const INDEX_SQL: &str = "INSERT OR REPLACE INTO rag_fts_chunks (rowid, title, section, body) \
     VALUES (:id, :title, :section, :body)";
/// Adds an access tag to a document.
const INSERT_ACCESS_SQL: &str =
    "INSERT OR IGNORE INTO rag_document_access (document, tag) VALUES (:document, :tag)";
/// Inserts a chunk.
const INSERT_CHUNK_SQL: &str = "INSERT INTO rag_chunks (document, chunk_index, section, \
     start_char, end_char, metadata_json, body) \
     VALUES (:document, :chunk_index, :section, :start_char, :end_char, :metadata_json, :body)";
/// Adds a tag to a document.
const INSERT_TAG_SQL: &str =
    "INSERT OR IGNORE INTO rag_document_tags (document, tag) VALUES (:document, :tag)";
/// Finds the stored document `:doc_id` before it is replaced or removed.
const KNOWN_SQL: &str =
    "SELECT id, content_hash, deleted FROM rag_documents WHERE doc_id = :doc_id";

impl Collection {
    /// Returns the content hash of each document of a source, by document identifier.
    pub fn content_hashes(
        &self,
        reader: &Reader<'_>,
        source_id: i64,
    ) -> Result<HashMap<String, String>, SourceError> {
        let mut found = HashMap::new();
        let parameters = named_params! { ":source_id": source_id };
        reader.for_each_row(HASHES_SQL, parameters, |row| {
            found.insert(row.get("doc_id")?, read_content_hash(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Stores a document, replacing the one with the same identifier. An unchanged one is not
    /// written.
    pub fn put_document(
        &self,
        writer: &Writer<'_>,
        document: &Document,
    ) -> Result<PutOutcome, SourceError> {
        self.put_document_with_texts(writer, document, &StoredTexts::plain(document))
    }

    /// Stores a document like [`put_document`](Self::put_document), with its texts in the form that
    /// was made for it.
    pub fn put_document_with_texts(
        &self,
        writer: &Writer<'_>,
        document: &Document,
        texts: &StoredTexts,
    ) -> Result<PutOutcome, SourceError> {
        let name = named_params! { ":doc_id": document.doc_id };
        let known = writer.query_first(KNOWN_SQL, name, |row| {
            Ok((row.get::<_, i64>("id")?, read_content_hash(row)?, row.get("deleted")?))
        })?;
        if let Some((_, hash, false)) = &known
            && *hash == document.content_hash
        {
            return Ok(PutOutcome::Unchanged);
        }
        let before = known.map(|(id, ..)| id);
        if let Some(id) = before {
            self.delete_document_parts(writer, id)?;
        }
        let id = write_document_row(writer, before, document, texts)?;
        let mut chunks = Vec::with_capacity(document.chunks.len());
        for (index, chunk) in document.chunks.iter().enumerate() {
            let key = writer.insert_row(
                INSERT_CHUNK_SQL,
                named_params! {
                    ":document": id,
                    ":chunk_index": i64::try_from(index).unwrap_or(i64::MAX),
                    ":section": chunk.section,
                    ":start_char": i64::try_from(chunk.start).unwrap_or(i64::MAX),
                    ":end_char": i64::try_from(chunk.end).unwrap_or(i64::MAX),
                    ":metadata_json": json!(chunk.metadata).to_string(),
                    ":body": texts.chunk(index, chunk),
                },
            )?;
            if self.indexes == CollectionIndexes::TextAndVectors {
                let words = named_params! {
                    ":id": key,
                    ":title": document.title,
                    ":section": chunk.section,
                    ":body": chunk.body,
                };
                writer.index_row(&FULL_TEXT_TABLE, key, INDEX_SQL, words)?;
            }
            chunks.push(key);
        }
        Ok(if before.is_some() { PutOutcome::Updated(chunks) } else { PutOutcome::New(chunks) })
    }

    /// Removes a document. Returns `false` if there is none with this identifier.
    pub fn remove_document(&self, writer: &Writer<'_>, doc_id: &str) -> Result<bool, SourceError> {
        let name = named_params! { ":doc_id": doc_id };
        let known = writer.query_first(KNOWN_SQL, name, |row| row.get::<_, i64>("id"))?;
        let Some(id) = known else { return Ok(false) };
        self.delete_document_parts(writer, id)?;
        writer.execute(DELETE_DOCUMENT_SQL, named_params! { ":id": id })?;
        Ok(true)
    }

    /// Deletes the chunks of a document with their index entries and vectors, and its tags.
    fn delete_document_parts(&self, writer: &Writer<'_>, document: i64) -> Result<(), SourceError> {
        let parameters = named_params! { ":document": document };
        let keys: Vec<i64> = writer.query_all(CHUNKS_OF_SQL, parameters, |row| row.get("id"))?;
        for key in keys {
            if self.indexes == CollectionIndexes::TextAndVectors {
                let row = named_params! { ":key": key };
                writer.index_row(&FULL_TEXT_TABLE, key, FULL_TEXT_REBUILD.unindex_sql, row)?;
            }
            delete_vector(writer, key)?;
        }
        writer.execute(DELETE_CHUNKS_SQL, parameters)?;
        writer.execute(DELETE_TAGS_SQL, parameters)?;
        writer.execute(DELETE_ACCESS_SQL, parameters)?;
        Ok(())
    }
}

/// Writes the row of a document and its tags. Returns the row.
fn write_document_row(
    writer: &Writer<'_>,
    id: Option<i64>,
    document: &Document,
    texts: &StoredTexts,
) -> Result<i64, SourceError> {
    let hot = document.filter_values();
    let project = document.project.as_ref();
    let id = writer.query_first(
        sql!("put_document"),
        named_params! {
            ":id": id,
            ":doc_id": document.doc_id,
            ":source_id": document.source_id,
            ":pk_json": json!(document.primary_key).to_string(),
            ":title": document.title,
            ":metadata_json": texts.metadata(),
            ":file_name": document.file_name,
            ":file_type": document.file_type,
            ":url": document.url,
            ":project_name": project.map(|(name, _)| name),
            ":project_version": project.map(|(_, version)| version),
            ":score": hot.score,
            ":post_type_id": hot.post_type_id,
            ":created_at": hot.created_at,
            ":content_hash": stored_content_hash(&document.content_hash),
            ":updated_at": Timestamp::now(),
            ":body": texts.body(document),
        },
        |row| row.get("id"),
    )?;
    // The statement always returns the row it wrote.
    let id: i64 = id.ok_or_else(|| SourceError::not_found("document", &document.doc_id))?;
    for tag in &hot.tags {
        let row = named_params! { ":document": id, ":tag": tag };
        writer.execute(INSERT_TAG_SQL, row)?;
    }
    for tag in &document.access {
        let row = named_params! { ":document": id, ":tag": tag };
        writer.execute(INSERT_ACCESS_SQL, row)?;
    }
    Ok(id)
}

/// Returns the value to store as a content hash: the bytes of a hexadecimal one, else its text.
fn stored_content_hash(hash: &str) -> Value {
    let digit =
        |digit: &u8| char::from(*digit).to_digit(16).filter(|_| !digit.is_ascii_uppercase());
    let byte = |pair: &[u8; 2]| {
        let [high, low] = pair.each_ref().map(digit);
        u8::try_from(high? * 16 + low?).ok()
    };
    let (pairs, rest) = hash.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    match bytes {
        Some(bytes) if rest.is_empty() && !bytes.is_empty() => Value::Blob(bytes),
        Some(_) | None => Value::Text(hash.to_owned()),
    }
}

/// Reads a content hash as it was given.
fn read_content_hash(row: &Row<'_>) -> rusqlite::Result<String> {
    match row.get_ref("content_hash")? {
        ValueRef::Blob(bytes) => {
            let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
            Ok(digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect())
        }
        value => Ok(value.as_str()?.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_hash_is_stored_as_bytes() {
        assert_eq!(stored_content_hash("00ff1a"), Value::Blob(vec![0, 255, 26]));
        for text in ["", "1-1", "abc", "FF", "gg", "é"] {
            assert_eq!(stored_content_hash(text), Value::Text(text.to_owned()));
        }
    }
}
