//! Messages that read from a source.

use std::time::Duration;

use actix::prelude::*;
use vademecum_model::{
    Deadline, Hit, ItemId, ItemName, ListRequest, ListedItem, Listing, Retrieval, SourceStats,
    StoredPrompt, Suggestions, Timestamp,
};
use vademecum_search::{HitRequest, Item, RankRequest, Ranking};
use vademecum_source::{SimilarWord, SourceError, set_content_origins};
use vademecum_vault::journal::{self, AsOf, ItemHistory, JournalEntry, LocalChange, PastListing};

use super::{CompletionKind, SourceActor};

/// Maximum time to list the items that differ from their files.
const LIST_TIMEOUT: Duration = Duration::from_mins(1);

/// Returns the best matches of a query.
#[derive(Debug, Message)]
#[rtype(result = "Result<Ranking, SourceError>")]
pub(super) struct RankMatches {
    pub(super) request: RankRequest,
    pub(super) deadline: Deadline,
}

impl Handler<RankMatches> for SourceActor {
    type Result = ResponseFuture<Result<Ranking, SourceError>>;

    fn handle(
        &mut self,
        RankMatches { request, deadline }: RankMatches,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.update_index_once();
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.rank_matches(reader, &request))
        })
    }
}

/// Returns whether no item has a tag.
#[derive(Debug, Message)]
#[rtype(result = "Result<bool, SourceError>")]
pub(super) struct CheckTags {
    pub(super) deadline: Deadline,
}

impl Handler<CheckTags> for SourceActor {
    type Result = ResponseFuture<Result<bool, SourceError>>;

    fn handle(&mut self, CheckTags { deadline }: CheckTags, _: &mut Self::Context) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.lacks_tags(reader))
        })
    }
}

/// Finds stored words that are similar to the given words.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<SimilarWord>, SourceError>")]
pub(super) struct FindSimilarWords {
    pub(super) words: Vec<String>,
    pub(super) deadline: Deadline,
}

impl Handler<FindSimilarWords> for SourceActor {
    type Result = ResponseFuture<Result<Vec<SimilarWord>, SourceError>>;

    fn handle(
        &mut self,
        FindSimilarWords { words, deadline }: FindSimilarWords,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.similar_words(reader, &words))
        })
    }
}

/// Lists items without a query.
#[derive(Debug, Message)]
#[rtype(result = "Result<Listing, SourceError>")]
pub(super) struct ListSourceItems {
    pub(super) request: ListRequest,
    pub(super) deadline: Deadline,
}

impl Handler<ListSourceItems> for SourceActor {
    type Result = ResponseFuture<Result<Listing, SourceError>>;

    fn handle(
        &mut self,
        ListSourceItems { request, deadline }: ListSourceItems,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.list_items(reader, &request))
        })
    }
}

/// Finds items by a name.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<ListedItem>, SourceError>")]
pub(super) struct FindItems {
    pub(super) name: ItemName,
    pub(super) most: usize,
    pub(super) deadline: Deadline,
}

impl Handler<FindItems> for SourceActor {
    type Result = ResponseFuture<Result<Vec<ListedItem>, SourceError>>;

    fn handle(
        &mut self,
        FindItems { name, most, deadline }: FindItems,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.find_items(reader, &name, most))
        })
    }
}

/// Loads matches as search hits.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Hit>, SourceError>")]
pub(super) struct LoadHits {
    pub(super) view: HitRequest,
    pub(super) deadline: Deadline,
}

impl Handler<LoadHits> for SourceActor {
    type Result = ResponseFuture<Result<Vec<Hit>, SourceError>>;

    fn handle(
        &mut self,
        LoadHits { view, deadline }: LoadHits,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| {
                let mut hits = source.load_hits(reader, &view)?;
                set_content_origins(reader, source.name(), &mut hits)?;
                Ok(hits)
            })
        })
    }
}

/// Returns an error if an item does not exist.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), SourceError>")]
pub(super) struct CheckItem {
    pub(super) id: String,
    pub(super) deadline: Deadline,
}

impl Handler<CheckItem> for SourceActor {
    type Result = ResponseFuture<Result<(), SourceError>>;

    fn handle(
        &mut self,
        CheckItem { id, deadline }: CheckItem,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.load_draft(reader, &id).map(drop))
        })
    }
}

/// Returns the history of an item.
#[derive(Debug, Message)]
#[rtype(result = "Result<ItemHistory, SourceError>")]
pub(super) struct ReadHistory {
    pub(super) id: String,
    /// Number of changes to skip, and maximum number of changes.
    pub(super) page: (usize, usize),
    pub(super) deadline: Deadline,
}

impl Handler<ReadHistory> for SourceActor {
    type Result = ResponseFuture<Result<ItemHistory, SourceError>>;

    fn handle(&mut self, message: ReadHistory, _: &mut Self::Context) -> Self::Result {
        let ReadHistory { id, page, deadline } = message;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| journal::read_history(source, reader, &id, page))
        })
    }
}

