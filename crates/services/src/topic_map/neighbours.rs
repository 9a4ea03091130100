//! Graph of the nearest neighbours of each item.

use std::collections::{BTreeMap, HashMap};

use vademecum_search::{QuantizedIndex, QuantizedVector};

use super::{
    number::to_f64,
    terms::{Term, TermIndex},
};

/// Number of neighbours of an item. More make groups larger.
const NEIGHBOURS: usize = 6;
/// Minimum cosine similarity of the words of neighbours.
const MIN_WORD_SIMILARITY: f64 = 0.06;
/// Minimum similarity of the vectors of neighbours, where 0 is the mean of all pairs and 1 is equal.
const MIN_VECTOR_SIMILARITY: f64 = 0.2;

/// Neighbours of one item with their similarities, greater than 0 and at most 1.
pub(super) type Neighbours = Vec<(usize, f64)>;

/// Undirected graph of similar items.
#[derive(Clone, Debug, Default)]
pub(super) struct SimilarityGraph {
    /// For each item its edges, ordered by the other item. Each edge is in two lists.
    pub(super) edges: Vec<Neighbours>,
}

impl SimilarityGraph {
    /// Connects each item with its neighbours.
    pub(super) fn new(neighbours: &[Neighbours]) -> Self {
        let mut edges = vec![BTreeMap::new(); neighbours.len()];
        for (item, near) in neighbours.iter().enumerate() {
            for (other, similarity) in near.iter().filter(|(other, _)| *other != item) {
                for (from, to) in [(item, *other), (*other, item)] {
                    if let Some(list) = edges.get_mut(from) {
                        list.insert(to, *similarity);
                    }
                }
            }
        }
        Self { edges: edges.into_iter().map(|list| list.into_iter().collect()).collect() }
    }
}

/// Returns the nearest neighbours of each item: by vectors if most items have one, otherwise by words.
/// Items without a vector have the nearest ones by words in any case.
pub(super) fn find_neighbours(terms: &TermIndex, vectors: &[Option<Vec<f32>>]) -> Vec<Neighbours> {
    let vectors = same_length_vectors(vectors);
    if vectors.len() * 2 < terms.items.len() {
        return neighbours_by_words(terms, |_| true);
    }
    let mut neighbours = neighbours_by_words(terms, |item| !vectors.contains_key(&item));
    for (item, near) in neighbours_by_vectors(&vectors) {
        if let Some(list) = neighbours.get_mut(item) {
            *list = near;
        }
    }
    neighbours
}

/// Returns the vectors that have the most frequent length. The others are of a former model.
fn same_length_vectors(vectors: &[Option<Vec<f32>>]) -> BTreeMap<usize, &[f32]> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for vector in vectors.iter().flatten() {
        *counts.entry(vector.len()).or_default() += 1;
    }
    let length = counts.into_iter().max_by_key(|(_, count)| *count).map(|(length, _)| length);
    let of_length = |vector: &&[f32]| Some(vector.len()) == length;
    let all = vectors.iter().enumerate();
    all.filter_map(|(item, vector)| Some((item, vector.as_deref().filter(of_length)?))).collect()
}

/// Compares the wanted items with all others through an inverted index.
fn neighbours_by_words(terms: &TermIndex, is_wanted: impl Fn(usize) -> bool) -> Vec<Neighbours> {
    let mut postings: Vec<Vec<(usize, f64)>> = vec![Vec::new(); terms.term_count()];
    for (item, term, weight) in weighted_terms(terms) {
        if let Some(list) = postings.get_mut(term) {
            list.push((item, weight));
        }
    }
    let mut similarities = vec![0.0; terms.items.len()];
    let compare = |(item, own): (usize, &super::terms::ItemTerms)| {
        if !is_wanted(item) {
            return Vec::new();
        }
        similarities.fill(0.0);
        for (term, weight) in &own.weights {
            for (other, other_weight) in postings.get(*term).into_iter().flatten() {
                if let Some(similarity) = similarities.get_mut(*other) {
                    *similarity += weight * other_weight;
                }
            }
        }
        let near = similarities.iter().copied().enumerate();
        nearest(near.filter(|(other, it)| *other != item && *it >= MIN_WORD_SIMILARITY))
    };
    terms.items.iter().enumerate().map(compare).collect()
}

