//! Checks of the archive: whether it can be reached, and whether the files follow it.

use vademecum_core::auth::UserId;
use vademecum_replication::ArchivedStore;
use vademecum_store::{ArchiveError, DataFolder, Database, FileState, Head, Store, StoreError};

use super::findings::CheckFindings;
use crate::{migrate::local_stores, text::format_count};

/// Place of findings about the archive itself.
const PLACE: &str = "archive";
/// Remedy for a file whose rows are not in the archive.
const MIGRATE: &str = "run `vademecum migrate --to archive`";

/// Checks the archive of the settings, if there is one, and the files of these owners. An owner is a
/// user, or the server.
pub(super) fn check_archive(
    data: &DataFolder,
    owners: &[Option<UserId>],
    findings: &mut CheckFindings,
) {
    let Some(followed) = data.archive() else { return };
    let schema = followed.archive().schema_version();
    match &schema {
        Ok(Some(schema)) => findings.add_ok(PLACE, &format!("schema {schema}")),
        Ok(None) => findings.add_ok(PLACE, "has no tables yet; they are created on first use"),
        Err(error) => findings.add_error(PLACE, &error.to_string(), remedy(error)),
    }
    let mut following = 0;
    for owner in owners {
        // An error of the catalogue is reported by the check of its file.
        for store in local_stores(data, owner).unwrap_or_default() {
            let has_diverged = |head: Head| match schema {
                Ok(Some(_)) => store.has_diverged(),
                // Without tables, it has nothing.
                Ok(None) => Ok(head.seq > 0),
                Err(_) => Ok(false),
            };
            following += usize::from(check_file(&store, has_diverged, findings));
        }
    }
    if following > 0 {
        let following = format_count(following, "database");
        findings.add_ok(PLACE, &format!("{following} of this folder in it"));
    }
    // An archive that cannot be reached is reported already.
    if schema.is_ok()
        && let Ok(offset) = followed.measure_clock()
    {
        if offset.exceeds_limit() {
            let what = format!("{offset}, so sessions and keys may end too early or too late");
            findings.add_warning(PLACE, &what, "synchronise the clocks of all machines, by NTP");
        } else {
            findings.add_ok(PLACE, &offset.to_string());
        }
    }
}

/// Checks a file and returns whether it follows the archive.
fn check_file(
    store: &Store,
    has_diverged: impl FnOnce(Head) -> Result<bool, StoreError>,
    findings: &mut CheckFindings,
) -> bool {
    let place = store.path().display().to_string();
    match store.file_state() {
        Ok(FileState::Following(head)) => match has_diverged(head) {
            Ok(true) => {
                let what = "its state is not in the archive, which lost a write or is another one";
                let remedy = "it is replaced on next use; if `url` or `schema` in `[archive]` is \
                              wrong, correct it before";
                findings.add_warning(&place, what, remedy);
                false
            }
            Err(StoreError::Archive(error)) => {
                findings.add_error(PLACE, &error.to_string(), remedy(&error));
                true
            }
            // A file that cannot be read is reported by its own check.
            Ok(false) | Err(_) => true,
        },
        Ok(FileState::Own | FileState::Uploading(_)) if is_leftover(store) => {
            let what = "it is left over from a build that was interrupted, and the archive has the \
                        collection";
            findings.add_warning(&place, what, "it is replaced on next use");
            false
        }
        Ok(FileState::Own) => {
            findings.add_error(&place, "it is not in the archive", MIGRATE);
            false
        }
        Ok(FileState::Uploading(_)) => {
            findings.add_error(&place, "its move into the archive was interrupted", MIGRATE);
            false
        }
        Ok(FileState::Missing) | Err(_) => false,
    }
}

/// Returns whether a file of a collection was built here while another server built the collection of
/// that name.
fn is_leftover(store: &Store) -> bool {
    store.database() == Database::Collection && store.has_archived_rows().is_ok_and(|has| has)
}

