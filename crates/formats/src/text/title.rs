//! Cleaning of titles: one line, without control characters.

/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 500;

/// Returns a title as one line of at most 500 characters: white space is collapsed to single
/// spaces, and control characters and direction controls are removed. Returns `None` if nothing is
/// left.
pub fn clean_title(text: &str) -> Option<String> {
    let shown =
        |next: &char| next.is_whitespace() || !(next.is_control() || is_direction_control(*next));
    let shown: String = text.chars().filter(shown).collect();
    let words: Vec<_> = shown.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(MAX_TITLE_CHARS).collect();
    Some(line.trim_end().to_owned()).filter(|line| !line.is_empty())
}

/// Returns `true` for Unicode embeddings, overrides and isolates, which change the direction of
/// text.
fn is_direction_control(next: char) -> bool {
    matches!(next, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_one_line_without_controls() {
        assert_eq!(clean_title(" Rye \n bread\t").as_deref(), Some("Rye bread"));
        assert_eq!(clean_title("a\u{202e}fdp.exe\0\u{1b}[2J").as_deref(), Some("afdp.exe[2J"));
        assert_eq!(clean_title("\u{2067} \0"), None);
        assert_eq!(clean_title(&"x".repeat(100_000)).unwrap().len(), 500);
        assert_eq!(clean_title("لغة\u{200f}").as_deref(), Some("لغة\u{200f}"));
    }
}
