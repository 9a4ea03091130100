//! Collections that a test puts into a data folder, without building them.

use std::time::Duration;

use serde_json::{Value, json};
use vademecum::collections::Catalogue;
use vademecum_collections::{Collection, Document, EmbeddingModel, NewChunk, NewSource};
use vademecum_core::{auth::UserId, config};
use vademecum_embed::Embeddings;
use vademecum_kit::{
    model::Deadline,
    store::{Durability, Writer},
};

use super::Library;

/// Puts a collection into the data folder of a library.
pub(crate) fn put(
    library: &Library,
    name: &str,
    owner: Option<&str>,
    documents: &[Document],
) -> i64 {
    let catalogue = Catalogue::new(&library.data());
    let owner: Option<UserId> = owner.map(|owner| owner.parse().unwrap());
    let file = format!("{name}.1.db");
    let source_id = catalogue.insert_record(name, owner.as_ref(), &file, "{}").unwrap();
    let collection = catalogue.open(&file);
    let source = NewSource { source_id, name: name.to_owned(), ..NewSource::default() };
    write(&collection, |writer| {
        collection.put_source(writer, &source).unwrap();
        for document in documents {
            let document = Document { source_id, ..document.clone() };
            collection.put_document(writer, &document).unwrap();
        }
    });
    source_id
}

/// The collection of a name in the data folder of a library.
pub(crate) fn open(library: &Library, name: &str) -> Collection {
    Catalogue::new(&library.data()).open(&format!("{name}.1.db"))
}

/// Writes into a collection.
pub(crate) fn write(collection: &Collection, work: impl FnOnce(&Writer<'_>)) {
    let done = collection.write(Durability::Full, |writer| {
        work(writer);
        Ok(())
    });
    done.unwrap();
}

/// Gives every chunk of a collection the vector that the provider `stub` makes.
pub(crate) fn embed(library: &Library, name: &str, dimensions: usize) {
    let settings = format!("provider = \"stub\"\ndimensions = {dimensions}");
    let settings: config::Embeddings = toml::from_str(&settings).unwrap();
    let embeddings = Embeddings::open(&settings, &library.data()).unwrap().unwrap();
    let collection = open(library, name);
    let soon = Deadline::after(Duration::from_mins(1));
    let missing =
        collection.read(soon, |reader| collection.chunks_without_vector(reader, 0, 1_000));
    let missing = missing.unwrap();
    let texts: Vec<String> = missing.iter().map(|(_, text)| text.clone()).collect();
    let vectors = embeddings.embed_documents(&texts).unwrap();
    let model = EmbeddingModel {
        provider: embeddings.model().provider.to_owned(),
        model: embeddings.model().name.clone(),
        dimensions,
    };
    write(&collection, |writer| {
        collection.put_model(writer, &model).unwrap();
        for ((key, text), vector) in missing.iter().zip(&vectors) {
            collection.put_vector(writer, *key, text.as_bytes(), vector).unwrap();
        }
    });
}

/// A document in chunks that follow each other.
pub(crate) fn document(doc_id: &str, title: &str, metadata: &Value, chunks: &[&str]) -> Document {
    let mut start = 0;
    let cut = chunks.iter().map(|body| {
        let end = start + body.chars().count();
        let chunk =
            NewChunk { section: None, start, end, body: (*body).to_owned(), ..NewChunk::default() };
        start = end;
        chunk
    });
    let number = doc_id.rsplit(':').next().and_then(|number| number.parse::<i64>().ok());
    Document {
        doc_id: doc_id.to_owned(),
        primary_key: json!({ "Id": number }).as_object().cloned().unwrap(),
        title: Some(title.to_owned()),
        metadata: metadata.as_object().cloned().unwrap_or_default(),
        content_hash: format!("{doc_id} {title}"),
        chunks: cut.collect(),
        body: chunks.concat(),
        ..Document::default()
    }
}

/// The posts that the contract's examples are about.
pub(crate) fn posts() -> Vec<Document> {
    let about = |score: &str, date: &str| json!({ "Tags": "<mysql><json>", "Score": score, "PostTypeId": "1", "CreationDate": date });
    vec![
        document(
            "posts:1",
            "How to parse JSON in MySQL 8?",
            &about("12", "2022-05-01T00:00:00Z"),
            &[
                "I tried json_extract on a MySQL column. ",
                "The arrow operator of MySQL is shorter.",
            ],
        ),
        document(
            "posts:2",
            "Index a generated column",
            &json!({ "Tags": "<mysql>", "Score": "3", "CreationDate": "2026-01-01T00:00:00Z" }),
            &["MySQL can index a generated column, so that JSON is found quickly."],
        ),
        document(
            "posts:3",
            "Trigger or cascade",
            &about("8", "2023-01-01T00:00:00Z"),
            &["An UPDATE trigger in MySQL runs for each row; a DELETE cascade does not fire it."],
        ),
    ]
}
