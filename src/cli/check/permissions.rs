//! Who else can look into the folder, and whether we can write there.

use std::{fs, path::Path};

use super::finding::Findings;

/// Looks whether knowledge is its owner's alone, and can be written.
pub(super) fn look(data: &Path, findings: &mut Findings) {
    if !data.exists() {
        return;
    }
    let place = data.display().to_string();
    if is_open_to_others(data) {
        let what = "other users of this machine can look into it";
        let remedy = format!("take that from them: `chmod -R go= {place}`");
        findings.warn(&place, what, &remedy);
    } else {
        findings.sound(&place, "only its owner can look into it");
    }
    for path in databases(data) {
        if let Err(error) = fs::File::options().append(true).open(&path) {
            let place = path.display().to_string();
            let remedy = "let the user that the server runs as write it: `chmod u+w`, or `chown`";
            findings.wrong(&place, &format!("it cannot be written: {error}"), remedy);
        }
    }
}

/// Whether anybody but the owner may enter a folder. Files in one that they may not
/// enter are out of their reach, whatever may be done with them.
#[cfg(unix)]
fn is_open_to_others(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
}

/// Elsewhere folders of applications belong to their user.
#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

/// The databases below a folder.
fn databases(data: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    let files = walkdir::WalkDir::new(data).into_iter().filter_map(Result::ok);
    let paths = files.filter(|it| it.file_type().is_file()).map(walkdir::DirEntry::into_path);
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "db"))
}
