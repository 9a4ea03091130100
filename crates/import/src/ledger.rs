//! What became of the files of a user: which is read again, which has changed,
//! which is gone.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Row, named_params, types::Type};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use vademecum_kit::{
    model::{Deadline, SourceName},
    store::{Durability, Store, StoreError, Writer},
};

use super::Problem;

/// Goes up when any importer makes something else of the same file.
const GENERATION: &str = concat!(env!("CARGO_PKG_VERSION"), "/2");

/// How long a file must have rested before it was read for its time to say
/// whether it has changed since: clocks of file systems are coarse.
const RESTED: Duration = Duration::from_secs(2);

/// How long reading the ledger may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// What became of the files of a user.
#[derive(Clone, Debug)]
pub struct Ledger {
    store: Arc<Store>,
}

/// What is known of a file.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Where it is: absolute, without links.
    pub path: PathBuf,
    /// What the user said it is to become, if they did.
    pub asked: Option<SourceName>,
    /// The folder that the user named, if it was found in one.
    pub root: Option<PathBuf>,
    /// The source that its items went into.
    pub source: Option<SourceName>,
    /// What it was read as.
    pub format: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// The identifiers of its items.
    pub items: Vec<String>,
    /// Why it was left out, or parts of it were.
    pub problems: Vec<Problem>,
    /// How it was when it was read.
    #[serde(skip)]
    pub state: State,
    /// Fingerprint of what was in it.
    #[serde(skip)]
    pub digest: Option<String>,
    /// When it was read, in nanoseconds since 1970.
    #[serde(skip)]
    pub read_at: i64,
    #[serde(skip)]
    generation: String,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its items are in the library.
    Imported,
    /// It could not be read.
    Skipped,
    /// It is nothing for this program, such as a picture beside notes.
    Passed,
    /// It was imported, and is not there any more. Its items are.
    Missing,
}

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Its length in bytes.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub modified: i64,
}

impl State {
    /// How the file is now.
    pub fn of(path: &Path) -> std::io::Result<Self> {
        let found = path.metadata()?;
        let modified = found.modified().map(nanoseconds).unwrap_or_default();
        Ok(Self { size: found.len(), modified })
    }
}

/// The time of the clock on the wall, in nanoseconds since 1970.
pub(super) fn now() -> i64 {
    nanoseconds(SystemTime::now())
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl Entry {
    /// A file that is being read, of which nothing is known yet.
    pub fn new(path: PathBuf, asked: Option<SourceName>, root: Option<PathBuf>) -> Self {
        Self {
            path,
            asked,
            root,
            source: None,
            format: None,
            outcome: Outcome::Passed,
            items: Vec::new(),
            problems: Vec::new(),
            state: State::default(),
            digest: None,
            read_at: now(),
            generation: GENERATION.to_owned(),
        }
    }

    /// Whether the file is surely as it was, and would be read as it was.
    pub fn holds(&self, state: State) -> bool {
        let rested = i64::try_from(RESTED.as_nanos()).unwrap_or(i64::MAX);
        self.state == state
            && self.generation == GENERATION
            && self.outcome != Outcome::Missing
            && state.modified.saturating_add(rested) <= self.read_at
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let path = |name| row.get::<_, Option<String>>(name).map(|text| text.map(PathBuf::from));
        let source = |text: Option<String>| text.and_then(|text| text.parse().ok());
        Ok(Self {
            path: path("path")?.unwrap_or_default(),
            asked: source(row.get("asked")?),
            root: path("root")?,
            source: source(row.get("source")?),
            format: row.get("format")?,
            outcome: json(row, "outcome", |text| format!("\"{text}\""))?,
            items: json(row, "items", |text| text)?,
            problems: json(row, "problems", |text| text)?,
            state: State {
                size: u64::try_from(row.get::<_, i64>("size")?).unwrap_or(0),
                modified: row.get("modified")?,
            },
            digest: row.get("digest")?,
            read_at: row.get("read_at")?,
            generation: row.get("generation")?,
        })
    }

    fn write(&self, writer: &Writer<'_>) -> Result<(), StoreError> {
        let outcome = serde_json::json!(self.outcome);
        writer.run(
            include_str!("sql/record.sql"),
            named_params! {
                ":path": text(&self.path),
                ":asked": asked(self.asked),
                ":root": self.root.as_deref().map(text),
                ":source": self.source.map(SourceName::as_str),
                ":format": self.format,
                ":size": i64::try_from(self.state.size).unwrap_or(i64::MAX),
                ":modified": self.state.modified,
                ":digest": self.digest,
                ":outcome": outcome.as_str(),
                ":items": serde_json::json!(self.items).to_string(),
                ":problems": serde_json::json!(self.problems).to_string(),
                ":read_at": self.read_at,
                ":generation": self.generation,
            },
        )?;
        Ok(())
    }
}

impl Ledger {
    /// The ledger in this store.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store }
    }

    /// What is known of a file, or of the files of a folder.
    pub fn below(&self, path: &Path) -> Result<Vec<Entry>, StoreError> {
        if !self.store.path().exists() {
            return Ok(Vec::new());
        }
        let path = text(path);
        let folder = path.strip_suffix(std::path::MAIN_SEPARATOR).unwrap_or(&path);
        let first = format!("{folder}{}", std::path::MAIN_SEPARATOR);
        let last = format!("{first}\u{10ffff}");
        let parameters = named_params! { ":path": path, ":first": first, ":last": last };
        self.store.read(Deadline::after(PATIENCE), |reader| {
            reader.all(include_str!("sql/below.sql"), parameters, Entry::read)
        })
    }

    /// What is known of all files.
    pub fn all(&self) -> Result<Vec<Entry>, StoreError> {
        if !self.store.path().exists() {
            return Ok(Vec::new());
        }
        self.store.read(Deadline::after(PATIENCE), |reader| {
            reader.all(include_str!("sql/files.sql"), &[], Entry::read)
        })
    }

    /// Remembers what became of files, and forgets others.
    pub fn record(&self, entries: &[Entry], gone: &[Entry]) -> Result<(), StoreError> {
        if entries.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.store.write(Durability::Bulk, |writer| {
            for entry in gone {
                let parameters =
                    named_params! { ":path": text(&entry.path), ":asked": asked(entry.asked) };
                writer.run(include_str!("sql/forget.sql"), parameters)?;
            }
            entries.iter().try_for_each(|entry| entry.write(writer))
        })
    }
}

