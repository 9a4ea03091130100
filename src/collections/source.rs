//! A collection as a source: searched, shown and read like what is in a
//! library, by one principal.
//!
//! Its identifiers are those of documents and of chunks; its URIs name the
//! collection as well. Nothing is written through it: documents change where
//! they come from.

use serde_json::{Map, Value, json};
use vademecum_collections::{ChunkId, Passage, Scope, StoredDocument, TABLE, document_uri};
use vademecum_kit::{
    model::{
        Ask, Draft, Filters, Get, Hit, Item, ItemId, Loc, Mode, Ranking, Retrieval, Saved,
        SourceName, Suggestions, View,
    },
    retrieve::{self, Finder, Span},
    source::{Source, SourceError},
    store::{Database, Reader, Table, Writer},
};

use super::Opened;

/// A collection, as far as one principal may see it. Filters of libraries mean
/// nothing here.
#[derive(Clone, Debug)]
pub struct CollectionSource {
    opened: Opened,
}

impl CollectionSource {
    /// What of a collection may be seen, as a source.
    pub fn new(opened: Opened) -> Self {
        Self { opened }
    }

    fn scope(&self) -> Scope {
        Scope::of(self.opened.access.clone())
    }

    /// The document that is meant, and the chunk of it if one is meant.
    fn find(
        &self,
        reader: &Reader<'_>,
        get: &Get,
    ) -> Result<(StoredDocument, Option<u32>), SourceError> {
        let (collection, scope) = (&self.opened.collection, self.scope());
        let id = get.id.to_string();
        let name = &self.opened.record.name;
        let missing = || SourceError::not_found("document", document_uri(name, &id, None));
        if let Some(part) = &get.part {
            let document = collection.document(reader, &id, &scope)?.ok_or_else(missing)?;
            let index = part.parse().map_err(|_| SourceError::not_found("chunk", part))?;
            return Ok((document, Some(index)));
        }
        if let Some(document) = collection.document(reader, &id, &scope)? {
            return Ok((document, None));
        }
        let chunk: ChunkId = id.parse().map_err(|_| missing())?;
        let document = collection.document(reader, &chunk.doc_id, &scope)?;
        Ok((document.ok_or_else(missing)?, Some(chunk.index)))
    }

    /// What is known of a document, or of one of its chunks.
    fn hit(&self, document: &StoredDocument, index: Option<u32>) -> Hit {
        let doc_id = document.doc_id.clone();
        let uri = document_uri(&self.opened.record.name, &doc_id, index);
        let id = index.map(|index| ChunkId { doc_id: doc_id.clone(), index }.to_string());
        Hit {
            title: document.title.clone().or_else(|| document.file_name.clone()),
            created_at: document.created_at,
            last_modified: document.updated_at,
            tags: Some(document.tags()),
            media_type: document.file_type.clone(),
            url: document.url.clone(),
            ..Hit::new(uri, ItemId::Text(id.unwrap_or(doc_id)))
        }
    }

    /// A chunk for a list of results.
    fn shown(&self, finder: &Finder<'_>, passage: &Passage) -> Hit {
        let document = &passage.document;
        let found = finder.look(&passage.body);
        let others = [document.title.as_deref(), passage.section.as_deref()];
        let matched = finder.matched(&found, &others.map(Option::unwrap_or_default));
        let before = found.densest.as_ref().and_then(|place| passage.body.get(..place.start));
        let offset = passage.start + before.unwrap_or_default().chars().count();
        let loc = Loc {
            chunk_index: usize::try_from(passage.index).ok(),
            approx_offset: Some(offset),
            ..Loc::default()
        };
        let excerpt = finder.excerpt(&passage.body, found.densest);
        Hit {
            snippet: Some(excerpt.snippet),
            highlights: excerpt.highlights,
            matched,
            loc: Some(loc),
            ..self.hit(document, Some(passage.index))
        }
    }

