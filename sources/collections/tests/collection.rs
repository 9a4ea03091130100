//! A collection on a real file: what is put in is found, and only by those who may.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::{sync::Arc, time::Duration};

use serde_json::json;
use vademecum_collections::{
    Access, ChunkId, Collection, Document, EmbeddingModel, Filter, NewChunk, NewSource, Put, Scope,
    SyncState,
};
use vademecum_kit::{
    model::{Ask, Deadline, Timestamp},
    retrieve::FtsQuery,
    source::SourceError,
    store::{Durability, Reader, Writer},
};

struct Shelf {
    collection: Collection,
    _folder: tempfile::TempDir,
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

fn everything() -> Scope {
    Scope::of(Access::Everything)
}

fn filtered(filter: Filter) -> Scope {
    Scope { filter, access: Access::Everything }
}

fn post(number: i64, title: &str, chunks: &[&str]) -> Document {
    let mut start = 0;
    let cut = chunks.iter().map(|body| {
        let end = start + body.chars().count();
        let chunk =
            NewChunk { section: None, start, end, body: (*body).to_owned(), ..NewChunk::default() };
        start = end;
        chunk
    });
    Document {
        doc_id: format!("posts:{number}"),
        source_id: 1,
        primary_key: json!({ "Id": number }).as_object().cloned().unwrap(),
        title: Some(title.to_owned()),
        metadata: json!({ "Tags": "<mysql><json>", "Score": number.to_string() })
            .as_object()
            .cloned()
            .unwrap(),
        content_hash: format!("{number}-1"),
        chunks: cut.collect(),
        body: chunks.concat(),
        ..Document::default()
    }
}

impl Shelf {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shelf =
            Self { collection: Collection::at(folder.path().join("posts.db")), _folder: folder };
        shelf.write(|collection, writer| {
            for (source_id, name) in [(1, "stack_posts"), (2, "other")] {
                let name = name.to_owned();
                collection
                    .put_source(writer, &NewSource { source_id, name, ..NewSource::default() })?;
            }
            Ok(())
        });
        shelf
    }

    fn filled() -> Self {
        let shelf = Self::new();
        shelf.put(&[
            post(1, "Parse JSON in MySQL", &["Use json_extract. ", "Or the arrow operator."]),
            post(2, "Index a column", &["MySQL can index generated columns."]),
            post(3, "Join two tables", &["A join in MySQL takes a condition."]),
        ]);
        shelf
    }

