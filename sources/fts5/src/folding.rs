//! The folded form of a letter: lowercase, of normal width, without most marks.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Appends the folded form of a letter that is not ASCII. It fills the tables of classes, so it does
/// not look into them.
pub(crate) fn fold_letter_slowly(letter: char, folded: &mut String) {
    match u32::from(letter) {
        // Decomposition would split Hangul syllables and letters such as `й`.
        0xAC00..=0xD7AF => return folded.push(letter),
        0x400..=0x52F if !matches!(letter, 'ё' | 'Ё' | 'ѐ' | 'Ѐ' | 'ѝ' | 'Ѝ') => {
            return folded.extend(letter.to_lowercase());
        }
        _ => {}
    }
    for lower in letter.to_lowercase() {
        decompose_compatible(lower, |part| {
            if !is_folded_mark(part) {
                match fold_plain_letter(part) {
                    Some(letters) => folded.push_str(letters),
                    None => folded.extend(part.to_lowercase()),
                }
            }
        });
    }
}

/// Returns whether a mark is left out: accents, and the points of Arabic and Hebrew.
fn is_folded_mark(part: char) -> bool {
    match u32::from(part) {
        // Scripts in which marks are vowels, and the marks of kana.
        0x900..=0x109F | 0x1780..=0x17FF | 0x3099..=0x309A => false,
        // Tatweel, which stretches a word, and joiners.
        0x640 | 0x200C..=0x200D => true,
        _ => is_combining_mark(part),
    }
}

/// Returns what a letter folds to that is a letter of its own in Unicode.
fn fold_plain_letter(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ł' => "l",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ı' => "i",
        'ŧ' => "t",
        'ς' => "σ",
        'ة' => "ه",
        'ى' | 'ی' => "ي",
        'ک' => "ك",
        '٠' | '۰' | '०' => "0",
        '١' | '۱' | '१' => "1",
        '٢' | '۲' | '२' => "2",
        '٣' | '۳' | '३' => "3",
        '٤' | '۴' | '४' => "4",
        '٥' | '۵' | '५' => "5",
        '٦' | '۶' | '६' => "6",
        '٧' | '۷' | '७' => "7",
        '٨' | '۸' | '८' => "8",
        '٩' | '۹' | '९' => "9",
        _ => return None,
    })
}
