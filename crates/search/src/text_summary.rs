//! Extractive headline and summary of a segment.

/// Maximum number of words in a headline.
const MAX_HEADLINE_WORDS: usize = 10;
/// Maximum number of sentences and characters in a summary.
const MAX_SUMMARY_SENTENCES: usize = 3;
const MAX_SUMMARY_CHARS: usize = 400;

/// Returns the headline of a segment: the innermost heading of its section, else its title, else
/// its first line.
pub fn extract_headline(section: Option<&str>, title: Option<&str>, text: &str) -> String {
    let heading = section.and_then(|section| section.rsplit(" › ").next());
    let candidates = [heading, title, first_line(text)];
    let headline =
        candidates.into_iter().flatten().map(strip_markdown).find(|line| !line.is_empty());
    let headline = headline.unwrap_or_default();
    let words: Vec<&str> = headline.split_whitespace().take(MAX_HEADLINE_WORDS).collect();
    words.join(" ")
}

/// Returns the first one to three sentences of a segment, without headings.
pub fn extract_summary(text: &str) -> String {
    let prose: Vec<String> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .map(strip_markdown)
        .filter(|line| !line.is_empty())
        .collect();
    let prose = if prose.is_empty() { strip_markdown(text) } else { prose.join(" ") };
    let mut summary = String::new();
    for sentence in split_sentences(&prose).into_iter().take(MAX_SUMMARY_SENTENCES) {
        let long = summary.chars().count() + sentence.chars().count() > MAX_SUMMARY_CHARS;
        if long && !summary.is_empty() {
            break;
        }
        if !summary.is_empty() {
            summary.push(' ');
        }
        summary.push_str(sentence);
    }
    truncate_summary(&summary)
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.trim().is_empty())
}

/// Strips leading Markdown marks and collapses white space.
fn strip_markdown(line: &str) -> String {
    let line = line.trim().trim_start_matches(['#', '>', '*', '-', '+', '|']);
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ")
}

fn split_sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let wide = matches!(letter, '。' | '！' | '？');
        let ends = matches!(letter, '.' | '!' | '?')
            && letters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if wide || ends {
            let end = at + letter.len_utf8();
            sentences.extend(text.get(start..end).map(str::trim));
            start = end;
        }
    }
    sentences.extend(text.get(start..).map(str::trim));
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Truncates a summary to its maximum length, at a word boundary.
fn truncate_summary(text: &str) -> String {
    if text.chars().count() <= MAX_SUMMARY_CHARS {
        return text.to_owned();
    }
    let end = text.char_indices().nth(MAX_SUMMARY_CHARS - 1).map_or(text.len(), |(at, _)| at);
    let start = text.get(..end).unwrap_or_default();
    let start = start.rsplit_once(' ').map_or(start, |(start, _)| start);
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headline_has_at_most_ten_words() {
        assert_eq!(extract_headline(Some("Guide › Set up"), Some("Manual"), "x"), "Set up");
        assert_eq!(extract_headline(None, Some("Manual"), "x"), "Manual");
        assert_eq!(extract_headline(None, Some(" "), "\n## One two\nthree"), "One two");
        let long = "a ".repeat(30);
        assert_eq!(extract_headline(None, None, &long).split(' ').count(), 10);
        assert_eq!(extract_headline(None, None, ""), "");
    }

    #[test]
    fn summary_has_one_to_three_sentences() {
        let text = "# Title\n\nVersion 1.5 is out.  It is fast!\nIs it small? Yes. No.";
        assert_eq!(extract_summary(text), "Version 1.5 is out. It is fast! Is it small?");
        assert_eq!(extract_summary("# Only a heading"), "Only a heading");
        assert_eq!(extract_summary("面团发酵。烤面包。吃。睡。"), "面团发酵。 烤面包。 吃。");
        let endless = "word ".repeat(1_000);
        let short = extract_summary(&endless);
        assert!(short.chars().count() <= MAX_SUMMARY_CHARS && short.ends_with("word…"), "{short}");
        let two = format!("{}. {}.", "a".repeat(300), "b".repeat(300));
        assert_eq!(extract_summary(&two), format!("{}.", "a".repeat(300)));
    }
}
