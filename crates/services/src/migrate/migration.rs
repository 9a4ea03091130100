//! A migration of all databases, or of one user's.

use vademecum_accounts::ServerKey;
use vademecum_actors::error_chain;
use vademecum_core::auth::UserId;
use vademecum_store::{Archive, DataFolder, Replication, Store, StoreError};

use super::{
    download::{check_download, download_database, plan_download},
    error::{DatabaseProblem, MigrationError},
    plan::{
        Owner, all_owners, archived_stores, local_collections, local_owners, local_stores,
        own_stores,
    },
    report::{Outcome, OwnerReport, format_owner},
    upload::{plan_upload, upload_database},
};

/// Direction of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the data folder into the archive.
    ToArchive,
    /// From the archive into the data folder.
    FromArchive,
}

/// A migration between a data folder and the archive of its settings.
#[derive(Debug)]
pub struct Migration<'a> {
    /// Data folder with the archive.
    pub data: &'a DataFolder,
    /// Into the archive, or out of it.
    pub direction: Direction,
    /// If set, only the library of this user is moved.
    pub only_user: Option<UserId>,
    /// If set, nothing is changed.
    pub dry_run: bool,
}

/// Work on one database.
type Step<'a> = &'a dyn Fn(&Store) -> Result<Outcome, DatabaseProblem>;

impl Migration<'_> {
    /// Moves the databases owner by owner, and passes the result of each owner on. If a file in the
    /// data folder would lose rows, nothing is moved out of the archive.
    pub fn run(&self, each: &mut dyn FnMut(OwnerReport)) -> Result<(), MigrationError> {
        let Some(followed) = self.data.archive() else { return Err(MigrationError::NoArchive) };
        let has_tables = followed.archive().schema_version()?.is_some();
        match self.direction {
            Direction::ToArchive => self.move_to(&**followed, has_tables, each),
            Direction::FromArchive if has_tables => self.move_from(&**followed, each),
            Direction::FromArchive => Err(MigrationError::EmptyArchive),
        }
    }

    fn move_to(
        &self,
        followed: &dyn Replication,
        has_tables: bool,
        each: &mut dyn FnMut(OwnerReport),
    ) -> Result<(), MigrationError> {
        let mut planned = Vec::new();
        for owner in local_owners(self.data, self.only_user.as_ref())? {
            // Before this process has opened a file itself, which reading the catalogue does.
            if !self.dry_run {
                refuse_used(&own_stores(self.data, &owner))?;
            }
            if owner.is_none() && !self.dry_run {
                refuse_used(&local_collections(self.data)?)?;
            }
            planned.push((local_stores(self.data, &owner)?, owner));
        }
        planned.retain(|(stores, _)| !stores.is_empty());
        if planned.is_empty() {
            return Err(self.nothing_to_move(&self.data.path().display().to_string()));
        }
        let archive = Some(&**followed.archive()).filter(|_| has_tables);
        if self.dry_run {
            let step = |store: &Store| plan_upload(store, archive);
            return planned.iter().try_for_each(|(stores, owner)| {
                each(move_owner(owner, stores, &step)?);
                Ok(())
            });
        }
        for (stores, owner) in &planned {
            let mut report = move_owner(owner, stores, &upload_database)?;
            if owner.is_none()
                && !ServerKey::upload(self.data).map_err(MigrationError::ServerKey)?
            {
                let path = self.data.path().join("server.key");
                report.problems.push(format!(
                    "server_key: the archive has another server key, which is used from now on; \
                     remove {} to confirm that",
                    path.display()
                ));
            }
            each(report);
        }
        Ok(())
    }

    fn move_from(
        &self,
        followed: &dyn Replication,
        each: &mut dyn FnMut(OwnerReport),
    ) -> Result<(), MigrationError> {
        let archive = &**followed.archive();
        let (owners, invalid) = all_owners(self.data, archive, self.only_user.as_ref())?;
        if !self.dry_run && self.report_conflicts(&owners, archive, each)? {
            return Ok(());
        }
        let (mut is_empty, mut is_complete) = (invalid.is_empty(), true);
        for owner in owners {
            // The accounts, which are fetched first, name the folders of the libraries.
            let stores = archived_stores(self.data, archive, &owner)?;
            let report = move_owner(&owner, &stores, &|store| {
                if self.dry_run {
                    plan_download(store, archive)
                } else {
                    download_database(store, archive)
                }
            })?;
            if owner.is_none() && !self.dry_run {
                ServerKey::download(self.data).map_err(MigrationError::ServerKey)?;
            }
            if !report.is_empty() {
                is_empty = false;
                is_complete &= report.problems.is_empty();
                each(report);
            }
        }
        for name in invalid {
            let problem = "the name is invalid; it was not moved".to_owned();
            each(OwnerReport {
                user: Some(name),
                problems: vec![problem],
                ..OwnerReport::default()
            });
        }
        if is_empty {
            return Err(self.nothing_to_move("the archive"));
        }
        if self.only_user.is_none() && !self.dry_run && is_complete {
            // The folder may follow another archive later.
            std::fs::remove_file(self.data.path().join(DataFolder::ARCHIVE_ID_FILE)).ok();
        }
        Ok(())
    }

    /// Reports the files that would lose rows, and returns whether there are any.
    fn report_conflicts(
        &self,
        owners: &[Owner],
        archive: &dyn Archive,
        each: &mut dyn FnMut(OwnerReport),
    ) -> Result<bool, MigrationError> {
        let mut has_conflicts = false;
        for owner in owners {
            let stores = archived_stores(self.data, archive, owner)?;
            refuse_used(&stores)?;
            let report = move_owner(owner, &stores, &|store| {
                check_download(store, archive).map(|()| Outcome::Absent)
            })?;
            if !report.problems.is_empty() {
                has_conflicts = true;
                each(report);
            }
        }
        Ok(has_conflicts)
    }

    fn nothing_to_move(&self, place: &str) -> MigrationError {
        match &self.only_user {
            Some(user) => {
                MigrationError::UnknownUser { user: user.to_string(), place: place.to_owned() }
            }
            None => MigrationError::NothingToMove(place.into()),
        }
    }
}