fn weighted_terms(terms: &TermIndex) -> impl Iterator<Item = (usize, Term, f64)> + '_ {
    let items = terms.items.iter().enumerate();
    items.flat_map(|(item, own)| {
        own.weights.iter().map(move |(term, weight)| (item, *term, *weight))
    })
}

/// Compares the items by their vectors, which have one length.
fn neighbours_by_vectors(vectors: &BTreeMap<usize, &[f32]>) -> HashMap<usize, Neighbours> {
    let mut index = QuantizedIndex::new(vectors.values().next().map_or(0, |vector| vector.len()));
    for (item, vector) in vectors {
        let (Ok(id), Ok(code)) = (i64::try_from(*item), QuantizedVector::quantize(vector)) else {
            continue;
        };
        // All vectors have the length of the index.
        let _ = index.insert(id, &code);
    }
    let mean = mean_similarity(vectors);
    let compare = |(item, vector): (&usize, &&[f32])| {
        let found = index.nearest(vector, NEIGHBOURS + 1, |_| true).unwrap_or_default();
        let near = found.into_iter().filter_map(|(id, similarity)| {
            let other = usize::try_from(id).ok().filter(|other| other != item)?;
            let above = (f64::from(similarity) - mean) / (1.0 - mean).max(f64::EPSILON);
            Some((other, above.min(1.0))).filter(|_| above >= MIN_VECTOR_SIMILARITY)
        });
        (*item, nearest(near))
    };
    vectors.iter().map(compare).collect()
}

/// Returns the mean similarity of all pairs of vectors of length 1.
fn mean_similarity(vectors: &BTreeMap<usize, &[f32]>) -> f64 {
    let mut sum: Vec<f64> = Vec::new();
    for vector in vectors.values() {
        sum.resize(vector.len(), 0.0);
        sum.iter_mut().zip(*vector).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    let count = to_f64(vectors.len());
    let square: f64 = sum.iter().map(|value| value * value).sum();
    ((square - count) / (count * (count - 1.0)).max(1.0)).clamp(0.0, 1.0)
}

/// Keeps the nearest neighbours, ordered by similarity.
fn nearest(near: impl Iterator<Item = (usize, f64)>) -> Neighbours {
    let mut near: Neighbours = near.collect();
    near.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    near.truncate(NEIGHBOURS);
    near
}

#[cfg(test)]
mod tests {
    use super::{super::map_input::MapInput, *};

    fn terms(texts: &[&str]) -> TermIndex {
        let inputs: Vec<MapInput> = texts.iter().map(|text| MapInput::for_test("", text)).collect();
        TermIndex::new(&inputs)
    }

    #[test]
    fn items_with_common_words_are_neighbours() {
        let terms = terms(&["bread dough", "dough oven", "oven", "compiler", "compiler bug"]);
        let found = find_neighbours(&terms, &[]);
        let others: Vec<Vec<usize>> =
            found.iter().map(|near| near.iter().map(|(other, _)| *other).collect()).collect();
        assert_eq!(others, [vec![1], vec![0, 2], vec![1], vec![4], vec![3]]);
    }

    #[test]
    fn vectors_decide_where_most_items_have_one() {
        let terms = terms(&["bread dough", "bread dough", "violin bow", "violin bow"]);
        let vector = |x: f32| Some(vec![x, (1.0 - x * x).sqrt()]);
        let vectors = [vector(1.0), vector(0.0), vector(0.99), vector(0.05)];
        let found = find_neighbours(&terms, &vectors);
        assert_eq!(found.iter().map(|near| near[0].0).collect::<Vec<_>>(), [2, 3, 0, 1]);
        let found = find_neighbours(&terms, &[vector(1.0), None, vector(0.99), vector(0.98)]);
        assert_eq!(found[1][0].0, 0, "{found:?}");
        let found = find_neighbours(&terms, &[vector(1.0), None, None, None]);
        assert_eq!(found.iter().map(|near| near[0].0).collect::<Vec<_>>(), [1, 0, 3, 2]);
    }

    #[test]
    fn graph_has_each_edge_in_both_lists() {
        let graph = SimilarityGraph::new(&[vec![(1, 0.5), (2, 0.3)], vec![], vec![(0, 0.3)]]);
        assert_eq!(graph.edges, [vec![(1, 0.5), (2, 0.3)], vec![(0, 0.5)], vec![(0, 0.3)]]);
    }
}
