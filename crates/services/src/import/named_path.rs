//! A file or folder that the user named, and what an import found in it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use vademecum_import::{ImportOutcome, LedgerEntry, UnsupportedFiles, describe_unsupported};

use crate::text::format_count;

/// Number of files by format and reason.
pub(super) type FormatReasons = BTreeMap<String, BTreeMap<String, usize>>;

/// The files and items of a named path.
#[derive(Debug, Default)]
pub(super) struct NamedPath {
    pub(super) path: PathBuf,
    /// Number of files of each format that is not supported.
    pub(super) unsupported: BTreeMap<String, usize>,
    /// Number of files of each format and reason, for files whose format does not show the reason.
    pub(super) reasons: FormatReasons,
    /// Number of files that could not be read.
    skipped: usize,
    /// Number of files that were read and have no items.
    empty: usize,
    items: usize,
}

impl NamedPath {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    /// Counts a file below the path.
    pub(super) fn count_file(&mut self, entry: &LedgerEntry) {
        self.items += entry.items.len();
        match entry.outcome {
            ImportOutcome::Missing => {}
            ImportOutcome::Skipped => self.skipped += 1,
            ImportOutcome::Imported => self.empty += usize::from(entry.items.is_empty()),
            ImportOutcome::Passed => {
                let format = entry.format.clone().unwrap_or_default();
                for problem in entry.problems.iter().take(1) {
                    // The fields and the place in the file differ for each.
                    let reason = problem.reason.split([',', ':', ';']).next().unwrap_or_default();
                    let reasons = self.reasons.entry(format.clone()).or_default();
                    *reasons.entry(reason.to_owned()).or_default() += 1;
                }
                *self.unsupported.entry(format).or_default() += 1;
            }
        }
    }

    /// Returns the reason why nothing was imported from the path; `None` if something was, or if its
    /// only file is listed with its reason.
    pub(super) fn explain_nothing(&self) -> Option<String> {
        if self.items > 0 || self.path.is_file() && self.skipped > 0 {
            return None;
        }
        let path = self.path.display();
        let groups = describe_files([&self.unsupported], [&self.reasons]);
        let mut found: Vec<String> = groups.into_iter().map(|group| group.label).collect();
        if self.skipped > 0 {
            found.push(format!("{} that could not be read", format_count(self.skipped, "file")));
        }
        if self.empty > 0 {
            found.push(format!("{} without items", format_count(self.empty, "file")));
        }
        let reason = match (found.as_slice(), fs::read_dir(&self.path).map(Iterator::count)) {
            ([], Ok(0)) => "the folder is empty".to_owned(),
            ([], Ok(_)) => {
                "it has no files but hidden ones and links, which are not followed".to_owned()
            }
            ([], Err(_)) => "it cannot be read".to_owned(),
            (found, _) => format!(
                "found {}; `vademecum import --help` lists the formats that are read",
                found.join(", ")
            ),
        };
        Some(format!("nothing was imported from {path}: {reason}"))
    }
}

/// Returns the files of several paths that are not supported, by format, the most frequent first.
/// `reasons` replace the reason of their format.
pub(super) fn describe_files<'p>(
    paths: impl IntoIterator<Item = &'p BTreeMap<String, usize>>,
    reasons: impl IntoIterator<Item = &'p FormatReasons>,
) -> Vec<UnsupportedFiles> {
    let mut counts = BTreeMap::<&str, usize>::new();
    for (format, files) in paths.into_iter().flatten() {
        *counts.entry(format).or_default() += files;
    }
    let mut by_reason = BTreeMap::<&str, BTreeMap<&str, usize>>::new();
    for (format, reasons) in reasons.into_iter().flatten() {
        for (reason, files) in reasons {
            *by_reason.entry(format).or_default().entry(reason).or_default() += files;
        }
    }
    let describe = |(format, files): (&str, usize)| {
        let group = describe_unsupported(format, files);
        match by_reason.get(format) {
            Some(reasons) => UnsupportedFiles { reason: list_reasons(reasons), ..group },
            None => group,
        }
    };
    let mut groups: Vec<UnsupportedFiles> = counts.into_iter().map(describe).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.files));
    groups
}

/// Returns the reasons, each with the number of its files, and the command that lists the files.
fn list_reasons(reasons: &BTreeMap<&str, usize>) -> String {
    let counted = reasons.iter().map(|(reason, files)| match reasons.len() {
        1 => (*reason).to_owned(),
        _ => format!("{reason} ({files})"),
    });
    let counted: Vec<String> = counted.collect();
    format!("{}; `vademecum sources --only passed` lists the files", counted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed_file(format: &str) -> LedgerEntry {
        let mut entry = LedgerEntry::new("/in/a".into(), None, None);
        entry.format = Some(format.to_owned());
        entry
    }

    #[test]
    fn path_without_items_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let mut named = NamedPath::new(folder.path());
        assert!(named.explain_nothing().unwrap().ends_with("the folder is empty"));
        fs::create_dir(folder.path().join(".git")).unwrap();
        assert!(named.explain_nothing().unwrap().contains("hidden"));
        for format in ["pictures", "Evernote", "pictures"] {
            named.count_file(&passed_file(format));
        }
        let mut entry = passed_file("x");
        entry.outcome = ImportOutcome::Skipped;
        named.count_file(&entry);
        let explanation = named.explain_nothing().unwrap();
        let found = "found 2 pictures, 1 `Evernote` file, 1 file that could not be read; ";
        assert!(explanation.contains(found), "{explanation}");
        let mut json = passed_file("JSON files");
        for reason in ["unrecognised JSON format, with the field `a`", "not valid JSON: x"] {
            json.problems =
                vec![vademecum_import::Problem { place: String::new(), reason: reason.to_owned() }];
            named.count_file(&json);
        }
        let groups = describe_files([&named.unsupported], [&named.reasons]);
        let json = groups.iter().find(|group| group.format == "JSON files").unwrap();
        let reason = "not valid JSON (1), unrecognised JSON format (1); `vademecum sources";
        assert!(json.reason.starts_with(reason), "{json:?}");
        entry.items = vec!["media://1".to_owned()];
        named.count_file(&entry);
        assert_eq!(named.explain_nothing(), None);
    }
}
