//! Erasure of the copies that nodes have of the libraries of removed users.
//!
//! Each data folder that follows the archive is a node. The transaction that removes a user notes an
//! erasure for every other node, which it settles when it has erased its copy; a node that is away
//! does so at its next contact.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::{Row, named_params};
use uuid::Uuid;
use vademecum_core::auth::UserId;
use vademecum_model::{Deadline, Timestamp};
use vademecum_store::{ChangeDetector, DataFolder, Durability, StoreError, Writer};

use super::{
    AccountError, Accounts,
    accounts::{READ_TIMEOUT, parse_column, store_error},
    private_file,
};

/// File with the identifier of a data folder and the place for which it was chosen.
const NODE_FILE: &str = "node.id";
/// Notes an erasure for every node but :own.
const REQUIRE_SQL: &str = "INSERT INTO pending_erasures (node_id, user, removed_at) \
     SELECT nodes.id, :user, :now FROM nodes WHERE nodes.id IS NOT :own \
     ON CONFLICT (node_id, user) DO UPDATE SET removed_at = excluded.removed_at";
/// Adds a node, or notes that it was started.
const JOIN_SQL: &str = "INSERT INTO nodes (id, place, started_at) VALUES (:id, :place, :now) \
     ON CONFLICT (id) DO UPDATE SET place = excluded.place, started_at = excluded.started_at";
/// The users whose copies a node must erase.
const OWN_SQL: &str = "SELECT pending_erasures.user FROM pending_erasures \
     WHERE pending_erasures.node_id = :id";
/// Settles an erasure.
const SETTLE_SQL: &str = "DELETE FROM pending_erasures WHERE node_id = :id AND user = :user";
/// Settles all erasures of a node.
const SETTLE_ALL_SQL: &str = "DELETE FROM pending_erasures WHERE node_id = :id";
/// Removes a node.
const LEAVE_SQL: &str = "DELETE FROM nodes WHERE id = :id";

/// Time after which an erasure that failed is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// A copy that a node has not erased yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingErasure {
    /// Identifier of the node.
    pub node: String,
    /// Host and folder of the node.
    pub place: String,
    /// Time at which the node was last started.
    pub started_at: Timestamp,
    /// User who was removed.
    pub user: UserId,
    /// Time of the removal.
    pub removed_at: Timestamp,
}

impl Accounts {
    /// Notes that the data folder is a node, so that it is waited for when users are removed. Does
    /// nothing without an archive.
    pub fn join_nodes(&self) -> Result<(), AccountError> {
        if self.data.archive().is_none() {
            return Ok(());
        }
        let place = node_place(self.data.path());
        let id = own_node(self.data.path(), &place).map_err(node_file_error)?;
        let joined = self.store.write(Durability::Full, |writer| {
            let parameters = named_params! { ":id": id };
            writer.execute(include_str!("sql/new_node_erasures.sql"), parameters)?;
            let now = Timestamp::now();
            writer.execute(JOIN_SQL, named_params! { ":id": id, ":place": place, ":now": now })
        });
        joined.map(drop).map_err(store_error("note that this server follows the archive"))
    }

    /// Returns the copies that nodes have not erased yet, ordered by user.
    pub fn pending_erasures(&self) -> Result<Vec<PendingErasure>, AccountError> {
        let read = |row: &Row<'_>| {
            Ok(PendingErasure {
                node: row.get("node_id")?,
                place: row.get("place")?,
                started_at: row.get("started_at")?,
                user: parse_column(row, "user")?,
                removed_at: row.get("removed_at")?,
            })
        };
        let found = self.store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(include_str!("sql/pending_erasures.sql"), &[], read)
        });
        found.map_err(store_error("list the copies of removed users"))
    }

    /// Waits for a node no more, because its data folder does not exist any more. Returns `false` if
    /// there is no such node.
    pub fn forget_node(&self, node: &str) -> Result<bool, AccountError> {
        let removed = self.store.write(Durability::Full, |writer| {
            writer.execute(SETTLE_ALL_SQL, named_params! { ":id": node })?;
            writer.execute(LEAVE_SQL, named_params! { ":id": node })
        });
        removed.map(|count| count > 0).map_err(store_error("remove a node"))
    }
}

