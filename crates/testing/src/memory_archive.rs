//! An archive in memory, with faults on request.

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use vademecum_store::{
    Archive, ArchiveError, Entry, Followed, Head, PartName, Put, SharedValue, WriteId,
};

/// An archive in memory.
#[derive(Debug, Default)]
pub struct MemoryArchive {
    content: Mutex<Content>,
    is_lost: AtomicBool,
    head_reads: AtomicUsize,
    /// Locked while no write is answered.
    writes: Mutex<()>,
    /// Its clock is ahead of this machine's by so many milliseconds.
    clock_ahead_ms: AtomicI64,
}

/// The content of an archive, which can be kept and restored.
#[derive(Clone, Debug, Default)]
pub struct Content {
    parts: BTreeMap<(String, String), Part>,
    values: BTreeMap<(String, String, Vec<u8>), StoredValue>,
}

/// A shared value and the time at which it expires.
#[derive(Clone, Debug)]
struct StoredValue {
    bytes: Vec<u8>,
    expires_at: Option<SystemTime>,
}

/// Table and encoded primary key of a row.
type RowKey = (String, Vec<u8>);

#[derive(Clone, Debug, Default)]
struct Part {
    head: Head,
    writes: Vec<WriteId>,
    rows: BTreeMap<RowKey, (u64, Option<Vec<u8>>)>,
}

impl MemoryArchive {
    /// Returns a copy of the content.
    pub fn snapshot(&self) -> Content {
        self.lock().clone()
    }

    /// Replaces the content, as a failover to a server that is behind does.
    pub fn restore(&self, content: Content) {
        *self.lock() = content;
    }

    /// Has all calls fail from now on, or not any more.
    pub fn set_lost(&self, is_lost: bool) {
        self.is_lost.store(is_lost, Ordering::Relaxed);
    }

    /// Has no write answered until the returned guard is dropped.
    pub fn hold_writes(&self) -> MutexGuard<'_, ()> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets its clock ahead of this machine's, or behind it.
    pub fn set_clock_ahead(&self, milliseconds: i64) {
        self.clock_ahead_ms.store(milliseconds, Ordering::Relaxed);
    }

    /// Returns how often heads were read.
    pub fn head_reads(&self) -> usize {
        self.head_reads.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reach(&self) -> Result<MutexGuard<'_, Content>, ArchiveError> {
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(ArchiveError::Unreachable("it is switched off".to_owned()));
        }
        Ok(self.lock())
    }
}

fn key_of(part: &PartName) -> (String, String) {
    (part.user.clone(), part.part.clone())
}

impl Archive for MemoryArchive {
    fn schema_version(&self) -> Result<Option<u32>, ArchiveError> {
        self.reach().map(|_| Some(1))
    }

    fn unix_milliseconds(&self) -> Result<i64, ArchiveError> {
        drop(self.reach()?);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
        Ok(now + self.clock_ahead_ms.load(Ordering::Relaxed))
    }

    fn row_count(&self, part: &PartName) -> Result<u64, ArchiveError> {
        let content = self.reach()?;
        let rows = content.parts.get(&key_of(part)).map(|part| &part.rows);
        let count = rows.map_or(0, |rows| rows.values().filter(|(_, row)| row.is_some()).count());
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }

    fn heads(&self, parts: &[PartName]) -> Result<Vec<Head>, ArchiveError> {
        self.head_reads.fetch_add(1, Ordering::Relaxed);
        let content = self.reach()?;
        let head = |part| content.parts.get(&key_of(part)).map_or(Head::default(), |it| it.head);
        Ok(parts.iter().map(head).collect())
    }