    fn write<T>(&self, work: impl FnOnce(&Collection, &Writer<'_>) -> Result<T, SourceError>) -> T {
        self.collection.write(Durability::Full, |writer| work(&self.collection, writer)).unwrap()
    }

    fn read<T>(&self, work: impl FnOnce(&Collection, &Reader<'_>) -> Result<T, SourceError>) -> T {
        self.collection.read(soon(), |reader| work(&self.collection, reader)).unwrap()
    }

    fn put(&self, documents: &[Document]) -> Vec<Put> {
        self.write(|collection, writer| {
            documents.iter().map(|document| collection.put(writer, document)).collect()
        })
    }

    fn words(&self, query: &str, scope: &Scope) -> Vec<String> {
        let ask = Ask { query: Arc::new(FtsQuery::parse(query)), take: 50, ..Ask::default() };
        self.read(|collection, reader| {
            let ranking = collection.rank(reader, &ask, scope)?;
            let keys: Vec<i64> = ranking.ranked.iter().map(|found| found.key).collect();
            let passages = collection.passages(reader, &keys, scope)?;
            assert_eq!(passages.len(), keys.len(), "what is found can be read");
            Ok(passages.iter().map(|passage| passage.id().to_string()).collect())
        })
    }

    /// Gives every chunk a vector that leans towards the axis of its row.
    fn embed(&self) {
        let model =
            EmbeddingModel { provider: "test".to_owned(), model: "axes".to_owned(), dimensions: 8 };
        let missing = self.read(|collection, reader| collection.without_vector(reader, 0, 1_000));
        self.write(|collection, writer| {
            collection.put_model(writer, &model)?;
            for (key, text) in &missing {
                collection.put_vector(writer, *key, text.as_bytes(), &axis(*key))?;
            }
            Ok(())
        });
    }

    fn near(&self, axis_of: i64, take: usize, scope: &Scope) -> Vec<i64> {
        self.read(|collection, reader| {
            let nearest = collection.nearest(reader, &axis(axis_of), take, scope)?;
            Ok(nearest.found.iter().map(|near| near.key).collect())
        })
    }
}

fn axis(key: i64) -> Vec<f32> {
    let mut vector = vec![0.1_f32; 8];
    vector[usize::try_from(key).unwrap() % 8] = 1.0;
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

#[test]
fn a_chunk_is_found_by_title_and_text() {
    let shelf = Shelf::filled();
    assert_eq!(shelf.words("arrow", &everything()), ["posts:1#1"]);
    assert_eq!(shelf.words("title:parse json_extract", &everything())[0], "posts:1#0");
    assert_eq!(shelf.words("mysql", &everything()).len(), 4);
}

#[test]
fn the_same_document_again_changes_nothing_and_another_takes_its_place() {
    let shelf = Shelf::filled();
    let same = post(1, "Parse JSON in MySQL", &["Use json_extract. ", "Or the arrow operator."]);
    assert_eq!(shelf.put(&[same]), [Put::Unchanged]);
    let mut other = post(1, "Parse XML", &["Use ExtractValue."]);
    other.content_hash = "1-2".to_owned();
    assert!(matches!(&shelf.put(&[other])[..], [Put::Updated(chunks)] if chunks.len() == 1));
    assert_eq!(shelf.words("arrow", &everything()), [""; 0]);
    assert_eq!(shelf.words("xml", &everything()), ["posts:1#0"]);
    let gone = shelf.write(|collection, writer| collection.remove(writer, "posts:1"));
    assert!(gone);
    assert_eq!(shelf.words("xml", &everything()), [""; 0]);
    assert!(!shelf.write(|collection, writer| collection.remove(writer, "posts:1")));
    assert_eq!(shelf.collection.store().check().unwrap().problems, []);
}

#[test]
fn filters_are_asked_before_anything_is_limited() {
    let shelf = Shelf::filled();
    let many: Vec<Document> = (10..400)
        .map(|number| Document {
            source_id: 2,
            metadata: json!({}).as_object().cloned().unwrap(),
            ..post(number, "MySQL MySQL MySQL", &["MySQL."])
        })
        .collect();
    shelf.put(&many);
    shelf.embed();
    let some = |filter: Filter| {
        let scope = filtered(filter);
        let words = shelf.words("mysql", &scope).len();
        let ask_near = |take| shelf.near(3, take, &scope).len();
        assert_eq!(words.min(4), ask_near(4), "both legs agree on {scope:?}");
        words
    };
    let ids = |ids: &[i64]| Some(ids.to_vec());
    let texts = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
    let none = Filter::default;
    assert_eq!(some(Filter { source_ids: ids(&[1]), ..none() }), 4);
    assert_eq!(some(Filter { source_names: texts(&["stack_posts"]), ..none() }), 4);
    let both = Filter { source_ids: ids(&[1]), source_names: texts(&["other"]), ..none() };
    assert_eq!(some(both), 0);
    assert_eq!(some(Filter { doc_ids: texts(&["posts:2", "x') OR ('1'='1"]), ..none() }), 1);
    assert_eq!(some(Filter { min_score: Some(2.0), ..none() }), 2);
    assert_eq!(some(Filter { tags_any: texts(&["JSON", "nothing"]), ..none() }), 4);
    assert_eq!(some(Filter { tags_all: texts(&["json", "nothing"]), ..none() }), 0);
    assert_eq!(some(Filter { post_type_ids: ids(&[1]), ..none() }), 0);
    assert_eq!(some(Filter { created_after: Timestamp::parse("2020").ok(), ..none() }), 50);
    let never = Filter { created_after: Timestamp::parse("2020-01-01").ok(), ..none() };
    assert_eq!(some(never), 0);
}

#[test]
fn who_lacks_one_of_a_documents_tags_cannot_find_or_read_it() {
    let shelf = Shelf::filled();
    let secret = Document {
        access: vec!["premium".to_owned(), "sales".to_owned()],
        ..post(4, "Secret MySQL", &["The secret of MySQL."])
    };
    shelf.put(&[secret]);
    shelf.embed();
    for (tags, seen) in [
        (&[][..], false),
        (&["premium"], false),
        (&["sales", "x"], false),
        (&["premium", "sales"], true),
        (&["PREMIUM", "sales"], false),
    ] {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let scope = Scope::of(Access::Tags(tags));
        let id: ChunkId = "posts:4#0".parse().unwrap();
        assert_eq!(shelf.words("mysql", &scope).len(), 4 + usize::from(seen), "{scope:?}");
        assert_eq!(shelf.near(5, 10, &scope).len(), 4 + usize::from(seen), "{scope:?}");
        shelf.read(|collection, reader| {
            assert_eq!(collection.passage(reader, &id, &scope)?.is_some(), seen);
            assert_eq!(collection.document(reader, "posts:4", &scope)?.is_some(), seen);
            Ok(())
        });
    }
}

#[test]
fn vectors_follow_what_is_put_in_and_taken_out() {
    let shelf = Shelf::filled();
    assert_eq!(shelf.near(1, 10, &everything()), [0; 0]);
    shelf.embed();
    assert_eq!(shelf.near(3, 1, &everything()), [3]);
    shelf.write(|collection, writer| collection.remove(writer, "posts:2"));
    assert!(!shelf.near(3, 10, &everything()).contains(&3));
    shelf.put(&[post(5, "New", &["One more."])]);
    assert_eq!(shelf.near(5, 10, &everything()).len(), 3);
    shelf.embed();
    assert_eq!(shelf.near(5, 1, &everything()), [5]);
    // Another process has nothing in memory, and sees the same.
    let again = Collection::at(shelf.collection.store().path().to_owned());
    let found = again.read(soon(), |reader| again.nearest(reader, &axis(5), 10, &everything()));
    assert_eq!(found.unwrap().found.len(), 4);
    let other =
        EmbeddingModel { provider: "test".to_owned(), model: "other".to_owned(), dimensions: 4 };
    shelf.write(|collection, writer| collection.put_model(writer, &other));
    let missing = shelf.read(|collection, reader| collection.without_vector(reader, 0, 10));
    assert_eq!(missing.len(), 4, "vectors of another model are gone");
    let refused = shelf
        .collection
        .read(soon(), |reader| shelf.collection.nearest(reader, &axis(1), 1, &everything()));
    assert!(refused.unwrap_err().to_string().contains("8 dimensions, the vectors"));
}

#[test]
fn counts_are_not_multiplied() {
    let shelf = Shelf::filled();
    shelf.embed();
    let state = SyncState {
        cursor_json: Some("{\"value\":3}".to_owned()),
        last_ok_at: Timestamp::parse("2026-01-01").ok(),
        last_error: None,
    };
    shelf.write(|collection, writer| collection.put_sync_state(writer, 1, &state));
    let counts = shelf.read(Collection::counts);
    assert_eq!((counts[0].documents, counts[0].chunks, counts[0].vectors), (3, 4, 4));
    assert_eq!((counts[1].documents, counts[1].last_ok_at), (0, None));
    let failed = SyncState { last_error: Some("gone".to_owned()), ..SyncState::default() };
    shelf.write(|collection, writer| collection.put_sync_state(writer, 1, &failed));
    let after = shelf.read(|collection, reader| collection.sync_state(reader, 1));
    assert_eq!(after, SyncState { last_error: Some("gone".to_owned()), ..state });
}

#[test]
fn of_what_goes_in_the_transaction_in_which_another_comes_no_word_remains() {
    let shelf = Shelf::filled();
    let everything = Scope::of(Access::Everything);
    assert_eq!(shelf.words("condition", &everything), ["posts:3#0"]);
    let again = Document {
        content_hash: "3-2".to_owned(),
        ..post(3, "Join two tables", &["A subquery will do."])
    };
    let keys = |put: &[Put]| match put {
        [Put::New(keys) | Put::Updated(keys)] => keys.clone(),
        other => panic!("{other:?}"),
    };
    let first = keys(&shelf.put(&[again]));
    let second = shelf.write(|collection, writer| {
        collection.remove(writer, "posts:3")?;
        collection.put(writer, &post(4, "Views", &["A view is a query with a name."]))
    });
    assert_ne!(keys(&[second]), first, "no row is used again");
    for (word, found) in [("condition", None), ("subquery", None), ("view", Some("posts:4#0"))] {
        assert_eq!(shelf.words(word, &everything).first().map(String::as_str), found, "{word}");
    }
    assert_eq!(shelf.collection.store().check().unwrap().problems, []);
}
