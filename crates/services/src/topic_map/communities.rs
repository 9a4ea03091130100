//! Communities of a graph by the Louvain method.
//!
//! Each node moves to the neighbouring community with the highest gain of modularity until none
//! gains; then the communities become the nodes of a smaller graph, and so on (Blondel et al., 2008).
//! Nodes are visited in order, so the result is the same each time.

use std::collections::BTreeMap;

use super::neighbours::{Neighbours, SimilarityGraph};

/// Maximum number of rounds over the nodes of one level.
const MAX_ROUNDS: usize = 32;
/// Minimum gain of a move; smaller ones are rounding errors.
const MIN_GAIN: f64 = 1e-9;

/// Returns the community of each node, numbered from 0. A higher resolution gives smaller communities;
/// that of modularity is 1.
pub(super) fn find_communities(graph: &SimilarityGraph, resolution: f64) -> Vec<usize> {
    let mut level = Level { edges: graph.edges.clone(), loops: vec![0.0; graph.edges.len()] };
    let mut communities: Vec<usize> = (0..level.edges.len()).collect();
    loop {
        let (moved, count) = renumber(&level.move_nodes(resolution));
        for community in &mut communities {
            *community = moved.get(*community).copied().unwrap_or(0);
        }
        if count == level.edges.len() {
            return communities;
        }
        level = level.merge(&moved, count);
    }
}

/// Graph of one level.
struct Level {
    edges: Vec<Neighbours>,
    /// Weight of the edges inside each node, each counted twice.
    loops: Vec<f64>,
}

impl Level {
    fn degree(&self, node: usize) -> f64 {
        let outside: f64 =
            self.edges.get(node).into_iter().flatten().map(|(_, weight)| weight).sum();
        outside + self.loops.get(node).copied().unwrap_or(0.0)
    }

    /// Returns the community of each node.
    fn move_nodes(&self, resolution: f64) -> Vec<usize> {
        let degrees: Vec<f64> = (0..self.edges.len()).map(|node| self.degree(node)).collect();
        let total: f64 = degrees.iter().sum();
        let mut communities: Vec<usize> = (0..degrees.len()).collect();
        let mut sums = degrees.clone();
        for _ in 0..MAX_ROUNDS {
            let mut has_moved = false;
            for (node, (edges, degree)) in self.edges.iter().zip(&degrees).enumerate() {
                let Some(own) = communities.get(node).copied() else { continue };
                add(&mut sums, own, -degree);
                let best = best_community(own, edges, &communities, |community, weight| {
                    let sum = sums.get(community).copied().unwrap_or(0.0);
                    weight - resolution * sum * degree / total
                });
                add(&mut sums, best, *degree);
                if let Some(community) = communities.get_mut(node).filter(|it| **it != best) {
                    *community = best;
                    has_moved = true;
                }
            }
            if !has_moved {
                break;
            }
        }
        communities
    }

    /// Merges the nodes of each community into one.
    fn merge(&self, communities: &[usize], count: usize) -> Self {
        let mut edges: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); count];
        let mut loops = vec![0.0; count];
        for ((list, inside), own) in self.edges.iter().zip(&self.loops).zip(communities) {
            add(&mut loops, *own, *inside);
            for (other, weight) in list {
                match communities.get(*other) {
                    Some(other) if other == own => add(&mut loops, *own, *weight),
                    Some(other) => {
                        if let Some(merged) = edges.get_mut(*own) {
                            *merged.entry(*other).or_default() += weight;
                        }
                    }
                    None => {}
                }
            }
        }
        Self { edges: edges.into_iter().map(|list| list.into_iter().collect()).collect(), loops }
    }
}

/// Returns the community of the neighbours with the highest gain, or the node's own if no other has
/// a higher one.
fn best_community(
    own: usize,
    edges: &Neighbours,
    communities: &[usize],
    gain: impl Fn(usize, f64) -> f64,
) -> usize {
    let mut weights = BTreeMap::from([(own, 0.0)]);
    for (other, weight) in edges {
        if let Some(community) = communities.get(*other) {
            *weights.entry(*community).or_default() += weight;
        }
    }
    let own_gain = gain(own, weights.get(&own).copied().unwrap_or(0.0));
    let (mut best, mut highest) = (own, own_gain + MIN_GAIN);
    for (community, weight) in weights {
        let gain = gain(community, weight);
        if gain > highest {
            (best, highest) = (community, gain);
        }
    }
    best
}

fn add(sums: &mut [f64], index: usize, value: f64) {
    if let Some(sum) = sums.get_mut(index) {
        *sum += value;
    }
}

/// Numbers the communities from 0 in the order of their first nodes, and counts them.
fn renumber(communities: &[usize]) -> (Vec<usize>, usize) {
    let mut numbers = BTreeMap::new();
    let numbered = communities.iter().map(|community| {
        let next = numbers.len();
        *numbers.entry(*community).or_insert(next)
    });
    let numbered = numbered.collect();
    (numbered, numbers.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communities_are_densely_connected_groups() {
        let group = |from: usize| {
            (from..from + 5).flat_map(move |one| (from..one).map(move |other| (one, other)))
        };
        let mut neighbours = vec![Neighbours::new(); 16];
        for (one, other) in group(0).chain(group(5)).chain(group(10)).chain([(0, 5), (5, 10)]) {
            neighbours[one].push((other, 0.5));
        }
        let found = find_communities(&SimilarityGraph::new(&neighbours), 1.0);
        let expected = [[0; 5], [1; 5], [2; 5]].concat();
        assert_eq!((&found[..15], found[15]), (expected.as_slice(), 3));
    }

    #[test]
    fn graph_without_edges_has_single_nodes() {
        assert!(find_communities(&SimilarityGraph::default(), 1.0).is_empty());
        let graph = SimilarityGraph::new(&[vec![], vec![]]);
        assert_eq!(find_communities(&graph, 1.0), [0, 1]);
    }
}
