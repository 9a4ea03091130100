//! News of resources: who wants to know when one changes.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Call, Failure, Offer, jsonrpc, live::Live};

/// Resources that one session or stream watches at most.
const MOST: usize = 200;
/// The longest URI of one that is watched, in bytes: it is kept for as long.
const LONGEST: usize = 2_048;

/// Resources, and what they held when they were last looked at.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<HashMap<String, Option<u64>>>);

/// What a client wants to hear of.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wishes {
    /// These resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_subscriptions: Vec<String>,
}

impl Watched {
    /// Watches a resource. It need not be there yet.
    pub(crate) async fn add(
        &self,
        uri: &str,
        offer: &dyn Offer,
        call: &Call,
    ) -> Result<(), Failure> {
        if uri.len() > LONGEST {
            return Err(Failure::parameters(format!("uri: is longer than {LONGEST} bytes")));
        }
        let print = print(uri, offer, call).await;
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= MOST && !watched.contains_key(uri) {
            return Err(Failure::parameters(format!(
                "uri: {MOST} resources are watched already; unsubscribe from one first"
            )));
        }
        watched.insert(uri.to_owned(), print);
        Ok(())
    }

    /// Watches a resource no longer.
    pub(crate) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    /// The resources that hold something else than when this was last asked.
    pub(crate) async fn changed(&self, offer: &dyn Offer, call: &Call) -> Vec<String> {
        let uris: Vec<String> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        let mut changed = Vec::new();
        for uri in uris {
            let now = print(&uri, offer, call).await;
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

/// What tells one content of a resource from another; none if it is not there.
async fn print(uri: &str, offer: &dyn Offer, call: &Call) -> Option<u64> {
    let contents = offer.read(uri, call).await.ok()?;
    let mut hasher = DefaultHasher::new();
    contents.body.hash(&mut hasher);
    Some(hasher.finish())
}

/// Says that a resource has changed.
pub(crate) fn updated(uri: &str) -> serde_json::Value {
    json!({ "uri": uri })
}

/// Looks after what a session watches, for as long as there is the session.
pub(crate) fn look_after(live: &Arc<Live>, offer: Arc<dyn Offer>, call: Call) {
    if live.is_watching.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut changes = offer.changes(&call.principal);
    let live = Arc::downgrade(live);
    actix::spawn(async move {
        while changes.changed().await.is_ok() {
            let Some(live) = live.upgrade() else { return };
            for uri in live.watched.changed(&*offer, &call).await {
                let news = jsonrpc::notification("notifications/resources/updated", &updated(&uri));
                live.post(news).await;
            }
        }
    });
}
