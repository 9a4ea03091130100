//! Paths of imported files, as far as callers know them: below the folder that was imported, with its name.
//! The folders above are those of the server, and no pattern finds them.

use super::key::normalize_name;

/// Maximum length of a pattern, in characters.
const MAX_CHARS: usize = 1_000;
/// Number of signs in a path that may begin the name of a part of the file.
const MAX_PARTS: usize = 8;

/// A file, all files of a folder, or with `*` and `?` the files that it matches.
#[derive(Clone, Debug)]
pub struct PathPattern {
    /// In the form in which names are compared.
    path: String,
    letters: Vec<char>,
    has_wildcards: bool,
}

impl PathPattern {
    /// Returns why a text is no pattern; `None` if it is one.
    pub fn problem(text: &str) -> Option<String> {
        if text.trim_matches(['/', '\\', '.', ' ']).is_empty() {
            return Some("expected a file, a folder or a pattern such as `2026-*.md`".to_owned());
        }
        let count = text.chars().count();
        (count > MAX_CHARS).then(|| format!("expected at most {MAX_CHARS} characters, got {count}"))
    }

    /// Reads a pattern.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim().trim_start_matches("file://").trim_start_matches("./");
        let path = normalize_name(text).replace('\\', "/").trim_matches('/').to_owned();
        let letters = ['*', '/'].into_iter().chain(path.chars()).collect();
        Self { has_wildcards: path.contains(['*', '?']), path, letters }
    }

    /// Returns whether a pattern means the file of an item. `space` is the folder that was imported, or the file of
    /// which the item is a part, in the form in which names are compared; empty if it is not known.
    pub(super) fn matches(&self, origin: &str, space: &str) -> bool {
        let Some(path) = origin.strip_prefix("file:") else { return false };
        let path = normalize_name(path).replace('\\', "/");
        let known = known_part(&path, space);
        self.matches_path(known)
            || known.match_indices('#').take(MAX_PARTS).any(|(end, _)| {
                // The items of an export have `#` and a number after its path.
                known.get(..end).is_some_and(|file| self.matches_path(file))
            })
    }

    /// `path` begins with a slash.
    fn matches_path(&self, path: &str) -> bool {
        if self.has_wildcards {
            return matches_letters(&self.letters, path);
        }
        let mut rest = path;
        while let Some(at) = rest.find(&self.path) {
            let after = rest.get(at + self.path.len()..).unwrap_or_default();
            let begins = rest.get(..at).is_some_and(|before| before.ends_with('/'));
            let is_file = after.is_empty()
                || after.strip_prefix('.').is_some_and(|it| !it.is_empty() && !it.contains('/'));
            if begins && (is_file || after.starts_with('/')) {
                return true;
            }
            let next =
                rest.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            rest = rest.get(at + next..).unwrap_or_default();
        }
        false
    }
}

/// Returns the part of a path that callers know, with a slash before it: the name of the imported folder and what is
/// below. Without a known folder, that is the folder of the file.
fn known_part<'p>(path: &'p str, space: &str) -> &'p str {
    let folder = path.rfind('/').unwrap_or(0);
    let is_inside = path.strip_prefix(space).is_some_and(|rest| rest.starts_with('/'));
    let root = if is_inside && !space.is_empty() { space.len() } else { folder };
    let name = path.get(..root).and_then(|root| root.rfind('/')).unwrap_or(0);
    path.get(name..).unwrap_or_default()
}

/// Returns whether a text matches a pattern with `*` and `?`. Takes at most the product of their lengths.
fn matches_letters(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut in_pattern) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while let Some(letter) = text.get(at) {
        match pattern.get(in_pattern) {
            Some('*') => {
                last_star = Some((in_pattern, at));
                in_pattern += 1;
                continue;
            }
            Some(wanted) if *wanted == '?' || wanted == letter => {
                in_pattern += 1;
                at += 1;
                continue;
            }
            _ => {}
        }
        let Some((star, matched)) = last_star else { return false };
        last_star = Some((star, matched + 1));
        in_pattern = star + 1;
        at = matched + 1;
    }
    pattern.iter().skip(in_pattern).all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_means_file_folder_or_pattern() {
        let matches = |pattern: &str, origin: &str| {
            PathPattern::parse(pattern).matches(origin, "/home/ada/vault")
        };
        let house = "file:/home/ada/Vault/Projects/House.md";
        for pattern in [
            "House",
            "house.md",
            "Projects",
            "projects/",
            "vault/Projects",
            "Projects/House",
            "./Projects/*.md",
            "*",
            "vault/*",
            "pro?ects/*",
            "file:///Projects",
            "/Projects",
        ] {
            assert!(matches(pattern, house), "{pattern}");
        }
        for pattern in ["Hous", "ouse", "rojects", "Projects/H", "?House.md", "house.*x", "ault/*"]
        {
            assert!(!matches(pattern, house), "{pattern}");
        }
        assert!(matches("chats.json", "file:/home/ada/vault/chats.json#7"));
        assert!(matches("c#", "file:/home/ada/vault/c#.md"));
        assert!(!matches("a", "file:/home/ada/vault/aa/ab.md") && matches("aa", "file:/x/aa/aa"));
    }

    #[test]
    fn folders_of_the_server_are_not_found() {
        for (origin, space) in [
            ("file:/home/ada/vault/Log/day.md", "/home/ada/vault"),
            ("file:/home/ada/vault/day.md", ""),
            ("file:/home/ada/vault/day.md", "/srv/other"),
            ("file:/home/ada/vault/export.json#3", "/home/ada/vault/export.json"),
        ] {
            for pattern in [
                "ada",
                "home/ada",
                "/home/*",
                "*ada*",
                "/home/ada/vault/Log/day.md",
                "/h*",
                "ada/*",
            ] {
                let found = PathPattern::parse(pattern).matches(origin, space);
                assert!(!found, "{pattern} {origin}");
            }
        }
    }

    #[test]
    fn many_wildcards_are_cheap() {
        let pattern = PathPattern::parse(&"a*".repeat(500));
        assert!(!pattern.matches(&format!("file:/v/{}b", "c".repeat(4_000)), "/v"));
        assert!(PathPattern::problem(&"a".repeat(2_000)).is_some());
    }
}
