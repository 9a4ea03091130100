//! What a conversation has been shown, and what is shown next.

use std::{
    collections::{HashSet, VecDeque},
    hash::BuildHasher,
};

use vademecum_kit::model::{Ranked, Uri};

/// A bounded set of what was shown; the oldest goes first.
///
/// Of each URI only a mark is kept: 64 bits of a hash with a key that nobody knows.
/// With 500 of them, one that was not shown is taken for one that was in one of 10¹⁶
/// cases. Thousands of conversations remember hundreds each; written out, they would
/// take ten times the memory.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    order: VecDeque<u64>,
    marks: HashSet<u64>,
    most: usize,
}

/// What of a ranking is shown on a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pick {
    /// The matches to show.
    pub(crate) shown: Vec<Ranked>,
    /// How many were passed over because they had been shown before.
    pub(crate) passed: usize,
    /// The place in the ranking after the last one that was looked at.
    pub(crate) next: usize,
    /// Whether there is more to show from there on.
    pub(crate) more: More,
}

/// Whether there is more to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum More {
    /// There is.
    Yes,
    /// There is not.
    #[default]
    No,
    /// Only a longer ranking can tell.
    Unknown,
}

impl Seen {
    /// Nothing yet, and never more than `most`.
    pub(crate) fn new(most: usize) -> Self {
        Self { order: VecDeque::new(), marks: HashSet::new(), most }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.marks.len()
    }

    fn mark(&self, uri: &Uri) -> u64 {
        self.marks.hasher().hash_one(uri)
    }

    /// Whether it was shown.
    pub(crate) fn contains(&self, uri: &Uri) -> bool {
        self.marks.contains(&self.mark(uri))
    }

    /// Remembers that it is shown.
    pub(crate) fn add(&mut self, uri: &Uri) {
        let mark = self.mark(uri);
        if !self.marks.insert(mark) {
            return;
        }
        self.order.push_back(mark);
        if self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.marks.remove(&oldest);
        }
    }

    /// Forgets that they were shown.
    pub(crate) fn remove<'a>(&mut self, gone: impl Iterator<Item = &'a Uri>) {
        for uri in gone {
            let mark = self.mark(uri);
            self.marks.remove(&mark);
        }
        self.order.retain(|mark| self.marks.contains(mark));
    }

    /// Chooses a page: from place `offset` of the ranking on, `limit` matches
    /// that were not shown before. `total` is the length of the whole ranking.
    pub(crate) fn pick(
        &self,
        ranked: &[Ranked],
        total: usize,
        offset: usize,
        limit: usize,
    ) -> Pick {
        let mut pick = Pick { next: offset.min(ranked.len()), ..Pick::default() };
        let rest = ranked.get(offset..).unwrap_or_default();
        for match_ in rest {
            if pick.shown.len() == limit {
                break;
            }
            pick.next += 1;
            if self.contains(&match_.uri) {
                pick.passed += 1;
            } else {
                pick.shown.push(match_.clone());
            }
        }
        let after = ranked.get(pick.next..).unwrap_or_default();
        pick.more = if after.iter().any(|match_| !self.contains(&match_.uri)) {
            More::Yes
        } else if ranked.len() < total {
            More::Unknown
        } else {
            More::No
        };
        pick
    }

    /// Whether all of the ranking was shown.
    pub(crate) fn exhausts(&self, ranked: &[Ranked]) -> bool {
        ranked.iter().all(|match_| self.contains(&match_.uri))
    }
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::SourceName;

    use super::*;

    fn ranking(count: usize) -> Vec<Ranked> {
        let uri = |number: usize| Uri::item(SourceName::Notes, number.to_string());
        let ranked = |number| Ranked { key: 0, uri: uri(number), score: 1.0, last_modified: None };
        (0..count).map(ranked).collect()
    }

    fn ids(pick: &Pick) -> Vec<usize> {
        pick.shown.iter().map(|match_| match_.uri.id.parse().unwrap()).collect()
    }

    #[test]
    fn a_page_passes_over_what_was_shown_and_says_where_to_go_on() {
        let ranked = ranking(10);
        let mut seen = Seen::new(100);
        for shown in [0, 1, 3] {
            seen.add(&ranked[shown].uri);
        }
        let first = seen.pick(&ranked, 10, 0, 3);
        assert_eq!((ids(&first), first.passed, first.next), (vec![2, 4, 5], 3, 6));
        assert_eq!(first.more, More::Yes);
        let next = seen.pick(&ranked, 10, first.next, 10);
        assert_eq!((ids(&next), next.more), (vec![6, 7, 8, 9], More::No));
    }

    #[test]
    fn whether_there_is_more_is_never_guessed() {
        let ranked = ranking(10);
        let mut seen = Seen::new(100);
        assert_eq!(seen.pick(&ranked[..5], 10, 0, 5).more, More::Unknown);
        assert_eq!(seen.pick(&ranked[..6], 10, 0, 5).more, More::Yes);
        ranked[5..].iter().for_each(|match_| seen.add(&match_.uri));
        assert_eq!(seen.pick(&ranked, 10, 0, 5).more, More::No);
        assert_eq!(seen.pick(&ranked, 10, 99, 5), Pick { next: 10, ..Pick::default() });
    }

    #[test]
    fn the_set_is_bounded_and_the_oldest_goes_first() {
        let ranked = ranking(5);
        let mut seen = Seen::new(3);
        for match_ in &ranked {
            seen.add(&match_.uri);
        }
        let kept: Vec<_> = ranked.iter().map(|match_| seen.contains(&match_.uri)).collect();
        assert_eq!((kept, seen.count()), (vec![false, false, true, true, true], 3));
        seen.remove(ranked[2..4].iter().map(|match_| &match_.uri));
        let kept: Vec<_> = ranked.iter().map(|match_| seen.contains(&match_.uri)).collect();
        assert_eq!((kept, seen.count()), (vec![false, false, false, false, true], 1));
    }
}