    /// The headings that a chunk is under, where a chunk is read.
    fn section(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
        chunk: Option<usize>,
        mode: Mode,
    ) -> Result<Option<Vec<Map<String, Value>>>, SourceError> {
        let index = chunk.and_then(|chunk| u32::try_from(chunk).ok());
        let (Some(index), Mode::Chunk | Mode::ChunkWithSiblings) = (index, mode) else {
            return Ok(None);
        };
        let id = ChunkId { doc_id: doc_id.to_owned(), index };
        let passage = self.opened.collection.passage(reader, &id, &self.scope())?;
        let section = passage.and_then(|passage| passage.section);
        let attachment = section.map(|path| json!({ "type": "section", "section_path": path }));
        Ok(attachment.and_then(|it| it.as_object().cloned()).map(|it| vec![it]))
    }
}

impl Source for CollectionSource {
    fn name(&self) -> SourceName {
        SourceName::Collections
    }

    fn database(&self) -> Database {
        Database::Collection
    }

    fn searched(&self, _: &Filters) -> (&'static Table, Vec<&'static str>) {
        (&TABLE, Vec::new())
    }

    fn rank(&self, reader: &Reader<'_>, ask: &Ask) -> Result<Ranking, SourceError> {
        let mut ranking = self.opened.collection.rank(reader, ask, &self.scope())?;
        for ranked in &mut ranking.ranked {
            // What is ranked inside of a collection names none: `/<document>`.
            ranked.uri.id.insert_str(0, &self.opened.record.name);
        }
        Ok(ranking)
    }

    fn show(&self, reader: &Reader<'_>, view: &View) -> Result<Vec<Hit>, SourceError> {
        let (finder, scope) = (Finder::from(view), self.scope());
        let mut hits = Vec::with_capacity(view.wanted.len());
        for wanted in &view.wanted {
            let found = self.opened.collection.passages(reader, &[wanted.key], &scope)?;
            let shown = |passage| Hit { score: wanted.score, ..self.shown(&finder, passage) };
            hits.extend(found.iter().map(shown));
        }
        Ok(hits)
    }

    fn get(&self, reader: &Reader<'_>, get: &Get) -> Result<Item, SourceError> {
        let (document, index) = self.find(reader, get)?;
        let spans = self.opened.collection.spans(reader, &document.doc_id)?;
        let meta = self.hit(&document, index);
        let is_it = |span: &&Span| u32::try_from(span.index).ok() == index;
        let named = spans.iter().find(is_it);
        if index.is_some() && named.is_none() {
            return Err(SourceError::not_found("chunk", meta.uri));
        }
        let retrieval = at(&get.retrieval, named);
        let passage = retrieve::read(&document.body, &spans, &retrieval, &get.about);
        // Chunks that were cut on the fly are not those that are stored.
        let stored = passage.chunk.filter(|_| retrieval.prefer_prechunked);
        let attachments = self.section(reader, &document.doc_id, stored, retrieval.mode)?;
        let loc = Loc {
            chunk_index: passage.chunk,
            approx_offset: Some(passage.range.start),
            ..Loc::default()
        };
        let meta = Hit { loc: Some(loc), ..meta };
        Ok(Item { attachments, ..Item::of_passage(meta, passage, retrieval.mode) })
    }

    fn suggest(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
    ) -> Result<Suggestions, SourceError> {
        self.opened.collection.suggest(reader, typed, most, &self.opened.access)
    }

    fn counts(
        &self,
        reader: &Reader<'_>,
        _: &Filters,
        key: i64,
    ) -> Result<Option<bool>, SourceError> {
        let found = self.opened.collection.passages(reader, &[key], &self.scope())?;
        Ok(Some(!found.is_empty()))
    }

    fn draft(&self, _: &Reader<'_>, _: &str) -> Result<Draft, SourceError> {
        Err(kept_elsewhere())
    }

    fn save(&self, _: &Writer<'_>, _: &Draft) -> Result<Saved, SourceError> {
        Err(kept_elsewhere())
    }

