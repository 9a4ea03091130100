//! Markdown as plain text of one line, for snippets, whose marks of matches move with their words.

use std::ops::Range;

use vademecum_model::Highlight;

/// Maximum length of the reference to a footnote, in characters.
const MAX_FOOTNOTE_CHARS: usize = 30;
/// Maximum length of a link in a snippet, in characters.
const MAX_LINK_CHARS: usize = 500;

/// Returns a text without the signs of Markdown.
pub(super) fn plain_text(text: &str) -> String {
    plain_snippet(text, &[]).0
}

/// Returns a snippet without the signs of Markdown, and the places of its matches.
pub(super) fn plain_snippet(text: &str, highlights: &[Highlight]) -> (String, Vec<Highlight>) {
    let mut scan =
        Scan { letters: text.chars().collect(), at: 0, kept: Vec::new(), has_callout: false };
    scan.skip_front_matter(highlights);
    while scan.at < scan.letters.len() {
        if !scan.skip_sign() {
            scan.keep(scan.at..scan.at + 1);
        }
    }
    scan.finish(highlights)
}

struct Scan {
    letters: Vec<char>,
    at: usize,
    /// Positions of the letters that are kept.
    kept: Vec<usize>,
    /// Whether a callout was found, whose further lines are quotations.
    has_callout: bool,
}

impl Scan {
    fn keep(&mut self, range: Range<usize>) {
        self.at = range.end;
        self.kept.extend(range);
    }

    /// Keeps the label of a link without the signs in it.
    fn keep_label(&mut self, range: Range<usize>) {
        let letters = &self.letters;
        let is_sign = |at: &usize| matches!(letters.get(*at), Some('`' | '*'));
        self.kept.extend(range.filter(|at| !is_sign(at)));
    }

    fn rest_starts_with(&self, sign: &str) -> bool {
        let rest = self.letters.get(self.at..).unwrap_or_default();
        sign.chars().enumerate().all(|(index, letter)| rest.get(index) == Some(&letter))
    }

    /// Returns the position of `sign` after `from`, unless it is far away.
    fn find(&self, sign: &str, from: usize) -> Option<usize> {
        let sign: Vec<char> = sign.chars().collect();
        let end = self.letters.len().min(from + MAX_LINK_CHARS);
        let part = self.letters.get(from..end)?;
        part.windows(sign.len()).position(|it| it == sign).map(|index| from + index)
    }

