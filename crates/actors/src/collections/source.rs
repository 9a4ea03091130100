//! A collection as a source: searched, listed and read like the sources of a library, on behalf of
//! one principal.
//!
//! Identifiers are those of documents and chunks; URIs also contain the name of the collection. The
//! source is read-only, because documents are changed where they come from.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use vademecum_collections::{
    ChunkId, FULL_TEXT_TABLE, Passage, Scope, StoredDocument, document_uri,
};
use vademecum_model::{
    CorpusStatistics, Draft, Filters, FtsTable, Hit, ItemId, Loc, Retrieval, RetrievalMode,
    SaveOutcome, SourceName, Suggestions,
};
use vademecum_search::{
    ChunkSpan, FtsQuery, GetRequest, Highlighter, HitRequest, Item, RankRequest, Ranking,
};
use vademecum_source::{Source, SourceError, read_located_passage};
use vademecum_store::{Database, Reader, Store, Writer};

use super::VisibleCollection;

/// A collection, restricted to what one principal may see. Only the filters that all sources have
/// apply.
#[derive(Clone, Debug)]
pub struct CollectionSource {
    opened: VisibleCollection,
}

impl CollectionSource {
    /// Exposes an opened collection as a source.
    pub fn new(opened: VisibleCollection) -> Self {
        Self { opened }
    }

    fn scope(&self) -> Scope {
        Scope::of(self.opened.access.clone())
    }

    fn filtered_scope(&self, filters: &Filters) -> Scope {
        Scope { filter: filters.into(), ..self.scope() }
    }

    /// Returns the requested document, and the index of the chunk if one is requested. An
    /// identifier that names no document is parsed as that of a chunk.
    fn find_document(
        &self,
        reader: &Reader<'_>,
        get: &GetRequest,
    ) -> Result<(StoredDocument, Option<u32>), SourceError> {
        let (collection, scope) = (&self.opened.collection, self.scope());
        let id = get.id.to_string();
        let name = &self.opened.record.name;
        let missing = || SourceError::not_found("document", document_uri(name, &id, None));
        if let Some(part) = &get.part {
            let document = collection.read_document(reader, &id, &scope)?.ok_or_else(missing)?;
            let index = part.parse().map_err(|_| SourceError::not_found("chunk", part))?;
            return Ok((document, Some(index)));
        }
        if let Some(document) = collection.read_document(reader, &id, &scope)? {
            return Ok((document, None));
        }
        let chunk: ChunkId = id.parse().map_err(|_| missing())?;
        let document = collection.read_document(reader, &chunk.doc_id, &scope)?;
        Ok((document.ok_or_else(missing)?, Some(chunk.index)))
    }

    /// Returns the metadata of a document or of one of its chunks, without a snippet.
    fn to_hit(&self, document: &StoredDocument, index: Option<u32>) -> Hit {
        let doc_id = document.doc_id.clone();
        let uri = document_uri(&self.opened.record.name, &doc_id, index);
        let id = index.map(|index| ChunkId { doc_id: doc_id.clone(), index }.to_string());
        Hit {
            title: document.title.clone().or_else(|| document.file_name.clone()),
            created_at: document.created_at,
            last_modified: document.updated_at,
            tags: Some(document.tags()),
            media_type: document.file_type.clone(),
            url: self.opened.document_url(document),
            ..Hit::new(uri, ItemId::Text(id.unwrap_or(doc_id)))
        }
    }

    /// Returns a chunk as a search hit, with snippet, highlights and location.
    fn to_chunk_hit(&self, finder: &Highlighter<'_>, passage: &Passage) -> Hit {
        let document = &passage.document;
        let found = finder.find_matches(&passage.body);
        let others = [document.title.as_deref(), passage.section.as_deref()];
        let matched = finder.matched_words(&found, &others.map(Option::unwrap_or_default));
        let before = found.densest.as_ref().and_then(|place| passage.body.get(..place.start));
        let offset = passage.start + before.unwrap_or_default().chars().count();
        let loc = Loc {
            chunk_index: usize::try_from(passage.index).ok(),
            approx_offset: Some(offset),
            ..Loc::default()
        };
        let excerpt = finder.make_excerpt(&passage.body, found.densest);
        Hit {
            snippet: Some(excerpt.snippet),
            highlights: excerpt.highlights,
            matched,
            loc: Some(loc),
            url: self.opened.passage_url(passage),
            ..self.to_hit(document, Some(passage.index))
        }
    }