    fn remove(&self, _: &Writer<'_>, _: &str) -> Result<bool, SourceError> {
        Err(kept_elsewhere())
    }
}

/// Reads at a chunk, unless the caller names a place.
fn at(retrieval: &Retrieval, chunk: Option<&Span>) -> Retrieval {
    let mut retrieval = retrieval.clone();
    let loc = &mut retrieval.loc;
    let is_free = loc.chunk_index.is_none() && loc.approx_offset.is_none();
    if let Some(chunk) = chunk.filter(|_| is_free) {
        // Where the text is cut anew, its number means another one.
        loc.chunk_index = Some(chunk.index);
        loc.approx_offset = Some(chunk.start);
    }
    retrieval
}

fn kept_elsewhere() -> SourceError {
    let reason = "documents of collections are kept where they come from: change them there, then \
                  bring the collection up to date";
    SourceError::Refused(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc, time::Duration};

    use vademecum_collections::{Access, Collection, Document, NewChunk, NewSource};
    use vademecum_kit::{
        model::{Deadline, Order, Preferences, RetrievalOptions},
        retrieve::FtsQuery,
        store::Durability,
    };

    use super::*;
    use crate::collections::Catalogue;
    use vademecum_core::auth::desktop;

    fn document(doc_id: &str, title: &str, access: &[&str], chunks: &[&str]) -> Document {
        let mut start = 0;
        let cut = chunks.iter().map(|body| {
            let end = start + body.chars().count();
            let section = Some("Guide › Dough".to_owned());
            let chunk =
                NewChunk { section, start, end, body: (*body).to_owned(), ..NewChunk::default() };
            start = end;
            chunk
        });
        Document {
            doc_id: doc_id.to_owned(),
            title: Some(title.to_owned()),
            metadata: json!({ "tags": ["rye"] }).as_object().cloned().unwrap(),
            chunks: cut.collect(),
            body: chunks.concat(),
            access: access.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Document::default()
        }
    }

    /// A collection in a folder, as somebody sees it who has no access tags.
    fn bakery(folder: &Path) -> CollectionSource {
        let catalogue = Catalogue::new(folder);
        let source_id = catalogue.add("bakery", None, "bakery.1.db", "{}").unwrap();
        let mut opened = catalogue.find(&desktop("ada".parse().unwrap()), "bakery").unwrap();
        opened.access = Access::Tags(Vec::new());
        let put = |collection: &Collection| {
            collection.write(Durability::Full, |writer| {
                let name = "bakery".to_owned();
                let source = NewSource { source_id, name, ..NewSource::default() };
                collection.put_source(writer, &source)?;
                for document in [
                    document("a#b", "Bread", &[], &["Über mehl. ", "We knead the dough."]),
                    document("c", "Dough", &[], &["Flour and water."]),
                    document("d", "Secret dough", &["staff"], &["The dough of the house."]),
                ] {
                    collection.put(writer, &Document { source_id, ..document })?;
                }
                Ok(())
            })
        };
        put(&opened.collection).unwrap();
        CollectionSource::new(opened)
    }

    fn read<T>(
        source: &CollectionSource,
        work: impl FnOnce(&Reader<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        source.opened.collection.read(Deadline::after(Duration::from_mins(1)), work)
    }

    fn search(source: &CollectionSource, query: &str, order: Order) -> Vec<Hit> {
        let query = Arc::new(FtsQuery::parse(query));
        let ask = Ask { query: Arc::clone(&query), order, take: 10, ..Ask::default() };
        let ranking = read(source, |reader| source.rank(reader, &ask)).unwrap();
        let uris: Vec<_> = ranking.ranked.iter().map(|ranked| ranked.uri.clone()).collect();
        let view = View {
            query,
            filters: Filters::default(),
            weights: Arc::default(),
            snippet_length: 300,
            highlight: true,
            wanted: ranking.ranked,
        };
        let hits = read(source, |reader| source.show(reader, &view)).unwrap();
        assert_eq!(hits.iter().map(|hit| hit.uri.clone()).collect::<Vec<_>>(), uris);
        hits
    }

    #[test]
    fn a_hit_says_where_in_which_collection_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let source = bakery(folder.path());
        let hits = search(&source, "kneading oven", Order::Relevance);
        let [hit] = &hits[..] else { panic!("{hits:?}") };
        assert_eq!(hit.uri.to_string(), "collections://bakery/a%23b#1");
        assert_eq!(hit.id, ItemId::from("a#b#1"));
        assert_eq!(hit.snippet.as_deref(), Some("We knead the dough."));
        let places: Vec<_> =
            hit.highlights.iter().flatten().map(|place| (place.start, place.end)).collect();
        assert_eq!(
            (places, hit.matched.clone()),
            (vec![(3, 8)], Some(vec!["kneading".to_owned()]))
        );
        assert_eq!(hit.tags, Some(vec!["rye".to_owned()]));
        let loc = Loc { chunk_index: Some(1), approx_offset: Some(14), ..Loc::default() };
        assert_eq!(hit.loc, Some(loc));
    }

    #[test]
    fn what_is_closed_is_neither_ranked_nor_shown_nor_read() {
        let folder = tempfile::tempdir().unwrap();
        let closed = bakery(folder.path());
        let mut open = closed.clone();
        open.opened.access = Access::Everything;
        let get = Get {
            id: ItemId::from("d#0"),
            part: None,
            retrieval: Retrieval::resolve(RetrievalOptions::default(), &Preferences::default()),
            page: None,
            about: Vec::new(),
        };
        for order in [Order::Relevance, Order::Recent] {
            for (source, sees) in [(&closed, false), (&open, true)] {
                let hits = search(source, "dough", order);
                let mut found: Vec<_> = hits.iter().map(|hit| hit.id.to_string()).collect();
                found.sort();
                // The headings above every chunk have the word.
                let all = ["a#b#0", "a#b#1", "c#0", "d#0"];
                assert_eq!(found, all[..if sees { 4 } else { 3 }], "{order:?}");
            }
        }
        let query = Arc::new(FtsQuery::parse("house"));
        let ask = Ask { query: Arc::clone(&query), take: 1, ..Ask::default() };
        let wanted = read(&open, |reader| open.rank(reader, &ask)).unwrap().ranked;
        let key = wanted[0].key;
        let view = View {
            query,
            filters: Filters::default(),
            weights: Arc::default(),
            snippet_length: 300,
            highlight: false,
            wanted,
        };
        for (source, sees) in [(&closed, false), (&open, true)] {
            let shown = read(source, |reader| source.show(reader, &view)).unwrap();
            assert_eq!(shown.len(), usize::from(sees));
            assert_eq!(read(source, |reader| source.get(reader, &get)).is_ok(), sees);
            let counts = read(source, |reader| source.counts(reader, &view.filters, key));
            assert_eq!(counts.unwrap(), Some(sees));
        }
    }

    #[test]
    fn statistics_are_remembered_by_the_store_of_the_collection() {
        let folder = tempfile::tempdir().unwrap();
        let source = bakery(folder.path());
        let store = Arc::clone(source.opened.collection.store());
        let query = FtsQuery::parse("dough");
        assert!(source.known(&store, &query, &Filters::default()).is_none());
        search(&source, "dough", Order::Relevance);
        assert!(source.known(&store, &query, &Filters::default()).is_some());
    }

    #[test]
    fn nothing_is_written_through_a_source() {
        let folder = tempfile::tempdir().unwrap();
        let source = bakery(folder.path());
        let written = source
            .opened
            .collection
            .write(Durability::Full, |writer| source.remove(writer, "a#b").map(drop));
        assert!(matches!(written, Err(SourceError::Refused(_))), "{written:?}");
        assert_eq!(search(&source, "knead", Order::Relevance).len(), 1);
    }
}
