//! State of a conversation: items shown and recent queries.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use vademecum_core::config::RepeatedResults;
use vademecum_model::{Hit, Uri};
use vademecum_search::FtsQuery;

use super::{
    merged_results::MergedResults,
    seen_uris::{HasMore, PageSelection, SeenUris},
    session_requests::SearchRequest,
    shown_items::ShownItems,
};

/// Maximum length of a remembered query, in bytes. It is kept as long as the conversation.
const MAX_REMEMBERED_QUERY_BYTES: usize = 4 * 1_024;

/// A ranking and the part of it that is shown.
pub(super) struct RankedPage {
    pub(super) merged: MergedResults,
    pub(super) selection: PageSelection,
    pub(super) restarted: bool,
}

/// State of a conversation.
#[derive(Debug)]
pub(super) struct SessionState {
    pub(super) seen: SeenUris,
    /// Boxed: many conversations are shown nothing, or are asked to write nothing.
    pub(super) shown: Option<Box<ShownItems>>,
    pub(super) recent_queries: VecDeque<Arc<FtsQuery>>,
    max_recent_queries: usize,
}

impl SessionState {
    /// Creates an empty state with these limits.
    pub(super) fn new(max_seen_uris: usize, max_recent_queries: usize) -> Self {
        let seen = SeenUris::new(max_seen_uris);
        Self { seen, shown: None, recent_queries: VecDeque::new(), max_recent_queries }
    }

    /// Adds a query to the recent ones, most recent first.
    pub(super) fn remember_query(&mut self, query: &Arc<FtsQuery>) {
        // Queries that were typed differently but search for the same are one.
        if query.typed().len() > MAX_REMEMBERED_QUERY_BYTES {
            return;
        }
        let expression = query.expression();
        self.recent_queries.retain(|known| known.expression() != expression);
        self.recent_queries.push_front(Arc::clone(query));
        self.recent_queries.truncate(self.max_recent_queries);
    }

    /// Selects the page of a ranking and records it as shown. Returns `None` if only a ranking of
    /// more than `depth` matches can fill it.
    pub(super) fn take_page(
        &mut self,
        search: &SearchRequest,
        merged: MergedResults,
        depth: usize,
    ) -> Option<RankedPage> {
        let (ranked, total) = (&merged.ranked, merged.total);
        if search.repeated != RepeatedResults::Filter {
            let mut selection =
                SeenUris::new(0).select_page(ranked, total, search.offset, search.limit);
            if search.repeated == RepeatedResults::Mark {
                let shown = selection.offsets.iter().copied().zip(&selection.shown);
                let seen = shown.filter(|(_, match_)| self.seen.contains(&match_.uri));
                selection.skipped = seen.map(|(at, match_)| (at, match_.clone())).collect();
                selection.shown.iter().for_each(|match_| self.seen.insert(&match_.uri));
            }
            return Some(RankedPage { merged, selection, restarted: false });
        }
        let selection = self.seen.select_page(ranked, total, search.offset, search.limit);
        if selection.has_more == HasMore::Unknown && ranked.len() >= depth {
            return None;
        }
        let nothing_new = selection.shown.is_empty() && !selection.skipped.is_empty();
        let restarted = nothing_new && self.seen.covers_ranking(ranked);
        let selection = if restarted {
            self.seen.remove_all(ranked.iter().map(|match_| &match_.uri));
            self.seen.select_page(ranked, total, search.offset, search.limit)
        } else {
            selection
        };
        selection.shown.iter().for_each(|match_| self.seen.insert(&match_.uri));
        Some(RankedPage { merged, selection, restarted })
    }

    /// Forgets the matches among `selected` that were not returned.
    pub(super) fn forget_missing(&mut self, selected: &[Uri], hits: &[Hit]) {
        let returned: HashSet<_> = hits.iter().map(|hit| &hit.uri).collect();
        self.seen.remove_all(selected.iter().filter(|uri| !returned.contains(uri)));
    }
}
