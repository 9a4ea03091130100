//! Maximal marginal relevance: what says something new before what says the
//! same again.

/// How much relevance counts against novelty: 1 is relevance alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lambda(f64);

impl Lambda {
    /// From 0 to 1; `None` for any other number.
    pub fn new(lambda: f64) -> Option<Self> {
        (0.0..=1.0).contains(&lambda).then_some(Self(lambda))
    }
}

/// Chooses up to `take` candidates, one after the other, and tells their
/// places in the order in which they were chosen.
///
/// Each time that one is chosen whose `lambda · relevance − (1 − lambda) ·
/// similarity` is highest, where `similarity` is to that chosen one which it
/// is *most* like. Relevance is 0 to 1, and candidates come most relevant
/// first: of equal ones the first is chosen.
pub fn diversify(
    relevance: &[f64],
    lambda: Lambda,
    take: usize,
    mut similarity: impl FnMut(usize, usize) -> f64,
) -> Vec<usize> {
    let Lambda(lambda) = lambda;
    let mut chosen = Vec::new();
    let mut left: Vec<Candidate> =
        relevance.iter().copied().enumerate().map(Candidate::new).collect();
    while chosen.len() < take && !left.is_empty() {
        let mut best = 0;
        let mut highest = f64::NEG_INFINITY;
        for (place, candidate) in left.iter().enumerate() {
            let worth = candidate.worth(lambda);
            if worth > highest {
                (best, highest) = (place, worth);
            }
        }
        let next = left.remove(best).place;
        chosen.push(next);
        for candidate in &mut left {
            let similarity = similarity(next, candidate.place);
            candidate.nearest = Some(candidate.nearest.map_or(similarity, |it| it.max(similarity)));
        }
    }
    chosen
}

/// One that was not chosen yet.
struct Candidate {
    place: usize,
    relevance: f64,
    /// How alike it is to that chosen one which it is most like.
    nearest: Option<f64>,
}

impl Candidate {
    fn new((place, relevance): (usize, f64)) -> Self {
        Self { place, relevance, nearest: None }
    }

    fn worth(&self, lambda: f64) -> f64 {
        // Nothing is chosen yet: the first is the most relevant, whatever lambda.
        self.nearest
            .map_or(self.relevance, |nearest| lambda * self.relevance - (1.0 - lambda) * nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alike are those of the same group.
    fn chosen(lambda: f64, relevance: &[f64], groups: &[u8], take: usize) -> Vec<usize> {
        let alike = |one: usize, other: usize| f64::from(u8::from(groups[one] == groups[other]));
        diversify(relevance, Lambda::new(lambda).unwrap(), take, alike)
    }

    #[test]
    fn relevance_alone_keeps_the_order() {
        assert_eq!(chosen(1.0, &[0.9, 0.8, 0.7], &[1, 1, 1], 9), [0, 1, 2]);
    }

    #[test]
    fn what_says_the_same_comes_after_what_is_new() {
        assert_eq!(chosen(0.6, &[0.9, 0.89, 0.5, 0.4], &[1, 1, 2, 3], 4), [0, 2, 3, 1]);
        assert_eq!(chosen(0.0, &[0.9, 0.8, 0.1], &[1, 1, 2], 2), [0, 2]);
    }

    #[test]
    fn what_is_like_one_of_the_chosen_is_not_new_for_being_unlike_another() {
        // With the least similarity instead of the greatest, 2 would come before 3.
        assert_eq!(chosen(0.5, &[0.9, 0.9, 0.8, 0.1], &[1, 2, 1, 3], 3), [0, 1, 3]);
    }

    #[test]
    fn the_first_is_the_most_relevant_and_of_equals_the_first() {
        assert_eq!(chosen(0.0, &[0.2, 0.9, 0.9], &[1, 2, 3], 3), [1, 0, 2]);
        assert_eq!(chosen(0.5, &[], &[], 3), [0; 0]);
        assert_eq!(chosen(0.5, &[0.5], &[1], 0), [0; 0]);
    }

    #[test]
    fn a_lambda_is_0_to_1() {
        assert!(Lambda::new(0.0).is_some() && Lambda::new(1.0).is_some());
        assert_eq!([-0.1, 1.1, f64::NAN].map(Lambda::new), [None; 3]);
    }
}