    /// Returns the headings above the chunk as an attachment, if a chunk is read.
    fn section_attachment(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
        chunk: Option<usize>,
        mode: RetrievalMode,
    ) -> Result<Option<Vec<Map<String, Value>>>, SourceError> {
        let index = chunk.and_then(|chunk| u32::try_from(chunk).ok());
        let (Some(index), RetrievalMode::Chunk | RetrievalMode::ChunkWithSiblings) = (index, mode)
        else {
            return Ok(None);
        };
        let id = ChunkId { doc_id: doc_id.to_owned(), index };
        let passage = self.opened.collection.read_passage(reader, &id, &self.scope())?;
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

    fn searched_table(&self, _: &Filters) -> (&'static FtsTable, Vec<&'static str>) {
        (&FULL_TEXT_TABLE, Vec::new())
    }

    fn hidden_rows(&self, reader: &Reader<'_>) -> Result<Arc<[i64]>, SourceError> {
        Ok(self.opened.collection.hidden_chunks(reader, &self.opened.access)?.into())
    }

    fn cached_statistics(
        &self,
        _: &Store,
        query: &FtsQuery,
        _: &Filters,
    ) -> Option<CorpusStatistics> {
        self.opened.cached_statistics(query)
    }

    fn rank_matches(
        &self,
        reader: &Reader<'_>,
        request: &RankRequest,
    ) -> Result<Ranking, SourceError> {
        let scope = self.filtered_scope(&request.filters);
        let named = request.named.as_ref().map(|named| Arc::new(named.without_names()));
        let inner = RankRequest { named: named.clone(), ..request.clone() };
        let mut ranking = self.opened.collection.rank_matches(reader, &inner, &scope)?;
        for ranked in &mut ranking.ranked {
            // URIs inside a collection lack its name: `/<document>`.
            let inside = ranked.uri.clone();
            ranked.uri.id.insert_str(0, &self.opened.record.name);
            if let (Some(all), Some(named)) = (&request.named, &named) {
                all.copy_from(named, &inside, &ranked.uri);
            }
        }
        Ok(ranking)
    }

    fn lacks_tags(&self, reader: &Reader<'_>) -> Result<bool, SourceError> {
        self.opened.collection.lacks_tags(reader, &self.opened.access)
    }

    fn load_hits(&self, reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError> {
        let (finder, scope) = (Highlighter::from(view), self.scope());
        let mut hits = Vec::with_capacity(view.matches.len());
        for ranked in &view.matches {
            let found = self.opened.collection.read_passages(reader, &[ranked.key], &scope)?;
            let shown =
                |passage| Hit { score: ranked.score, ..self.to_chunk_hit(&finder, passage) };
            hits.extend(found.iter().map(shown));
        }
        Ok(hits)
    }

    fn load_item(&self, reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
        let (document, index) = self.find_document(reader, get)?;
        let spans = self.opened.collection.chunk_spans(reader, &document.doc_id)?;
        let meta = self.to_hit(&document, index);
        let is_it = |span: &&ChunkSpan| u32::try_from(span.index).ok() == index;
        let named = spans.iter().find(is_it);
        if index.is_some() && named.is_none() {
            return Err(SourceError::not_found("chunk", meta.uri));
        }
        let retrieval = retrieval_at_chunk(&get.retrieval, named);
        let passage =
            read_located_passage(&document.body, &spans, &retrieval, &get.recent_queries)?;
        // Chunks that are cut on the fly are not the stored ones.
        let stored = passage.chunk.filter(|_| retrieval.prefer_prechunked);
        let attachments =
            self.section_attachment(reader, &document.doc_id, stored, retrieval.mode)?;
        let loc = Loc {
            chunk_index: passage.chunk,
            approx_offset: Some(passage.range.start),
            ..Loc::default()
        };
        let meta = Hit { loc: Some(loc), ..meta };
        Ok(Item { attachments, ..Item::from_passage(meta, passage, retrieval.mode) })
    }

    fn suggest_items(
        &self,
        reader: &Reader<'_>,
        typed: &str,
        most: usize,
    ) -> Result<Suggestions, SourceError> {
        self.opened.collection.suggest_documents(reader, typed, most, &self.opened.access)
    }

    fn passes_filters(
        &self,
        reader: &Reader<'_>,
        filters: &Filters,
        key: i64,
    ) -> Result<Option<bool>, SourceError> {
        let scope = self.filtered_scope(filters);
        let found = self.opened.collection.read_passages(reader, &[key], &scope)?;
        Ok(Some(!found.is_empty()))
    }

    fn load_draft(&self, _: &Reader<'_>, _: &str) -> Result<Draft, SourceError> {
        Err(read_only_error())
    }

    fn save_draft(&self, _: &Writer<'_>, _: &Draft) -> Result<SaveOutcome, SourceError> {
        Err(read_only_error())
    }

    fn remove_origin(&self, _: &Writer<'_>, _: &str) -> Result<bool, SourceError> {
        Err(read_only_error())
    }
}

/// Moves the retrieval to `chunk`, unless the caller gives a location.
fn retrieval_at_chunk(retrieval: &Retrieval, chunk: Option<&ChunkSpan>) -> Retrieval {
    let mut retrieval = retrieval.clone();
    let loc = &mut retrieval.loc;
    let is_free = loc.chunk_index.is_none() && loc.approx_offset.is_none();
    if let Some(chunk) = chunk.filter(|_| is_free) {
        // The offset locates the chunk if the text is cut differently, where its index means
        // another chunk.
        loc.chunk_index = Some(chunk.index);
        loc.approx_offset = Some(chunk.start);
    }
    retrieval
}

fn read_only_error() -> SourceError {
    let reason = "documents of collections are read-only: change them where they come from, then \
                  sync the collection";
    SourceError::Refused(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use vademecum_collections::{Access, Collection, Document, NewChunk, NewSource};
    use vademecum_core::auth::local_principal;
    use vademecum_model::{Deadline, Order, Preferences, RetrievalOptions};
    use vademecum_store::Durability;

    use super::*;
    use crate::collections::Catalogue;

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

    /// Returns a collection in `folder` as seen by a principal without access tags.
    fn bakery(folder: &Path) -> CollectionSource {
        let catalogue = Catalogue::new(folder);
        let source_id = catalogue.insert_record("bakery", None, "bakery.1.db", "{}").unwrap();
        let mut opened =
            catalogue.find_visible(&local_principal("ada".parse().unwrap()), "bakery").unwrap();
        opened.access = Access::Tags(Vec::new());
        let put = |collection: &Collection| {
            collection.write(Durability::Full, |writer| {
                let name = "bakery".to_owned();
                let source = NewSource { source_id, name, ..NewSource::default() };
                collection.put_source(writer, &source)?;
                for document in [
                    document("a#b", "Bread", &[], &["Über mehl. ", "We knead the dough."]),
                    document("c", "Dough", &[], &["Flour and water."]),
                    document("d", "Secret dough", &["staff"], &["The dough of the cellar."]),
                ] {
                    collection.put_document(writer, &Document { source_id, ..document })?;
                }
                Ok(())
            })
        };
        put(&opened.collection).unwrap();
        CollectionSource::new(opened)
    }

    fn read_source<T>(
        source: &CollectionSource,
        work: impl FnOnce(&Reader<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        source.opened.collection.read(Deadline::after(Duration::from_mins(1)), work)
    }

    fn search(source: &CollectionSource, query: &str, order: Order) -> Vec<Hit> {
        let query = Arc::new(FtsQuery::parse(query));
        let request =
            RankRequest { query: Arc::clone(&query), order, limit: 10, ..RankRequest::default() };
        let ranking = read_source(source, |reader| source.rank_matches(reader, &request)).unwrap();
        let uris: Vec<_> = ranking.ranked.iter().map(|ranked| ranked.uri.clone()).collect();
        let view = HitRequest {
            query,
            filters: Filters::default(),
            weights: Arc::default(),
            snippet_length: 300,
            highlight: true,
            matches: ranking.ranked,
        };
        let hits = read_source(source, |reader| source.load_hits(reader, &view)).unwrap();
        assert_eq!(hits.iter().map(|hit| hit.uri.clone()).collect::<Vec<_>>(), uris);
        hits
    }

    #[test]
    fn hit_names_collection_and_location() {
        let folder = tempfile::tempdir().unwrap();
        let source = bakery(folder.path());
        let hits = search(&source, "kneading oven", Order::Relevance);
        let [hit] = &hits[..] else { panic!("{hits:?}") };
        assert_eq!(hit.uri.to_string(), "collections://bakery/a%23b#1");
        assert_eq!(hit.id, ItemId::from("a#b#1"));
        assert_eq!(hit.snippet.as_deref(), Some("We knead the dough."));
        let ranges: Vec<_> =
            hit.highlights.iter().flatten().map(|place| (place.start, place.end)).collect();
        assert_eq!(
            (ranges, hit.matched.clone()),
            (vec![(3, 8)], Some(vec!["kneading".to_owned()]))
        );
        assert_eq!(hit.tags, Some(vec!["rye".to_owned()]));
        let loc = Loc { chunk_index: Some(1), approx_offset: Some(14), ..Loc::default() };
        assert_eq!(hit.loc, Some(loc));
    }

    #[test]
    fn restricted_documents_are_never_ranked_or_read() {
        let folder = tempfile::tempdir().unwrap();
        let closed = bakery(folder.path());
        let mut open = closed.clone();
        open.opened.access = Access::Everything;
        let get = GetRequest {
            id: ItemId::from("d#0"),
            part: None,
            retrieval: Retrieval::resolve(RetrievalOptions::default(), &Preferences::default()),
            page: None,
            recent_queries: Vec::new(),
        };
        for order in [Order::Relevance, Order::Recent] {
            for (source, sees) in [(&closed, false), (&open, true)] {
                let hits = search(source, "dough", order);
                let mut found: Vec<_> = hits.iter().map(|hit| hit.id.to_string()).collect();
                found.sort();
                // The term also occurs in the headings above every chunk.
                let all = ["a#b#0", "a#b#1", "c#0", "d#0"];
                assert_eq!(found, all[..if sees { 4 } else { 3 }], "{order:?}");
            }
        }
        let query = Arc::new(FtsQuery::parse("cellar"));
        let request = RankRequest { query: Arc::clone(&query), limit: 1, ..RankRequest::default() };
        let ranked =
            read_source(&open, |reader| open.rank_matches(reader, &request)).unwrap().ranked;
        let key = ranked[0].key;
        let view = HitRequest {
            query,
            filters: Filters::default(),
            weights: Arc::default(),
            snippet_length: 300,
            highlight: false,
            matches: ranked,
        };
        for (source, sees) in [(&closed, false), (&open, true)] {
            let shown = read_source(source, |reader| source.load_hits(reader, &view)).unwrap();
            assert_eq!(shown.len(), usize::from(sees));
            assert_eq!(read_source(source, |reader| source.load_item(reader, &get)).is_ok(), sees);
            let counts =
                read_source(source, |reader| source.passes_filters(reader, &view.filters, key));
            assert_eq!(counts.unwrap(), Some(sees));
        }
    }

    #[test]
    fn store_caches_collection_statistics() {
        let folder = tempfile::tempdir().unwrap();
        let source = bakery(folder.path());
        let store = Arc::clone(source.opened.collection.store());
        let query = FtsQuery::parse("dough");
        assert!(source.cached_statistics(&store, &query, &Filters::default()).is_none());
        search(&source, "dough", Order::Relevance);
        assert!(source.cached_statistics(&store, &query, &Filters::default()).is_some());
    }

    #[test]
    fn collection_source_rejects_writes() {
        let folder = tempfile::tempdir().unwrap();
        let source = bakery(folder.path());
        let written = source
            .opened
            .collection
            .write(Durability::Full, |writer| source.remove_origin(writer, "a#b").map(drop));
        assert!(matches!(written, Err(SourceError::Refused(_))), "{written:?}");
        assert_eq!(search(&source, "knead", Order::Relevance).len(), 1);
    }
}
