//! All checks of a server, in order.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use vademecum_accounts::Accounts;
use vademecum_actors::{
    UserRegistry,
    collections::{Catalogue, CollectionRecord, SyncJobs},
    library_use,
};
use vademecum_core::{
    auth::{UserId, UserIdError, local_principal},
    config::{ConfigError, Settings},
};
use vademecum_source::Source;
use vademecum_sql::Profiles;
use vademecum_store::{Database, Store};

use super::{
    archive, clock, custom_tools,
    damaged_rows::DamageRepair,
    database_files::{DatabaseFile, DatabaseRole},
    disk, erasures,
    findings::CheckFindings,
    logins, orphans, permissions, profiles, proxies, sandbox, vectors,
};
use crate::{file_error::FileError, library_folders, text::format_bytes};

/// A check of a server, or of the library of one of its users.
#[derive(Debug)]
pub struct ServerCheck<'a> {
    /// Settings of the server; they are valid.
    pub settings: &'a Settings,
    /// Settings files that are not read, because another one is.
    pub ignored_settings: &'a [PathBuf],
    /// Sources of every library.
    pub sources: &'a [Arc<dyn Source>],
    /// Libraries of the users.
    pub user_registry: &'a UserRegistry,
    /// Catalogue of collections.
    pub collections: &'a Catalogue,
    /// Service that syncs collections.
    pub syncs: &'a SyncJobs,
    /// Database profiles.
    pub profiles: &'a Arc<Profiles>,
    /// Names of the tools of the program, which no custom tool can have.
    pub program_tools: &'a [&'a str],
    /// If set, only the library of this user is checked.
    pub only_user: Option<UserId>,
    /// If set, derived data is rebuilt and unused files are removed.
    pub repair: bool,
    /// What a repair does with damaged items.
    pub damage: DamageRepair,
}

