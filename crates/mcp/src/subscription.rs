//! Resource subscriptions: detects changes of subscribed resources and notifies the client.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Failure, RequestContext, ServerHandler, jsonrpc, session_channel::SessionChannel};

/// Maximum number of watched resources per session or stream.
const MAX_WATCHED_RESOURCES: usize = 200;
/// Maximum length of a watched URI, in bytes. It is stored as long as it is watched.
const MAX_URI_BYTES: usize = 2_048;

/// Watched resources with a hash of their last known contents.
#[derive(Debug, Default)]
pub(crate) struct WatchedResources(Mutex<HashMap<String, Option<u64>>>);

/// Notifications that a client subscribes to.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubscriptionFilter {
    /// URIs of resources to watch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_subscriptions: Vec<String>,
}

impl WatchedResources {
    /// Watches a resource. It need not exist yet. Fails if the URI is too long or too many
    /// resources are watched.
    pub(crate) async fn watch_resource(
        &self,
        uri: &str,
        offer: &dyn ServerHandler,
        call: &RequestContext,
    ) -> Result<(), Failure> {
        if uri.len() > MAX_URI_BYTES {
            return Err(Failure::invalid_params(format!(
                "uri: is longer than {MAX_URI_BYTES} bytes"
            )));
        }
        let print = content_hash(uri, offer, call).await;
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= MAX_WATCHED_RESOURCES && !watched.contains_key(uri) {
            return Err(Failure::invalid_params(format!(
                "uri: {MAX_WATCHED_RESOURCES} resources are watched already; unsubscribe from one first"
            )));
        }
        watched.insert(uri.to_owned(), print);
        Ok(())
    }

    /// Stops watching a resource.
    pub(crate) fn unwatch_resource(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    /// Returns the URIs of resources whose contents changed since the last call.
    pub(crate) async fn take_changed(
        &self,
        offer: &dyn ServerHandler,
        call: &RequestContext,
    ) -> Vec<String> {
        let uris: Vec<String> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        let mut changed = Vec::new();
        for uri in uris {
            let now = content_hash(&uri, offer, call).await;
            let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(before) = watched.get_mut(&uri)
                && *before != now
            {
                *before = now;
                changed.push(uri);
            }
        }
        changed
    }
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

/// Starts a task that sends change notifications for a session until the session ends. Does nothing
/// if one is running.
pub(crate) fn spawn_watcher(
    live: &Arc<SessionChannel>,
    offer: Arc<dyn ServerHandler>,
    call: RequestContext,
) {
    if live.is_watching.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut changes = offer.subscribe_changes(&call.principal);
    let live = Arc::downgrade(live);
    actix::spawn(async move {
        while changes.changed().await.is_ok() {
            let Some(live) = live.upgrade() else { return };
            for uri in live.watched_resources.take_changed(&*offer, &call).await {
                let news =
                    jsonrpc::notification("notifications/resources/updated", &updated_params(&uri));
                live.send_to_newest_listener(news).await;
            }
        }
    });
}
