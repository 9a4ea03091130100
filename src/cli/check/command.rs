//! `vademecum check`, also called `vademecum doctor`.

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use anyhow::Result;
use vademecum_kit::store::{Database, Store};

use super::{
    clock,
    database_files::{DatabaseFile, DatabaseRole},
    disk,
    finding::CheckFindings,
    orphans, permissions, profiles, vectors,
};
use crate::{
    app::App,
    cli::{backup::list_users, common::CommonOptions, output::print_line},
    collections::CollectionRecord,
};
use vademecum_core::auth::UserId;

/// Check settings and databases; rebuild indexes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum check
  vademecum check --user ada --json
  vademecum check --repair

Checks the libraries of all users, or of the one that --user names. It can run
while a server runs. --repair rebuilds derived data: full-text tables,
vectors, cached embeddings; and it removes the remains of interrupted builds.
Rows are never changed: damaged ones are reported with a remedy.
Full-text tables are rebuilt in one transaction, while writers wait; files
that are replaced as a whole must not be open in another program.

Exit codes: 0 without errors, 1 with errors; warnings are not errors.")]
pub(in crate::cli) struct Check {
    /// Rebuild derived data and remove unused files
    #[arg(long)]
    repair: bool,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(in crate::cli) async fn run(self, common: &CommonOptions) -> Result<ExitCode> {
        let app = common.create_app()?;
        app.settings().listen_address()?;
        app.server_state()?;
        let data = app.settings().storage.data_folder()?;
        let mut findings = CheckFindings::default();
        findings.add_ok("settings", "valid");
        disk::check_disk_space(&data, &mut findings);
        permissions::check_permissions(&data, &mut findings);
        for user in checked_users(&app, &data, common.user.is_some())? {
            self.check_library(&app, &user, &mut findings).await;
        }
        // Shared databases are checked only when all users are.
        if common.user.is_none() {
            self.check_shared(&app, &data, &mut findings);
        }
        // Boxed, because the futures of database clients are large.
        Box::pin(profiles::check_profiles(&app, &mut findings)).await;
        if self.json {
            print_line(&serde_json::to_string_pretty(&findings)?);
        } else {
            findings.print_report();
        }
        Ok(if findings.has_no_errors() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Checks the databases of one user.
    async fn check_library(&self, app: &App, user: &UserId, findings: &mut CheckFindings) {
        let folder = app.library_folder(user);
        let mirrored = app.settings().storage.tldw.is_some();
        for database in Database::ALL {
            let kind = if mirrored { DatabaseRole::Replica } else { DatabaseRole::Library };
            DatabaseFile::for_database(database, &folder, kind).check(self.repair, findings);
        }
        for (database, kind) in
            [(Database::Imports, DatabaseRole::Ledger), (Database::Index, DatabaseRole::Vectors)]
        {
            DatabaseFile::for_database(database, &folder, kind).check(self.repair, findings);
        }
        clock::check_library(&folder, findings);
        vectors::check_vectors(app, user, &folder, self.repair, findings).await;
    }

    /// Checks the databases of the server and its collections.
    fn check_shared(&self, app: &App, data: &Path, findings: &mut CheckFindings) {
        DatabaseFile::for_database(Database::Server, data, DatabaseRole::Server)
            .check(self.repair, findings);
        DatabaseFile::for_database(Database::Embeddings, data, DatabaseRole::Embeddings)
            .check(self.repair, findings);
        let collections = app.collections();
        // An error of the catalogue is reported by the check of its file.
        let Ok(records) = collections.list_records() else { return };
        for CollectionRecord { name, file, .. } in records {
            let path = collections.folder().join(file);
            DatabaseFile::for_collection(name, path).check(self.repair, findings);
        }
        let server = Store::new(Database::Server, data);
        // A check must not create a file.
        if server.path().exists() {
            clock::check_server(app, &server.path().display().to_string(), findings);
        }
        orphans::check_orphans(app, data, self.repair, findings);
    }
}

/// Returns the users whose libraries are checked.
fn checked_users(app: &App, data: &Path, named: bool) -> Result<BTreeSet<UserId>> {
    let own: UserId = app.settings().storage.user.parse()?;
    let others = if named { Vec::new() } else { list_users(data)? };
    // The default user is included only if there is no other, so that no empty library is reported
    // for it.
    let alone = named || others.is_empty();
    Ok(others.into_iter().chain(alone.then_some(own)).collect())
}
