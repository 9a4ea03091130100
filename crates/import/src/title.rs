//! Titles: one line, without what could make it look like another.

/// Longest title that is kept, in characters.
const MAX_CHARS: usize = 500;

/// A title in one line: white space between words is one space, and what
/// controls a terminal or the direction of writing is left out. None if nothing
/// is left.
pub(super) fn title(text: &str) -> Option<String> {
    let shown = |next: &char| next.is_whitespace() || !(next.is_control() || turns(*next));
    let shown: String = text.chars().filter(shown).collect();
    let words: Vec<_> = shown.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(MAX_CHARS).collect();
    Some(line.trim_end().to_owned()).filter(|line| !line.is_empty())
}

/// Embeds, overrides and isolates of a direction of writing.
fn turns(next: char) -> bool {
    matches!(next, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_that_shows_what_it_is() {
        assert_eq!(title(" Rye \n bread\t").as_deref(), Some("Rye bread"));
        assert_eq!(title("a\u{202e}fdp.exe\0\u{1b}[2J").as_deref(), Some("afdp.exe[2J"));
        assert_eq!(title("\u{2067} \0"), None);
        assert_eq!(title(&"x".repeat(100_000)).unwrap().len(), 500);
        assert_eq!(title("لغة\u{200f}").as_deref(), Some("لغة\u{200f}"));
    }
}
