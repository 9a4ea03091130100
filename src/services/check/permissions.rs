//! Permission checks: access of other users to the data folder, and write access to the databases.

use std::{fs, path::Path};

use super::findings::CheckFindings;

/// Warns if other users can enter the data folder. Reports databases that cannot be written.
pub(super) fn check_permissions(data: &Path, findings: &mut CheckFindings) {
    if !data.exists() {
        return;
    }
    let place = data.display().to_string();
    if is_open_to_others(data) {
        let what = "other users of this machine have access to it";
        let remedy = format!("revoke their access: `chmod -R go= {place}`");
        findings.add_warning(&place, what, &remedy);
    } else {
        findings.add_ok(&place, "only its owner has access to it");
    }
    for path in database_files(data) {
        if let Err(error) = fs::File::options().append(true).open(&path) {
            let place = path.display().to_string();
            let remedy = "make it writable for the user of the server: `chmod u+w`, or `chown`";
            findings.add_error(&place, &format!("it cannot be written: {error}"), remedy);
        }
    }
}

/// Returns `true` if users other than the owner have any access to the folder. Without access to
/// the folder they cannot reach its files.
#[cfg(unix)]
fn is_open_to_others(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
}

/// On other systems, the folders of applications belong to their user.
#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

/// Returns the databases below a folder.
fn database_files(data: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    let files = walkdir::WalkDir::new(data).into_iter().filter_map(Result::ok);
    let paths = files.filter(|it| it.file_type().is_file()).map(walkdir::DirEntry::into_path);
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "db"))
}
