//! Subscriptions: detects changes of subscribed resources and of the list of tools, and notifies the
//! clients. Checking a resource for changes counts as a call of the user.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;

use super::{
    ConnectionPermit, Failure, RequestContext, ServerHandler, Service, admission::CheckPermit,
    jsonrpc, session_channel::SessionChannel,
};

/// Maximum length of a watched URI, in bytes. It is stored as long as it is watched.
const MAX_URI_BYTES: usize = 2_048;
/// Maximum time for clients to take an announcement.
const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(5);

/// Watched resources of one session or stream, by URI.
#[derive(Debug, Default)]
pub(crate) struct WatchedResources(Mutex<HashMap<String, WatchedResource>>);

#[derive(Debug)]
struct WatchedResource {
    /// Hash of the last known contents; `None` if the resource could not be read.
    content_hash: Option<u64>,
    _permit: ConnectionPermit,
}

/// Notifications that a client subscribes to.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) tools_list_changed: bool,
    /// URIs of resources to watch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_subscriptions: Vec<String>,
}

impl WatchedResources {
    /// Watches a resource. It need not exist yet. Fails if the URI is too long, or if the session or
    /// the user watches too many resources.
    pub(crate) async fn watch_resource(
        &self,
        uri: &str,
        service: &Service,
        call: &RequestContext,
    ) -> Result<(), Failure> {
        if uri.len() > MAX_URI_BYTES {
            return Err(Failure::invalid_params(format!(
                "uri: is longer than {MAX_URI_BYTES} bytes"
            )));
        }
        let permit = self.reserve(uri, service, call)?;
        call.items.record([uri]);
        let content_hash = content_hash(uri, &*service.handler, call).await;
        let mut resources = self.resources();
        match (resources.get_mut(uri), permit) {
            (Some(known), _) => known.content_hash = content_hash,
            (None, Some(permit)) => {
                check_room(&resources, service)?;
                let resource = WatchedResource { content_hash, _permit: permit };
                resources.insert(uri.to_owned(), resource);
            }
            // It was unsubscribed in the meantime.
            (None, None) => {}
        }
        Ok(())
    }

    /// Reserves a place for a resource; `None` if it is watched already.
    fn reserve(
        &self,
        uri: &str,
        service: &Service,
        call: &RequestContext,
    ) -> Result<Option<ConnectionPermit>, Failure> {
        let resources = self.resources();
        if resources.contains_key(uri) {
            return Ok(None);
        }
        check_room(&resources, service)?;
        service.admission.acquire_subscription_permit(call.principal.user()).map(Some)
    }

    /// Stops watching a resource.
    pub(crate) fn unwatch_resource(&self, uri: &str) {
        self.resources().remove(uri);
    }

    /// Returns the URIs of resources whose contents changed since the last call.
    pub(crate) async fn take_changed(
        &self,
        offer: &dyn ServerHandler,
        call: &RequestContext,
    ) -> Vec<String> {
        let uris: Vec<String> = self.resources().keys().cloned().collect();
        let mut changed = Vec::new();
        for uri in uris {
            let now = content_hash(&uri, offer, call).await;
            if let Some(resource) = self.resources().get_mut(&uri)
                && resource.content_hash != now
            {
                resource.content_hash = now;
                changed.push(uri);
            }
        }
        changed
    }

    /// Locks the resources, ignoring poisoning: no code path leaves them half-changed.
    fn resources(&self) -> MutexGuard<'_, HashMap<String, WatchedResource>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fails if no further resource may be watched.
fn check_room(
    resources: &HashMap<String, WatchedResource>,
    service: &Service,
) -> Result<(), Failure> {
    let most = service.admission.max_subscriptions_per_session();
    if resources.len() < most {
        return Ok(());
    }
    Err(Failure::too_many_subscriptions("session", most))
}

/// Returns a hash of the contents of a resource; `None` if it cannot be read.
async fn content_hash(uri: &str, offer: &dyn ServerHandler, call: &RequestContext) -> Option<u64> {
    let contents = offer.read_resource(uri, call).await.ok()?;
    let mut hasher = DefaultHasher::new();
    contents.body.hash(&mut hasher);
    Some(hasher.finish())
}

/// Returns the parameters of `notifications/resources/updated`.
pub(crate) fn updated_params(uri: &str) -> serde_json::Value {
    json!({ "uri": uri })
}

impl Service {
    /// Notifies all clients that the list of tools has changed: sessions, and streams that
    /// subscribed to it.
    pub async fn announce_tool_change(&self) {
        self.tool_changes.send_modify(|count| *count += 1);
        let message = jsonrpc::notification("notifications/tools/list_changed", &json!({}));
        let sent = self.sessions.initialized_channels().into_iter().map(|channel| {
            let message = message.clone();
            async move { channel.send_to_newest_listener(message).await }
        });
        // A client that reads nothing does not hold up the others.
        drop(tokio::time::timeout(ANNOUNCE_TIMEOUT, join_all(sent)).await);
    }

    /// Starts a task that sends change notifications for a session until the session ends. Does
    /// nothing if one is running.
    pub(crate) fn spawn_watcher(&self, live: &Arc<SessionChannel>, call: RequestContext) {
        if live.is_watching.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut changes = self.handler.subscribe_changes(&call.principal);
        let (live, service) = (Arc::downgrade(live), self.clone());
        actix::spawn(async move {
            while let Some(permit) = service.next_change(&mut changes, &call).await {
                let Some(live) = live.upgrade() else { return };
                let changed = live.watched_resources.take_changed(&*service.handler, &call).await;
                drop(permit);
                for uri in changed {
                    let params = updated_params(&uri);
                    let news = jsonrpc::notification("notifications/resources/updated", &params);
                    live.send_to_newest_listener(news).await;
                }
            }
        });
    }

    /// Waits until data of the caller may have changed and may be read again; `None` if they cannot
    /// change any more. Changes during the wait are covered by the same check.
    pub(crate) async fn next_change(
        &self,
        changes: &mut watch::Receiver<u64>,
        call: &RequestContext,
    ) -> Option<CheckPermit> {
        changes.changed().await.ok()?;
        let permit = self.admission.acquire_check_permit(call.principal.user()).await;
        changes.borrow_and_update();
        Some(permit)
    }
}
