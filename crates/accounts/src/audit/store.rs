//! The file of the audit log, `audit.db`: appending, retention and reading.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Row, types::Type};
use serde::Serialize;
use vademecum_core::{audit::AuditEntry, config};
use vademecum_model::{Deadline, Timestamp};
use vademecum_store::{
    DataFolder, Database, Durability, Store, StoreError, Writer, create_private_folder,
};

use super::batch::AuditBatch;

/// Removes the entries before `:before`.
const REMOVE_OLD_SQL: &str = "DELETE FROM entry WHERE at < :before";
/// Size of the pages in use.
const USED_BYTES_SQL: &str = "SELECT (page_count - freelist_count) * page_size AS bytes \
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size";

/// Maximum duration of reading the log, which may have millions of entries.
pub(super) const READ_TIMEOUT: Duration = Duration::from_hours(1);
/// Maximum number of deletions for the size limit after one batch.
const MAX_TRIMS: usize = 32;

/// Store of the audit log.
#[derive(Debug)]
pub struct AuditStore {
    pub(super) store: Store,
}

/// Selects entries; `None` matches every entry.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    /// Exact name of the user.
    pub user: Option<String>,
    /// Name of a tool or method.
    pub tool: Option<String>,
    /// Earliest time.
    pub since: Option<Timestamp>,
}

/// A stored entry.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
pub struct AuditRow {
    /// Time at which the call began.
    pub at: Timestamp,
    /// User whose library was used or whose account was changed.
    pub user: Option<String>,
    /// API key that was used, created or revoked.
    pub key: Option<String>,
    /// Name of the client program.
    pub client: Option<String>,
    /// Transport: `http`, `websocket`, `stdio`, `page` or `cli`.
    pub transport: Option<String>,
    /// Address of the client.
    pub address: Option<String>,
    /// Protocol method, `login`, an administrative command, or `gap` for lost entries.
    pub method: String,
    /// Name of the called tool.
    pub tool: Option<String>,
    /// Sources of the items.
    pub sources: Vec<String>,
    /// Ids of items that were shown or changed.
    pub items: Vec<String>,
    /// Number of items, including those without an id here.
    pub item_count: i64,
    /// Outcome: `ok`, `denied`, `limited`, `tool_error`, `error` or `cancelled`.
    pub outcome: String,
    /// Code of the JSON-RPC error.
    pub code: Option<i64>,
    /// Machine-readable reason of a failure.
    pub reason: Option<String>,
    /// Parameters of the call, if `audit.queries` was set.
    pub arguments: Option<String>,
    /// Number of equal refusals that this entry stands for.
    pub count: i64,
    /// Size of the reply, in bytes.
    pub bytes: i64,
    /// Duration, in milliseconds.
    pub ms: f64,
}

impl AuditStore {
    /// Returns the log of a data folder. No file is opened until the first access.
    pub fn new(data: impl Into<DataFolder>) -> Self {
        Self { store: data.into().server_store(Database::Audit) }
    }

    /// Returns the log in a file that follows no archive.
    pub(super) fn at(path: PathBuf) -> Self {
        Self { store: Store::with_path(Database::Audit, path) }
    }

    /// Returns whether there may be entries.
    pub fn may_have_entries(&self) -> bool {
        self.store.may_have_rows()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Appends a batch and enforces the size limit. With `remove_old`, also removes the entries
    /// that are older than the settings allow.
    pub(super) fn append(
        &self,
        batch: &AuditBatch,
        limits: &config::Audit,
        remove_old: bool,
    ) -> Result<(), StoreError> {
        self.create_private_file()?;
        // Waiting for the disk at every batch is not worth the last entries before a power failure.
        self.store.write(Durability::Bulk, |writer| {
            for (entry, count) in &batch.entries {
                append_entry(writer, entry, *count)?;
            }
            enforce_limits(writer, limits, remove_old)
        })
    }

    /// Calls `look` for each entry that matches, oldest first.
    pub fn for_each(
        &self,
        filter: &AuditFilter,
        mut look: impl FnMut(AuditRow),
    ) -> Result<(), StoreError> {
        let AuditFilter { user, tool, since } = filter;
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.for_each_row(
                include_str!("sql/entries.sql"),
                &[(":user", user), (":tool", tool), (":since", since)],
                |row| {
                    look(AuditRow::from_row(row)?);
                    Ok(())
                },
            )
        })
    }

    /// Returns up to `limit` entries that match, newest first, after leaving out those of the
    /// transport `without` and then the first `offset`.
    pub fn latest(
        &self,
        filter: &AuditFilter,
        without: &str,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<AuditRow>, StoreError> {
        let AuditFilter { user, tool, since } = filter;
        let to_integer = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(
                include_str!("sql/latest_entries.sql"),
                &[
                    (":user", user),
                    (":tool", tool),
                    (":since", since),
                    (":without", &without),
                    (":offset", &to_integer(offset)),
                    (":limit", &to_integer(limit)),
                ],
                AuditRow::from_row,
            )
        })
    }

    /// Creates the file so that only its owner can read it. SQLite gives the write-ahead log the
    /// same permissions.
    pub(super) fn create_private_file(&self) -> Result<(), StoreError> {
        if self.store.is_open() {
            return Ok(());
        }
        let path = self.store.path();
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        if let Err(error) = restrict_to_owner(path) {
            // Opening the database reports why it cannot be written.
            tracing::warn!(path = %path.display(), %error, "cannot restrict access to the audit log");
        }
        Ok(())
    }
}

