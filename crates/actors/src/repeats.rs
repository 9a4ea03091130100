//! Matches of a page that the session had shown before (`docs/adr/0068-repeated-results.md`).

use std::collections::{HashMap, HashSet};

use vademecum_core::config::RepeatedResults;
use vademecum_model::{Hit, Uri};
use vademecum_search::RankedMatch;

use super::{search_page::AlreadyShown, seen_uris::PageSelection, session_requests::SearchRequest};

/// Number of matches left out of a page that it names in any case. A larger page names as many as it
/// may have results.
const MIN_NAMED: usize = 10;

/// A page to load: its results, and those that were shown before.
#[derive(Debug)]
pub(super) struct PageMatches {
    /// Matches to load, best first.
    pub(super) ranked: Vec<RankedMatch>,
    /// Results of the page.
    pub(super) selected: Vec<Uri>,
    /// Offsets in the ranking.
    offsets: HashMap<Uri, usize>,
    /// Matches that were shown before.
    shown_before: HashSet<Uri>,
    leaves_out: bool,
    /// Number of matches that are neither results nor named.
    pub(super) unnamed: usize,
}

impl PageMatches {
    /// Takes the matches out of a selection.
    pub(super) fn new(selection: &mut PageSelection, request: &SearchRequest) -> Self {
        let leaves_out = request.repeated == RepeatedResults::Filter;
        let mut ranked = std::mem::take(&mut selection.shown);
        let selected: Vec<Uri> = ranked.iter().map(|match_| match_.uri.clone()).collect();
        let mut offsets: HashMap<Uri, usize> =
            selected.iter().cloned().zip(selection.offsets.iter().copied()).collect();
        let mut skipped = std::mem::take(&mut selection.skipped);
        let named = if leaves_out { request.limit.max(MIN_NAMED) } else { skipped.len() };
        let unnamed = skipped.len().saturating_sub(named);
        skipped.truncate(named);
        let shown_before = skipped.iter().map(|(_, match_)| match_.uri.clone()).collect();
        if leaves_out {
            for (offset, match_) in skipped {
                offsets.insert(match_.uri.clone(), offset);
                ranked.push(match_);
            }
            ranked.sort_by_key(|match_| offsets.get(&match_.uri).copied());
        }
        Self { ranked, selected, offsets, shown_before, leaves_out, unnamed }
    }

    /// Returns the offset of a hit in the ranking.
    pub(super) fn offset(&self, hit: &Hit) -> Option<usize> {
        self.offsets.get(&hit.uri).copied()
    }

    /// Returns the hits that were shown before, and removes them if they are no results.
    pub(super) fn take_already_shown(&self, hits: &mut Vec<Hit>) -> Vec<AlreadyShown> {
        let before = hits.iter().filter(|hit| self.shown_before.contains(&hit.uri));
        let shown = before.filter_map(|hit| Some(AlreadyShown::at(self.offset(hit)?, hit)));
        let shown = shown.collect();
        if self.leaves_out {
            hits.retain(|hit| !self.shown_before.contains(&hit.uri));
        }
        shown
    }
}