    /// Returns true if the letter before the position is blank, or there is none.
    fn is_after_blank(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|before| self.letters.get(before));
        before.is_none_or(|letter| letter.is_whitespace() || *letter == '…')
    }

    /// Skips properties before the text, unless a match is in them.
    fn skip_front_matter(&mut self, highlights: &[Highlight]) {
        if !self.rest_starts_with("--- ") {
            return;
        }
        let part = self.letters.get(4..).unwrap_or_default();
        let end = part.windows(5).position(|it| it == [' ', '-', '-', '-', ' ']);
        let has_key = part.iter().take(60).any(|letter| *letter == ':');
        let end = end.map_or(4, |end| end + 9);
        let is_shown = highlights.iter().any(|it| it.start < end);
        self.at = if is_shown || !has_key { 4 } else { end };
    }

    /// Skips a sign of Markdown at the position, and keeps the words in it. Returns false without one.
    fn skip_sign(&mut self) -> bool {
        let Some(letter) = self.letters.get(self.at).copied() else { return false };
        match letter {
            '!' if self.rest_starts_with("![") => self.skip_picture(),
            '[' => {
                self.skip_task()
                    || self.skip_footnote()
                    || self.skip_wikilink()
                    || self.skip_link()
                    || self.skip_cut_link()
            }
            '#' => self.skip_heading(),
            '*' => self.skip_pair("**") || self.skip_pair("*"),
            '~' => self.skip_pair("~~"),
            '=' => self.skip_pair("=="),
            '>' if self.is_after_blank() => self.skip_quote(),
            '`' => self.skip(1),
            '|' => self.skip_table_rule(),
            _ => false,
        }
    }

    fn skip(&mut self, count: usize) -> bool {
        self.at += count;
        true
    }

    fn skip_picture(&mut self) -> bool {
        self.at += 1;
        let is_skipped = self.skip_wikilink() || self.skip_link();
        self.at -= usize::from(!is_skipped);
        is_skipped
    }

    /// Keeps the label of `[[target|label]]`, or the target.
    fn skip_wikilink(&mut self) -> bool {
        if !self.rest_starts_with("[[") {
            return false;
        }
        let start = self.at + 2;
        let Some(end) = self.find("]]", start) else { return self.skip(2) };
        let is_picture = self.at.checked_sub(1).and_then(|it| self.letters.get(it)) == Some(&'!');
        let bar = self.find("|", start).filter(|bar| *bar < end);
        let label = match bar {
            // The label of a picture is its width.
            Some(bar) if is_picture => start..bar,
            Some(bar) => bar + 1..end,
            None => start..end,
        };
        self.keep_label(label);
        self.at = end + 2;
        true
    }

    /// Keeps the text of `[text](address)`.
    fn skip_link(&mut self) -> bool {
        let start = self.at + 1;
        let Some(middle) = self.find("](", start) else { return false };
        let text = self.letters.get(start..middle).unwrap_or_default();
        let Some(end) = self.find(")", middle).filter(|_| !text.contains(&'[')) else {
            return false;
        };
        self.keep_label(start..middle);
        self.at = end + 1;
        true
    }

    /// Skips the bracket of a link that the end of the snippet has cut.
    fn skip_cut_link(&mut self) -> bool {
        let is_cut = self.letters.last() == Some(&'…') && self.find("]", self.at).is_none();
        is_cut && self.skip(1)
    }

    /// Skips `[!type]` of a callout, and the box of a task.
    fn skip_task(&mut self) -> bool {
        if self.rest_starts_with("[!") {
            let Some(end) = self.find("]", self.at) else { return false };
            let folds = matches!(self.letters.get(end + 1), Some('-' | '+'));
            self.at = end + 1 + usize::from(folds);
            self.has_callout = true;
            return true;
        }
        let is_task = ["[ ] ", "[x] ", "[X] "].into_iter().any(|it| self.rest_starts_with(it));
        let is_last = ["[ ]…", "[x]…", "[X]…"].into_iter().any(|it| self.rest_starts_with(it));
        (is_task && self.skip(4)) || (is_last && self.skip(3))
    }

    /// Skips the reference to a footnote, and the colon after it where the footnote itself begins.
    fn skip_footnote(&mut self) -> bool {
        let end = self.find("]", self.at).filter(|_| self.rest_starts_with("[^"));
        let Some(end) = end.filter(|end| end - self.at < MAX_FOOTNOTE_CHARS) else { return false };
        let is_text = self.is_after_blank() && self.letters.get(end + 1) == Some(&':');
        self.skip(end + 1 + usize::from(is_text) - self.at)
    }

    fn skip_heading(&mut self) -> bool {
        let rest = self.letters.get(self.at..).unwrap_or_default();
        let count = rest.iter().take(7).take_while(|letter| **letter == '#').count();
        let is_heading = self.is_after_blank() && count <= 6 && rest.get(count) == Some(&' ');
        is_heading && self.skip(count + 1)
    }

    /// Skips a sign that begins or ends a word.
    fn skip_pair(&mut self, sign: &str) -> bool {
        let next = self.letters.get(self.at + sign.len());
        let is_word = |letter: Option<&char>| letter.is_some_and(|it| !it.is_whitespace());
        let before = self.at.checked_sub(1).and_then(|before| self.letters.get(before));
        let opens = !before.is_some_and(|it| it.is_alphanumeric()) && is_word(next);
        let closes = is_word(before) && !next.is_some_and(|it| it.is_alphanumeric());
        self.rest_starts_with(sign) && (opens || closes) && self.skip(sign.len())
    }

    fn skip_quote(&mut self) -> bool {
        let is_quote = self.at == 0
            || self.has_callout
            || self.rest_starts_with("> [!")
            || self.rest_starts_with("> >");
        is_quote && self.skip(1)
    }

    /// Skips the line between the head and the rows of a table.
    fn skip_table_rule(&mut self) -> bool {
        let rest = self.letters.get(self.at..).unwrap_or_default();
        let rest = rest.get(..MAX_LINK_CHARS).unwrap_or(rest);
        let length = rest.iter().take_while(|letter| "|-: ".contains(**letter)).count();
        let part = rest.get(..length).unwrap_or_default();
        let is_rule = part.windows(3).any(|it| it == ['-', '-', '-']);
        is_rule && self.skip(length)
    }

    /// Returns the letters that are kept, with single blanks, and the matches in them.
    fn finish(self, highlights: &[Highlight]) -> (String, Vec<Highlight>) {
        let mut text = String::new();
        let mut positions = Vec::new();
        let mut is_blank = true;
        for position in self.kept {
            let Some(letter) = self.letters.get(position).copied() else { continue };
            if !(letter.is_whitespace() && is_blank) {
                positions.push(position);
                text.push(letter);
            }
            is_blank = letter.is_whitespace();
        }
        let before = |place: usize| positions.partition_point(|position| *position < place);
        let moved = highlights.iter().map(|it| (before(it.start), before(it.end)));
        let marks = moved.filter(|(start, end)| start < end);
        let marks = marks.map(|(start, end)| Highlight { start, end }).collect();
        (text, marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_left_out() {
        for (text, plain) in [
            ("## Rye bread A **good** _crust_", "Rye bread A good _crust_"),
            ("See [[Rye bread|the bread]] and [[Oat]].", "See the bread and Oat."),
            ("A ![[cat.jpg|100]] and ![alt](https://a.example/x.png)", "A cat.jpg and alt"),
            ("…[Original](https://a.example/?a=b) text", "…Original text"),
            ("Knead > twice", "Knead > twice"),
            ("--- tags: [a, b] created: 2026 --- The body.", "The body."),
            ("- [ ] one - [x] two - [x]…", "- one - two - …"),
            ("A note[^1] > [!tip] Hint > text [`ls`](https://a.example)", "A note Hint text ls"),
            ("| a | b | |---|:--| | 1 | 2 |", "| a | b 1 | 2 |"),
            ("See[^1]: it. [^1]: A footnote.", "See: it. A footnote."),
            ("a == b, x * y, C# and #tag", "a == b, x * y, C# and #tag"),
            ("Use `cargo test`; arr[[1", "Use cargo test; arr1"),
            ("See ([interactive…", "See (interactive…"),
            ("unclosed [[link and [x](y", "unclosed link and [x](y"),
            ("", ""),
        ] {
            assert_eq!(plain_text(text), plain, "{text}");
        }
    }

    #[test]
    fn matches_stay_on_their_words() {
        let text = "## A [[Rye bread|rye]] **loaf**, ö";
        let at = |word: &str| {
            let start = text[..text.find(word).unwrap()].chars().count();
            Highlight { start, end: start + word.chars().count() }
        };
        let (plain, marks) = plain_snippet(text, &[at("Rye"), at("rye"), at("loaf"), at("ö")]);
        let letters: Vec<char> = plain.chars().collect();
        let marked: Vec<String> =
            marks.iter().map(|it| letters[it.start..it.end].iter().collect()).collect();
        assert_eq!(
            (plain.as_str(), marked),
            ("A rye loaf, ö", vec!["rye".to_owned(), "loaf".to_owned(), "ö".to_owned()])
        );
    }

    #[test]
    fn match_in_properties_is_shown() {
        let text = "--- alias: Rye --- Body";
        let (plain, marks) = plain_snippet(text, &[Highlight { start: 11, end: 14 }]);
        assert_eq!((plain.as_str(), marks.len()), ("alias: Rye --- Body", 1));
    }
}
