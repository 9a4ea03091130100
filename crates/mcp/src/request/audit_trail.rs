//! Information about a call for the audit log, collected while the call runs.

use std::{
    fmt::Display,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vademecum_core::audit::AuditedItems;

/// Transport and address of a peer, for the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerConnection {
    /// Transport: `http`, `websocket` or `stdio`.
    pub transport: &'static str,
    /// Address of the client, behind trusted proxies the forwarded one.
    pub address: Option<IpAddr>,
}

/// Ids of the items that a call shows or changes. Clones share one list. The default keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct ItemTrail(Option<Arc<Mutex<AuditedItems>>>);

impl ItemTrail {
    /// Creates an empty list.
    pub(crate) fn recording() -> Self {
        Self(Some(Arc::default()))
    }

    /// Adds the ids of items that the call shows or changes.
    pub fn record(&self, ids: impl IntoIterator<Item = impl Display>) {
        if let Some(mut items) = self.items() {
            ids.into_iter().for_each(|id| items.push(id));
        }
    }

    /// Takes all ids, so that the list is empty afterwards.
    pub(crate) fn take(&self) -> AuditedItems {
        self.items().map(|mut items| std::mem::take(&mut *items)).unwrap_or_default()
    }

    /// Locks the list, ignoring poisoning: a list that misses an id is still a valid list.
    fn items(&self) -> Option<MutexGuard<'_, AuditedItems>> {
        self.0.as_ref().map(|items| items.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
