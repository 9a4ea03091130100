//! Tests of a collection on a real file: storing, full-text and vector search, filters and access
//! tags.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::{sync::Arc, time::Duration};

use serde_json::json;
use vademecum_collections::{
    Access, ChunkId, Collection, Document, DocumentFilter, EmbeddingModel, NewChunk, NewSource,
    PutOutcome, Scope, SyncState,
};
use vademecum_model::{Deadline, Timestamp};
use vademecum_search::{FtsQuery, RankRequest};
use vademecum_source::SourceError;
use vademecum_store::{Durability, Reader, Writer};

struct TestCollection {
    collection: Collection,
    _folder: tempfile::TempDir,
}

fn test_deadline() -> Deadline {
    Deadline::after(Duration::from_mins(1))
}

fn unrestricted_scope() -> Scope {
    Scope::of(Access::Everything)
}

fn filtered_scope(filter: DocumentFilter) -> Scope {
    Scope { filter, access: Access::Everything }
}

fn post_document(number: i64, title: &str, chunks: &[&str]) -> Document {
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

impl TestCollection {
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
        shelf.put_documents(&[
            post_document(
                1,
                "Parse JSON in MySQL",
                &["Use json_extract. ", "Or the arrow operator."],
            ),
            post_document(2, "Index a column", &["MySQL can index generated columns."]),
            post_document(3, "Join two tables", &["A join in MySQL takes a condition."]),
        ]);
        shelf
    }

    fn write<T>(
        &self,
        mut work: impl FnMut(&Collection, &Writer<'_>) -> Result<T, SourceError>,
    ) -> T {
        self.collection.write(Durability::Full, |writer| work(&self.collection, writer)).unwrap()
    }

    fn read<T>(&self, work: impl FnOnce(&Collection, &Reader<'_>) -> Result<T, SourceError>) -> T {
        self.collection.read(test_deadline(), |reader| work(&self.collection, reader)).unwrap()
    }

    fn put_documents(&self, documents: &[Document]) -> Vec<PutOutcome> {
        self.write(|collection, writer| {
            documents.iter().map(|document| collection.put_document(writer, document)).collect()
        })
    }

    fn search_text(&self, query: &str, scope: &Scope) -> Vec<String> {
        let request = RankRequest {
            query: Arc::new(FtsQuery::parse(query)),
            limit: 50,
            ..RankRequest::default()
        };
        self.read(|collection, reader| {
            let ranking = collection.rank_matches(reader, &request, scope)?;
            let keys: Vec<i64> = ranking.ranked.iter().map(|found| found.key).collect();
            let passages = collection.read_passages(reader, &keys, scope)?;
            assert_eq!(passages.len(), keys.len(), "found chunks can be read");
            Ok(passages.iter().map(|passage| passage.id().to_string()).collect())
        })
    }

    /// Stores for each chunk a vector whose largest component is the axis of its row.
    fn embed_all(&self) {
        let model =
            EmbeddingModel { provider: "test".to_owned(), model: "axes".to_owned(), dimensions: 8 };
        let missing =
            self.read(|collection, reader| collection.chunks_without_vector(reader, 0, 1_000));
        self.write(|collection, writer| {
            collection.put_model(writer, &model)?;
            for (key, text) in &missing {
                collection.put_vector(writer, *key, text.as_bytes(), &axis_vector(*key))?;
            }
            Ok(())
        });
    }

    fn search_vectors(&self, axis_of: i64, take: usize, scope: &Scope) -> Vec<i64> {
        self.read(|collection, reader| {
            let nearest = collection.nearest(reader, &axis_vector(axis_of), take, scope)?;
            Ok(nearest.chunks.iter().map(|near| near.key).collect())
        })
    }
}

fn axis_vector(key: i64) -> Vec<f32> {
    let mut vector = vec![0.1_f32; 8];
    vector[usize::try_from(key).unwrap() % 8] = 1.0;
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / length).collect()
}

#[test]
fn chunk_matches_title_and_text() {
    let shelf = TestCollection::filled();
    assert_eq!(shelf.search_text("arrow", &unrestricted_scope()), ["posts:1#1"]);
    assert_eq!(
        shelf.search_text("title:parse json_extract", &unrestricted_scope())[0],
        "posts:1#0"
    );
    assert_eq!(shelf.search_text("mysql", &unrestricted_scope()).len(), 4);
}

#[test]
fn unchanged_document_is_skipped_and_changed_one_replaced() {
    let shelf = TestCollection::filled();
    let same =
        post_document(1, "Parse JSON in MySQL", &["Use json_extract. ", "Or the arrow operator."]);
    assert_eq!(shelf.put_documents(&[same]), [PutOutcome::Unchanged]);
    let mut other = post_document(1, "Parse XML", &["Use ExtractValue."]);
    other.content_hash = "1-2".to_owned();
    assert!(
        matches!(&shelf.put_documents(&[other])[..], [PutOutcome::Updated(chunks)] if chunks.len() == 1)
    );
    assert_eq!(shelf.search_text("arrow", &unrestricted_scope()), [""; 0]);
    assert_eq!(shelf.search_text("xml", &unrestricted_scope()), ["posts:1#0"]);
    let gone = shelf.write(|collection, writer| collection.remove_document(writer, "posts:1"));
    assert!(gone);
    assert_eq!(shelf.search_text("xml", &unrestricted_scope()), [""; 0]);
    assert!(!shelf.write(|collection, writer| collection.remove_document(writer, "posts:1")));
    assert_eq!(shelf.collection.store().check_integrity().unwrap().problems, []);
}

#[test]
fn filters_apply_before_limits() {
    let shelf = TestCollection::filled();
    let many: Vec<Document> = (10..400)
        .map(|number| Document {
            source_id: 2,
            metadata: json!({}).as_object().cloned().unwrap(),
            ..post_document(number, "MySQL MySQL MySQL", &["MySQL."])
        })
        .collect();
    shelf.put_documents(&many);
    shelf.embed_all();
    let some = |filter: DocumentFilter| {
        let scope = filtered_scope(filter);
        let words = shelf.search_text("mysql", &scope).len();
        let ask_near = |take| shelf.search_vectors(3, take, &scope).len();
        assert_eq!(words.min(4), ask_near(4), "text and vector search agree on {scope:?}");
        words
    };
    let ids = |ids: &[i64]| Some(ids.to_vec());
    let texts = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
    let none = DocumentFilter::default;
    assert_eq!(some(DocumentFilter { source_ids: ids(&[1]), ..none() }), 4);
    assert_eq!(some(DocumentFilter { source_names: texts(&["stack_posts"]), ..none() }), 4);
    let both = DocumentFilter { source_ids: ids(&[1]), source_names: texts(&["other"]), ..none() };
    assert_eq!(some(both), 0);
    assert_eq!(
        some(DocumentFilter { doc_ids: texts(&["posts:2", "x') OR ('1'='1"]), ..none() }),
        1
    );
    assert_eq!(some(DocumentFilter { min_score: Some(2.0), ..none() }), 2);
    assert_eq!(some(DocumentFilter { tags_any: texts(&["JSON", "nothing"]), ..none() }), 4);
    assert_eq!(some(DocumentFilter { tags_all: texts(&["json", "nothing"]), ..none() }), 0);
    assert_eq!(some(DocumentFilter { post_type_ids: ids(&[1]), ..none() }), 0);
    assert_eq!(some(DocumentFilter { created_after: Timestamp::parse("2020").ok(), ..none() }), 50);
    let never = DocumentFilter { created_after: Timestamp::parse("2020-01-01").ok(), ..none() };
    assert_eq!(some(never), 0);
}

#[test]
fn document_is_hidden_without_all_access_tags() {
    let shelf = TestCollection::filled();
    let secret = Document {
        access: vec!["premium".to_owned(), "sales".to_owned()],
        ..post_document(4, "Secret MySQL", &["The secret of MySQL."])
    };
    shelf.put_documents(&[secret]);
    shelf.embed_all();
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
        assert_eq!(shelf.search_text("mysql", &scope).len(), 4 + usize::from(seen), "{scope:?}");
        assert_eq!(shelf.search_vectors(5, 10, &scope).len(), 4 + usize::from(seen), "{scope:?}");
        shelf.read(|collection, reader| {
            assert_eq!(collection.read_passage(reader, &id, &scope)?.is_some(), seen);
            assert_eq!(collection.read_document(reader, "posts:4", &scope)?.is_some(), seen);
            Ok(())
        });
    }
}

