//! Removal of invisible and control characters, and of links and pictures that lead elsewhere, from what
//! agents read.
//!
//! A person does not see these characters, but a model does, so they can hide instructions. A client
//! loads a picture, which tells its server what the address says. Stored text is not changed: offsets
//! and ranges of an output refer to the stored text, and each returned piece is cleaned by itself. Clean
//! text is scanned in blocks and borrowed, not copied.

use std::borrow::Cow;

use serde_json::Value;
use vademecum_model::{Highlight, Hit, is_invisible};

pub use super::plain_links::restore_lines;
use super::{
    plain_links::{remote_link_edits, without_remote_links},
    plain_links_in_json::without_remote_links_in_json,
};

/// Number of bytes that are scanned at once.
const BLOCK_BYTES: usize = 64;

/// Syntax of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syntax {
    /// Every character stands for itself.
    Plain,
    /// Serialized JSON, whose escapes stand for other characters.
    Json,
}

/// Treatment of one character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    Remove,
    /// Replace by a line feed.
    BreakLine,
}

/// Cleans plain text.
pub fn clean_text(text: &str) -> Cow<'_, str> {
    // Characters first: without those in it, a text may be a link.
    match clean(text, Syntax::Plain, |_| ()) {
        Cow::Borrowed(text) => without_remote_links(text),
        Cow::Owned(text) => Cow::Owned(without_remote_links(&text).into_owned()),
    }
}

/// Removes invisible and control characters from plain text for people, whose links stay.
pub fn clean_characters(text: &mut String) {
    if let Cow::Owned(clean) = clean(text, Syntax::Plain, |_| ()) {
        *text = clean;
    }
}

/// Cleans serialized JSON.
pub fn clean_json(json: &str) -> Cow<'_, str> {
    match clean(json, Syntax::Json, |_| ()) {
        Cow::Borrowed(json) => without_remote_links_in_json(json),
        Cow::Owned(json) => Cow::Owned(without_remote_links_in_json(&json).into_owned()),
    }
}

/// Returns a new text of an item, in which lines that are as they were shown are as they were stored.
pub fn restore_text(stored: &str, new: String) -> String {
    match clean_text(stored) {
        Cow::Borrowed(_) => new,
        Cow::Owned(shown) => restore_lines(stored, &shown, &new).into_owned(),
    }
}

/// Cleans plain text in place.
pub fn clean_string(text: &mut String) {
    if let Cow::Owned(clean) = clean_text(text) {
        *text = clean;
    }
}

/// Cleans serialized JSON in place.
pub fn clean_json_string(json: &mut String) {
    if let Cow::Owned(clean) = clean_json(json) {
        *json = clean;
    }
}

