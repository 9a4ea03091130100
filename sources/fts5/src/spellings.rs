//! Words that are written in several ways: `e-mail`, `U.S.A.`, `12,500.00`, `iPhone15`; and emoji.
//!
//! A word with signs inside is also stored as it is written without them. A word that ends or
//! begins with a number is stored as a whole and in parts.

use crate::letters::{is_letter, is_mark, is_unspaced};

/// Maximum length of the first part of a word that is also written without its signs.
pub(crate) const MAX_JOINED_START: usize = 3;
/// Maximum number of digits after a name and a space.
const MAX_NUMBER_AFTER_NAME: usize = 4;
/// Minimum number of letters before or after a number that are a word of their own.
const MIN_LETTERS_AT_NUMBER: usize = 2;

/// Returns the end of the word with signs that starts with the ASCII run from `start` to `end`, if
/// it is also written without them.
pub(crate) fn joined_word_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let run = text.get(start..end)?;
    let rest = text.get(end..)?;
    let sign = rest.chars().next()?;
    if run.len() > MAX_JOINED_START || follows_sign(text.get(..start)?) {
        return None;
    }
    let length = if run.bytes().all(|byte| byte.is_ascii_digit()) {
        if is_digit_separator(sign) { digit_groups_length(run, rest, sign) } else { None }
    } else if !run.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        None
    } else if is_hyphen(sign) {
        hyphenated_length(run, rest)
    } else if sign == '.' && run.len() == 1 {
        dotted_letters_length(rest)
    } else {
        None
    };
    length.map(|length| end + length)
}

/// Returns whether the text ends with a sign inside a word, so that what follows is not its first
/// part.
fn follows_sign(before: &str) -> bool {
    let mut letters = before.chars().rev();
    let is_sign = |sign: char| is_hyphen(sign) || is_digit_separator(sign) && !sign.is_whitespace();
    let sign = letters.next().filter(|sign| is_sign(*sign) || *sign == '_');
    sign.is_some() && letters.next().is_some_and(is_letter)
}

fn is_hyphen(sign: char) -> bool {
    matches!(sign, '-' | '\u{2010}' | '\u{2011}')
}

/// Returns whether a sign separates groups of three digits in some country.
fn is_digit_separator(sign: char) -> bool {
    matches!(sign, '.' | ',' | '\'' | '’') || is_digit_space(sign)
}

/// Returns whether a space separates groups of digits, and never sentences or fields.
pub fn is_digit_space(sign: char) -> bool {
    matches!(sign, '\u{A0}' | '\u{2009}' | '\u{202F}')
}

/// Returns the length of the groups after `first` in a number such as `12,500`. Decimals after
/// another sign are no group; addresses such as `192.168.1.1` have none.
fn digit_groups_length(first: &str, rest: &str, sign: char) -> Option<usize> {
    if first.starts_with('0') {
        return None;
    }
    let mut length = 0;
    while let Some(group) = rest.get(length..).and_then(|rest| rest.strip_prefix(sign)) {
        match group.bytes().take_while(u8::is_ascii_digit).count() {
            0 => break,
            3 => length += sign.len_utf8() + 3,
            _ => return None,
        }
    }
    (length > 0).then_some(length)
}

/// Returns the length of the second part of a word such as `e-mail`. A longer chain such as
/// `up-to-date` has none, unless it begins with a single letter.
fn hyphenated_length(first: &str, rest: &str) -> Option<usize> {
    let mut letters = rest.char_indices().skip(1).peekable();
    let mut count = 0;
    while let Some((_, letter)) = letters.peek() {
        if is_unspaced(*letter) || letter.is_numeric() {
            return None;
        }
        if !is_letter(*letter) && !is_mark(*letter) {
            break;
        }
        count += 1;
        letters.next();
    }
    let end = letters.next().map_or(rest.len(), |(at, _)| at);
    let mut after = rest.get(end..).unwrap_or_default().chars();
    let goes_on = after.next().is_some_and(|sign| is_hyphen(sign) || sign == '_')
        && after.next().is_some_and(is_letter);
    (count > 1 && (first.len() == 1 || !goes_on)).then_some(end)
}

