//! Classes of characters, looked up in tables that are filled a page at a time.
//!
//! The tables of Unicode in the standard library and in `unicode-normalization` are small, but a
//! lookup in them takes several times as long, and each character of a text needs three.

use std::sync::OnceLock;

use unicode_normalization::char::is_combining_mark;

use crate::folding::fold_letter_slowly;

/// Number of characters of a page.
const PAGE_LETTERS: usize = 256;
/// The character is part of a word.
const LETTER: u8 = 1;
/// The character combines with the one before.
const MARK: u8 = 2;
/// Folding does not change the character.
const FOLDED: u8 = 4;

/// Classes of the characters of the basic plane, by page.
static PAGES: [OnceLock<Box<[u8; PAGE_LETTERS]>>; PAGE_LETTERS] =
    [const { OnceLock::new() }; PAGE_LETTERS];

/// Returns whether a character is part of a word.
pub fn is_letter(letter: char) -> bool {
    if letter.is_ascii() { letter.is_ascii_alphanumeric() } else { has_class(letter, LETTER) }
}

/// Returns whether a character combines with the one before.
pub(crate) fn is_mark(letter: char) -> bool {
    !letter.is_ascii() && has_class(letter, MARK)
}

/// Returns whether folding does not change a character.
pub(crate) fn is_folded(letter: char) -> bool {
    has_class(letter, FOLDED)
}

/// Returns whether a character belongs to a script written without spaces or with attached endings:
/// Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar.
pub fn is_unspaced(letter: char) -> bool {
    matches!(u32::from(letter),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF
        | 0x3005..=0x3007 | 0x3040..=0x30FF | 0x3130..=0x318F | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF
        | 0xFF66..=0xFFDC | 0x2_0000..=0x3_FFFF)
}

fn has_class(letter: char, class: u8) -> bool {
    classes(letter) & class != 0
}

fn classes(letter: char) -> u8 {
    let [low, high, 0, 0] = u32::from(letter).to_le_bytes() else { return find_classes(letter) };
    let page = PAGES.get(usize::from(high)).map(|page| page.get_or_init(|| make_page(high)));
    page.and_then(|page| page.get(usize::from(low))).copied().unwrap_or(0)
}

fn make_page(high: u8) -> Box<[u8; PAGE_LETTERS]> {
    let mut page = Box::new([0; PAGE_LETTERS]);
    for (slot, low) in page.iter_mut().zip(0..=u8::MAX) {
        let code = u32::from(u16::from_le_bytes([low, high]));
        *slot = char::from_u32(code).map_or(0, find_classes);
    }
    page
}

fn find_classes(letter: char) -> u8 {
    let mut folded = String::new();
    fold_letter_slowly(letter, &mut folded);
    let is_unchanged = folded.chars().eq([letter]);
    let class = |is_in: bool, class: u8| if is_in { class } else { 0 };
    class(letter.is_alphanumeric(), LETTER)
        | class(is_combining_mark(letter), MARK)
        | class(is_unchanged, FOLDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_agree_with_standard_library() {
        for letter in (0..=0x2_FFFF).filter_map(char::from_u32) {
            assert_eq!(is_letter(letter), letter.is_alphanumeric(), "{letter:?}");
            assert_eq!(is_mark(letter), is_combining_mark(letter), "{letter:?}");
        }
        assert!(is_folded('ก') && is_folded('я') && !is_folded('Я') && !is_folded('é'));
    }
}
