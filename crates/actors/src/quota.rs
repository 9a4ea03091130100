//! Quotas of a library: size and number of items, checked before a tool or an upload adds to it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use dashmap::DashMap;
use tokio::sync::{Mutex, OwnedMutexGuard};
use vademecum_accounts::{AccountError, Accounts};
use vademecum_core::{auth::UserId, config::Quotas};
use vademecum_model::{Deadline, SourceName};
use vademecum_store::DataFolder;

use super::{CallError, Library};

/// Time for which a number of items is used. Counting reads every index of a library.
const COUNT_TTL: Duration = Duration::from_secs(1);
/// Maximum time to count the items of one source.
const COUNT_TIMEOUT: Duration = Duration::from_secs(5);

/// Quotas of libraries: those of the user's account, or the defaults of the server.
#[derive(Debug)]
pub struct LibraryQuotas {
    defaults: Quotas,
    accounts: Arc<Accounts>,
    counts: DashMap<UserId, (u64, Instant)>,
    /// Held by the writer whose turn it is.
    turns: DashMap<UserId, Arc<Mutex<()>>>,
}

/// The turn of a writer that adds to a library with a quota. Until it is dropped no other one adds
/// to the library, so that several writers at a time do not share the same room.
#[derive(Debug)]
pub struct QuotaTurn {
    /// The bytes and items that the library may still take.
    pub room: LibraryRoom,
    /// `None` if the library has no quota.
    _held: Option<OwnedMutexGuard<()>>,
}

/// The bytes and items that a library may still take: at least one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryRoom {
    /// Size in bytes.
    pub bytes: u64,
    /// Number of items.
    pub items: u64,
}

/// Size of a library and number of its items, to compare with its quotas.
#[derive(Clone, Copy, Debug)]
pub struct LibraryUse {
    /// Size of the databases and of the kept files, in bytes.
    pub bytes: u64,
    /// Number of items.
    pub items: u64,
}

impl LibraryQuotas {
    /// Creates quotas with these defaults. The data folder has the accounts, which may override
    /// them.
    pub fn new(defaults: Quotas, data: impl Into<DataFolder>) -> Self {
        let accounts = Arc::new(Accounts::new(data));
        Self { defaults, accounts, counts: DashMap::new(), turns: DashMap::new() }
    }

    /// Returns the quotas of a user. Reads the account; creates no file.
    pub fn of_user(&self, user: &UserId) -> Result<Quotas, AccountError> {
        Ok(self.accounts.quotas(user)?.or(self.defaults))
    }

    /// Waits for the turn to add one item. Returns an error if the library has reached a quota of
    /// its user.
    pub async fn begin_item(
        &self,
        user: &UserId,
        library: &Library,
    ) -> Result<QuotaTurn, CallError> {
        let turn = self.begin_until(user, library, COUNT_TTL).await?;
        if turn.room.items < u64::MAX {
            // Items added until the next count are counted at once.
            self.counts.entry(user.clone()).and_modify(|(count, _)| *count += 1);
        }
        Ok(turn)
    }

    /// Waits for the turn to add items. Returns an error if the library has reached a quota of its
    /// user. Counts the items now.
    pub async fn begin_items(
        &self,
        user: &UserId,
        library: &Library,
    ) -> Result<QuotaTurn, CallError> {
        self.begin_until(user, library, Duration::ZERO).await
    }

    async fn begin_until(
        &self,
        user: &UserId,
        library: &Library,
        age: Duration,
    ) -> Result<QuotaTurn, CallError> {
        let quotas = self.read_quotas(user).await?;
        if quotas.byte_limit().is_none() && quotas.item_limit().is_none() {
            let room = LibraryRoom { bytes: u64::MAX, items: u64::MAX };
            return Ok(QuotaTurn { room, _held: None });
        }
        let turn = Arc::clone(&self.turns.entry(user.clone()).or_default());
        let held = turn.lock_owned().await;
        let room = self.measure_room(quotas, user, library, age).await?;
        Ok(QuotaTurn { room, _held: Some(held) })
    }

    /// Returns what the library may still take, or an error if it has reached a quota of its user.
    /// Counts the items now.
    pub async fn room(&self, user: &UserId, library: &Library) -> Result<LibraryRoom, CallError> {
        let quotas = self.read_quotas(user).await?;
        self.measure_room(quotas, user, library, Duration::ZERO).await
    }

    /// Returns the number of bytes that the library may still take, or an error if it has reached the
    /// quota. Files that are being received count.
    pub async fn byte_room(&self, user: &UserId, library: &Library) -> Result<u64, CallError> {
        byte_room(self.read_quotas(user).await?, library)
    }

    async fn read_quotas(&self, user: &UserId) -> Result<Quotas, CallError> {
        let (accounts, name) = (Arc::clone(&self.accounts), user.clone());
        let own = tokio::task::spawn_blocking(move || accounts.quotas(&name)).await;
        let own = own.map_err(|_| CallError::Unavailable)?.map_err(|error| {
            tracing::error!(user.id = %user, %error, "the quota could not be read");
            CallError::Unavailable
        })?;
        Ok(own.or(self.defaults))
    }

    /// Returns what the library may still take, with a number of items that is at most this old.
    async fn measure_room(
        &self,
        quotas: Quotas,
        user: &UserId,
        library: &Library,
        age: Duration,
    ) -> Result<LibraryRoom, CallError> {
        let mut room = LibraryRoom { bytes: byte_room(quotas, library)?, items: u64::MAX };
        if let Some(most) = quotas.item_limit() {
            let items = self.count(user, library, age).await?;
            if items >= most {
                return Err(exceeded(&format!("it has {items} of {most} items")));
            }
            room.items = most - items;
        }
        Ok(room)
    }

    async fn count(
        &self,
        user: &UserId,
        library: &Library,
        age: Duration,
    ) -> Result<u64, CallError> {
        if age.is_zero() {
            // The caller may add many items, so what follows counts them again.
            self.counts.remove(user);
            return count_items(library).await;
        }
        if let Some(known) = self.counts.get(user).filter(|known| known.1.elapsed() < age) {
            return Ok(known.0);
        }
        let items = count_items(library).await?;
        self.counts.insert(user.clone(), (items, Instant::now()));
        Ok(items)
    }
}

fn byte_room(quotas: Quotas, library: &Library) -> Result<u64, CallError> {
    let Some(most) = quotas.byte_limit() else { return Ok(u64::MAX) };
    let bytes = library.size_bytes();
    match most.checked_sub(bytes) {
        None | Some(0) => Err(exceeded(&format!("it takes {bytes} of {most} bytes"))),
        Some(room) => Ok(room),
    }
}

/// Measures a library. Creates no file; every source with a file counts its items.
pub async fn library_use(library: &Library) -> Result<LibraryUse, CallError> {
    Ok(LibraryUse { bytes: library.size_bytes(), items: count_items(library).await? })
}

async fn count_items(library: &Library) -> Result<u64, CallError> {
    let mut items = 0;
    for source in SourceName::ALL.into_iter().filter_map(|name| library.source(name)) {
        // Counting must not create a file.
        if !source.has_store() {
            continue;
        }
        let stats = source.stats(Deadline::after(COUNT_TIMEOUT)).await?;
        items += u64::try_from(stats.items).unwrap_or(u64::MAX);
    }
    Ok(items)
}

fn exceeded(reached: &str) -> CallError {
    CallError::LimitExceeded(format!(
        "the quota of this library is reached: {reached}; delete items, or ask the operator for more \
         (`vademecum user quota`)"
    ))
}