/// Returns the length of the letters after the first in an abbreviation such as `U.S.A.`, without
/// the last dot.
fn dotted_letters_length(rest: &str) -> Option<usize> {
    let mut length = 0;
    while let [b'.', letter, ..] = rest.as_bytes().get(length..)? {
        let after = rest.get(length + 2..).and_then(|rest| rest.chars().next());
        if !letter.is_ascii_alphabetic() {
            break;
        }
        if after.is_some_and(|next| is_letter(next) || next == '_') {
            return None;
        }
        length += 2;
    }
    (length > 0).then_some(length)
}

/// Returns the border between letters and a number in a run such as `iPhone15` or `15mm`. Ordinals
/// such as `2nd` have none, nor have runs with several borders.
pub(crate) fn number_border(run: &str) -> Option<usize> {
    let bytes = run.as_bytes();
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let is_number_first = bytes.first().is_some_and(is_digit);
    let border = bytes.iter().take_while(|byte| is_digit(byte) == is_number_first).count();
    let (first, last) = run.split_at_checked(border)?;
    let letters = if is_number_first { last } else { first };
    let is_ordinal = is_number_first && matches!(letters, "st" | "nd" | "rd" | "th");
    let is_simple = last.bytes().all(|byte| is_digit(&byte) != is_number_first);
    (is_simple && !last.is_empty() && letters.len() >= MIN_LETTERS_AT_NUMBER && !is_ordinal)
        .then_some(border)
}

/// Returns the end of the number after a name such as `iPhone 15`, which is also written without
/// the space. The parts of such a name are no phrase with the number otherwise.
pub(crate) fn numbered_name_end(text: &str, name_end: usize) -> Option<usize> {
    let rest = text.get(name_end..)?.strip_prefix(' ')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_whole = !rest.get(digits..)?.starts_with(is_letter);
    (is_whole && (1..=MAX_NUMBER_AFTER_NAME).contains(&digits)).then_some(name_end + 1 + digits)
}

/// Returns whether a character is the picture of an emoji, without those that are letters.
pub fn is_emoji(letter: char) -> bool {
    let code = u32::from(letter);
    !is_letter(letter)
        && matches!(code,
            0x231A..=0x231B | 0x23E9..=0x23FA | 0x2600..=0x2767 | 0x2795..=0x2797
            | 0x27B0 | 0x27BF | 0x2B1B..=0x2B1C | 0x2B50 | 0x2B55 | 0x1F000..=0x1FAFF)
        && !is_skin_tone(code)
}

fn is_skin_tone(code: u32) -> bool {
    matches!(code, 0x1F3FB..=0x1F3FF)
}

/// Returns whether a character is half of a flag.
pub(crate) fn is_flag_half(letter: char) -> bool {
    matches!(u32::from(letter), 0x1F1E6..=0x1F1FF)
}

/// Returns the length of the emoji at the beginning of a text, with the modifiers and joined
/// pictures that follow; 0 if there is none.
pub(crate) fn emoji_length(text: &str) -> usize {
    let mut letters = text.char_indices();
    let Some((_, first)) = letters.next().filter(|(_, first)| is_emoji(*first)) else { return 0 };
    let mut is_joined = is_flag_half(first) && text.chars().nth(1).is_some_and(is_flag_half);
    for (at, next) in letters {
        let code = u32::from(next);
        let is_modifier =
            is_skin_tone(code) || matches!(code, 0xFE0E..=0xFE0F | 0x20E3 | 0xE0020..=0xE007F);
        if !(is_modifier || next == JOINER || (is_joined && is_emoji(next))) {
            return at;
        }
        is_joined = next == JOINER;
    }
    text.len()
}

/// Joins two emoji into one picture.
const JOINER: char = '\u{200D}';