#[test]
fn vector_search_follows_insertions_and_removals() {
    let shelf = TestCollection::filled();
    assert_eq!(shelf.search_vectors(1, 10, &unrestricted_scope()), [0; 0]);
    shelf.embed_all();
    assert_eq!(shelf.search_vectors(3, 1, &unrestricted_scope()), [3]);
    shelf.write(|collection, writer| collection.remove_document(writer, "posts:2"));
    assert!(!shelf.search_vectors(3, 10, &unrestricted_scope()).contains(&3));
    shelf.put_documents(&[post_document(5, "New", &["One more."])]);
    assert_eq!(shelf.search_vectors(5, 10, &unrestricted_scope()).len(), 3);
    shelf.embed_all();
    assert_eq!(shelf.search_vectors(5, 1, &unrestricted_scope()), [5]);
    // Another process has nothing cached and finds the same chunks.
    let again = Collection::at(shelf.collection.store().path().to_owned());
    let found = again.read(test_deadline(), |reader| {
        again.nearest(reader, &axis_vector(5), 10, &unrestricted_scope())
    });
    assert_eq!(found.unwrap().chunks.len(), 4);
    let other =
        EmbeddingModel { provider: "test".to_owned(), model: "other".to_owned(), dimensions: 4 };
    shelf.write(|collection, writer| collection.put_model(writer, &other));
    let missing = shelf.read(|collection, reader| collection.chunks_without_vector(reader, 0, 10));
    assert_eq!(missing.len(), 4, "vectors of another model are gone");
    let refused = shelf.collection.read(test_deadline(), |reader| {
        shelf.collection.nearest(reader, &axis_vector(1), 1, &unrestricted_scope())
    });
    assert!(refused.unwrap_err().to_string().contains("8 dimensions, the vectors"));
}

