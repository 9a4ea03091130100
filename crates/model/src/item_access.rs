//! Restriction of a library to some of its items.

use std::collections::BTreeMap;

use super::{OriginSet, SourceName};

/// The items of a library that a caller may see. The default hides nothing.
///
/// All other items are treated as if they did not exist: they are neither found, read, counted nor
/// suggested, and do not influence scores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemAccess(BTreeMap<SourceName, SourceAccess>);

/// The items of one source that a caller may see. The default hides nothing.
///
/// Tags are compared without ASCII case and may contain `*` for any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceAccess {
    /// Hides all items.
    pub is_hidden: bool,
    /// Hides all items that have none of these tags, if set.
    pub allowed_tags: Option<Vec<String>>,
    /// Hides all items that have one of these tags.
    pub denied_tags: Vec<String>,
    /// Hides all items imported from files below one of these folders; for collections, all
    /// documents whose identifier begins with one of them.
    pub denied_folders: Vec<String>,
    /// Hides all items with something of one of these origins in them.
    pub denied_origins: OriginSet,
}

impl ItemAccess {
    /// Returns the access to a source, to change it.
    pub fn source_mut(&mut self, source: SourceName) -> &mut SourceAccess {
        self.0.entry(source).or_default()
    }

    /// Returns the access to a source; `None` if all its items are visible.
    pub fn source(&self, source: SourceName) -> Option<&SourceAccess> {
        self.0.get(&source).filter(|access| **access != SourceAccess::default())
    }

    /// Returns true if no item of the source is visible.
    pub fn hides_source(&self, source: SourceName) -> bool {
        self.0.get(&source).is_some_and(|access| access.is_hidden)
    }

    /// Returns true if every item is visible.
    pub fn is_unrestricted(&self) -> bool {
        self.0.values().all(|access| *access == SourceAccess::default())
    }

    /// Returns the restrictions by source. All items of the other sources are visible.
    pub fn restricted_sources(&self) -> impl Iterator<Item = (SourceName, &SourceAccess)> {
        self.0.iter().map(|(source, access)| (*source, access))
    }
}

impl SourceAccess {
    /// Returns true if an item with these tags, which comes from no file, is visible.
    pub fn permits_tags(&self, tags: &[String]) -> bool {
        let has_any = |patterns: &[String]| {
            tags.iter().any(|tag| patterns.iter().any(|pattern| matches_pattern(pattern, tag)))
        };
        !self.is_hidden
            && self.allowed_tags.as_deref().is_none_or(has_any)
            && !has_any(&self.denied_tags)
    }
}

/// Returns true if `text` matches `pattern`, in which `*` stands for any text, without ASCII case.
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_ascii_lowercase(), text.to_ascii_lowercase());
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = text.get(at + part.len()..).unwrap_or_default();
    }
    text.len() >= last.len() && text.ends_with(last)
}

/// Converts a pattern to one for `LIKE … ESCAPE '\'`.
pub fn pattern_to_like(pattern: &str) -> String {
    let mut like = String::with_capacity(pattern.len());
    for letter in pattern.chars() {
        match letter {
            '*' => like.push('%'),
            '%' | '_' | '\\' => like.extend(['\\', letter]),
            letter => like.push(letter),
        }
    }
    like
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_star_matches_any_text() {
        for (pattern, text, expected) in [
            ("work", "Work", true),
            ("work", "works", false),
            ("team-*", "team-", true),
            ("team-*", "TEAM-a", true),
            ("team-*", "a-team-b", false),
            ("*@example.com", "ada@example.com", true),
            ("*@example.com", "@example.com.evil", false),
            ("a*b*c", "aXbYc", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(matches_pattern(pattern, text), expected, "{pattern} {text}");
        }
        assert_eq!(pattern_to_like(r"50%_*\"), r"50\%\_%\\");
    }

    #[test]
    fn tags_must_be_allowed_and_not_denied() {
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        let access = SourceAccess {
            allowed_tags: Some(tags(&["work"])),
            denied_tags: tags(&["secret*"]),
            ..SourceAccess::default()
        };
        assert!(access.permits_tags(&tags(&["Work", "other"])));
        assert!(!access.permits_tags(&tags(&["other"])));
        assert!(!access.permits_tags(&tags(&["work", "secret-1"])));
        assert!(SourceAccess::default().permits_tags(&[]));
    }
}
