//! Revisions of an item: for each machine, the number of its last change that is part of the item.
//!
//! One revision is later than another if it includes it. If neither includes the other, both were changed
//! without knowledge of each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::replica::ReplicaId;

/// Maximum number of earlier revisions that are kept of an item.
const MAX_HISTORY: usize = 24;

/// The changes that are part of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Revision(BTreeMap<ReplicaId, u64>);

/// An earlier revision and the fingerprint of the content that it had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownRevision {
    /// The revision.
    pub revision: Revision,
    /// Fingerprint of the content; empty for a deleted item.
    pub fingerprint: String,
}

/// Earlier revisions of an item, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct History(Vec<KnownRevision>);

impl Revision {
    /// Returns `true` if all changes of `other` are part of this revision.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        other.0.iter().all(|(replica, number)| self.number(replica) >= *number)
    }

    /// Returns the revision with the changes of both.
    #[must_use]
    pub(crate) fn join(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        for (replica, number) in &other.0 {
            let known = joined.0.entry(replica.clone()).or_default();
            *known = (*known).max(*number);
        }
        joined
    }

    /// Returns the revision after a change by a machine.
    #[must_use]
    pub(crate) fn next(&self, replica: &ReplicaId) -> Self {
        let mut next = self.clone();
        let number = next.0.entry(replica.clone()).or_default();
        *number = number.saturating_add(1);
        next
    }

    /// Returns the number of the last change of a machine; 0 if there is none.
    pub(crate) fn number(&self, replica: &ReplicaId) -> u64 {
        self.0.get(replica).copied().unwrap_or(0)
    }

    /// Returns `true` if no other machine has changed the item.
    pub(crate) fn is_only_of(&self, replica: &ReplicaId) -> bool {
        self.0.keys().all(|known| known == replica)
    }
}

impl History {
    /// Adds a revision. The oldest ones are forgotten.
    pub(crate) fn push(&mut self, revision: Revision, fingerprint: &str) {
        let known = KnownRevision { revision, fingerprint: fingerprint.to_owned() };
        if !self.0.contains(&known) {
            self.0.push(known);
        }
        let surplus = self.0.len().saturating_sub(MAX_HISTORY);
        self.0.drain(..surplus);
    }

    /// Returns the newest earlier revision that is part of `revision`.
    pub(crate) fn newest_within(&self, revision: &Revision) -> Option<&KnownRevision> {
        self.0.iter().rev().find(|known| revision.includes(&known.revision))
    }

    /// Returns `true` if some earlier revision had this content.
    pub(crate) fn has_fingerprint(&self, fingerprint: &str) -> bool {
        self.0.iter().any(|known| known.fingerprint == fingerprint)
    }

    /// Returns `true` if there is no earlier revision.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(digit: char) -> ReplicaId {
        String::from(digit).repeat(16).parse().unwrap()
    }

    #[test]
    fn revisions_include_or_contradict() {
        let (a, b) = (replica('a'), replica('b'));
        let first = Revision::default().next(&a);
        let (ours, theirs) = (first.next(&a), first.next(&b));
        assert!(ours.includes(&first) && theirs.includes(&first) && ours.includes(&ours));
        assert!(!ours.includes(&theirs) && !theirs.includes(&ours));
        let joined = ours.join(&theirs);
        assert!(joined.includes(&ours) && joined.includes(&theirs));
        assert_eq!(joined, theirs.join(&ours));
        assert!(first.is_only_of(&a) && !joined.is_only_of(&a));
        assert_eq!((joined.number(&a), joined.number(&b)), (2, 1));
    }

    #[test]
    fn history_finds_the_newest_common_revision() {
        let (a, b) = (replica('a'), replica('b'));
        let first = Revision::default().next(&a);
        let second = first.next(&a);
        let mut history = History::default();
        history.push(first.clone(), "one");
        history.push(second.clone(), "two");
        let other = first.next(&b);
        assert_eq!(history.newest_within(&other).unwrap().fingerprint, "one");
        assert_eq!(history.newest_within(&second.next(&b)).unwrap().fingerprint, "two");
        assert_eq!(history.newest_within(&Revision::default().next(&b)), None);
        let mut next = second;
        for _ in 0..100 {
            next = next.next(&a);
            history.push(next.clone(), "more");
        }
        assert_eq!(history.0.len(), MAX_HISTORY);
    }
}