/// Returns an item as it was.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, SourceError>")]
pub(super) struct ReadItemAsOf {
    pub(super) id: ItemId,
    pub(super) as_of: AsOf,
    pub(super) retrieval: Retrieval,
    pub(super) deadline: Deadline,
}

impl Handler<ReadItemAsOf> for SourceActor {
    type Result = ResponseFuture<Result<Item, SourceError>>;

    fn handle(&mut self, message: ReadItemAsOf, _: &mut Self::Context) -> Self::Result {
        let ReadItemAsOf { id, as_of, retrieval, deadline } = message;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| {
                journal::load_item_as_of(source, reader, &id, as_of, &retrieval)
            })
        })
    }
}

/// Lists the items as they were at a time.
#[derive(Debug, Message)]
#[rtype(result = "Result<PastListing, SourceError>")]
pub(super) struct ListItemsAsOf {
    pub(super) request: ListRequest,
    pub(super) time: Timestamp,
    pub(super) snippet_length: usize,
    pub(super) deadline: Deadline,
}

impl Handler<ListItemsAsOf> for SourceActor {
    type Result = ResponseFuture<Result<PastListing, SourceError>>;

    fn handle(&mut self, message: ListItemsAsOf, _: &mut Self::Context) -> Self::Result {
        let ListItemsAsOf { request, time, snippet_length, deadline } = message;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| {
                journal::list_items_as_of(source, reader, &request, time, snippet_length)
            })
        })
    }
}

/// Returns the changes of all items since a time.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<JournalEntry>, SourceError>")]
pub(super) struct ListChanges {
    pub(super) since: Timestamp,
    pub(super) client: Option<String>,
    pub(super) deadline: Deadline,
}

impl Handler<ListChanges> for SourceActor {
    type Result = ResponseFuture<Result<Vec<JournalEntry>, SourceError>>;

    fn handle(&mut self, message: ListChanges, _: &mut Self::Context) -> Self::Result {
        let ListChanges { since, client, deadline } = message;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| {
                Ok(journal::list_changes(reader, source.name(), since, client.as_deref())?)
            })
        })
    }
}

/// Returns the items of the origins that start with this prefix that were changed in the library.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<LocalChange>, SourceError>")]
pub(super) struct ListLocalChanges(pub(super) String);

impl Handler<ListLocalChanges> for SourceActor {
    type Result = ResponseFuture<Result<Vec<LocalChange>, SourceError>>;

    fn handle(
        &mut self,
        ListLocalChanges(prefix): ListLocalChanges,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            if !store.may_have_rows() {
                return Ok(Vec::new());
            }
            store.read(Deadline::after(LIST_TIMEOUT), |reader| {
                journal::list_local_changes(source, reader, &prefix)
            })
        })
    }
}

/// Returns the kinds of items.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<(String, usize)>, SourceError>")]
pub(super) struct ListKinds {
    pub(super) deadline: Deadline,
}

impl Handler<ListKinds> for SourceActor {
    type Result = ResponseFuture<Result<Vec<(String, usize)>, SourceError>>;

    fn handle(&mut self, ListKinds { deadline }: ListKinds, _: &mut Self::Context) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.item_kinds(reader))
        })
    }
}

/// Returns completions of a partial argument.
#[derive(Debug, Message)]
#[rtype(result = "Result<Suggestions, SourceError>")]
pub(super) struct SuggestCompletions {
    pub(super) kind: CompletionKind,
    pub(super) typed: String,
    pub(super) most: usize,
    pub(super) deadline: Deadline,
}

impl Handler<SuggestCompletions> for SourceActor {
    type Result = ResponseFuture<Result<Suggestions, SourceError>>;

    fn handle(&mut self, suggest: SuggestCompletions, _: &mut Self::Context) -> Self::Result {
        let SuggestCompletions { kind: wish, typed, most, deadline } = suggest;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| match wish {
                CompletionKind::Id => source.suggest_items(reader, &typed, most),
                CompletionKind::Keyword => source.suggest_keywords(reader, &typed, most),
            })
        })
    }
}

/// Lists the stored prompts that have a template.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<StoredPrompt>, SourceError>")]
pub(super) struct ListPrompts {
    pub(super) deadline: Deadline,
}

impl Handler<ListPrompts> for SourceActor {
    type Result = ResponseFuture<Result<Vec<StoredPrompt>, SourceError>>;

    fn handle(&mut self, list: ListPrompts, _: &mut Self::Context) -> Self::Result {
        let ListPrompts { deadline } = list;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.list_prompts(reader))
        })
    }
}

/// Returns the size of the source.
#[derive(Debug, Message)]
#[rtype(result = "Result<SourceStats, SourceError>")]
pub(super) struct ReadStats {
    pub(super) deadline: Deadline,
}

impl Handler<ReadStats> for SourceActor {
    type Result = ResponseFuture<Result<SourceStats, SourceError>>;

    fn handle(&mut self, ReadStats { deadline }: ReadStats, _: &mut Self::Context) -> Self::Result {
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| source.source_stats(reader))
        })
    }
}
