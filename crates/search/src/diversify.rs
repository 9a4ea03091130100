//! Maximal marginal relevance (MMR): prefers results that differ from those already chosen.

/// Weight of relevance against novelty, 0 to 1. 1 is relevance alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MmrLambda(f64);

impl MmrLambda {
    /// Creates a weight. Returns `None` if it is not in the range 0 to 1.
    pub fn new(lambda: f64) -> Option<Self> {
        (0.0..=1.0).contains(&lambda).then_some(Self(lambda))
    }
}

/// Chooses up to `take` candidates one after the other and returns their indices in that order.
///
/// Each step chooses the candidate with the highest `lambda · relevance − (1 − lambda) ·
/// similarity`, where `similarity` is the *highest* similarity to any chosen candidate. Relevance
/// is 0 to 1 and candidates are sorted by relevance, best first. Ties go to the earlier candidate.
pub fn diversify(
    relevance: &[f64],
    lambda: MmrLambda,
    take: usize,
    mut similarity: impl FnMut(usize, usize) -> f64,
) -> Vec<usize> {
    let MmrLambda(lambda) = lambda;
    let mut chosen = Vec::new();
    let mut left: Vec<Candidate> =
        relevance.iter().copied().enumerate().map(Candidate::new).collect();
    while chosen.len() < take && !left.is_empty() {
        let mut best = 0;
        let mut highest = f64::NEG_INFINITY;
        for (place, candidate) in left.iter().enumerate() {
            let worth = candidate.mmr_score(lambda);
            if worth > highest {
                (best, highest) = (place, worth);
            }
        }
        let next = left.remove(best).index;
        chosen.push(next);
        for candidate in &mut left {
            let similarity = similarity(next, candidate.index);
            candidate.max_similarity =
                Some(candidate.max_similarity.map_or(similarity, |it| it.max(similarity)));
        }
    }
    chosen
}

/// A candidate that is not chosen yet.
struct Candidate {
    index: usize,
    relevance: f64,
    /// Highest similarity to any chosen candidate.
    max_similarity: Option<f64>,
}

impl Candidate {
    fn new((place, relevance): (usize, f64)) -> Self {
        Self { index: place, relevance, max_similarity: None }
    }

    fn mmr_score(&self, lambda: f64) -> f64 {
        // Nothing is chosen yet: the most relevant candidate is first for every lambda.
        self.max_similarity
            .map_or(self.relevance, |nearest| lambda * self.relevance - (1.0 - lambda) * nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items of the same group have similarity 1, others 0.
    fn chosen(lambda: f64, relevance: &[f64], groups: &[u8], take: usize) -> Vec<usize> {
        let alike = |one: usize, other: usize| f64::from(u8::from(groups[one] == groups[other]));
        diversify(relevance, MmrLambda::new(lambda).unwrap(), take, alike)
    }

    #[test]
    fn lambda_one_keeps_relevance_order() {
        assert_eq!(chosen(1.0, &[0.9, 0.8, 0.7], &[1, 1, 1], 9), [0, 1, 2]);
    }

    #[test]
    fn duplicates_rank_after_novel_candidates() {
        assert_eq!(chosen(0.6, &[0.9, 0.89, 0.5, 0.4], &[1, 1, 2, 3], 4), [0, 2, 3, 1]);
        assert_eq!(chosen(0.0, &[0.9, 0.8, 0.1], &[1, 1, 2], 2), [0, 2]);
    }

    #[test]
    fn similarity_to_nearest_chosen_candidate_counts() {
        // With the lowest similarity instead of the highest, 2 would come before 3.
        assert_eq!(chosen(0.5, &[0.9, 0.9, 0.8, 0.1], &[1, 2, 1, 3], 3), [0, 1, 3]);
    }

    #[test]
    fn first_choice_is_most_relevant_and_earliest() {
        assert_eq!(chosen(0.0, &[0.2, 0.9, 0.9], &[1, 2, 3], 3), [1, 0, 2]);
        assert_eq!(chosen(0.5, &[], &[], 3), [0; 0]);
        assert_eq!(chosen(0.5, &[0.5], &[1], 0), [0; 0]);
    }

    #[test]
    fn lambda_rejects_values_outside_zero_to_one() {
        assert!(MmrLambda::new(0.0).is_some() && MmrLambda::new(1.0).is_some());
        assert_eq!([-0.1, 1.1, f64::NAN].map(MmrLambda::new), [None; 3]);
    }
}
