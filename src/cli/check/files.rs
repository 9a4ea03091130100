//! The databases: whether each is whole, and whether what is derived in it follows
//! its rows.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use vademecum_kit::store::{
    Database, Derived, Drift, Health, Part, Problem, Store, StoreError, beside, files_of,
};

use super::{clock, finding::Findings};
use crate::{actors::chain, cli::output::count, registry};
use vademecum_import::{Entry, Ledger, Outcome};

/// What to do about what is derived.
const MEND: &str = "`vademecum check --repair` makes it anew";

/// What a database is for, which says what can be done if it is not sound.
#[derive(Debug)]
pub(super) enum Kind {
    /// Knowledge: it is nowhere else.
    Library,
    /// Knowledge that follows that of tldw.
    Mirror,
    /// What became of files.
    Ledger,
    /// Vectors of a library.
    Vectors,
    /// Vectors that are remembered.
    Embeddings,
    /// Users, keys, the catalogue of collections.
    Server,
    /// The collection of that name: it is made of something that is elsewhere.
    Collection(String),
}

/// A database that is looked at.
#[derive(Debug)]
pub(super) struct File {
    store: Store,
    kind: Kind,
    derived: Vec<Derived>,
    place: String,
}

impl File {
    /// The database of a user or of the server in this folder.
    pub(super) fn of(database: Database, folder: &Path, kind: Kind) -> Self {
        let sources = registry::sources().into_iter();
        let here = sources.filter(|source| source.database() == database);
        let derived = here.filter_map(|source| source.derived()).collect();
        Self::new(Store::new(database, folder), kind, derived)
    }

    /// The collection of this name in this file.
    pub(super) fn of_collection(name: String, path: PathBuf) -> Self {
        let store = Store::at(Database::Collection, path);
        Self::new(store, Kind::Collection(name), vec![vademecum_collections::DERIVED])
    }

    fn new(store: Store, kind: Kind, derived: Vec<Derived>) -> Self {
        let place = store.path().display().to_string();
        Self { store, kind, derived, place }
    }

    /// Looks at the file, and mends what can be mended if that is wanted.
    pub(super) fn look(&self, repair: bool, findings: &mut Findings) {
        match fs::metadata(self.store.path()) {
            Err(_) => self.is_not_there(findings),
            Ok(about) if about.len() == 0 && !self.has_log() => {
                let what = "the file is empty; it is begun anew when it is next needed";
                findings.warn(
                    &self.place,
                    what,
                    &format!("if anything was in it: {}", self.way_out()),
                );
            }
            Ok(about) => {
                clock::look_at_file(&self.place, &about, findings);
                self.look_inside(repair, findings);
                // Thousands of users are looked at one after the other.
                self.store.close();
            }
        }
    }

    fn has_log(&self) -> bool {
        beside(self.store.path(), "-wal").exists()
    }

    fn is_not_there(&self, findings: &mut Findings) {
        if self.has_log() {
            let what = "the file is missing, though what was written into it lately is there";
            return findings.wrong(&self.place, what, &self.way_out());
        }
        match &self.kind {
            Kind::Library if self.brought_in() > 0 => {
                let what = format!(
                    "the file is missing, though {} were brought into it",
                    count(self.brought_in(), "file")
                );
                let remedy = "put a backup in its place with `vademecum restore`; or remove \
                              imports.db beside it, and import the files again";
                findings.wrong(&self.place, &what, remedy);
            }
            Kind::Library => {
                findings.sound(&self.place, "not there yet; it is made when it is first needed");
            }
            // One that was never built has no file; that is said by its name.
            Kind::Collection(name) => findings.warn(
                &self.place,
                &format!("the collection `{name}` has no file: it was not built to its end"),
                &self.way_out(),
            ),
            Kind::Mirror | Kind::Ledger | Kind::Vectors | Kind::Embeddings | Kind::Server => {}
        }
    }

    /// How many files were brought into it, as far as is known.
    fn brought_in(&self) -> usize {
        let Some(folder) = self.store.path().parent() else { return 0 };
        let ledger = Ledger::new(Arc::new(Store::new(Database::Imports, folder)));
        let name = self.store.path().file_name();
        let here = |entry: &Entry| {
            let mut sources = registry::sources().into_iter();
            let source = sources.find(|source| Some(source.name()) == entry.source);
            entry.outcome == Outcome::Imported
                && source.is_some_and(|it| Some(it.database().file_name().as_ref()) == name)
        };
        ledger.all().unwrap_or_default().iter().filter(|entry| here(entry)).count()
    }

