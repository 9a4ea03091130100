//! Text of LaTeX as plain text: accents, special letters, braces.

use unicode_normalization::UnicodeNormalization;

/// Commands for an accent on the next letter, and the combining sign.
const ACCENTS: [(char, char); 13] = [
    ('`', '\u{300}'),
    ('\'', '\u{301}'),
    ('^', '\u{302}'),
    ('~', '\u{303}'),
    ('"', '\u{308}'),
    ('=', '\u{304}'),
    ('.', '\u{307}'),
    ('u', '\u{306}'),
    ('v', '\u{30c}'),
    ('H', '\u{30b}'),
    ('c', '\u{327}'),
    ('k', '\u{328}'),
    ('r', '\u{30a}'),
];

/// Commands for a letter or a sign.
const LETTERS: [(&str, &str); 20] = [
    ("ss", "ß"),
    ("o", "ø"),
    ("O", "Ø"),
    ("l", "ł"),
    ("L", "Ł"),
    ("ae", "æ"),
    ("AE", "Æ"),
    ("oe", "œ"),
    ("OE", "Œ"),
    ("aa", "å"),
    ("AA", "Å"),
    ("i", "i"),
    ("j", "j"),
    ("dh", "ð"),
    ("th", "þ"),
    ("textendash", "–"),
    ("textemdash", "—"),
    ("textquoteright", "’"),
    ("textquoteleft", "‘"),
    ("ldots", "…"),
];

/// Returns a text without braces and commands; unknown commands leave their argument.
pub(super) fn to_text(latex: &str) -> String {
    let mut text = String::with_capacity(latex.len());
    let mut accent = None;
    let mut rest = latex;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        match next {
            '\\' => rest = push_command(rest, &mut text, &mut accent),
            '{' | '}' => {}
            '~' => text.push(' '),
            '-' if rest.starts_with('-') => {
                rest = rest.trim_start_matches('-');
                text.push('–');
            }
            _ => {
                text.push(next);
                // The sign follows its letter.
                text.extend(accent.take());
            }
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").nfc().collect()
}

/// Reads a command after its backslash and returns the rest.
fn push_command<'t>(rest: &'t str, text: &mut String, accent: &mut Option<char>) -> &'t str {
    let Some(first) = rest.chars().next() else { return rest };
    let after = &rest[first.len_utf8()..];
    let length = rest.find(|next: char| !next.is_ascii_alphabetic()).unwrap_or(rest.len());
    let name = &rest[..length];
    let found = ACCENTS.iter().find(|(sign, _)| *sign == first);
    if let Some((_, combining)) = found.filter(|_| !first.is_alphabetic() || length == 1) {
        *accent = Some(*combining);
        return after.trim_start();
    }
    if length == 0 {
        // A sign such as `\&`.
        text.push(first);
        return after;
    }
    if let Some((_, letter)) = LETTERS.iter().find(|(known, _)| *known == name) {
        text.push_str(letter);
        text.extend(accent.take());
    }
    rest[length..].trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_letters_become_text() {
        for (latex, text) in [
            (r#"G{\"o}del and M\"uller"#, "Gödel and Müller"),
            (r"{\'E}cole \'{e} \v{c} {\c c}", "École é č ç"),
            (r"{\ss} \o{} \'{\i}", "ß ø í"),
            (r"A~B \& C -- \emph{very} 10\%", "A B & C – very 10%"),
            (r"\unknown{x} \", "x"),
            ("", ""),
        ] {
            assert_eq!(to_text(latex), text, "{latex}");
        }
    }
}
