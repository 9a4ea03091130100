//! Suggestions for misspelled names.

use strsim::osa_distance;

/// Returns the known name closest to `word` by optimal string alignment distance of the normalized
/// names. The distance is at most a third of the word's length and at most 3.
pub fn closest_name<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normalize_name(word);
    let max_distance = (word.chars().count() / 3).min(3);
    known
        .into_iter()
        .map(|name| (osa_distance(&word, &normalize_name(name)), name))
        .filter(|(distance, _)| *distance <= max_distance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns a `, did you mean …?` suffix for an error message, empty without a suggestion.
pub fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

/// Normalizes a name for comparison: only letters and digits, in lower case.
pub fn normalize_name(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_name_finds_misspelled_names_only() {
        let known = ["query", "limit", "snippet_length"];
        assert_eq!(closest_name("qurey", known), Some("query"));
        assert_eq!(closest_name("SnippetLenght", known), Some("snippet_length"));
        assert_eq!(closest_name("colour", known), None);
        assert_eq!(closest_name("", known), None);
    }
}
