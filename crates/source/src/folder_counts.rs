//! Counts of the folders of notes, in which imported folders with the same names below stay apart.

use std::collections::{BTreeMap, HashMap};

use vademecum_store::file_folder_of_origin;

/// Number of notes by folder, and by the imported folder in which it is.
#[derive(Debug, Default)]
pub(crate) struct FolderCounts {
    /// Counts by the path of a folder, then by the path of the imported folder.
    counts: HashMap<String, BTreeMap<String, usize>>,
}

impl FolderCounts {
    /// Counts a note for each of the folders in which it is, which are named one a line. Its origin shows the
    /// imported folder.
    pub(crate) fn add(&mut self, origin: &str, folders: &str) {
        let root = imported_folder(origin, folders);
        let mut path = String::new();
        for name in folders.lines() {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(name);
            let counts = match self.counts.get_mut(&path) {
                Some(counts) => counts,
                None => self.counts.entry(path.clone()).or_default(),
            };
            match counts.get_mut(root) {
                Some(count) => *count += 1,
                None => drop(counts.insert(root.to_owned(), 1)),
            }
        }
    }

    /// Returns the counts by path. A path that is in several imported folders begins with their names, or with as
    /// much of their paths as tells them apart.
    pub(crate) fn finish(self) -> HashMap<String, usize> {
        let mut named = HashMap::new();
        for (path, counts) in self.counts {
            let roots: Vec<&str> = counts.keys().map(String::as_str).collect();
            for (root, count) in &counts {
                let name = match roots.as_slice() {
                    [_] => path.clone(),
                    _ => [&distinct_name(root, &roots), path.as_str()].concat(),
                };
                *named.entry(name).or_default() += count;
            }
        }
        named
    }
}

/// Returns the imported folder: that of the file without the folders below it; empty for a note of no file.
fn imported_folder<'o>(origin: &'o str, folders: &str) -> &'o str {
    let below = |folder: &'o str| {
        folders
            .lines()
            .rev()
            .try_fold(folder, |rest, name| rest.strip_suffix(name)?.strip_suffix(['/', '\\', '#']))
    };
    file_folder_of_origin(origin).and_then(below).unwrap_or_default()
}

/// Returns the shortest end of a path that no other path has, with a slash after it.
fn distinct_name(root: &str, roots: &[&str]) -> String {
    let parts = |path: &str| -> Vec<String> {
        let parts = path.rsplit(['/', '\\']).filter(|part| !part.is_empty());
        parts.map(str::to_lowercase).collect()
    };
    let own = parts(root);
    let is_taken = |length: usize| {
        let others = roots.iter().filter(|other| **other != root);
        others.map(|other| parts(other)).any(|other| other.get(..length) == own.get(..length))
    };
    let length = (1..own.len()).find(|length| !is_taken(*length)).unwrap_or(own.len());
    let names = root.rsplit(['/', '\\']).filter(|part| !part.is_empty()).take(length);
    names.fold(String::new(), |name, part| [part, "/", &name].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(notes: &[(&str, &str)]) -> Vec<(String, usize)> {
        let mut counts = FolderCounts::default();
        for (origin, folders) in notes {
            counts.add(origin, folders);
        }
        let mut counts: Vec<_> = counts.finish().into_iter().collect();
        counts.sort();
        counts
    }

    fn owned(pairs: &[(&str, usize)]) -> Vec<(String, usize)> {
        pairs.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect()
    }

    #[test]
    fn folder_is_counted_with_those_below() {
        let notes = [
            ("file:/home/v/Work/House/a.md", "Work\nHouse"),
            ("file:/home/v/Work/b.md", "Work"),
            ("file:/home/v/c.md", ""),
        ];
        assert_eq!(count(&notes), owned(&[("Work", 2), ("Work/House", 1)]));
    }

    #[test]
    fn same_folder_of_two_imports_is_counted_apart() {
        let notes = [
            ("file:/home/One/Work/a.md", "Work"),
            ("file:/home/One/Play/a.md", "Play"),
            ("file:/home/two.zip#Work/a.md", "Work"),
            ("joplin:1", "Play"),
        ];
        let expected = [("One/Play", 1), ("One/Work", 1), ("Play", 1), ("two.zip/Work", 1)];
        assert_eq!(count(&notes), owned(&expected));
        let notes = [
            ("file:/home/ada/vault/Work/a.md", "Work"),
            ("file:/home/bob/vault/Work/a.md", "Work"),
            ("file:C:\\vault\\Work\\a.md", "Work"),
        ];
        let expected = [("C:/vault/Work", 1), ("ada/vault/Work", 1), ("bob/vault/Work", 1)];
        assert_eq!(count(&notes), owned(&expected));
    }
}