/// Notes that every other node must erase its copy of a user's library. The folder in which the user
/// is removed has its own part of the removal.
pub(super) fn require_erasures(
    writer: &Writer<'_>,
    data: &DataFolder,
    user: &UserId,
) -> Result<(), StoreError> {
    let own = fs::read_to_string(data.path().join(NODE_FILE)).ok();
    let own = own.as_deref().and_then(|text| text.lines().next());
    let (user, now) = (user.as_str(), Timestamp::now());
    writer.execute(REQUIRE_SQL, named_params! { ":user": user, ":now": now, ":own": own })?;
    Ok(())
}

/// Finds out which copies this node must erase.
#[derive(Debug)]
pub struct ErasureWatch {
    accounts: Accounts,
    changes: ChangeDetector,
    /// Identifier of this node, once it has joined.
    node: Option<String>,
    next_attempt: Option<Instant>,
}

impl ErasureWatch {
    /// Starts to watch. The node joins with the first call that reaches the archive.
    pub fn new(accounts: Accounts) -> Self {
        let changes = ChangeDetector::new(&accounts.store);
        Self { accounts, changes, node: None, next_attempt: None }
    }

    /// Has `erase` erase the copies of removed users, and settles those for which it returns `true`.
    /// The others are tried again later. Costs one pragma if nothing has changed.
    pub fn erase(
        &mut self,
        erase: impl Fn(&UserId) -> io::Result<bool>,
    ) -> Result<(), AccountError> {
        let node = if let Some(node) = &self.node {
            node.clone()
        } else {
            self.accounts.join_nodes()?;
            let folder = self.accounts.data.path();
            let node = own_node(folder, &node_place(folder)).map_err(node_file_error)?;
            self.node.insert(node).clone()
        };
        let store = &self.accounts.store;
        store.follow_checked_head().map_err(store_error("follow the archive"))?;
        let is_due = self.next_attempt.is_some_and(|at| Instant::now() >= at);
        if !self.changes.check_for_change() && !is_due {
            return Ok(());
        }
        // An erasure that is not settled is repeated, which does no harm.
        self.next_attempt = Some(Instant::now() + RETRY_INTERVAL);
        let users = store.read(Deadline::after(READ_TIMEOUT), |reader| {
            reader.query_all(OWN_SQL, named_params! { ":id": node }, |row| {
                parse_column::<UserId>(row, "user")
            })
        });
        let users = users.map_err(store_error("list the copies of removed users"))?;
        let mut are_settled = true;
        for user in users {
            let is_erased = erase(&user).unwrap_or_else(|error| {
                tracing::warn!(%error, "the copy of a removed user's library is not erased yet");
                false
            });
            are_settled &= is_erased;
            if is_erased {
                let settled = store.write(Durability::Full, |writer| {
                    let parameters = named_params! { ":id": node, ":user": user.as_str() };
                    writer.execute(SETTLE_SQL, parameters)
                });
                settled.map_err(store_error("note that a copy is erased"))?;
                tracing::info!("the copy of a removed user's library is erased");
            }
        }
        if are_settled {
            self.next_attempt = None;
        }
        Ok(())
    }
}

/// Returns the identifier of a data folder. A copy of the folder at another place gets another one,
/// because both have copies to erase.
fn own_node(folder: &Path, place: &str) -> io::Result<String> {
    let new = || format!("{}\n{place}\n", Uuid::new_v4()).into_bytes();
    let read = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).ok()?;
        let (id, known) = text.split_once('\n')?;
        (known.trim_end_matches('\n') == place).then(|| id.to_owned())
    };
    let known = private_file::read_or_create(folder, NODE_FILE, || Ok(new()))?;
    if let Some(id) = read(known) {
        return Ok(id);
    }
    private_file::replace(folder, NODE_FILE, &new())?;
    let replaced = private_file::read_or_create(folder, NODE_FILE, || Ok(new()))?;
    read(replaced).ok_or_else(|| io::Error::other("the file node.id is damaged"))
}