/// Creates a file that only its owner can access, or restricts an existing one.
fn restrict_to_owner(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    drop(file);
    fs::metadata(path).map(drop)
}

/// Removes the oldest entries while the log is too large, and with `remove_old` also those that are
/// older than the settings allow.
pub(super) fn enforce_limits(
    writer: &Writer<'_>,
    limits: &config::Audit,
    remove_old: bool,
) -> Result<(), StoreError> {
    if remove_old {
        let before = SystemTime::now().checked_sub(limits.max_age()).map(to_timestamp);
        writer.execute(REMOVE_OLD_SQL, &[(":before", &before)])?;
    }
    for _ in 0..MAX_TRIMS {
        let used = writer.query_first(USED_BYTES_SQL, &[], |row| row.get::<_, i64>("bytes"))?;
        let used = u64::try_from(used.unwrap_or(0)).unwrap_or(0);
        if used <= limits.max_bytes()
            || writer.execute(include_str!("sql/remove_oldest.sql"), &[])? == 0
        {
            break;
        }
    }
    Ok(())
}

fn append_entry(writer: &Writer<'_>, entry: &AuditEntry, count: u64) -> Result<(), StoreError> {
    let to_integer = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let items: Vec<&str> = entry.items.ids().collect();
    writer.execute(
        include_str!("sql/append.sql"),
        &[
            (":at", &to_timestamp(entry.at)),
            (":user", &entry.user.as_ref().map(vademecum_core::auth::UserId::as_str)),
            (":key", &entry.key.as_ref().map(vademecum_core::auth::KeyId::as_str)),
            (":client", &text(&entry.client)),
            (":transport", &text(entry.transport)),
            (":address", &entry.address.map(|address| address.to_string())),
            (":method", &entry.method),
            (":tool", &entry.tool),
            (":sources", &to_json(&entry.items.sources())),
            (":items", &to_json(&items)),
            (":item_count", &to_integer(entry.items.count())),
            (":outcome", &entry.outcome.as_str()),
            (":code", &entry.code),
            (":reason", &entry.reason),
            (":arguments", &entry.arguments),
            (":count", &i64::try_from(count).unwrap_or(i64::MAX)),
            (":bytes", &to_integer(entry.bytes)),
            (":ms", &to_milliseconds(entry.duration)),
        ],
    )?;
    Ok(())
}

/// Returns a list as a JSON array, or `None` if it is empty.
fn to_json(list: &[&str]) -> Option<String> {
    if list.is_empty() { None } else { serde_json::to_string(list).ok() }
}

fn to_timestamp(time: SystemTime) -> Timestamp {
    let seconds = time.duration_since(UNIX_EPOCH).map(|since| since.as_secs_f64());
    seconds.ok().and_then(Timestamp::from_unix_seconds).unwrap_or_else(Timestamp::now)
}

/// Returns the duration in milliseconds, rounded to the microsecond.
fn to_milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

