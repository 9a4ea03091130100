//! Quotas of a library: size and number of items, checked before a tool or an upload adds to it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use dashmap::DashMap;
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
        Self { defaults, accounts: Arc::new(Accounts::new(data)), counts: DashMap::new() }
    }

    /// Returns the quotas of a user. Reads the account; creates no file.
    pub fn of_user(&self, user: &UserId) -> Result<Quotas, AccountError> {
        Ok(self.accounts.quotas(user)?.or(self.defaults))
    }

    /// Returns an error if the library has reached a quota of its user.
    pub async fn check(&self, user: &UserId, library: &Library) -> Result<(), CallError> {
        let room = self.room_until(user, library, COUNT_TTL).await?;
        if room.items < u64::MAX {
            // Items added until the next count are counted at once.
            self.counts.entry(user.clone()).and_modify(|(count, _)| *count += 1);
        }
        Ok(())
    }

    /// Returns what the library may still take, or an error if it has reached a quota of its user.
    /// Counts the items now.
    pub async fn room(&self, user: &UserId, library: &Library) -> Result<LibraryRoom, CallError> {
        self.room_until(user, library, Duration::ZERO).await
    }

    /// Does the same with a number of items that is at most this old.
    async fn room_until(
        &self,
        user: &UserId,
        library: &Library,
        age: Duration,
    ) -> Result<LibraryRoom, CallError> {
        let (accounts, name) = (Arc::clone(&self.accounts), user.clone());
        let own = tokio::task::spawn_blocking(move || accounts.quotas(&name)).await;
        let own = own.map_err(|_| CallError::Unavailable)?.map_err(|error| {
            tracing::error!(user.id = %user, %error, "the quota could not be read");
            CallError::Unavailable
        })?;
        let quotas = own.or(self.defaults);
        let mut room = LibraryRoom { bytes: u64::MAX, items: u64::MAX };
        if let Some(most) = quotas.byte_limit() {
            let bytes = library.size_bytes();
            if bytes >= most {
                return Err(exceeded(&format!("it takes {bytes} of {most} bytes")));
            }
            room.bytes = most - bytes;
        }
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
        if let Some(known) = self.counts.get(user).filter(|known| known.1.elapsed() < age) {
            return Ok(known.0);
        }
        let items = count_items(library).await?;
        self.counts.insert(user.clone(), (items, Instant::now()));
        Ok(items)
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
