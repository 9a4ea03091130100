//! Items that a call shows, collected while it runs: for the audit log, and for the provenance of the
//! items that an agent writes later.

use std::{
    fmt::Display,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vademecum_core::audit::AuditedItems;
use vademecum_model::{ContentOrigin, Hit, OriginSet};

/// Transport and address of a peer, for the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerConnection {
    /// Transport: `http`, `websocket` or `stdio`.
    pub transport: &'static str,
    /// Address of the client, behind trusted proxies the forwarded one.
    pub address: Option<IpAddr>,
}

impl PeerConnection {
    /// Transport of a client that started this process, whose only session is the process.
    pub const STDIO: &'static str = "stdio";
}

/// Ids of the items that a call shows or changes. Clones share their lists. The default keeps no list
/// for the audit log.
#[derive(Clone, Debug, Default)]
pub struct ItemTrail {
    audited: Option<Arc<Mutex<AuditedItems>>>,
    shown: Arc<Mutex<Vec<ShownItem>>>,
}

/// An item that a call showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownItem {
    /// Its URI, or another id.
    pub id: String,
    /// Origins of its contents; `None` if they have yet to be looked up by the URI.
    pub origins: Option<OriginSet>,
}

impl ItemTrail {
    /// Creates an empty list.
    pub(crate) fn recording() -> Self {
        Self { audited: Some(Arc::default()), shown: Arc::default() }
    }

    /// Adds the ids of items that the call shows.
    pub fn record(&self, ids: impl IntoIterator<Item = impl Display>) {
        self.push_all(ids.into_iter().map(|id| (id, None)));
    }

    /// Adds the id of an item that the call changes, and does not show.
    pub fn record_change(&self, id: impl Display) {
        if let Some(audited) = &self.audited {
            lock(audited).push(id);
        }
    }

    /// Adds the ids of texts of one origin that the call shows.
    pub fn record_all_of(
        &self,
        origin: ContentOrigin,
        ids: impl IntoIterator<Item = impl Display>,
    ) {
        let origins = OriginSet::from_iter([origin]);
        self.push_all(ids.into_iter().map(|id| (id, Some(origins))));
    }

    /// Adds items that the call shows, whose origins are known.
    pub fn record_hits<'h>(&self, hits: impl IntoIterator<Item = &'h Hit>) {
        self.push_all(hits.into_iter().map(|hit| (&hit.uri, Some(hit.origins()))));
    }

    /// Adds the items of a result, whose origins are known.
    pub fn record_known(&self, items: impl IntoIterator<Item = (impl Display, OriginSet)>) {
        self.push_all(items.into_iter().map(|(id, origins)| (id, Some(origins))));
    }

    /// Takes the items that were shown so far.
    pub fn take_shown(&self) -> Vec<ShownItem> {
        std::mem::take(&mut *lock(&self.shown))
    }

    fn push_all(&self, items: impl Iterator<Item = (impl Display, Option<OriginSet>)>) {
        let mut audited = self.audited.as_ref().map(lock);
        let mut shown = lock(&self.shown);
        for (id, origins) in items {
            let id = id.to_string();
            if let Some(audited) = &mut audited {
                audited.push(&id);
            }
            shown.push(ShownItem { id, origins });
        }
    }

    /// Takes all ids for the audit log, so that the list is empty afterwards.
    pub(crate) fn take(&self) -> AuditedItems {
        self.audited.as_ref().map(|it| std::mem::take(&mut *lock(it))).unwrap_or_default()
    }
}

/// Locks a list, ignoring poisoning: a list that misses an id is still a valid list.
fn lock<T>(list: &Arc<Mutex<T>>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