impl AuditRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let list = |name: &str| -> rusqlite::Result<Vec<String>> {
            let Some(json) = row.get::<_, Option<String>>(name)? else { return Ok(Vec::new()) };
            serde_json::from_str(&json).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error))
            })
        };
        Ok(Self {
            at: row.get("at")?,
            user: row.get("user")?,
            key: row.get("key")?,
            client: row.get("client")?,
            transport: row.get("transport")?,
            address: row.get("address")?,
            method: row.get("method")?,
            tool: row.get("tool")?,
            sources: list("sources")?,
            items: list("items")?,
            item_count: row.get("item_count")?,
            outcome: row.get("outcome")?,
            code: row.get("code")?,
            reason: row.get("reason")?,
            arguments: row.get("arguments")?,
            count: row.get("count")?,
            bytes: row.get("bytes")?,
            ms: row.get("ms")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vademecum_core::audit::AuditOutcome;

    fn batch(entries: impl IntoIterator<Item = AuditEntry>) -> AuditBatch {
        let mut batch = AuditBatch::default();
        entries.into_iter().for_each(|entry| batch.push(entry));
        batch
    }

    fn call(arguments: &str) -> AuditEntry {
        let call = AuditEntry::new("tools/call", "http", AuditOutcome::Ok);
        AuditEntry { arguments: Some(arguments.to_owned()), ..call }
    }

    fn rows(store: &AuditStore) -> Vec<AuditRow> {
        let mut rows = Vec::new();
        store.for_each(&AuditFilter::default(), |row| rows.push(row)).unwrap();
        rows
    }

    #[test]
    fn entry_cannot_be_changed() {
        let folder = tempfile::tempdir().unwrap();
        let store = AuditStore::new(folder.path());
        let limits = config::Audit::default();
        store.append(&batch([call("{}")]), &limits, false).unwrap();
        let changed = store
            .store
            .write(Durability::Full, |writer| writer.execute("UPDATE entry SET user = 'eve'", &[]));
        assert!(changed.unwrap_err().to_string().contains("append-only"));
        assert_eq!(rows(&store)[0].user, None);
    }

    #[cfg(unix)]
    #[test]
    fn log_is_readable_by_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        // A folder that another program has made.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let store = AuditStore::new(folder.path());
        store.append(&batch([call("{}")]), &config::Audit::default(), false).unwrap();
        for file in fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
        }
    }

    #[test]
    fn old_entries_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = AuditStore::new(folder.path());
        let limits = config::Audit::default();
        let age = limits.max_age() + Duration::from_hours(1);
        let old = AuditEntry { at: SystemTime::now() - age, ..call("old") };
        store.append(&batch([old, call("new")]), &limits, false).unwrap();
        assert_eq!(rows(&store).len(), 2);
        store.append(&batch([]), &limits, true).unwrap();
        let left: Vec<_> = rows(&store).into_iter().filter_map(|row| row.arguments).collect();
        assert_eq!(left, ["new"]);
    }

    #[test]
    fn full_log_removes_oldest_entries_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = AuditStore::new(folder.path());
        let limits =
            config::Audit { max_mb: std::num::NonZeroU32::MIN, ..config::Audit::default() };
        let text = "x".repeat(10_000);
        for round in 0..20 {
            let calls = (0..10).map(|number| call(&format!("{round}.{number} {text}")));
            store.append(&batch(calls), &limits, false).unwrap();
        }
        let rows = rows(&store);
        assert!((50..=100).contains(&rows.len()), "{}", rows.len());
        assert!(rows.last().unwrap().arguments.as_deref().unwrap().starts_with("19.9 "));
        assert!(fs::metadata(store.path()).unwrap().len() < 1_500_000);
    }

    #[test]
    fn failed_logins_do_not_displace_calls() {
        let folder = tempfile::tempdir().unwrap();
        let store = AuditStore::new(folder.path());
        let limits =
            config::Audit { max_mb: std::num::NonZeroU32::MIN, ..config::Audit::default() };
        store.append(&batch([call("first")]), &limits, false).unwrap();
        for round in 0..40 {
            let logins = (0..1_000_u32).map(|number| AuditEntry {
                address: Some(std::net::Ipv4Addr::from_bits(round * 1_000 + number).into()),
                ..AuditEntry::new("login", "http", AuditOutcome::Denied)
            });
            store.append(&batch(logins), &limits, false).unwrap();
        }
        let rows = rows(&store);
        assert!(rows.len() < 30_000, "{}", rows.len());
        assert_eq!(rows[0].arguments.as_deref(), Some("first"));
    }
}
