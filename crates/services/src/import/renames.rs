//! Recognition of files that were renamed and edited before an import saw either.
//!
//! As Git does: of a deleted and a new file, at least half of the lines are the same. Files with the same
//! name are compared first, then those of the same folder.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
};

/// Maximum number of deleted and of new files that are compared with each other.
pub(super) const MAX_COMPARED: usize = 1_000;
/// Maximum size of the texts of new files that wait to be compared, in bytes.
pub(super) const MAX_COMPARED_BYTES: usize = 64 << 20;

/// The lines of texts, which are compared by their hashes.
#[derive(Debug, Default)]
pub(super) struct Renames {
    hasher: RandomState,
    deleted: Vec<(PathBuf, Lines)>,
}

/// Hashes of the lines of a text with their counts. Lines without letters and digits do not count.
#[derive(Debug, Default)]
struct Lines {
    counts: HashMap<u64, usize>,
    total: usize,
}

impl Lines {
    /// Returns the share of equal lines of two texts, from 0 to 1.
    fn similarity(&self, other: &Self) -> f64 {
        let of_other = |(line, count): (&u64, &usize)| {
            other.counts.get(line).map_or(0, |other| *count.min(other))
        };
        let common: usize = self.counts.iter().map(of_other).sum();
        let total = self.total.max(other.total);
        if total == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "texts have fewer than 2^52 lines")]
        let share = common as f64 / total as f64;
        share
    }
}

impl Renames {
    /// Adds a deleted file with the text that it had.
    pub(super) fn add_deleted(&mut self, path: PathBuf, text: &str) {
        let lines = self.lines(text);
        self.deleted.push((path, lines));
    }

    /// Returns the deleted files from which new ones, with their texts, were renamed, by new path. Only
    /// those for which `may_be` returns `true` are considered.
    pub(super) fn find(
        &self,
        new: &[(PathBuf, &str)],
        may_be: impl Fn(&PathBuf) -> bool,
    ) -> HashMap<PathBuf, PathBuf> {
        let mut pairs = Vec::new();
        for (path, text) in new.iter().take(MAX_COMPARED) {
            let lines = self.lines(text);
            for (gone, before) in self.deleted.iter().filter(|(gone, _)| may_be(gone)) {
                let similarity = before.similarity(&lines);
                if similarity >= 0.5 {
                    pairs.push((closeness(gone, path), similarity, gone, path));
                }
            }
        }
        pairs.sort_by(|one, other| {
            let best_first = other.0.cmp(&one.0).then(other.1.total_cmp(&one.1));
            best_first.then_with(|| (one.2, one.3).cmp(&(other.2, other.3)))
        });
        let (mut found, mut used) = (HashMap::new(), HashSet::new());
        for (_, _, gone, path) in pairs {
            if !found.contains_key(path) && used.insert(gone) {
                found.insert(path.clone(), gone.clone());
            }
        }
        found
    }

    fn lines(&self, text: &str) -> Lines {
        let mut lines = Lines::default();
        let counted = text.lines().map(str::trim);
        for line in counted.filter(|line| line.contains(char::is_alphanumeric)) {
            *lines.counts.entry(self.hasher.hash_one(line)).or_default() += 1;
            lines.total += 1;
        }
        lines
    }
}

/// Returns how close the paths of two files are: 2 for the same name, 1 for the same folder, or 0.
pub(super) fn closeness(one: &Path, other: &Path) -> u8 {
    if one.file_name() == other.file_name() { 2 } else { u8::from(one.parent() == other.parent()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(deleted: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut renames = Renames::default();
        for (path, text) in deleted {
            renames.add_deleted(path.into(), text);
        }
        let new: Vec<(PathBuf, &str)> =
            new.iter().map(|(path, text)| (path.into(), *text)).collect();
        let shown = |path: PathBuf| path.display().to_string();
        let found =
            renames.find(&new, |_| true).into_iter().map(|(to, from)| (shown(from), shown(to)));
        let mut found: Vec<(String, String)> = found.collect();
        found.sort();
        found
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    }

    #[test]
    fn half_of_the_lines_tell_a_renamed_file() {
        let text = "one\ntwo\n\n---\nthree\nfour\n";
        for (new, is_renamed) in [
            (text, true),
            ("one\ntwo\nx\ny\n", true),
            ("one\nx\ny\nz\n", false),
            ("  four\n\nthree\n---\n", true),
            ("", false),
            ("one\ntwo\nthree\nfour\na\nb\nc\nd\n", true),
            ("one\ntwo\nthree\nfour\na\nb\nc\nd\ne\n", false),
        ] {
            assert_eq!(
                find(&[("/v/a.md", text)], &[("/v/b.md", new)]).len(),
                usize::from(is_renamed),
                "{new}"
            );
        }
        assert_eq!(find(&[("/v/a.md", "---\n")], &[("/v/b.md", "---\n")]), []);
    }

    #[test]
    fn same_name_then_same_folder_come_first() {
        let deleted = [("/v/a.md", "one\ntwo\n"), ("/v/b.md", "one\ntwo\n")];
        let found = find(&deleted, &[("/v/x/b.md", "one\nnew\n"), ("/v/c.md", "one\ntwo\n")]);
        assert_eq!(found, pairs(&[("/v/a.md", "/v/c.md"), ("/v/b.md", "/v/x/b.md")]));
        let found =
            find(&[("/v/a.md", "one\ntwo")], &[("/w/c.md", "one\ntwo"), ("/v/d.md", "one\nx")]);
        assert_eq!(found, pairs(&[("/v/a.md", "/v/d.md")]));
    }
}
