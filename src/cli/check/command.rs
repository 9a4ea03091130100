//! `vademecum check`, also called `vademecum doctor`.

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use anyhow::Result;
use vademecum_kit::store::{Database, Store};

use super::{
    clock, disk,
    files::{File, Kind},
    finding::Findings,
    leftovers, permissions, profiles, vectors,
};
use crate::{
    app::App,
    cli::{backup::all_users, command::Common, output::say},
    collections::Record,
};
use vademecum_core::auth::UserId;

/// Looks whether settings, databases, disk, permissions, clock and profiles are sound.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vademecum check
  vademecum check --user ada --json
  vademecum check --repair

Looks at the libraries of all users, or of the one that --user names. It may run
beside a server. --repair makes anew what is derived: the words of full-text
tables, vectors, remembered embeddings; and it takes away what broken-off builds
left. Rows are never touched: what is damaged there is named, with the way out.
Full-text tables are mended in one transaction, while whoever writes waits; files
that are replaced as a whole only while nobody has them open.

Ends with 0 if all is well, with 1 if anything is wrong; a warning is not wrong.")]
pub(in crate::cli) struct Check {
    /// Make anew what is derived, and take away what nobody uses
    #[arg(long)]
    repair: bool,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(in crate::cli) async fn run(self, common: &Common) -> Result<ExitCode> {
        let app = common.app()?;
        app.settings().listen()?;
        app.door()?;
        let data = app.settings().storage.folder()?;
        let mut findings = Findings::default();
        findings.sound("settings", "they can be used");
        disk::look(&data, &mut findings);
        permissions::look(&data, &mut findings);
        for user in users(&app, &data, common.user.is_some())? {
            self.library(&app, &user, &mut findings).await;
        }
        // What belongs to no user is looked at with everything.
        if common.user.is_none() {
            self.shared(&app, &data, &mut findings);
        }
        // Boxed: what talks to databases is large.
        Box::pin(profiles::look(&app, &mut findings)).await;
        if self.json {
            say(&serde_json::to_string_pretty(&findings)?);
        } else {
            findings.tell();
        }
        Ok(if findings.all_is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Looks at what one user has.
    async fn library(&self, app: &App, user: &UserId, findings: &mut Findings) {
        let folder = app.library_folder(user);
        let mirrored = app.settings().storage.tldw.is_some();
        for database in Database::ALL {
            let kind = if mirrored { Kind::Mirror } else { Kind::Library };
            File::of(database, &folder, kind).look(self.repair, findings);
        }
        for (database, kind) in
            [(Database::Imports, Kind::Ledger), (Database::Index, Kind::Vectors)]
        {
            File::of(database, &folder, kind).look(self.repair, findings);
        }
        clock::look_at_library(&folder, findings);
        vectors::look(app, user, &folder, self.repair, findings).await;
    }

    /// Looks at what belongs to the server.
    fn shared(&self, app: &App, data: &Path, findings: &mut Findings) {
        File::of(Database::Server, data, Kind::Server).look(self.repair, findings);
        File::of(Database::Embeddings, data, Kind::Embeddings).look(self.repair, findings);
        let collections = app.collections();
        // What is wrong with the catalogue was said of its file.
        let Ok(records) = collections.list() else { return };
        for Record { name, file, .. } in records {
            let path = collections.folder().join(file);
            File::of_collection(name, path).look(self.repair, findings);
        }
        let server = Store::new(Database::Server, data);
        // Whoever only looks makes no file.
        if server.path().exists() {
            clock::look_at_server(app, &server.path().display().to_string(), findings);
        }
        leftovers::look(app, data, self.repair, findings);
    }
}

/// Whose libraries are looked at.
fn users(app: &App, data: &Path, named: bool) -> Result<BTreeSet<UserId>> {
    let own: UserId = app.settings().storage.user.parse()?;
    let others = if named { Vec::new() } else { all_users(data)? };
    // Nobody begins a library here who is not there yet, if somebody else is.
    let alone = named || others.is_empty();
    Ok(others.into_iter().chain(alone.then_some(own)).collect())
}
