//! Groups of items: communities of a readable number and size.

use std::{cmp::Reverse, collections::BTreeMap};

use super::{communities::find_communities, neighbours::SimilarityGraph, number::to_f64};

/// Maximum number of groups. More are not readable on a map.
const MAX_GROUPS: usize = 24;
/// A group with more than this part of all items is divided, if it has more than these items.
const MIN_PARTS: usize = 10;
const MIN_LARGE_GROUP: usize = 24;
/// Resolutions of the communities that are tried until no group is too large.
const RESOLUTIONS: [f64; 4] = [1.0, 1.6, 2.5, 4.0];
/// Minimum number of items of a group.
const MIN_ITEMS: usize = 3;

/// Items in groups.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Groups {
    /// The groups, the largest first. The first items of a group are its most typical.
    pub(super) members: Vec<Vec<usize>>,
    /// Items in no group.
    pub(super) rest: Vec<usize>,
}

impl Groups {
    /// Finds the groups of a graph. Small ones are merged with the most similar one.
    pub(super) fn find(graph: &SimilarityGraph) -> Self {
        let most = (graph.edges.len() / MIN_PARTS).max(MIN_LARGE_GROUP);
        let mut groups = Self::default();
        for resolution in RESOLUTIONS {
            groups = Self::with_resolution(graph, resolution);
            if groups.members.iter().all(|group| group.len() <= most) {
                break;
            }
        }
        while groups.merge_one(graph) {}
        groups.rest.sort_unstable();
        groups.members.sort_by_key(|group| (Reverse(group.len()), group.first().copied()));
        for index in 0..groups.members.len() {
            groups.order_by_centrality(graph, index);
        }
        groups
    }

    fn with_resolution(graph: &SimilarityGraph, resolution: f64) -> Self {
        let mut communities: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (item, community) in find_communities(graph, resolution).into_iter().enumerate() {
            communities.entry(community).or_default().push(item);
        }
        Self { members: communities.into_values().collect(), ..Self::default() }
    }

    /// Returns the group of each of `count` items; that of the rest follows the last one.
    pub(super) fn group_of_items(&self, count: usize) -> Vec<usize> {
        let mut groups = vec![self.members.len(); count];
        for (group, members) in self.members.iter().enumerate() {
            for item in members {
                if let Some(it) = groups.get_mut(*item) {
                    *it = group;
                }
            }
        }
        groups
    }

    /// Merges a group that is too small, or the smallest one if there are too many, with the one that
    /// it has the strongest links to. Returns `false` if there is none to merge.
    fn merge_one(&mut self, graph: &SimilarityGraph) -> bool {
        let mut by_size: Vec<usize> = (0..self.members.len()).collect();
        by_size.sort_by_key(|group| self.members.get(*group).map(Vec::len));
        let is_small = |group: &&usize| {
            self.members.get(**group).is_some_and(|members| members.len() < MIN_ITEMS)
        };
        let has_too_many = self.members.len() > MAX_GROUPS;
        let mut candidates = by_size.iter().filter(|group| has_too_many || is_small(group));
        let linked = candidates.find_map(|group| Some((*group, self.linked_group(graph, *group)?)));
        // A group without links can only join the rest, if it has to.
        let unlinked = by_size.first().filter(|group| has_too_many || is_small(group));
        let (group, other) = match (linked, unlinked) {
            (Some((group, other)), _) => (group, Some(other)),
            (None, Some(group)) => (*group, None),
            (None, None) => return false,
        };
        let mut moved = self.members.get_mut(group).map(std::mem::take).unwrap_or_default();
        match other.and_then(|other| self.members.get_mut(other)) {
            Some(other) => {
                other.append(&mut moved);
                other.sort_unstable();
            }
            None => self.rest.append(&mut moved),
        }
        self.members.retain(|members| !members.is_empty());
        true
    }

    /// Returns the other group with the strongest links to a group, in relation to its size.
    fn linked_group(&self, graph: &SimilarityGraph, group: usize) -> Option<usize> {
        let groups = self.group_of_items(graph.edges.len());
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        let items = self.members.get(group)?.iter();
        for (other, weight) in items.filter_map(|item| graph.edges.get(*item)).flatten() {
            let other = groups.get(*other).filter(|it| **it != group && **it < self.members.len());
            if let Some(other) = other {
                *weights.entry(*other).or_default() += weight;
            }
        }
        let relative = |group: usize, weight: f64| {
            weight / to_f64(self.members.get(group).map_or(1, Vec::len)).sqrt()
        };
        weights
            .into_iter()
            .map(|(group, weight)| (group, relative(group, weight)))
            .max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))
            .map(|(group, _)| group)
    }

    /// Orders the items of a group by the strength of their links to the others, the strongest first.
    fn order_by_centrality(&mut self, graph: &SimilarityGraph, index: usize) {
        let groups = self.group_of_items(graph.edges.len());
        let centrality = |item: &usize| -> f64 {
            let edges = graph.edges.get(*item).into_iter().flatten();
            edges
                .filter(|(other, _)| groups.get(*other) == Some(&index))
                .map(|(_, weight)| weight)
                .sum()
        };
        if let Some(group) = self.members.get_mut(index) {
            group.sort_by(|one, other| {
                centrality(other).total_cmp(&centrality(one)).then(one.cmp(other))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_groups_join_similar_ones_or_the_rest() {
        let neighbours = [
            vec![(1, 0.9), (2, 0.9), (3, 0.9)],
            vec![(2, 0.5)],
            vec![],
            vec![],
            vec![(5, 0.1)],
            vec![],
            vec![],
        ];
        let groups = Groups::find(&SimilarityGraph::new(&neighbours));
        assert_eq!(groups.members, [[0, 1, 2, 3]]);
        assert_eq!(groups.rest, [4, 5, 6]);
        assert_eq!(groups.group_of_items(7), [0, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn large_groups_are_divided() {
        // Two halves of three parts each.
        let weight =
            |one: usize, other: usize| match (one / 10 == other / 10, one / 30 == other / 30) {
                (true, _) => 1.0,
                (false, true) => 0.6,
                (false, false) => 0.05,
            };
        let neighbours: Vec<_> = (0..60)
            .map(|one| (0..one).map(|other| (other, weight(one, other))).collect())
            .collect();
        let graph = SimilarityGraph::new(&neighbours);
        assert_eq!(Groups::with_resolution(&graph, 1.0).members.len(), 2);
        let groups = Groups::find(&graph);
        assert_eq!(groups.members.iter().map(Vec::len).collect::<Vec<_>>(), [10; 6]);
    }

    #[test]
    fn number_of_groups_is_bounded() {
        let triple = |first: usize| {
            [vec![(first + 1, 1.0), (first + 2, 1.0)], vec![(first + 2, 1.0)], vec![]]
        };
        let mut neighbours: Vec<_> = (0..40).flat_map(|number| triple(3 * number)).collect();
        // Each triple is linked to the next, so none is left over.
        for number in 1..40 {
            neighbours[3 * number].push((3 * number - 3, 0.1));
        }
        // The last one is linked to none, but is as large as the others.
        neighbours.extend(triple(120));
        let groups = Groups::find(&SimilarityGraph::new(&neighbours));
        assert!(groups.members.len() <= MAX_GROUPS && groups.rest.is_empty());
        assert_eq!(groups.members.iter().map(Vec::len).sum::<usize>(), 123);
        assert!(groups.members.contains(&vec![120, 121, 122]));
    }
}
