//! Items already shown in a conversation, and selection of the next page.

use std::{
    collections::{HashSet, VecDeque},
    hash::BuildHasher,
};

use vademecum_model::Uri;
use vademecum_search::RankedMatch;

/// Bounded set of shown URIs; the oldest is evicted first.
///
/// Only a 64-bit keyed hash of each URI is stored, a tenth of the memory of the URIs themselves.
/// With 500 entries, the chance that an item is wrongly taken as shown is below 10⁻¹⁶.
#[derive(Clone, Debug)]
pub(crate) struct SeenUris {
    order: VecDeque<u64>,
    hashes: HashSet<u64>,
    max_uris: usize,
}

/// Part of a ranking that is shown on a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PageSelection {
    /// Matches to show.
    pub(crate) shown: Vec<RankedMatch>,
    /// Offset of each of them in the ranking.
    pub(crate) offsets: Vec<usize>,
    /// Matches skipped because they were shown before, with their offsets.
    pub(crate) skipped: Vec<(usize, RankedMatch)>,
    /// Ranking offset after the last match considered.
    pub(crate) next_offset: usize,
    /// Availability of further results after that offset.
    pub(crate) has_more: HasMore,
}

/// Availability of further results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HasMore {
    /// There are further results.
    Yes,
    /// There are no further results.
    #[default]
    No,
    /// Only a longer ranking can tell.
    Unknown,
}

impl SeenUris {
    /// Creates an empty set of at most `most` URIs.
    pub(crate) fn new(most: usize) -> Self {
        Self { order: VecDeque::new(), hashes: HashSet::new(), max_uris: most }
    }

    /// Returns the number of URIs.
    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    fn hash_uri(&self, uri: &Uri) -> u64 {
        self.hashes.hasher().hash_one(uri)
    }

    /// Returns `true` if the URI was shown.
    pub(crate) fn contains(&self, uri: &Uri) -> bool {
        self.hashes.contains(&self.hash_uri(uri))
    }

    /// Adds a URI. If the set is full, the oldest one is removed.
    pub(crate) fn insert(&mut self, uri: &Uri) {
        let mark = self.hash_uri(uri);
        if !self.hashes.insert(mark) {
            return;
        }
        self.order.push_back(mark);
        if self.order.len() > self.max_uris
            && let Some(oldest) = self.order.pop_front()
        {
            self.hashes.remove(&oldest);
        }
    }

    /// Removes URIs, so that their items can be shown again.
    pub(crate) fn remove_all<'a>(&mut self, gone: impl Iterator<Item = &'a Uri>) {
        for uri in gone {
            let mark = self.hash_uri(uri);
            self.hashes.remove(&mark);
        }
        self.order.retain(|mark| self.hashes.contains(mark));
    }

    /// Selects a page: up to `limit` matches not shown before, starting at `offset` of the ranking.
    /// `total` is the length of the complete ranking.
    pub(crate) fn select_page(
        &self,
        ranked: &[RankedMatch],
        total: usize,
        offset: usize,
        limit: usize,
    ) -> PageSelection {
        let mut pick =
            PageSelection { next_offset: offset.min(ranked.len()), ..PageSelection::default() };
        let rest = ranked.get(offset..).unwrap_or_default();
        for match_ in rest {
            if pick.shown.len() == limit {
                break;
            }
            let at = pick.next_offset;
            pick.next_offset += 1;
            if self.contains(&match_.uri) {
                pick.skipped.push((at, match_.clone()));
            } else {
                pick.shown.push(match_.clone());
                pick.offsets.push(at);
            }
        }
        let after = ranked.get(pick.next_offset..).unwrap_or_default();
        pick.has_more = if after.iter().any(|match_| !self.contains(&match_.uri)) {
            HasMore::Yes
        } else if ranked.len() < total {
            HasMore::Unknown
        } else {
            HasMore::No
        };
        pick
    }

    /// Returns `true` if all matches of the ranking were shown.
    pub(crate) fn covers_ranking(&self, ranked: &[RankedMatch]) -> bool {
        ranked.iter().all(|match_| self.contains(&match_.uri))
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::SourceName;

    use super::*;

    fn ranking(count: usize) -> Vec<RankedMatch> {
        let uri = |number: usize| Uri::item(SourceName::Notes, number.to_string());
        let ranked = |number| RankedMatch::new(0, uri(number), 1.0);
        (0..count).map(ranked).collect()
    }

    fn ids(pick: &PageSelection) -> Vec<usize> {
        pick.shown.iter().map(|match_| match_.uri.id.parse().unwrap()).collect()
    }

    #[test]
    fn page_skips_seen_uris_and_returns_next_offset() {
        let ranked = ranking(10);
        let mut seen = SeenUris::new(100);
        for shown in [0, 1, 3] {
            seen.insert(&ranked[shown].uri);
        }
        let first = seen.select_page(&ranked, 10, 0, 3);
        assert_eq!((ids(&first), first.next_offset), (vec![2, 4, 5], 6));
        let skipped: Vec<usize> = first.skipped.iter().map(|(at, _)| *at).collect();
        assert_eq!(skipped, [0, 1, 3]);
        assert_eq!(first.has_more, HasMore::Yes);
        let next = seen.select_page(&ranked, 10, first.next_offset, 10);
        assert_eq!((ids(&next), next.has_more), (vec![6, 7, 8, 9], HasMore::No));
    }

    #[test]
    fn has_more_is_unknown_for_short_ranking() {
        let ranked = ranking(10);
        let mut seen = SeenUris::new(100);
        assert_eq!(seen.select_page(&ranked[..5], 10, 0, 5).has_more, HasMore::Unknown);
        assert_eq!(seen.select_page(&ranked[..6], 10, 0, 5).has_more, HasMore::Yes);
        ranked[5..].iter().for_each(|match_| seen.insert(&match_.uri));
        assert_eq!(seen.select_page(&ranked, 10, 0, 5).has_more, HasMore::No);
        assert_eq!(
            seen.select_page(&ranked, 10, 99, 5),
            PageSelection { next_offset: 10, ..PageSelection::default() }
        );
    }

    #[test]
    fn seen_uris_bounded_oldest_evicted_first() {
        let ranked = ranking(5);
        let mut seen = SeenUris::new(3);
        for match_ in &ranked {
            seen.insert(&match_.uri);
        }
        let kept: Vec<_> = ranked.iter().map(|match_| seen.contains(&match_.uri)).collect();
        assert_eq!((kept, seen.len()), (vec![false, false, true, true, true], 3));
        seen.remove_all(ranked[2..4].iter().map(|match_| &match_.uri));
        let kept: Vec<_> = ranked.iter().map(|match_| seen.contains(&match_.uri)).collect();
        assert_eq!((kept, seen.len()), (vec![false, false, false, false, true], 1));
    }
}
