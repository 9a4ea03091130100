//! Resources that a session or stream watches for changes.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{ConnectionPermit, Failure, limits::admission::AdmissionControl};
use vademecum_core::auth::UserId;

/// Watched resources of one session or stream, by URI.
#[derive(Debug, Default)]
pub(crate) struct WatchedResources(Mutex<HashMap<String, WatchedResource>>);

#[derive(Debug)]
struct WatchedResource {
    /// Hash of the last known contents; `None` if the resource could not be read.
    content_hash: Option<u64>,
    _permit: ConnectionPermit,
}

impl WatchedResources {
    /// Reserves a place for a resource; `None` if it is watched already. Fails if the session or the
    /// user watches too many resources.
    pub(crate) fn reserve(
        &self,
        uri: &str,
        user: &UserId,
        admission: &AdmissionControl,
    ) -> Result<Option<ConnectionPermit>, Failure> {
        let resources = self.resources();
        if resources.contains_key(uri) {
            return Ok(None);
        }
        check_room(&resources, admission)?;
        admission.acquire_subscription_permit(user).map(Some)
    }

    /// Watches a resource with these contents, for which a place was reserved. Fails if the session
    /// watches too many resources by now.
    pub(crate) fn watch(
        &self,
        uri: &str,
        content_hash: Option<u64>,
        permit: Option<ConnectionPermit>,
        admission: &AdmissionControl,
    ) -> Result<(), Failure> {
        let mut resources = self.resources();
        match (resources.get_mut(uri), permit) {
            (Some(resource), _) => resource.content_hash = content_hash,
            (None, Some(permit)) => {
                check_room(&resources, admission)?;
                let resource = WatchedResource { content_hash, _permit: permit };
                resources.insert(uri.to_owned(), resource);
            }
            // It was unsubscribed in the meantime.
            (None, None) => {}
        }
        Ok(())
    }

    /// Stops watching a resource.
    pub(crate) fn unwatch(&self, uri: &str) {
        self.resources().remove(uri);
    }

    /// Returns the URIs of the watched resources, in no particular order.
    pub(crate) fn uris(&self) -> Vec<String> {
        self.resources().keys().cloned().collect()
    }

    /// Returns whether no resource is watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.resources().is_empty()
    }

    /// Records the current contents of a resource. Returns `true` if it is watched and they differ
    /// from the last known ones.
    pub(crate) fn update(&self, uri: &str, content_hash: Option<u64>) -> bool {
        match self.resources().get_mut(uri) {
            Some(resource) if resource.content_hash != content_hash => {
                resource.content_hash = content_hash;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Locks the resources, ignoring poisoning: no code path leaves them half-changed.
    fn resources(&self) -> MutexGuard<'_, HashMap<String, WatchedResource>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fails if no further resource may be watched.
fn check_room(
    resources: &HashMap<String, WatchedResource>,
    admission: &AdmissionControl,
) -> Result<(), Failure> {
    let max = admission.limits.max_subscriptions_per_session;
    if resources.len() < max {
        return Ok(());
    }
    Err(Failure::too_many_subscriptions("session", max))
}
