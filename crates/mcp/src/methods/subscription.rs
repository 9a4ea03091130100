//! Subscriptions: detects changes of subscribed resources and of the list of tools, and notifies the
//! clients. Checking a resource for changes counts as a call of the user.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;
use tokio::sync::watch;

use crate::{
    Failure, RequestContext, ServerHandler, Service,
    limits::admission::CheckPermit,
    message::jsonrpc,
    session::{session_channel::SessionChannel, watched_resources::WatchedResources},
};

/// Maximum length of a watched URI, in bytes. It is stored as long as it is watched.
const MAX_URI_BYTES: usize = 2_048;
/// Maximum time for clients to take an announcement.
const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(5);

impl Service {
    /// Watches a resource. It need not exist yet. Fails if the URI is too long, or if the session or
    /// the user watches too many resources.
    pub(crate) async fn watch_resource(
        &self,
        watched: &WatchedResources,
        uri: &str,
        call: &RequestContext,
    ) -> Result<(), Failure> {
        if uri.len() > MAX_URI_BYTES {
            return Err(Failure::invalid_params(format!(
                "uri: is longer than {MAX_URI_BYTES} bytes"
            )));
        }
        let permit = watched.reserve(uri, call.principal.user(), &self.admission)?;
        call.items.record([uri]);
        let content_hash = content_hash(uri, &*self.handler, call).await;
        watched.watch(uri, content_hash, permit, &self.admission)
    }

    /// Returns the URIs of resources whose contents changed since the last call.
    pub(crate) async fn take_changed(
        &self,
        watched: &WatchedResources,
        call: &RequestContext,
    ) -> Vec<String> {
        let mut changed = Vec::new();
        for uri in watched.uris() {
            let content_hash = content_hash(&uri, &*self.handler, call).await;
            if watched.update(&uri, content_hash) {
                changed.push(uri);
            }
        }
        changed
    }

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
    pub(crate) fn spawn_watcher(&self, channel: &Arc<SessionChannel>, call: RequestContext) {
        if channel.is_watching.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut changes = self.handler.subscribe_changes(&call.principal);
        let (channel, service) = (Arc::downgrade(channel), self.clone());
        actix::spawn(async move {
            while let Some(permit) = service.next_change(&mut changes, &call).await {
                let Some(channel) = channel.upgrade() else { return };
                let changed = service.take_changed(&channel.watched_resources, &call).await;
                drop(permit);
                for uri in changed {
                    let params = updated_params(&uri);
                    let message = jsonrpc::notification("notifications/resources/updated", &params);
                    channel.send_to_newest_listener(message).await;
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

/// Returns a hash of the contents of a resource; `None` if it cannot be read.
async fn content_hash(
    uri: &str,
    handler: &dyn ServerHandler,
    call: &RequestContext,
) -> Option<u64> {
    let contents = handler.read_resource(uri, call).await.ok()?;
    let mut hasher = DefaultHasher::new();
    contents.body.hash(&mut hasher);
    Some(hasher.finish())
}

/// Returns the parameters of `notifications/resources/updated`.
pub(crate) fn updated_params(uri: &str) -> serde_json::Value {
    json!({ "uri": uri })
}
