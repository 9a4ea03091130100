//! Extents of the parts of a statement.

/// Returns true if a name may contain the character.
pub(super) fn is_word_character(sign: char) -> bool {
    sign.is_ascii_alphanumeric()
        || matches!(sign, '_' | '$')
        || (!sign.is_ascii() && sign.is_alphanumeric())
}

/// Returns true if the word is only a number, possibly up to the sign of its exponent, or a
/// parameter.
pub(super) fn is_plain_number(word: &str) -> bool {
    if let Some(parameter) = word.strip_prefix('$') {
        return !parameter.is_empty() && parameter.bytes().all(|digit| digit.is_ascii_digit());
    }
    let digits = word.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '_');
    let is_other_base = word.starts_with('0')
        && digits.len() + 1 == word.len()
        && digits.starts_with(['x', 'X', 'o', 'O', 'b', 'B'])
        && digits.bytes().skip(1).all(|sign| sign.is_ascii_hexdigit() || sign == b'_');
    digits.is_empty() || is_exponent(digits) || is_other_base
}

/// Returns true if the word is an exponent, possibly up to its sign.
pub(super) fn is_exponent(word: &str) -> bool {
    word.strip_prefix(['e', 'E'])
        .is_some_and(|digits| digits.bytes().all(|sign| sign.is_ascii_digit() || sign == b'_'))
}

/// Returns the length of the place `:name` at the start of `rest`, if there is one.
pub(super) fn place_length(rest: &str) -> Option<usize> {
    let name = rest.strip_prefix(':')?;
    let length = name.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    let is_name = name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_');
    is_name.then(|| 1 + length.unwrap_or(name.len()))
}

/// Returns the `$tag$` that opens a dollar-quoted string.
pub(super) fn dollar_tag(rest: &str) -> Option<&str> {
    let after = rest.strip_prefix('$')?;
    let length = after.find('$')?;
    let tag = after.get(..length)?;
    let is_tag = !tag.starts_with(|sign: char| sign.is_ascii_digit())
        && tag.chars().all(|sign| sign == '_' || sign.is_ascii_alphanumeric() || !sign.is_ascii());
    if is_tag { rest.get(..length + 2) } else { None }
}

/// Returns the end of the comment at the start of `rest`; comments may nest.
pub(super) fn find_comment_end(rest: &str, nests: bool) -> Option<usize> {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (1_usize, 2);
    while at < bytes.len() {
        match bytes.get(at..at + 2)? {
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            b"/*" if nests => {
                depth += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    None
}

/// Returns the end of the quoted text that opens at byte `open`. A doubled quote does not end it.
pub(super) fn find_quote_end(rest: &str, open: usize, escapes: bool) -> Option<usize> {
    let bytes = rest.as_bytes();
    let quote = *bytes.get(open)?;
    let mut at = open + 1;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' && escapes {
            at += 2;
        } else if *byte != quote {
            at += 1;
        } else if bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return Some(at + 1);
        }
    }
    None
}
