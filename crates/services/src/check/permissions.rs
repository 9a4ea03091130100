//! Permission checks: access of other users to the data folder, and write access to the databases.

use std::{fs, path::Path};

use vademecum_store::make_private;

use super::findings::CheckFindings;
use crate::atomic_write::{REPLACED_PREFIX, TEMPORARY_PREFIX};

/// Folders of the program in the data folder.
const OWN_FOLDERS: [&str; 3] = ["users", "collections", "mirrors"];
/// Endings of the names of databases and of the files next to them.
const DATABASE_ENDINGS: [&str; 3] = [".db", ".db-wal", ".db-shm"];

/// Warns if other users have access to the data folder or to a database, or revokes their access if
/// `repair` is set. Reports databases that cannot be written.
pub(super) fn check_permissions(data: &Path, repair: bool, findings: &mut CheckFindings) {
    if !data.exists() {
        return;
    }
    if repair {
        revoke_access(data, findings);
    }
    let place = data.display().to_string();
    let open_file = database_files(data).find(|path| is_open_to_others(path));
    if is_open_to_others(data) {
        let what = "other users of this machine have access to it";
        findings.add_warning(&place, what, &remedy(data));
    } else if let Some(path) = open_file {
        let what = "its mode gives other users access to it; the data folder does not";
        findings.add_warning(&path.display().to_string(), what, &remedy(data));
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

fn remedy(data: &Path) -> String {
    let command = format!("chmod -R go= {}", data.display());
    format!("revoke their access: `vademecum check --repair`, or `{command}`")
}

/// Makes the data folder and the program's files in it private; other files are left as they are.
/// Failures are reported by the checks that follow.
fn revoke_access(data: &Path, findings: &mut CheckFindings) {
    let is_own = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() != 1
            || OWN_FOLDERS.contains(&&*name)
            || [TEMPORARY_PREFIX, REPLACED_PREFIX].iter().any(|prefix| name.starts_with(prefix))
            || DATABASE_ENDINGS.iter().any(|ending| name.ends_with(ending))
    };
    let entries = walkdir::WalkDir::new(data).into_iter().filter_entry(is_own);
    let paths = entries.filter_map(Result::ok).map(walkdir::DirEntry::into_path);
    if paths.filter(|path| make_private(path).unwrap_or(false)).count() > 0 {
        findings.add_repaired(data, "the access of other users was revoked");
    }
}

/// Returns `true` if the mode gives users other than the owner any access.
#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o077 != 0)
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
