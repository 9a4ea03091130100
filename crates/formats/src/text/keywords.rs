//! Keywords: `#tags` in the text of a note, and lists of keywords without duplicates.

use std::collections::HashMap;

use super::markdown::lines_outside_code;

/// Maximum length of a tag of several words, in characters.
const MAX_TAG_CHARS: usize = 60;

/// Returns the `#tags` in a Markdown text. Code, headings, addresses and mere numbers such as `#12`
/// are not tags.
pub fn inline_tags(body: &str) -> Vec<String> {
    // Most lines contain no hash, and that check is cheaper than finding code spans.
    lines_outside_code(body).filter(|line| line.contains('#')).flat_map(tags_in_line).collect()
}

/// Removes duplicates, ignoring case; the first spelling is kept.
pub fn distinct_keywords(keywords: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    keywords.into_iter().filter(|keyword| seen.insert(keyword.to_lowercase())).collect()
}

/// Splits a comma-separated list of keywords.
pub fn split_commas(text: &str) -> impl Iterator<Item = String> {
    text.split(',')
        .map(|keyword| keyword.trim().trim_start_matches('#').to_owned())
        .filter(|keyword| !keyword.is_empty())
}

/// Returns the tags of several words, which end with a hash too: `#two words#`.
pub fn multi_word_tags(body: &str) -> Vec<String> {
    let is_tag = |tag: &str| {
        let ends = tag.starts_with(char::is_alphanumeric) && tag.ends_with(char::is_alphanumeric);
        ends && tag.contains(' ') && tag.chars().count() <= MAX_TAG_CHARS
    };
    let mut tags = Vec::new();
    for line in lines_outside_code(body).filter(|line| line.contains('#')) {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once('#') {
            rest = after;
            if let Some((tag, next)) = after.split_once('#')
                && is_tag(tag)
            {
                tags.push(tag.to_owned());
                rest = next;
            }
        }
    }
    tags
}

fn tags_in_line(line: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = line;
    let mut at_border = true;
    let closings = last_backtick_runs(line);
    while let Some(next) = rest.chars().next() {
        let mut length = next.len_utf8();
        if next == '`' {
            let marks = rest.len() - rest.trim_start_matches('`').len();
            let is_closed =
                closings.get(&marks).is_some_and(|last| line.len() - rest.len() < *last);
            length = if is_closed { code_span_length(rest, marks) } else { marks };
        } else if next == '#' && at_border {
            let tag = tag_prefix(&rest[1..]);
            length += tag.len();
            tags.extend(
                Some(tag.trim_end_matches('/')).filter(|tag| is_valid_tag(tag)).map(str::to_owned),
            );
        }
        at_border = next.is_whitespace();
        rest = &rest[length..];
    }
    tags
}

/// Returns the position of the last run of backticks of each length, so that a line is not searched
/// for the end of a code span that is never closed.
fn last_backtick_runs(line: &str) -> HashMap<usize, usize> {
    let mut runs = HashMap::new();
    let mut at = 0;
    while let Some(found) = line[at..].find('`') {
        let begin = at + found;
        let marks = line[begin..].len() - line[begin..].trim_start_matches('`').len();
        runs.insert(marks, begin);
        at = begin + marks;
    }
    runs
}

/// Returns the length in bytes of the code span that `text` opens with `marks` backticks.
fn code_span_length(text: &str, marks: usize) -> usize {
    let mut at = marks;
    while let Some(found) = text[at..].find('`') {
        let close = at + found;
        let run = text[close..].len() - text[close..].trim_start_matches('`').len();
        at = close + run;
        if run == marks {
            return at;
        }
    }
    marks
}

fn tag_prefix(text: &str) -> &str {
    let end = text.find(|next| !is_tag_char(next)).unwrap_or(text.len());
    &text[..end]
}

/// Returns `true` for letters, digits and symbols of any script, `_`, `-` and `/`.
fn is_tag_char(next: char) -> bool {
    match next {
        '_' | '-' | '/' => true,
        next if next.is_ascii() => next.is_ascii_alphanumeric(),
        // Punctuation: general, supplemental, CJK, full width.
        '\u{2000}'..='\u{200c}'
        | '\u{200e}'..='\u{206f}'
        | '\u{2e00}'..='\u{2e7f}'
        | '\u{3000}'..='\u{303f}'
        | '\u{ff00}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}' => false,
        next => !next.is_whitespace(),
    }
}

fn is_valid_tag(tag: &str) -> bool {
    tag.chars().any(|next| !next.is_ascii_digit() && !matches!(next, '_' | '-' | '/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words_after_a_hash() {
        let text =
            "#start middle #two/parts, #über-uns. (not#this) #end\n- [ ] #todo! #标签，好 #día/";
        let tags = ["start", "two/parts", "über-uns", "end", "todo", "标签", "día"];
        assert_eq!(inline_tags(text), tags);
    }

    #[test]
    fn code_headings_addresses_and_numbers_yield_no_tags() {
        let text = "# Heading\n## Second\nhttps://example.org/#top [x](#y) [[#z]] #12 #-- # a\n\
                    `#code` ``a ` #b`` \n```\n#fenced\n```\n~~~\n#tilde\n~~~";
        assert_eq!(inline_tags(text), [""; 0]);
    }

    #[test]
    fn unclosed_backticks_hide_no_tags() {
        assert_eq!(inline_tags("a ` b #tag `` c"), ["tag"]);
    }

    #[test]
    fn keywords_are_deduplicated_ignoring_case() {
        let keywords = ["Rust", "rust", "Ada"].map(str::to_owned);
        assert_eq!(distinct_keywords(keywords), ["Rust", "Ada"]);
        assert_eq!(split_commas("a b, #c,, ").collect::<Vec<_>>(), ["a b", "c"]);
    }
}