/// Returns host and path of a data folder.
fn node_place(folder: &Path) -> String {
    let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    format!("{}:{}", host_name(), path.display()).replace('\n', " ")
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    "this machine".to_owned()
}

fn node_file_error(source: io::Error) -> AccountError {
    let source = StoreError::Folder { path: NODE_FILE.into(), source };
    store_error("identify this data folder")(source)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, sync::Arc};

    use vademecum_testing::{MemoryArchive, follow_plain_tables};

    use super::*;

    fn accounts(folder: &tempfile::TempDir, archive: &Arc<MemoryArchive>) -> Accounts {
        let archive = Some(follow_plain_tables(archive));
        Accounts::new(DataFolder::new(folder.path().to_owned(), archive))
    }

    /// Returns the users for which a node is asked to erase the copy.
    fn asked(watch: &mut ErasureWatch, is_erased: bool) -> Vec<String> {
        let asked = RefCell::new(Vec::new());
        watch
            .erase(|user| {
                asked.borrow_mut().push(user.to_string());
                Ok(is_erased)
            })
            .unwrap();
        asked.into_inner()
    }

    #[test]
    fn every_other_node_erases_once() {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let archive = Arc::new(MemoryArchive::default());
        let [here, there, later] = folders.each_ref();
        let ada: UserId = "ada".parse().unwrap();
        let mut own = ErasureWatch::new(accounts(here, &archive));
        let mut other = ErasureWatch::new(accounts(there, &archive));
        assert!(asked(&mut own, true).is_empty() && asked(&mut other, true).is_empty());
        let removing = accounts(here, &archive);
        removing.add_user(&ada).unwrap();
        removing.remove_user(&ada).unwrap();
        let pending = removing.pending_erasures().unwrap();
        assert_eq!(pending.len(), 1, "{pending:?}");
        assert!(pending[0].place.ends_with(&*there.path().to_string_lossy()), "{pending:?}");
        // A node that was away, and one that joins later.
        let mut other = ErasureWatch::new(accounts(there, &archive));
        assert_eq!(asked(&mut other, false), ["ada"]);
        assert_eq!(removing.pending_erasures().unwrap().len(), 1, "it stays until it is erased");
        let mut other = ErasureWatch::new(accounts(there, &archive));
        assert_eq!(asked(&mut other, true), ["ada"]);
        assert!(removing.pending_erasures().unwrap().is_empty());
        let mut new = ErasureWatch::new(accounts(later, &archive));
        assert_eq!(asked(&mut new, true), ["ada"]);
        assert!(asked(&mut ErasureWatch::new(accounts(there, &archive)), true).is_empty());
    }

    #[test]
    fn node_that_is_forgotten_is_not_waited_for() {
        let [here, there] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let archive = Arc::new(MemoryArchive::default());
        accounts(&there, &archive).join_nodes().unwrap();
        let (accounts, ada) = (accounts(&here, &archive), "ada".parse().unwrap());
        accounts.add_user(&ada).unwrap();
        accounts.remove_user(&ada).unwrap();
        let node = accounts.pending_erasures().unwrap().remove(0).node;
        assert!(!accounts.forget_node("another").unwrap());
        assert!(accounts.forget_node(&node).unwrap());
        assert!(accounts.pending_erasures().unwrap().is_empty());
    }

    #[test]
    fn copied_folder_is_another_node() {
        let folder = tempfile::tempdir().unwrap();
        let id = own_node(folder.path(), "one:/data").unwrap();
        assert_eq!(own_node(folder.path(), "one:/data").unwrap(), id);
        let other = own_node(folder.path(), "two:/data").unwrap();
        assert!(other != id && own_node(folder.path(), "two:/data").unwrap() == other);
    }
}
