//! Reading of a source: rankings, listings, hits and counts.

use std::{collections::HashMap, sync::Arc, time::Duration};

use vademecum_model::{
    CorpusStatistics, Deadline, Draft, Filters, Hit, ItemId, ItemName, ListRequest, ListedItem,
    Listing, OriginSet, SourceStats, StoredPrompt, Suggestions, Timestamp,
};
use vademecum_search::{FtsQuery, HitRequest, RankRequest, RankedMatch, Ranking};
use vademecum_source::{SimilarWord, Source, SourceError, origins_of_items, set_content_origins};
use vademecum_store::{Reader, Store};
use vademecum_vault::{
    journal::{self, JournalEntry, LocalChange},
    links::{LinkOverview, NoteDetails, matching_items, read_link_overview, read_note_details},
};

use super::{actor::ReadSource, damage::hide_damaged_hits, handle::SourceHandle};

/// Maximum time to list the items that differ from their files.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);

/// Type of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// Item id, or words of its title.
    Id,
    /// Keyword or tag, by its beginning.
    Keyword,
}

impl SourceHandle {
    /// Returns cached statistics of a query. It does not query the store.
    pub(crate) fn cached_statistics(
        &self,
        query: &FtsQuery,
        filters: &Filters,
    ) -> Option<CorpusStatistics> {
        if self.is_hidden() {
            return Some(CorpusStatistics::default());
        }
        self.source.cached_statistics(&self.store, query, filters)
    }

    /// Returns the best matches of a query.
    pub async fn rank_matches(
        &self,
        request: RankRequest,
        deadline: Deadline,
    ) -> Result<Ranking, SourceError> {
        if self.is_hidden() {
            return Ok(Ranking::default());
        }
        let bound = deadline.clone();
        let work = move |source: &dyn Source, store: &Store| {
            store.read(bound, |reader| source.rank_matches(reader, &request))
        };
        self.send(Some(&deadline), ReadSource { uses_index: true, work: Box::new(work) }).await
    }

    /// Returns whether no item has a tag; `false` if that is unknown.
    pub(crate) async fn lacks_tags(&self, deadline: Deadline) -> bool {
        self.read(deadline, Source::lacks_tags).await.unwrap_or(false)
    }

    /// Returns stored words that are similar to any of these.
    pub(crate) async fn similar_words(
        &self,
        words: Vec<String>,
        deadline: Deadline,
    ) -> Result<Vec<SimilarWord>, SourceError> {
        self.read(deadline, move |source, reader| source.similar_words(reader, &words)).await
    }

    /// Lists items without a query.
    pub(crate) async fn list_items(
        &self,
        request: ListRequest,
        deadline: Deadline,
    ) -> Result<Listing, SourceError> {
        if request.has_note_conditions() {
            return self
                .read_derived(deadline, move |source, reader| {
                    list_matching(source, reader, &request)
                })
                .await;
        }
        self.read(deadline, move |source, reader| list_matching(source, reader, &request)).await
    }

    /// Returns what a list shows of notes because of its conditions.
    pub(crate) async fn note_details(
        &self,
        request: ListRequest,
        items: Vec<String>,
        deadline: Deadline,
    ) -> Result<HashMap<String, NoteDetails>, SourceError> {
        self.read(deadline, move |source, reader| {
            read_note_details(source, reader, &request, &items)
        })
        .await
    }

    /// Returns all links of the source, without those of hidden items.
    pub(crate) async fn link_overview(
        &self,
        deadline: Deadline,
    ) -> Result<LinkOverview, SourceError> {
        self.read_derived(deadline, read_link_overview).await
    }

    /// Returns the origins of all that is in these items. Items that never existed are absent.
    pub(crate) async fn origins_of_items(
        &self,
        items: Vec<String>,
        deadline: Deadline,
    ) -> Result<HashMap<String, OriginSet>, SourceError> {
        self.read(deadline, move |source, reader| {
            let items: Vec<&str> = items.iter().map(String::as_str).collect();
            Ok(origins_of_items(reader, source, &items)?)
        })
        .await
    }

    /// Finds at most `most` items by a name, and loads them without a text.
    pub async fn find_items(
        &self,
        name: ItemName,
        most: usize,
        deadline: Deadline,
    ) -> Result<Vec<Hit>, SourceError> {
        let found = self
            .read(deadline.clone(), move |source, reader| source.find_items(reader, &name, most))
            .await?;
        self.load_listed(found, 1, deadline).await
    }

    /// Loads matches as search hits.
    pub async fn load_hits(
        &self,
        request: HitRequest,
        deadline: Deadline,
    ) -> Result<Vec<Hit>, SourceError> {
        self.read(deadline, move |source, reader| {
            let mut hits = source.load_hits(reader, &request)?;
            set_content_origins(reader, source.name(), &mut hits)?;
            hide_damaged_hits(reader, &mut hits)?;
            Ok(hits)
        })
        .await
    }