/// Error that prevents a check as a whole.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The data folder is unknown.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user in the settings is invalid.
    #[error(transparent)]
    User(#[from] UserIdError),
    /// The folder of the libraries cannot be read.
    #[error(transparent)]
    Folder(#[from] FileError),
}

impl ServerCheck<'_> {
    /// Runs the checks. Problems are findings; an error means that the checks could not run.
    pub async fn run(&self) -> Result<CheckFindings, CheckError> {
        let data = self.settings.storage.data_folder()?;
        let mut findings = CheckFindings::default();
        let file = self.settings.file.as_ref();
        let file = file.map_or_else(|| "no file".to_owned(), |file| file.display().to_string());
        findings.add_ok("settings", &format!("valid, {file}"));
        for ignored in self.ignored_settings {
            let what = format!("{} is not read, because another file is", ignored.display());
            findings.add_warning("settings", &what, "move its settings there, and remove it");
        }
        proxies::check_proxies(self.settings, &mut findings);
        sandbox::check_sandbox(self.settings, &mut findings);
        logins::check_logins(self.settings, &data, &mut findings);
        disk::check_disk_space(&data, &mut findings);
        permissions::check_permissions(&data, self.repair, &mut findings);
        let users = self.checked_users(&data)?;
        // The other checks read through the archive, and replace what it does not have.
        let server = self.only_user.is_none().then_some(None);
        let owners: Vec<_> = server.into_iter().chain(users.iter().cloned().map(Some)).collect();
        archive::check_archive(self.collections.data(), &owners, &mut findings);
        for user in &users {
            self.check_library(user, &mut findings).await;
        }
        // Shared databases are checked only when all users are.
        if self.only_user.is_none() {
            self.check_shared(&data, &mut findings);
        }
        // Boxed, because the futures of database clients are large.
        Box::pin(profiles::check_profiles(self.settings, self.profiles, &mut findings)).await;
        let (settings, profiles) = (self.settings, self.profiles);
        let checked =
            custom_tools::check_custom_tools(settings, profiles, self.program_tools, &mut findings);
        Box::pin(checked).await;
        Ok(findings)
    }

    /// Returns the users whose libraries are checked. The user of the settings is included only if
    /// there is no other, so that no empty library is reported.
    fn checked_users(&self, data: &Path) -> Result<BTreeSet<UserId>, CheckError> {
        if let Some(user) = &self.only_user {
            return Ok(BTreeSet::from([user.clone()]));
        }
        let mut users: BTreeSet<UserId> = library_folders::list_users(data)?.into_iter().collect();
        if users.is_empty() {
            users.insert(self.settings.storage.user.parse()?);
        }
        Ok(users)
    }

    /// Checks the databases of one user.
    async fn check_library(&self, user: &UserId, findings: &mut CheckFindings) {
        let folder = self.user_registry.library_folder(user);
        let is_replica = self.settings.storage.tldw.is_some();
        for database in Database::ALL {
            let role = if is_replica { DatabaseRole::Replica } else { DatabaseRole::Library };
            self.check_database(database, &folder, role, findings);
        }
        self.check_database(Database::Imports, &folder, DatabaseRole::Ledger, findings);
        self.check_database(Database::Index, &folder, DatabaseRole::Vectors, findings);
        clock::check_library(&folder, self.sources, findings);
        self.check_quota(user, findings).await;
        vectors::check_vectors(self.user_registry, user, &folder, self.repair, findings).await;
    }

    /// Shows the use of a library, and its quotas.
    async fn check_quota(&self, user: &UserId, findings: &mut CheckFindings) {
        // A check must not create a file.
        if !self.user_registry.library_folder(user).exists() {
            return;
        }
        let place = format!("use of {user}");
        let library = self.user_registry.library(&local_principal(user.clone()));
        let used = library_use(&library).await;
        // A database that cannot be read is reported by the check of its file.
        let (Ok(used), Ok(quotas)) = (used, self.user_registry.quotas().of_user(user)) else {
            return;
        };
        let of = |used: String, most: Option<String>| match most {
            Some(most) => format!("{used} of {most}"),
            None => used,
        };
        let bytes = of(format_bytes(used.bytes), quotas.byte_limit().map(format_bytes));
        let items = of(used.items.to_string(), quotas.item_limit().map(|most| most.to_string()));
        let what = format!("{bytes}, {items} items");
        let is_full = quotas.byte_limit().is_some_and(|most| used.bytes >= most)
            || quotas.item_limit().is_some_and(|most| used.items >= most);
        if is_full {
            let remedy = format!("raise the quota with `vademecum user quota {user}`");
            findings.add_warning(&place, &format!("{what}: the quota is reached"), &remedy);
        } else {
            findings.add_ok(&place, &what);
        }
    }

    /// Checks the databases of the server and its collections.
    fn check_shared(&self, data: &Path, findings: &mut CheckFindings) {
        self.check_database(Database::Server, data, DatabaseRole::Server, findings);
        self.check_database(Database::Audit, data, DatabaseRole::Audit, findings);
        self.check_database(Database::Embeddings, data, DatabaseRole::Embeddings, findings);
        // An error of the catalogue is reported by the check of its file.
        let Ok(records) = self.collections.list_records() else { return };
        for record in records {
            self.check_rights(&record, findings);
            let path = self.collections.folder().join(record.file);
            DatabaseFile::for_collection(record.name, path).check(self.repair, findings);
        }
        let server = Store::new(Database::Server, data);
        // A check must not create a file.
        if server.path().exists() {
            let place = server.path().display().to_string();
            clock::check_server(&Accounts::new(data), self.collections, &place, findings);
        }
        erasures::check_erasures(self.collections.data(), findings);
        orphans::check_orphans(self.collections, self.syncs, data, self.repair, findings);
    }

    /// Reports who sees a collection, if that is not what its last sync stored.
    fn check_rights(&self, record: &CollectionRecord, findings: &mut CheckFindings) {
        let (name, place) = (&record.name, format!("collection {}", record.name));
        match self.collections.rights(record) {
            None => {
                let what = "closed to all users, because its section was removed from the settings";
                let remedy =
                    format!("add the section again, or run `vademecum collection remove {name}`");
                findings.add_warning(&place, what, &remedy);
            }
            Some(rights) if rights.are_pending() => {
                let what = format!(
                    "{}: the rights of the settings hold; its documents still carry other ones",
                    rights.describe()
                );
                let remedy = format!("run `vademecum collection sync {name}`");
                findings.add_warning(&place, &what, &remedy);
            }
            Some(rights) => findings.add_ok(&place, &rights.describe()),
        }
    }

    fn check_database(
        &self,
        database: Database,
        folder: &Path,
        role: DatabaseRole,
        findings: &mut CheckFindings,
    ) {
        let data = self.collections.data().path();
        let place = folder.strip_prefix(data).unwrap_or(folder).join(database.file_name());
        let backups = self.damage.backups.iter().map(|backup| backup.join(&place)).collect();
        DatabaseFile::for_database(database, folder, role, self.sources)
            .with_copies(backups, self.damage.keeps_damaged)
            .check(self.repair, findings);
    }
}