fn asked(source: Option<SourceName>) -> &'static str {
    source.map_or("", SourceName::as_str)
}

/// A path as it is kept. One that is no text is kept as it is shown.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &'static str,
    dress: impl Fn(String) -> String,
) -> rusqlite::Result<T> {
    serde_json::from_str(&dress(row.get(column)?)).map_err(|error| {
        let index = row.as_ref().column_index(column).unwrap_or(0);
        rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
    })
}

#[cfg(test)]
mod tests {
    use vademecum_kit::store::Database;

    use super::*;

    fn entry(path: &str) -> Entry {
        let asked = Some(SourceName::Notes);
        Entry { outcome: Outcome::Imported, ..Entry::new(path.into(), asked, None) }
    }

    #[test]
    fn files_are_remembered_by_folder() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(Arc::new(Store::new(Database::Imports, folder.path())));
        assert!(ledger.all().unwrap().is_empty() && !folder.path().join("imports.db").exists());
        let known = ["/a/x.md", "/a/b/y.md", "/a.md", "/ab/z.md"].map(entry);
        ledger.record(&known, &[]).unwrap();
        let below = |path: &str| -> Vec<String> {
            let found = ledger.below(Path::new(path)).unwrap();
            found.iter().map(|entry| entry.path.display().to_string()).collect()
        };
        assert_eq!(below("/a"), ["/a/b/y.md", "/a/x.md"]);
        assert_eq!(below("/a/"), ["/a/b/y.md", "/a/x.md"]);
        assert_eq!(below("/a.md"), ["/a.md"]);
        assert_eq!(below("/").len(), 4);
        let changed = Entry { outcome: Outcome::Missing, ..entry("/a/x.md") };
        ledger.record(&[changed], &[entry("/a.md")]).unwrap();
        let all = ledger.all().unwrap();
        assert_eq!(all.len(), 3);
        assert!(all.iter().any(|entry| entry.outcome == Outcome::Missing));
    }

    #[test]
    fn a_file_is_as_it_was_only_if_that_is_sure() {
        let second = 1_000_000_000;
        let state = State { size: 5, modified: 10 * second };
        let read_at = |seconds: i64| Entry { state, read_at: seconds * second, ..entry("/a.md") };
        assert!(read_at(13).holds(state));
        assert!(!read_at(11).holds(state), "it may have been changed in the same moment");
        assert!(!read_at(13).holds(State { size: 6, ..state }));
        assert!(!read_at(13).holds(State { modified: 9 * second, ..state }));
        let older = Entry { generation: "0".to_owned(), ..read_at(13) };
        assert!(!older.holds(state), "another program may read it better");
    }
}