/// Returns advice to the operator about an error of the archive.
fn remedy(error: &ArchiveError) -> &'static str {
    match error {
        ArchiveError::Unreachable(_) | ArchiveError::Unconfirmed(_) => {
            "check `url` in `[archive]`, the PostgreSQL server and the network; until then nothing \
             can be written"
        }
        ArchiveError::Newer { .. } => "update this server",
        ArchiveError::Full(_) => "free space on the disk of the PostgreSQL server",
        ArchiveError::Refused(_) => {
            "check the rights of the role in `[archive]` on the database and its schema"
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use vademecum_actors::collections::Catalogue;
    use vademecum_collections::{Collection, NewSource};
    use vademecum_model::Deadline;
    use vademecum_store::Durability;
    use vademecum_testing::MemoryArchive;

    use vademecum_replication::{FollowOptions, FollowedData};

    use super::*;

    fn follow(folder: &Path, archive: &Arc<MemoryArchive>) -> DataFolder {
        let options = FollowOptions {
            stale_reads: true,
            conflict_timeout: std::time::Duration::from_secs(1),
        };
        let sources = [
            Arc::new(vademecum_notes::Notes) as Arc<dyn vademecum_source::Source>,
            Arc::new(vademecum_media::Media),
            Arc::new(vademecum_chats::Chats),
            Arc::new(vademecum_characters::Characters),
            Arc::new(vademecum_prompts::Prompts),
        ];
        let derived =
            sources.iter().filter_map(|it| Some((it.database(), it.derived_fts_table()?)));
        let followed = FollowedData::new(Arc::clone(archive) as _, derived.collect(), options);
        DataFolder::new(folder.to_owned(), Some(Arc::new(followed)))
    }

    fn lines(data: &DataFolder) -> Vec<String> {
        let (mut findings, ada) = (CheckFindings::default(), "ada".parse().unwrap());
        check_archive(data, &[None, Some(ada)], &mut findings);
        findings.format_lines()
    }

    #[test]
    fn leftover_of_build_is_not_to_be_migrated() {
        let [here, there] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let archive = Arc::new(MemoryArchive::default());
        let [data, other] = [&here, &there].map(|folder| follow(folder.path(), &archive));
        Catalogue::new(&data).insert_record("docs", None, "docs.1.db", "{}").unwrap();
        // Another server has built the collection.
        let built = Catalogue::new(&other).open("docs.1.db");
        let source = NewSource { source_id: 1, name: "docs".to_owned(), ..NewSource::default() };
        built.write(Durability::Full, |writer| built.put_source(writer, &source)).unwrap();
        let leftover = here.path().join("collections/docs.1.db");
        std::fs::create_dir_all(leftover.parent().unwrap()).unwrap();
        let leftover = Collection::at(leftover);
        leftover.store().checkpoint().unwrap();
        leftover.store().forget_archive().unwrap();
        let found = lines(&data);
        assert!(found.iter().any(|line| line.contains("left over from a build")), "{found:?}");
        // The first reader replaces it.
        let catalogue = Catalogue::new(&data);
        let opened = catalogue.open("docs.1.db");
        let deadline = Deadline::after(std::time::Duration::from_mins(1));
        let sources = opened.read(deadline, |reader| opened.list_sources(reader)).unwrap();
        assert_eq!(sources.len(), 1);
        assert!(!lines(&data).iter().any(|line| line.contains("left over")));
    }

    #[test]
    fn archive_check_reports_unfollowing_and_diverged_files() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Arc::new(MemoryArchive::default());
        let data = follow(folder.path(), &archive);
        let place = folder.path().join("users/ada");
        let add = |store: &Store| {
            let sql = "INSERT INTO imported (source, origin, digest, item, imported_at)
                       VALUES ('prompts', hex(randomblob(8)), 'd', '1', '2026-01-01')";
            store.write(Durability::Full, |writer| writer.execute(sql, &[])).unwrap();
        };
        add(&Store::new(Database::Prompts, &place));
        let found = lines(&data);
        assert!(found[0] == "ok: archive: schema 1" && found.len() == 3, "{found:?}");
        assert!(
            found[2].starts_with("ok: archive: the clock of this machine is 0.0 s"),
            "{found:?}"
        );
        assert!(found[1].contains("not in the archive; run `vademecum migrate"), "{found:?}");
        let store = data.library_store(Database::Prompts, &place, "ada");
        store.upload().unwrap();
        let before = archive.snapshot();
        add(&store);
        assert_eq!(lines(&data)[1], "ok: archive: 1 database of this folder in it");
        archive.restore(before);
        let found = lines(&data);
        assert!(found[1].starts_with("warning: ") && found[1].contains("prompts.db"), "{found:?}");
        archive.set_clock_ahead(2_400_000);
        let found = lines(&data);
        let differing =
            "warning: archive: the clock of this machine is 2400.0 s behind that of the archive";
        assert!(found.iter().any(|line| line.starts_with(differing)), "{found:?}");
        archive.set_lost(true);
        let found = lines(&data);
        assert!(found[0].starts_with("error: archive: the archive cannot be reached"), "{found:?}");
    }
}
