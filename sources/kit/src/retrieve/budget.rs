//! How many passages fit into an answer.

use crate::model::Retrieval;

/// How long all passages of an answer may be together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    max_chars: usize,
}

impl Budget {
    /// So many tokens, of so many characters each.
    pub fn new(max_tokens: usize, chars_per_token: Option<usize>) -> Self {
        let chars_per_token = Retrieval::chars_per_token(chars_per_token);
        Self { max_chars: max_tokens.max(1).saturating_mul(chars_per_token) }
    }

    /// How many of the first passages fit, each of them whole.
    ///
    /// A passage that does not fit is the end, even if a later one would:
    /// what is shown is always the beginning of what was ranked. If even the
    /// first is too long, none fits.
    pub fn fitting<'t>(self, passages: impl IntoIterator<Item = &'t str>) -> usize {
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
    fn whole_passages_are_kept_until_one_does_not_fit() {
        let passages = ["äöüß", "four", "five5", "a"];
        let fitting = |tokens, chars| Budget::new(tokens, chars).fitting(passages);
        assert_eq!([1, 2, 3, 4].map(|tokens| fitting(tokens, None)), [1, 2, 2, 4]);
        assert_eq!(fitting(13, Some(1)), 3);
        assert_eq!(fitting(3, Some(1)), 0);
        assert_eq!(fitting(usize::MAX, Some(20)), 4);
    }

    #[test]
    fn tokens_are_counted_as_everywhere_else() {
        assert_eq!(Budget::new(0, Some(0)), Budget::new(1, Some(1)));
        assert_eq!(Budget::new(5, Some(99)), Budget::new(5, Some(20)));
    }
}
