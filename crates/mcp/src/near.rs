//! Names that look like one that is not there: what was probably meant.

use strsim::osa_distance;

/// The known name that looks most like `word`, if any looks much like it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = plain(word);
    let most = (word.chars().count() / 3).min(3);
    known
        .into_iter()
        .map(|name| (osa_distance(&word, &plain(name)), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// What to add to a message about an unknown name if it can be guessed what was
/// meant.
pub fn hint(meant: Option<&str>) -> String {
    meant.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

/// A name without what is only a matter of style: case, dots, dashes.
pub fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_typed_wrong_is_found_and_another_is_not() {
        let known = ["query", "limit", "snippet_length"];
        assert_eq!(nearest("qurey", known), Some("query"));
        assert_eq!(nearest("SnippetLenght", known), Some("snippet_length"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
    }
}
