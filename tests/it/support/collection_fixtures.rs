//! Writes collections directly into a data folder, without the indexing command.

use std::time::Duration;

use serde_json::{Value, json};
use vademecum_actors::collections::Catalogue;
use vademecum_collections::{Collection, Document, EmbeddingModel, NewChunk, NewSource};
use vademecum_core::{auth::UserId, config};
use vademecum_embed::Embeddings;
use vademecum_model::Deadline;
use vademecum_store::{Durability, Writer};

use super::{Library, open_data_folder};

/// Creates a collection with these documents and returns its source id.
pub(crate) fn insert_collection(
    library: &Library,
    name: &str,
    owner: Option<&str>,
    documents: &[Document],
) -> i64 {
    let catalogue = Catalogue::new(open_data_folder(&library.data_folder()));
    let owner: Option<UserId> = owner.map(|owner| owner.parse().unwrap());
    let file = format!("{name}.1.db");
    let source_id = catalogue.insert_record(name, owner.as_ref(), &file, "{}").unwrap();
    let collection = catalogue.open(&file);
    let source = NewSource { source_id, name: name.to_owned(), ..NewSource::default() };
    write_collection(&collection, |writer| {
        collection.put_source(writer, &source).unwrap();
        for document in documents {
            let document = Document { source_id, ..document.clone() };
            collection.put_document(writer, &document).unwrap();
        }
    });
    source_id
}

/// Opens the collection with this name in the data folder of a library.
pub(crate) fn open_collection(library: &Library, name: &str) -> Collection {
    Catalogue::new(open_data_folder(&library.data_folder())).open(&format!("{name}.1.db"))
}

/// Runs `work` in a write transaction of a collection.
pub(crate) fn write_collection(collection: &Collection, mut work: impl FnMut(&Writer<'_>)) {
    let done = collection.write(Durability::Full, |writer| {
        work(writer);
        Ok(())
    });
    done.unwrap();
}

/// Embeds every chunk of a collection with the `stub` provider.
pub(crate) fn embed_collection(library: &Library, name: &str, dimensions: usize) {
    let settings = format!("provider = \"stub\"\nallow_stub = true\ndimensions = {dimensions}");
    let settings: config::Embeddings = toml::from_str(&settings).unwrap();
    let embeddings =
        Embeddings::open(&settings, open_data_folder(&library.data_folder())).unwrap().unwrap();
    let collection = open_collection(library, name);
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
    write_collection(&collection, |writer| {
        collection.put_model(writer, &model).unwrap();
        for ((key, text), vector) in missing.iter().zip(&vectors) {
            collection.put_vector(writer, *key, text.as_bytes(), vector).unwrap();
        }
    });
}

/// Builds a document from consecutive chunks.
pub(crate) fn chunked_document(
    doc_id: &str,
    title: &str,
    metadata: &Value,
    chunks: &[&str],
) -> Document {
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

/// Creates the shared collection `stack_posts` with the sample posts.
pub(crate) fn insert_posts(library: &Library) {
    insert_collection(library, "stack_posts", None, &sample_posts());
}

/// Returns the posts used in the contract's examples.
pub(crate) fn sample_posts() -> Vec<Document> {
    let about = |score: &str, date: &str| json!({ "Tags": "<mysql><json>", "Score": score, "PostTypeId": "1", "CreationDate": date });
    vec![
        chunked_document(
            "posts:1",
            "How to parse JSON in MySQL 8?",
            &about("12", "2022-05-01T00:00:00Z"),
            &[
                "I tried json_extract on a MySQL column. ",
                "The arrow operator of MySQL is shorter.",
            ],
        ),
        chunked_document(
            "posts:2",
            "Index a generated column",
            &json!({ "Tags": "<mysql>", "Score": "3", "CreationDate": "2026-01-01T00:00:00Z" }),
            &["MySQL can index a generated column, so that JSON is found quickly."],
        ),
        chunked_document(
            "posts:3",
            "Trigger or cascade",
            &about("8", "2023-01-01T00:00:00Z"),
            &["An UPDATE trigger in MySQL runs for each row; a DELETE cascade does not fire it."],
        ),
    ]
}
