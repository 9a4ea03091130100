//! Estimates of the number of tokens of a text, without the tokenizer of any model.

/// Characters of a token in alphabetic scripts. In other scripts each character is a token.
pub(crate) const CHARS_PER_TOKEN: usize = 4;

/// Estimates the number of tokens of a text.
pub fn estimate_tokens(text: &str) -> usize {
    let wide = text.chars().filter(|letter| is_wide(*letter)).count();
    let narrow = text.chars().count() - wide;
    wide + narrow.div_ceil(CHARS_PER_TOKEN)
}

/// Whether a character is from a script with one character per syllable or word, such as Han, Kana
/// or Hangul.
pub(crate) fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn han_character_counts_as_one_token() {
        assert_eq!(
            (estimate_tokens("abcd"), estimate_tokens("abcde"), estimate_tokens("面包好吃")),
            (1, 2, 4)
        );
    }
}
