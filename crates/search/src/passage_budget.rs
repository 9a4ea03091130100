//! Length budget for the passages of a response.

use vademecum_model::Retrieval;

/// Maximum total length of the passages of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageBudget {
    max_chars: usize,
}

impl PassageBudget {
    /// Creates a budget of `max_tokens` tokens with the given number of characters per token.
    pub fn new(max_tokens: usize, chars_per_token: Option<usize>) -> Self {
        let chars_per_token = Retrieval::chars_per_token(chars_per_token);
        Self { max_chars: max_tokens.max(1).saturating_mul(chars_per_token) }
    }

    /// Returns how many of the first passages fit completely.
    ///
    /// Counting stops at the first passage that does not fit, even if a later one would, so the
    /// result is always a prefix of the ranking. If the first passage is too long, none fits.
    pub fn count_fitting<'t>(self, passages: impl IntoIterator<Item = &'t str>) -> usize {
        let mut left = self.max_chars;
        let fits = |passage: &str| match left.checked_sub(passage.chars().count()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        passages.into_iter().map(fits).take_while(|fits| *fits).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_stops_at_first_oversized_passage() {
        let passages = ["äöüß", "four", "five5", "a"];
        let fitting = |tokens, chars| PassageBudget::new(tokens, chars).count_fitting(passages);
        assert_eq!([1, 2, 3, 4].map(|tokens| fitting(tokens, None)), [1, 2, 2, 4]);
        assert_eq!(fitting(13, Some(1)), 3);
        assert_eq!(fitting(3, Some(1)), 0);
        assert_eq!(fitting(usize::MAX, Some(20)), 4);
    }

    #[test]
    fn budget_clamps_its_parameters() {
        assert_eq!(PassageBudget::new(0, Some(0)), PassageBudget::new(1, Some(1)));
        assert_eq!(PassageBudget::new(5, Some(99)), PassageBudget::new(5, Some(20)));
    }
}
