//! Keywords: those that a note carries in its text as `#tags`, and lists of
//! them without repetitions.

use std::collections::HashMap;

use super::markdown::lines_outside_code;

/// The `#tags` in a Markdown text: not in code, headings or addresses, and
/// not mere numbers such as `#12`.
pub(super) fn inline_tags(body: &str) -> Vec<String> {
    // Most lines have no hash, which is seen sooner than where code is in a line.
    lines_outside_code(body).filter(|line| line.contains('#')).flat_map(tags_of_line).collect()
}

/// The keywords, each once, as it is first spelled.
pub(super) fn distinct(keywords: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    keywords.into_iter().filter(|keyword| seen.insert(keyword.to_lowercase())).collect()
}

/// The keywords of a list written as one text, between commas.
pub(super) fn between_commas(text: &str) -> impl Iterator<Item = String> {
    text.split(',')
        .map(|keyword| keyword.trim().trim_start_matches('#').to_owned())
        .filter(|keyword| !keyword.is_empty())
}

fn tags_of_line(line: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = line;
    let mut at_border = true;
    let closings = last_runs(line);
    while let Some(next) = rest.chars().next() {
        let mut length = next.len_utf8();
        if next == '`' {
            let marks = rest.len() - rest.trim_start_matches('`').len();
            let is_closed =
                closings.get(&marks).is_some_and(|last| line.len() - rest.len() < *last);
            length = if is_closed { code_length(rest, marks) } else { marks };
        } else if next == '#' && at_border {
            let tag = tag_at(&rest[1..]);
            length += tag.len();
            tags.extend(
                Some(tag.trim_end_matches('/')).filter(|tag| is_tag(tag)).map(str::to_owned),
            );
        }
        at_border = next.is_whitespace();
        rest = &rest[length..];
    }
    tags
}

/// Where the last run of backticks of each length begins: code that is never
/// closed is not looked through to the end of the line.
fn last_runs(line: &str) -> HashMap<usize, usize> {
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

/// How long the code is that opens `text` with so many backticks.
fn code_length(text: &str, marks: usize) -> usize {
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

fn tag_at(text: &str) -> &str {
    let end = text.find(|next| !may_be_in_tag(next)).unwrap_or(text.len());
    &text[..end]
}

/// Letters, digits and signs of any script, but no spaces and punctuation.
fn may_be_in_tag(next: char) -> bool {
    match next {
        '_' | '-' | '/' => true,
        next if next.is_ascii() => next.is_ascii_alphanumeric(),
        // Punctuation: general, supplemental, Chinese and Japanese, wide.
        '\u{2000}'..='\u{200c}'
        | '\u{200e}'..='\u{206f}'
        | '\u{2e00}'..='\u{2e7f}'
        | '\u{3000}'..='\u{303f}'
        | '\u{ff00}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}' => false,
        next => !next.is_whitespace(),
    }
}

fn is_tag(tag: &str) -> bool {
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
    fn code_headings_addresses_and_numbers_have_no_tags() {
        let text = "# Heading\n## Second\nhttps://example.org/#top [x](#y) [[#z]] #12 #-- # a\n\
                    `#code` ``a ` #b`` \n```\n#fenced\n```\n~~~\n#tilde\n~~~";
        assert_eq!(inline_tags(text), [""; 0]);
    }

    #[test]
    fn backticks_that_are_never_closed_hide_nothing() {
        assert_eq!(inline_tags("a ` b #tag `` c"), ["tag"]);
    }

    #[test]
    fn a_keyword_is_kept_once() {
        let keywords = ["Rust", "rust", "Ada"].map(str::to_owned);
        assert_eq!(distinct(keywords), ["Rust", "Ada"]);
        assert_eq!(between_commas("a b, #c,, ").collect::<Vec<_>>(), ["a b", "c"]);
    }
}