    fn since(
        &self,
        part: &PartName,
        seen: Head,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Followed, ArchiveError> {
        let stored = self.reach()?.parts.get(&key_of(part)).cloned().unwrap_or_default();
        if seen.seq > 0 {
            let index = usize::try_from(seen.seq - 1).expect("a small number");
            if stored.writes.get(index) != Some(&seen.write) {
                return Ok(Followed::Diverged);
            }
        }
        let mut rows: Vec<_> = stored.rows.iter().filter(|(_, (seq, _))| *seq > seen.seq).collect();
        rows.sort_by_key(|(_, (seq, _))| *seq);
        for ((table, key), (_, row)) in rows {
            let entry = Entry { table: table.clone(), key: key.clone(), row: row.clone() };
            if each(entry).is_break() {
                break;
            }
        }
        Ok(Followed::To(stored.head))
    }

    fn put(
        &self,
        part: &PartName,
        seen: Head,
        write: WriteId,
        schema: u32,
        entries: &[Entry],
    ) -> Result<Put, ArchiveError> {
        drop(self.hold_writes());
        let mut content = self.reach()?;
        let stored = content.parts.entry(key_of(part)).or_default();
        if let Some(index) = stored.writes.iter().position(|known| *known == write) {
            let seq = u64::try_from(index).expect("a small number") + 1;
            return Ok(Put::Done(Head { seq, write, schema }));
        }
        if (stored.head.seq, stored.head.write) != (seen.seq, seen.write) {
            return Ok(Put::Behind(stored.head));
        }
        stored.head = Head { seq: seen.seq + 1, write, schema };
        stored.writes.push(write);
        for Entry { table, key, row } in entries {
            stored.rows.insert((table.clone(), key.clone()), (stored.head.seq, row.clone()));
        }
        Ok(Put::Done(stored.head))
    }

    fn list_parts(&self, user: &str) -> Result<Vec<PartName>, ArchiveError> {
        let content = self.reach()?;
        let owned = content.parts.keys().filter(|(owner, _)| owner == user);
        Ok(owned.map(|(user, part)| PartName { user: user.clone(), part: part.clone() }).collect())
    }

    fn users(&self) -> Result<Vec<String>, ArchiveError> {
        let content = self.reach()?;
        let mut users: Vec<_> = content.parts.keys().map(|(user, _)| user.clone()).collect();
        users.dedup();
        users.retain(|user| !user.is_empty());
        Ok(users)
    }

    fn remove_part(&self, part: &PartName) -> Result<(), ArchiveError> {
        self.reach()?.parts.remove(&key_of(part));
        Ok(())
    }

    fn value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
    ) -> Result<Option<SharedValue>, ArchiveError> {
        let key = (user.to_owned(), kind.to_owned(), key.to_vec());
        let (found, now) = (self.reach()?.values.get(&key).cloned(), SystemTime::now());
        let found = found.filter(|it| it.expires_at.is_none_or(|at| at > now));
        Ok(found.map(|it| {
            let left = |at: SystemTime| at.duration_since(now).unwrap_or(Duration::ZERO);
            SharedValue { bytes: it.bytes, ttl: it.expires_at.map(left) }
        }))
    }

    fn values(
        &self,
        user: &str,
        kind: &str,
        keys: &[&[u8]],
    ) -> Result<Vec<Option<SharedValue>>, ArchiveError> {
        keys.iter().map(|key| self.value(user, kind, key)).collect()
    }

    fn set_values(
        &self,
        user: &str,
        kind: &str,
        values: &[(&[u8], SharedValue)],
    ) -> Result<(), ArchiveError> {
        let mut content = self.reach()?;
        for (key, value) in values {
            let key = (user.to_owned(), kind.to_owned(), key.to_vec());
            let expires_at = value.ttl.map(|ttl| SystemTime::now() + ttl);
            content.values.insert(key, StoredValue { bytes: value.bytes.clone(), expires_at });
        }
        Ok(())
    }

    fn value_or_insert(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        value: &SharedValue,
    ) -> Result<SharedValue, ArchiveError> {
        if let Some(found) = self.value(user, kind, key)? {
            return Ok(found);
        }
        self.set_values(user, kind, &[(key, value.clone())])?;
        Ok(value.clone())
    }

    fn extend_value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        value: &SharedValue,
    ) -> Result<bool, ArchiveError> {
        let is_same = self.value(user, kind, key)?.is_some_and(|it| it.bytes == value.bytes);
        if is_same {
            self.set_values(user, kind, &[(key, value.clone())])?;
        }
        Ok(is_same)
    }

    fn release_value(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<(), ArchiveError> {
        let key = (user.to_owned(), kind.to_owned(), key.to_vec());
        self.reach()?.values.retain(|stored, value| *stored != key || value.bytes != bytes);
        Ok(())
    }

    fn next_number(
        &self,
        user: &str,
        kind: &str,
        key: &[u8],
        least: u64,
    ) -> Result<u64, ArchiveError> {
        let before = self
            .value(user, kind, key)?
            .map_or(0, |stored| u64::from_be_bytes(stored.bytes.try_into().expect("a number")));
        let number = least.max(before + 1);
        let value = SharedValue { bytes: number.to_be_bytes().to_vec(), ttl: None };
        self.set_values(user, kind, &[(key, value)])?;
        Ok(number)
    }

    fn remove_value(&self, user: &str, kind: &str, key: &[u8]) -> Result<bool, ArchiveError> {
        let key = (user.to_owned(), kind.to_owned(), key.to_vec());
        Ok(self.reach()?.values.remove(&key).is_some())
    }

    fn remove_values(&self, user: &str, kind: Option<&str>) -> Result<(), ArchiveError> {
        self.reach()?.values.retain(|(owner, its_kind, _), _| {
            owner != user || kind.is_some_and(|kind| kind != its_kind)
        });
        Ok(())
    }

    fn remove_expired_values(&self) -> Result<(), ArchiveError> {
        let now = SystemTime::now();
        self.reach()?.values.retain(|_, value| value.expires_at.is_none_or(|at| at > now));
        Ok(())
    }
}