#[test]
fn counts_are_not_multiplied() {
    let shelf = TestCollection::filled();
    shelf.embed_all();
    let state = SyncState {
        cursor_json: Some("{\"value\":3}".to_owned()),
        last_ok_at: Timestamp::parse("2026-01-01").ok(),
        last_error: None,
    };
    shelf.write(|collection, writer| collection.put_sync_state(writer, 1, &state));
    let counts = shelf.read(Collection::count_by_source);
    assert_eq!((counts[0].documents, counts[0].chunks, counts[0].vectors), (3, 4, 4));
    assert_eq!((counts[1].documents, counts[1].last_ok_at), (0, None));
    let failed = SyncState { last_error: Some("gone".to_owned()), ..SyncState::default() };
    shelf.write(|collection, writer| collection.put_sync_state(writer, 1, &failed));
    let after = shelf.read(|collection, reader| collection.sync_state(reader, 1));
    assert_eq!(after, SyncState { last_error: Some("gone".to_owned()), ..state });
}

#[test]
fn removal_and_insertion_leave_no_stale_terms() {
    let shelf = TestCollection::filled();
    let everything = Scope::of(Access::Everything);
    assert_eq!(shelf.search_text("condition", &everything), ["posts:3#0"]);
    let again = Document {
        content_hash: "3-2".to_owned(),
        ..post_document(3, "Join two tables", &["A subquery will do."])
    };
    let keys = |put: &[PutOutcome]| match put {
        [PutOutcome::New(keys) | PutOutcome::Updated(keys)] => keys.clone(),
        other => panic!("{other:?}"),
    };
    let first = keys(&shelf.put_documents(&[again]));
    let second = shelf.write(|collection, writer| {
        collection.remove_document(writer, "posts:3")?;
        collection
            .put_document(writer, &post_document(4, "Views", &["A view is a query with a name."]))
    });
    assert_ne!(keys(&[second]), first, "rows are not reused");
    for (word, found) in [("condition", None), ("subquery", None), ("view", Some("posts:4#0"))] {
        assert_eq!(
            shelf.search_text(word, &everything).first().map(String::as_str),
            found,
            "{word}"
        );
    }
    assert_eq!(shelf.collection.store().check_integrity().unwrap().problems, []);
}

#[test]
fn long_list_of_documents_equals_short_one() {
    let shelf = TestCollection::new();
    let documents: Vec<Document> = (0..40)
        .map(|number| {
            let document = post_document(number, "Post", &["About MySQL."]);
            let access = if number == 3 { vec!["staff".to_owned()] } else { Vec::new() };
            Document { access, ..document }
        })
        .collect();
    shelf.put_documents(&documents);
    let short: Vec<String> = (0..7).map(|number| format!("posts:{number}")).collect();
    let unknown = (1_000..6_000).map(|number| format!("posts:{number}"));
    let long: Vec<String> = short.iter().cloned().chain(unknown).collect();
    for (access, count) in [(Access::Everything, 7), (Access::Tags(Vec::new()), 6)] {
        let found = |doc_ids: &[String]| {
            let filter =
                DocumentFilter { doc_ids: Some(doc_ids.to_vec()), ..DocumentFilter::default() };
            shelf.search_text("mysql", &Scope { filter, access: access.clone() })
        };
        assert_eq!(found(&long), found(&short), "{access:?}");
        assert_eq!(found(&long).len(), count, "{access:?}");
    }
    assert!(shelf.search_text("mysql", &Scope::of(Access::Nothing)).is_empty());
}