    fn look_inside(&self, repair: bool, findings: &mut Findings) {
        let state = match self.state() {
            Ok(state) if state.is_sound() => {
                return findings.sound(&self.place, &format!("schema {}", state.schema));
            }
            Ok(state) => state,
            Err(error) if error.is_locked() => {
                let what = "somebody else holds it for too long to look into it";
                return findings.warn(&self.place, what, "look again later");
            }
            Err(error) => State::closed(&error),
        };
        if !repair {
            return self.tell(&state, findings);
        }
        match self.mend(&state) {
            Ok(None) => {}
            Ok(Some(done)) => findings.mended(self.store.path(), done),
            Err(error) => {
                let what = format!("it could not be mended: {error:#}");
                findings.wrong(&self.place, &what, "see to that, then repair again");
            }
        }
        if self.store.path().exists() {
            self.tell(&self.state().unwrap_or_else(|error| State::closed(&error)), findings);
        }
    }

    fn state(&self) -> Result<State, StoreError> {
        let Health { schema, problems } = self.store.check()?;
        let mut drifts = Vec::new();
        // What cannot be read cannot be compared.
        if problems.iter().all(|problem| problem.part == Part::Room) {
            for derived in &self.derived {
                let drift = self.store.drift(derived)?;
                drifts.extend((drift != Drift::default()).then_some((*derived, drift)));
            }
        }
        Ok(State { schema, problems, drifts, closed: None })
    }

    /// Says what is not sound.
    fn tell(&self, state: &State, findings: &mut Findings) {
        if let Some(why) = &state.closed {
            findings.wrong(&self.place, why, &self.way_out());
        }
        for Problem { part, what } in &state.problems {
            match part {
                Part::Rows => findings.wrong(&self.place, what, &self.way_out()),
                Part::Words(_) => findings.wrong(&self.place, what, MEND),
                Part::Room => findings.warn(&self.place, what, MEND),
            }
        }
        for (Derived { table, .. }, Drift { missing, stray }) in &state.drifts {
            let what = format!(
                "full-text table {table}: {missing} rows cannot be found by their words, {stray} \
                 rows of words are of nothing"
            );
            findings.wrong(&self.place, &what, MEND);
        }
    }

    /// Makes anew what is derived; says what was done, if anything was.
    fn mend(&self, state: &State) -> Result<Option<&'static str>> {
        let has = |part: &Part| state.problems.iter().any(|problem| problem.part == *part);
        let is_whole = state.closed.is_none() && !has(&Part::Rows);
        if self.is_derived() && !is_whole {
            self.take_away()?;
            return Ok(Some("it was taken away; it is made anew when it is next needed"));
        }
        if state.closed.is_some() {
            return Ok(None);
        }
        let drifted = |table| state.drifts.iter().any(|(derived, _)| derived.table == table);
        let mut refilled = false;
        for derived in &self.derived {
            if drifted(derived.table) || has(&Part::Words(derived.table.to_owned())) {
                self.store.refill(derived)?;
                refilled = true;
            }
        }
        // What the old tables were kept in belongs to nobody now.
        let compact = is_whole && (refilled || has(&Part::Room));
        if compact {
            self.store.compact()?;
        }
        Ok(match (refilled, compact) {
            (true, _) => Some("its full-text tables were filled anew"),
            (false, true) => Some("pages of nobody were given back"),
            (false, false) => None,
        })
    }

    /// Whether all of the file can be made anew.
    fn is_derived(&self) -> bool {
        match self.kind {
            Kind::Mirror | Kind::Vectors | Kind::Embeddings => true,
            Kind::Library | Kind::Ledger | Kind::Server | Kind::Collection(_) => false,
        }
    }

    /// Removes the file, if nobody has it open.
    fn take_away(&self) -> Result<()> {
        self.store.close();
        // One that cannot be read is of no use to anybody who has it open.
        if self.store.is_in_use().unwrap_or(false) {
            bail!("somebody has it open; stop the server first");
        }
        for path in files_of(self.store.path()) {
            if path.exists() {
                fs::remove_file(&path)
                    .with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// What to do about a file that cannot be mended here.
    fn way_out(&self) -> String {
        match &self.kind {
            Kind::Library => "put a backup in its place with `vademecum restore`; `vademecum \
                              export` writes what can still be read"
                .to_owned(),
            Kind::Mirror | Kind::Vectors | Kind::Embeddings => MEND.to_owned(),
            Kind::Ledger => "remove it: importing the same files again fills it anew, and makes \
                             nothing twice"
                .to_owned(),
            Kind::Server => "put a backup of all users in its place with `vademecum restore`, or \
                             remove it and make users, keys and collections anew"
                .to_owned(),
            Kind::Collection(name) => {
                format!(
                    "build it anew from what it is made of: `vademecum collection sync {name} --rebuild`"
                )
            }
        }
    }
}

/// How a file is.
#[derive(Debug)]
struct State {
    schema: usize,
    problems: Vec<Problem>,
    drifts: Vec<(Derived, Drift)>,
    /// Why it cannot even be opened, if so.
    closed: Option<String>,
}

impl State {
    fn closed(error: &StoreError) -> Self {
        let closed = Some(chain(error));
        Self { schema: 0, problems: Vec::new(), drifts: Vec::new(), closed }
    }

    fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.drifts.is_empty() && self.closed.is_none()
    }
}