    /// Loads listed items as hits with the beginnings of their texts.
    pub(crate) async fn load_listed(
        &self,
        items: Vec<ListedItem>,
        snippet_length: usize,
        deadline: Deadline,
    ) -> Result<Vec<Hit>, SourceError> {
        let matches = items.into_iter().map(|item| RankedMatch::new(item.key, item.uri, 1.0));
        let request = HitRequest {
            query: Arc::new(FtsQuery::default()),
            filters: Filters::default(),
            weights: Arc::default(),
            snippet_length,
            highlight: false,
            matches: matches.collect(),
        };
        self.load_hits(request, deadline).await
    }

    /// Returns an item as a draft. Fails if it does not exist for this handle.
    pub async fn load_draft(&self, id: &ItemId, deadline: Deadline) -> Result<Draft, SourceError> {
        if self.is_hidden() {
            return Err(self.hidden_item(id));
        }
        let id = id.to_string();
        self.read_visible(deadline, move |source, reader| source.load_draft(reader, &id)).await
    }

    /// Fails if an item does not exist for this handle.
    pub(super) async fn check_item(
        &self,
        id: &ItemId,
        deadline: Deadline,
    ) -> Result<(), SourceError> {
        self.load_draft(id, deadline).await.map(drop)
    }

    /// Returns the kinds of items with their counts.
    pub async fn item_kinds(
        &self,
        deadline: Deadline,
    ) -> Result<Vec<(String, usize)>, SourceError> {
        self.read(deadline, Source::item_kinds).await
    }

    /// Returns at most `most` completions of a partial argument.
    pub async fn suggest_completions(
        &self,
        kind: CompletionKind,
        typed: String,
        most: usize,
        deadline: Deadline,
    ) -> Result<Suggestions, SourceError> {
        self.read(deadline, move |source, reader| match kind {
            CompletionKind::Id => source.suggest_items(reader, &typed, most),
            CompletionKind::Keyword => source.suggest_keywords(reader, &typed, most),
        })
        .await
    }

    /// Returns the stored prompts that have a template.
    pub async fn list_prompts(&self, deadline: Deadline) -> Result<Vec<StoredPrompt>, SourceError> {
        self.read(deadline, Source::list_prompts).await
    }

    /// Returns the size of the source.
    pub async fn stats(&self, deadline: Deadline) -> Result<SourceStats, SourceError> {
        self.read(deadline, Source::source_stats).await
    }

    /// Returns the origins from which an item was imported, and those of files that it is to get.
    pub async fn item_origins(&self, id: String) -> Result<Vec<String>, SourceError> {
        self.read(Deadline::after(LIST_TIMEOUT), move |source, reader| {
            Ok(vademecum_source::item_origins(reader, source.name().as_str(), &id)?)
        })
        .await
    }

    /// Returns the items of the origins that start with `prefix` that were changed in the library.
    pub async fn list_local_changes(
        &self,
        prefix: String,
    ) -> Result<Vec<LocalChange>, SourceError> {
        let work = move |source: &dyn Source, store: &Store| {
            if !store.may_have_rows() {
                return Ok(Vec::new());
            }
            store.read(Deadline::after(LIST_TIMEOUT), |reader| {
                journal::list_local_changes(source, reader, &prefix)
            })
        };
        self.send(None, ReadSource { uses_index: false, work: Box::new(work) }).await
    }

    /// Returns at most `limit` changes that clients made since a time, newest first; none for a handle that
    /// hides items.
    pub async fn list_client_changes(
        &self,
        since: Timestamp,
        limit: usize,
        deadline: Deadline,
    ) -> Result<Vec<JournalEntry>, SourceError> {
        if self.is_hidden() || self.restriction.is_some() {
            return Ok(Vec::new());
        }
        self.read(deadline, move |source, reader| {
            Ok(journal::list_client_changes(reader, source.name(), since, limit)?)
        })
        .await
    }

    /// Returns the changes of all items since a time, newest first; with a name of a client, only
    /// those of this client.
    pub async fn list_changes(
        &self,
        since: Timestamp,
        client: Option<String>,
        deadline: Deadline,
    ) -> Result<Vec<JournalEntry>, SourceError> {
        self.read(deadline, move |source, reader| {
            Ok(journal::list_changes(reader, source.name(), since, client.as_deref())?)
        })
        .await
    }
}

/// Lists the items that pass the filters, and the conditions on paths, properties and tasks.
fn list_matching(
    source: &dyn Source,
    reader: &Reader<'_>,
    request: &ListRequest,
) -> Result<Listing, SourceError> {
    match matching_items(source, reader, request)? {
        only @ Some(_) => source.list_items(reader, &ListRequest { only, ..request.clone() }),
        None => source.list_items(reader, request),
    }
}