/// Cleans all strings of a value, except the names of fields.
pub fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) => clean_string(text),
        Value::Array(values) => values.iter_mut().for_each(clean_value),
        Value::Object(fields) => fields.values_mut().for_each(clean_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cleans the snippet of a hit and moves its highlights accordingly.
pub fn clean_snippet(hit: &mut Hit) {
    let Some(snippet) = &mut hit.snippet else { return };
    let mut marks = hit.highlights.as_mut();
    let mut removed = Vec::new();
    let clean = clean(snippet, Syntax::Plain, |at| removed.push(at));
    let chars_before = |at: usize| snippet.get(..at).unwrap_or_default().chars().count();
    let mut edits: Vec<(usize, usize, usize)> =
        removed.into_iter().map(|at| (chars_before(at), 1, 0)).collect();
    if let Some(marks) = marks.as_deref_mut() {
        move_marks(marks, &edits);
    }
    let chars_before = |at: usize| clean.get(..at).unwrap_or_default().chars().count();
    edits.clear();
    edits.extend(remote_link_edits(&clean).into_iter().map(|edit| {
        let start = chars_before(edit.range.start);
        (start, chars_before(edit.range.end) - start, edit.text.chars().count())
    }));
    let plain = without_remote_links(&clean);
    if let Some(marks) = marks {
        let (removed, inserted) =
            edits.iter().fold((0, 0), |(removed, inserted), it| (removed + it.1, inserted + it.2));
        if plain.chars().count() + removed == clean.chars().count() + inserted {
            move_marks(marks, &edits);
        } else {
            // Further constructs were left of the first ones.
            marks.clear();
        }
    }
    let clean = plain;
    if *clean != **snippet {
        let clean = clean.into_owned();
        *snippet = clean;
    }
}

/// Moves highlights with the text around them. Each edit has its position, the number of characters that
/// it removes, and of those that it inserts. A highlight keeps the characters that no edit replaced.
fn move_marks(marks: &mut Vec<Highlight>, edits: &[(usize, usize, usize)]) {
    let moved = |place: usize, is_start: bool| {
        let before = edits.iter().take_while(|(at, ..)| *at < place);
        before.fold(place, |moved, (at, removed, inserted)| {
            let overlap = (at + removed).saturating_sub(place).min(*removed);
            let kept = if overlap > 0 && !is_start { 0 } else { *inserted };
            moved + kept - (removed - overlap)
        })
    };
    for mark in marks.iter_mut() {
        *mark = Highlight { start: moved(mark.start, true), end: moved(mark.end, false) };
    }
    marks.retain(|mark| mark.start < mark.end);
}

/// Returns the text without unwanted characters. Calls `on_removed` with the byte offset of each
/// character that is removed, in order.
fn clean(text: &str, syntax: Syntax, mut on_removed: impl FnMut(usize)) -> Cow<'_, str> {
    let mut output = String::new();
    // Bytes of `text` that are in the output or have been removed.
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = next_candidate(text.as_bytes(), at, syntax) {
        let Some((letter, length)) = char_at(text, found, syntax) else { break };
        at = found + length;
        let verdict = if is_invisible(letter) {
            let kept = text.get(copied..found).unwrap_or_default();
            let previous = kept.chars().next_back().or_else(|| output.chars().next_back());
            judge(letter, previous, char_at(text, at, syntax).map(|(next, _)| next))
        } else {
            Verdict::Keep
        };
        if verdict == Verdict::Keep {
            continue;
        }
        output.push_str(text.get(copied..found).unwrap_or_default());
        match (verdict, syntax) {
            (Verdict::BreakLine, Syntax::Plain) => output.push('\n'),
            (Verdict::BreakLine, Syntax::Json) => output.push_str("\\n"),
            (Verdict::Keep | Verdict::Remove, _) => on_removed(found),
        }
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    output.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(output)
}

/// Returns the position of the next byte, from `from` on, that may begin an unwanted character:
/// anything but printable ASCII, tab and line feed, and in JSON a backslash.
fn next_candidate(bytes: &[u8], from: usize, syntax: Syntax) -> Option<usize> {
    let is_json = syntax == Syntax::Json;
    let is_candidate = |byte: &u8| {
        let is_printable = (b' '..=b'~').contains(byte) || *byte == b'\n' || *byte == b'\t';
        !is_printable || is_json && *byte == b'\\'
    };
    let rest = bytes.get(from..)?;
    if rest.first().is_some_and(is_candidate) {
        return Some(from);
    }
    for (number, block) in rest.chunks(BLOCK_BYTES).enumerate() {
        // Without an early exit, the compiler vectorizes the scan of a block.
        if block.iter().fold(false, |any, byte| any | is_candidate(byte)) {
            let within = block.iter().position(is_candidate)?;
            return Some(from + number * BLOCK_BYTES + within);
        }
    }
    None
}

/// Returns the character that begins at byte `at`, and the number of bytes it occupies.
fn char_at(text: &str, at: usize, syntax: Syntax) -> Option<(char, usize)> {
    let rest = text.get(at..)?;
    let first = rest.chars().next()?;
    if syntax == Syntax::Plain || first != '\\' {
        return Some((first, first.len_utf8()));
    }
    let letter = match rest.as_bytes().get(1)? {
        b'u' => return Some(unicode_escape(rest)),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        other => char::from(*other),
    };
    Some((letter, 2))
}

/// Decodes the escape `\uXXXX`, or a pair of them, at the beginning of `text`. A surrogate without
/// its other half becomes U+FFFD.
fn unicode_escape(text: &str) -> (char, usize) {
    let unit = |at: usize| u16::from_str_radix(text.get(at..at + 4)?, 16).ok();
    let second = text.get(6..8).filter(|escape| *escape == "\\u").and_then(|_| unit(8));
    let units = [unit(2), second].into_iter().flatten();
    let first = char::decode_utf16(units).next().and_then(Result::ok);
    first.map_or((char::REPLACEMENT_CHARACTER, 6), |letter| (letter, 6 * letter.len_utf16()))
}

/// Decides about an invisible character by its neighbours. Joiners and variation selectors stay where
/// a script or an emoji needs one of them, so that a text keeps its meaning but has no room for
/// hidden data.
fn judge(letter: char, previous: Option<char>, next: Option<char>) -> Verdict {
    let follows = |test: fn(char) -> bool| previous.is_some_and(test);
    let is_between = |test: fn(char) -> bool| follows(test) && next.is_some_and(test);
    let is_needed = match letter {
        '\t' | '\n' => true,
        '\r' if next == Some('\n') => true,
        '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => return Verdict::BreakLine,
        '\u{115f}' => next.is_some_and(|next| matches!(next, '\u{1161}'..='\u{11ff}')),
        '\u{1160}' => follows(|it| matches!(it, '\u{1100}'..='\u{115e}')),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => follows(|it| matches!(it, '\u{1820}'..='\u{18aa}')),
        // The space of Braille.
        '\u{2800}' => {
            let is_braille = |it| matches!(it, '\u{2801}'..='\u{28ff}');
            follows(is_braille) || next.is_some_and(is_braille)
        }
        '\u{200b}' => is_between(breaks_at_zero_width_space),
        '\u{200c}' => is_between(has_joiners),
        '\u{200d}' => {
            is_between(has_joiners)
                || follows(|it| is_emoji(it) || it == '\u{fe0f}') && next.is_some_and(is_emoji)
        }
        '\u{fe00}'..='\u{fe02}' => follows(has_variants),
        '\u{fe0e}' | '\u{fe0f}' => {
            let is_keycap = next == Some('\u{20e3}');
            follows(is_emoji) || is_keycap && follows(|it| matches!(it, '0'..='9' | '#' | '*'))
        }
        _ => false,
    };
    if is_needed { Verdict::Keep } else { Verdict::Remove }
}

/// Returns whether joiners between the letters of a script change how they are written: Arabic,
/// Syriac, the Indic scripts and their relatives, Mongolian.
fn has_joiners(letter: char) -> bool {
    matches!(letter,
        '\u{600}'..='\u{7ff}' | '\u{840}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}' | '\u{1a20}'..='\u{1bff}'
        | '\u{a980}'..='\u{a9df}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

/// Returns whether a script has no spaces between words, so that a zero width space separates them:
/// Thai, Lao, Myanmar, Khmer, Tai.
fn breaks_at_zero_width_space(letter: char) -> bool {
    matches!(letter,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{1950}'..='\u{1aaf}')
}

/// Returns whether a character may be part of an emoji.
fn is_emoji(letter: char) -> bool {
    matches!(letter,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Returns whether a character has standardized variants: mathematical operators, Chinese and
/// Japanese characters.
fn has_variants(letter: char) -> bool {
    matches!(letter,
        '\u{1000}'..='\u{109f}' | '\u{2200}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}'
        | '\u{3000}'..='\u{9fff}' | '\u{a840}'..='\u{a87f}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vademecum_model::{ItemId, SourceName, Uri};

    use super::*;

    #[test]
    fn clean_text_is_borrowed() {
        let long = "Plain ASCII, \"quoted\"\n\tand indented. ".repeat(100);
        for text in ["", "é", "größer, naïve — “quoted” …", "日本語のテキスト。", &long]
        {
            assert!(matches!(clean_text(text), Cow::Borrowed(_)), "{text}");
            let json = json!({ "text": text }).to_string();
            assert!(matches!(clean_json(&json), Cow::Borrowed(_)), "{json}");
        }
    }

    #[test]
    fn hidden_characters_are_removed() {
        let tags: String =
            "ignore".chars().map(|it| char::from_u32(it as u32 + 0xe0000).unwrap()).collect();
        let selectors: String = (0xe0100..0xe01f0).filter_map(char::from_u32).collect();
        for hidden in [
            tags.as_str(),
            &selectors,
            "\u{200b}",
            "\u{200c}\u{200d}\u{200c}",
            "\u{200e}\u{200f}\u{61c}",
            "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}",
            "\u{ad}\u{34f}\u{2060}\u{2062}\u{3164}\u{feff}\u{fe00}\u{fe0f}",
            "\0\u{1b}\u{7}\u{7f}\u{9b}",
            "\u{2800}\u{2800}",
            "\u{115f}\u{1160}\u{ffa0}\u{16fe4}\u{1d159}",
            "\u{180e}\u{17b4}\u{17b5}",
            "\u{fff9}\u{fffa}\u{fffb}",
            "\u{2061}\u{2063}\u{2064}\u{206a}\u{206b}\u{206c}\u{206d}\u{206e}\u{206f}",
        ] {
            let text = format!("rye{hidden}bread");
            assert_eq!(clean_text(&text), "ryebread", "{}", hidden.escape_unicode());
            let json = json!({ "text": text }).to_string();
            assert_eq!(clean_json(&json), r#"{"text":"ryebread"}"#, "{}", hidden.escape_unicode());
            let mut value = json!([{ "text": text }]);
            clean_value(&mut value);
            assert_eq!(value, json!([{ "text": "ryebread" }]));
        }
        assert_eq!(clean_text("a\u{1f600}\u{e0100}\u{e0101}b"), "a\u{1f600}b");
    }

    #[test]
    fn line_breaks_become_line_feeds() {
        assert_eq!(clean_text("a\r\nb\rc\u{c}d\u{85}e\u{2028}f"), "a\r\nb\nc\nd\ne\nf");
        let json = json!("a\r\nb\rc\u{c}d").to_string();
        assert_eq!(clean_json(&json), r#""a\r\nb\nc\nd""#);
    }

    #[test]
    fn characters_that_scripts_need_are_kept() {
        for text in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष और क्\u{200c}ष",
            "ක්\u{200d}ර",
            "ខ្ញុំ\u{200b}ស្រឡាញ់",
            "👩\u{200d}💻 ❤\u{fe0f} ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
            "🏳\u{fe0f}\u{200d}🌈 👩🏽\u{200d}🚀",
            "葛\u{fe00}",
            "ᠠ\u{180b}",
            "⠓⠊\u{2800}⠓⠊",
        ] {
            assert_eq!(clean_text(text), text, "{}", text.escape_unicode());
        }
        // A sequence of joiners can carry data, so only one stays.
        assert_eq!(clean_text("ب\u{200c}\u{200d}\u{200c}ب"), "ب\u{200c}ب");
        assert_eq!(clean_text("👩\u{fe0f}\u{fe0e}\u{fe0f}"), "👩\u{fe0f}");
    }

    #[test]
    fn json_escapes_are_decoded() {
        for (json, expected) in [
            (r#""a\u200bb""#, r#""ab""#),
            (r#""a\udb40\udc41b""#, r#""ab""#),
            (r#""a\ud83d\ude00b""#, r#""a\ud83d\ude00b""#),
            (r#""a\ud83d""#, r#""a\ud83d""#),
            (r#""a\\u200bb\"\/""#, r#""a\\u200bb\"\/""#),
            (r#""a\u001b[2J\b""#, r#""a[2J""#),
        ] {
            assert_eq!(clean_json(json), expected, "{json}");
        }
    }

    #[test]
    fn links_are_plain_once_hidden_characters_are_gone() {
        let text = "![a]\u{200b}(http://a.example/)";
        assert_eq!(clean_text(text), "a (a.example)");
        let json = json!({ "text": text }).to_string();
        assert_eq!(clean_json(&json), r#"{"text":"a (a.example)"}"#);
        let stored = format!("One\n{text}");
        assert_eq!(restore_text(&stored, "Two\na (a.example)".to_owned()), format!("Two\n{text}"));
    }

    #[test]
    fn highlights_follow_snippet_without_links() {
        let uri = Uri::item(SourceName::Notes, "a");
        let mut hit = Hit::new(uri, ItemId::Text("a".to_owned()));
        hit.snippet =
            Some("rye [bread](http://rye.example/) and ![rye](http://a.example/) rye".to_owned());
        let mark = |start, end| Highlight { start, end };
        hit.highlights =
            Some(vec![mark(0, 3), mark(5, 10), mark(19, 22), mark(39, 42), mark(63, 66)]);
        clean_snippet(&mut hit);
        let snippet = hit.snippet.unwrap();
        assert_eq!(snippet, "rye bread (http://rye.example/) and rye (a.example) rye");
        let shown = |mark: &Highlight| -> String {
            snippet.chars().skip(mark.start).take(mark.end - mark.start).collect()
        };
        let shown: Vec<String> = hit.highlights.iter().flatten().map(shown).collect();
        assert_eq!(shown, ["rye", "bread", "rye", "rye", "rye"]);
    }

    #[test]
    fn highlights_follow_cleaned_snippet() {
        let uri = Uri::item(SourceName::Notes, "a");
        let mut hit = Hit::new(uri, ItemId::Text("a".to_owned()));
        hit.snippet = Some("\u{200b}r\u{200b}ye \u{feff} bré\u{e0041}ad".to_owned());
        let mark = |start, end| Highlight { start, end };
        hit.highlights = Some(vec![mark(1, 5), mark(6, 7), mark(8, 14)]);
        clean_snippet(&mut hit);
        let snippet = hit.snippet.unwrap();
        assert_eq!(snippet, "rye  bréad");
        let shown = |mark: &Highlight| -> String {
            snippet.chars().skip(mark.start).take(mark.end - mark.start).collect()
        };
        let shown: Vec<String> = hit.highlights.iter().flatten().map(shown).collect();
        assert_eq!(shown, ["rye", "bréad"]);
    }
}
