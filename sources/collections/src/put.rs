//! Putting documents into a collection, and taking them out.

use std::collections::HashMap;

use rusqlite::named_params;
use serde_json::json;
use vademecum_kit::{
    model::Timestamp,
    source::SourceError,
    store::{Reader, Writer},
};

use crate::{Collection, Document, Put, collection::Kind, near::forget_vector, words::TABLE};

impl Collection {
    /// What is there of a source: the content hash of each document.
    pub fn hashes(
        &self,
        reader: &Reader<'_>,
        source_id: i64,
    ) -> Result<HashMap<String, String>, SourceError> {
        let mut found = HashMap::new();
        let parameters = named_params! { ":source_id": source_id };
        reader.each(include_str!("../sql/hashes.sql"), parameters, |row| {
            found.insert(row.get("doc_id")?, row.get("content_hash")?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Puts a document in, in the place of the one that is called the same.
    pub fn put(&self, writer: &Writer<'_>, document: &Document) -> Result<Put, SourceError> {
        let name = named_params! { ":doc_id": document.doc_id };
        let known = writer.first(include_str!("../sql/known.sql"), name, |row| {
            Ok((
                row.get::<_, i64>("id")?,
                row.get::<_, String>("content_hash")?,
                row.get("deleted")?,
            ))
        })?;
        if let Some((_, hash, false)) = &known
            && *hash == document.content_hash
        {
            return Ok(Put::Unchanged);
        }
        let before = known.map(|(id, ..)| id);
        if let Some(id) = before {
            self.clear(writer, id)?;
        }
        let id = write(writer, before, document)?;
        let mut chunks = Vec::with_capacity(document.chunks.len());
        for (index, chunk) in document.chunks.iter().enumerate() {
            let mut metadata = chunk.metadata.clone();
            metadata.insert("chunk_index".to_owned(), index.into());
            let key = writer.insert(
                include_str!("../sql/insert_chunk.sql"),
                named_params! {
                    ":document": id,
                    ":chunk_index": i64::try_from(index).unwrap_or(i64::MAX),
                    ":section": chunk.section,
                    ":start_char": i64::try_from(chunk.start).unwrap_or(i64::MAX),
                    ":end_char": i64::try_from(chunk.end).unwrap_or(i64::MAX),
                    ":metadata_json": json!(metadata).to_string(),
                    ":body": chunk.body,
                },
            )?;
            if self.kind == Kind::Whole {
                let words = named_params! {
                    ":id": key,
                    ":title": document.title,
                    ":section": chunk.section,
                    ":body": chunk.body,
                };
                writer.index(&TABLE, key, include_str!("../sql/index.sql"), words)?;
            }
            chunks.push(key);
        }
        Ok(if before.is_some() { Put::Updated(chunks) } else { Put::New(chunks) })
    }

    /// Takes a document out. Tells whether there was one.
    pub fn remove(&self, writer: &Writer<'_>, doc_id: &str) -> Result<bool, SourceError> {
        let name = named_params! { ":doc_id": doc_id };
        let known =
            writer.first(include_str!("../sql/known.sql"), name, |row| row.get::<_, i64>("id"))?;
        let Some(id) = known else { return Ok(false) };
        self.clear(writer, id)?;
        writer.run(include_str!("../sql/delete_document.sql"), named_params! { ":id": id })?;
        Ok(true)
    }

    /// Takes out the chunks of a document, with their words and vectors, and
    /// its tags.
    fn clear(&self, writer: &Writer<'_>, document: i64) -> Result<(), SourceError> {
        let parameters = named_params! { ":document": document };
        let keys: Vec<i64> =
            writer.all(include_str!("../sql/chunks_of.sql"), parameters, |row| row.get("id"))?;
        for key in keys {
            if self.kind == Kind::Whole {
                let row = named_params! { ":id": key };
                writer.index(&TABLE, key, include_str!("../sql/unindex.sql"), row)?;
            }
            forget_vector(writer, key)?;
        }
        writer.run(include_str!("../sql/delete_chunks.sql"), parameters)?;
        writer.run(include_str!("../sql/delete_tags.sql"), parameters)?;
        writer.run(include_str!("../sql/delete_access.sql"), parameters)?;
        Ok(())
    }
}

/// Writes the row of a document and its tags.
fn write(writer: &Writer<'_>, id: Option<i64>, document: &Document) -> Result<i64, SourceError> {
    let hot = document.hot();
    let project = document.project.as_ref();
    let id = writer.first(
        include_str!("../sql/put_document.sql"),
        named_params! {
            ":id": id,
            ":doc_id": document.doc_id,
            ":source_id": document.source_id,
            ":pk_json": json!(document.primary_key).to_string(),
            ":title": document.title,
            ":metadata_json": json!(document.metadata).to_string(),
            ":file_name": document.file_name,
            ":file_type": document.file_type,
            ":url": document.url,
            ":project_name": project.map(|(name, _)| name),
            ":project_version": project.map(|(_, version)| version),
            ":score": hot.score,
            ":post_type_id": hot.post_type_id,
            ":created_at": hot.created_at,
            ":content_hash": document.content_hash,
            ":updated_at": Timestamp::now(),
            ":body": document.body,
        },
        |row| row.get("id"),
    )?;
    // The statement always gives the row that it wrote.
    let id: i64 = id.ok_or_else(|| SourceError::not_found("document", &document.doc_id))?;
    for tag in &hot.tags {
        let row = named_params! { ":document": id, ":tag": tag };
        writer.run(include_str!("../sql/insert_tag.sql"), row)?;
    }
    for tag in &document.access {
        let row = named_params! { ":document": id, ":tag": tag };
        writer.run(include_str!("../sql/insert_access.sql"), row)?;
    }
    Ok(id)
}
