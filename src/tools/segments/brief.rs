//! A text in brief: a headline and a summary, taken from the text itself.

/// Words of a headline at most.
const HEADLINE: usize = 10;
/// Sentences of a summary at most, and characters.
const SENTENCES: usize = 3;
const SUMMARY: usize = 400;

/// The headline of a segment: the last of the headings above it, else its
/// title, else its first words.
pub(super) fn headline(section: Option<&str>, title: Option<&str>, text: &str) -> String {
    let heading = section.and_then(|section| section.rsplit(" › ").next());
    let candidates = [heading, title, first_line(text)];
    let said = candidates.into_iter().flatten().map(plain).find(|line| !line.is_empty());
    let said = said.unwrap_or_default();
    let words: Vec<&str> = said.split_whitespace().take(HEADLINE).collect();
    words.join(" ")
}

/// One to three sentences of a segment, its first ones without its headings.
pub(super) fn summary(text: &str) -> String {
    let prose: Vec<String> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .map(plain)
        .filter(|line| !line.is_empty())
        .collect();
    let prose = if prose.is_empty() { plain(text) } else { prose.join(" ") };
    let mut summary = String::new();
    for sentence in sentences(&prose).into_iter().take(SENTENCES) {
        let long = summary.chars().count() + sentence.chars().count() > SUMMARY;
        if long && !summary.is_empty() {
            break;
        }
        if !summary.is_empty() {
            summary.push(' ');
        }
        summary.push_str(sentence);
    }
    cut(&summary)
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.trim().is_empty())
}

/// A line without the marks of Markdown around it, its white space collapsed.
fn plain(line: &str) -> String {
    let line = line.trim().trim_start_matches(['#', '>', '*', '-', '+', '|']);
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ")
}

fn sentences(text: &str) -> Vec<&str> {
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

/// At most as long as a summary may be, cut between words.
fn cut(text: &str) -> String {
    if text.chars().count() <= SUMMARY {
        return text.to_owned();
    }
    let end = text.char_indices().nth(SUMMARY - 1).map_or(text.len(), |(at, _)| at);
    let start = text.get(..end).unwrap_or_default();
    let start = start.rsplit_once(' ').map_or(start, |(start, _)| start);
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_has_ten_words_at_most() {
        assert_eq!(headline(Some("Guide › Set up"), Some("Manual"), "x"), "Set up");
        assert_eq!(headline(None, Some("Manual"), "x"), "Manual");
        assert_eq!(headline(None, Some(" "), "\n## One two\nthree"), "One two");
        let long = "a ".repeat(30);
        assert_eq!(headline(None, None, &long).split(' ').count(), 10);
        assert_eq!(headline(None, None, ""), "");
    }

    #[test]
    fn a_summary_is_one_to_three_sentences_of_the_text() {
        let text = "# Title\n\nVersion 1.5 is out.  It is fast!\nIs it small? Yes. No.";
        assert_eq!(summary(text), "Version 1.5 is out. It is fast! Is it small?");
        assert_eq!(summary("# Only a heading"), "Only a heading");
        assert_eq!(summary("面团发酵。烤面包。吃。睡。"), "面团发酵。 烤面包。 吃。");
        let endless = "word ".repeat(1_000);
        let short = summary(&endless);
        assert!(short.chars().count() <= SUMMARY && short.ends_with("word…"), "{short}");
        let two = format!("{}. {}.", "a".repeat(300), "b".repeat(300));
        assert_eq!(summary(&two), format!("{}.", "a".repeat(300)));
    }
}