/// Moves the databases of an owner. An error of the archive ends the migration, other errors are
/// reported.
fn move_owner(
    owner: &Owner,
    stores: &[Store],
    step: Step<'_>,
) -> Result<OwnerReport, MigrationError> {
    let user = owner.as_ref().map(ToString::to_string);
    let mut report = OwnerReport { user, ..OwnerReport::default() };
    for store in stores {
        let database = store.part().map(|part| part.part.clone()).unwrap_or_default();
        match step(store) {
            Ok(outcome) => report.add(outcome),
            Err(DatabaseProblem::Store(StoreError::Archive(source))) => {
                let owner = format_owner(report.user.as_deref());
                return Err(MigrationError::Stopped { owner, database, source });
            }
            Err(problem) => report.problems.push(format!("{database}: {}", error_chain(&problem))),
        }
        // There may be thousands of users, so each file is closed at once.
        store.close();
    }
    Ok(report)
}

/// Returns an error if another program has one of the files open.
fn refuse_used(stores: &[Store]) -> Result<(), MigrationError> {
    // A file that cannot be checked is damaged, and reported when it is moved.
    let used = stores.iter().find(|store| store.is_in_use().unwrap_or(false));
    used.map_or(Ok(()), |store| Err(MigrationError::InUse(store.path().to_owned())))
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc, time::Duration};

    use vademecum_store::{Database, Durability};
    use vademecum_testing::MemoryArchive;

    use vademecum_replication::{ArchivedStore as _, FollowOptions, FollowedData};

    use super::*;

    fn follow(folder: &Path, archive: &Arc<MemoryArchive>) -> DataFolder {
        let options =
            FollowOptions { stale_reads: false, conflict_timeout: Duration::from_secs(1) };
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

    fn migrate(
        data: &DataFolder,
        direction: Direction,
    ) -> Result<Vec<OwnerReport>, MigrationError> {
        let migration = Migration { data, direction, only_user: None, dry_run: false };
        let mut reports = Vec::new();
        migration.run(&mut |report| reports.push(report))?;
        Ok(reports)
    }

    /// Records a file in the library of `ada`.
    fn add_row(store: &Store) {
        let sql = "INSERT INTO imported (source, origin, digest, item, imported_at)
                   VALUES ('prompts', hex(randomblob(8)), 'd', '1', '2026-01-01')";
        store.write(Durability::Full, |writer| writer.execute(sql, &[])).unwrap();
        store.close();
    }

    #[test]
    fn equal_rows_are_adopted_others_refused() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Arc::new(MemoryArchive::default());
        let data = follow(folder.path(), &archive);
        let own = Store::new(Database::Prompts, &folder.path().join("users/ada"));
        add_row(&own);
        let moved = migrate(&data, Direction::ToArchive).unwrap();
        assert_eq!((moved.len(), moved[0].moved.databases), (1, 1));
        let before = own.digest_rows().unwrap();
        let back = migrate(&data, Direction::FromArchive).unwrap();
        assert_eq!((back[0].moved.databases, own.digest_rows().unwrap()), (1, before));
        let again = migrate(&data, Direction::ToArchive).unwrap();
        assert_eq!((again[0].moved.databases, again[0].unchanged), (0, 1));
        assert!(own.is_archived().unwrap());
        migrate(&data, Direction::FromArchive).unwrap();
        add_row(&own);
        let refused = migrate(&data, Direction::ToArchive).unwrap();
        assert!(refused[0].problems[0].contains("other rows"), "{refused:?}");
        assert!(!own.is_archived().unwrap());
        let refused = migrate(&data, Direction::FromArchive).unwrap();
        assert!(refused[0].problems[0].contains("would be lost"), "{refused:?}");
    }

    #[test]
    fn lost_archive_stops_migration_without_changes() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Arc::new(MemoryArchive::default());
        let data = follow(folder.path(), &archive);
        let own = Store::new(Database::Prompts, &folder.path().join("users/ada"));
        add_row(&own);
        archive.set_lost(true);
        let stopped = migrate(&data, Direction::ToArchive);
        assert!(matches!(stopped, Err(MigrationError::Archive(_))), "{stopped:?}");
        let stopped = move_owner(
            &None,
            &local_stores(&data, &Some("ada".parse().unwrap())).unwrap(),
            &upload_database,
        );
        assert!(matches!(stopped, Err(MigrationError::Stopped { .. })), "{stopped:?}");
        add_row(&own);
        archive.set_lost(false);
        assert_eq!(migrate(&data, Direction::ToArchive).unwrap()[0].moved.databases, 1);
    }

    #[test]
    fn file_of_another_archive_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Arc::new(MemoryArchive::default());
        let own = Store::new(Database::Prompts, &folder.path().join("users/ada"));
        add_row(&own);
        migrate(&follow(folder.path(), &archive), Direction::ToArchive).unwrap();
        let before = own.digest_rows().unwrap();
        let other = follow(folder.path(), &Arc::new(MemoryArchive::default()));
        let refused = migrate(&other, Direction::FromArchive).unwrap();
        assert!(refused[0].problems[0].contains("follows another archive"), "{refused:?}");
        assert_eq!(own.digest_rows().unwrap(), before);
    }
}
