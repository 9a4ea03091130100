//! Files that programs which synchronize folders put beside those of the user.

use std::path::{Path, PathBuf};

/// Returns the reason why a file is no document of its own; `None` for other files.
pub fn sync_copy_reason(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    if name.starts_with("~$") {
        return Some("it shows that an office program has the document open");
    }
    let stem = path.file_stem()?.to_str()?;
    if is_syncthing_copy(name) {
        return Some(
            "it is a conflict copy of Syncthing; merge it into the other file and delete it",
        );
    }
    let label = stem.rsplit_once('(').and_then(|(_, label)| label.strip_suffix(')'));
    let is_copy = label.is_some_and(|label| label.to_lowercase().contains("conflicted copy"));
    is_copy.then_some(
        "it is a conflict copy of Dropbox or Nextcloud; merge it into the other file and delete it",
    )
}

/// Returns `true` for `name.sync-conflict-20260131-093000-ABCDEFG.md`.
fn is_syncthing_copy(name: &str) -> bool {
    let Some((_, mark)) = name.split_once(".sync-conflict-") else { return false };
    let mut parts = mark.split('.').next().unwrap_or_default().split('-');
    let mut has_digits = |count| {
        let digits = parts.next().unwrap_or_default();
        digits.len() == count && digits.bytes().all(|sign| sign.is_ascii_digit())
    };
    has_digits(8) && has_digits(6)
}

/// Returns the path of the file that iCloud puts in the place of one that is not on this computer.
pub fn placeholder_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.icloud"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_synchronizing_programs_are_recognised() {
        for (name, is_copy) in [
            ("a.sync-conflict-20260131-093000-ABCDEFG.md", true),
            ("a.sync-conflict-20260131-093000-ABCDEFG.tar.gz", true),
            ("a (Ada's conflicted copy 2026-01-31).md", true),
            ("a (conflicted copy 2026-01-31 093000).md", true),
            ("a (Case Conflict).md", false),
            ("~$Report.docx", true),
            ("a.sync-conflict-resolution.md", false),
            ("conflicted copy.md", false),
            ("a (conflict of agent 2026-01-31).md", false),
            ("a.md", false),
        ] {
            assert_eq!(sync_copy_reason(&Path::new("/v").join(name)).is_some(), is_copy, "{name}");
        }
        assert_eq!(placeholder_of(Path::new("/v/a.md")), Path::new("/v/.a.md.icloud"));
    }
}
