//! Per-session channel state: listening streams, running requests and pending server-to-client
//! requests.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::{AbortHandle, Abortable};
use serde_json::{Value, json, value::RawValue};
use tokio::sync::oneshot;

use crate::{
    Failure, LogLevel, Outbound, message::jsonrpc, session::watched_resources::WatchedResources,
};

/// Maximum time to wait for a client's reply to a server request. A person may have to confirm it.
const CLIENT_REPLY_TIMEOUT: Duration = Duration::from_mins(10);
/// Maximum number of listening streams per session; the oldest is dropped first.
const MAX_LISTENERS: usize = 8;

/// Channel state of one session, shared by all requests of that session.
#[derive(Debug, Default)]
pub(crate) struct SessionChannel {
    listeners: Mutex<Vec<Outbound>>,
    running_requests: Mutex<HashMap<Box<str>, AbortHandle>>,
    pending_requests: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Value>>>>,
    next_request_id: AtomicU64,
    log_level: Mutex<Option<LogLevel>>,
    /// Resources that the client subscribed to.
    pub(crate) watched_resources: WatchedResources,
    /// Set once a task watches these resources for changes.
    pub(crate) is_watching: AtomicBool,
}

impl SessionChannel {
    /// Adds a stream for server-initiated messages. Closed streams are removed first.
    pub(crate) fn add_listener(&self, outbound: Outbound) {
        let mut listeners = lock(&self.listeners);
        listeners.retain(Outbound::is_open);
        if listeners.len() >= MAX_LISTENERS {
            listeners.remove(0);
        }
        listeners.push(outbound);
    }

    /// Sends a message to the newest open listening stream; drops it if there is none.
    pub(crate) async fn send_to_newest_listener(&self, message: String) {
        let listener = lock(&self.listeners).iter().rfind(|outbound| outbound.is_open()).cloned();
        if let Some(listener) = listener {
            listener.send(message).await;
        }
    }

    /// Returns the minimum log level that the client asked for, `info` by default.
    pub(crate) fn level(&self) -> LogLevel {
        lock(&self.log_level).unwrap_or(LogLevel::Info)
    }

    /// Sets the minimum log level of messages sent to the client.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *lock(&self.log_level) = Some(level);
    }

    /// Runs `work` for request `id`. Returns `None` if the client cancels the request.
    pub(crate) async fn run_cancellable<T>(
        &self,
        id: &RawValue,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let (handle, registration) = AbortHandle::new_pair();
        lock(&self.running_requests).insert(id.get().into(), handle);
        let _forget = RunningGuard { channel: self, id };
        Abortable::new(work, registration).await.ok()
    }

    /// Aborts the work of a running request. Unknown ids are ignored.
    pub(crate) fn cancel_request(&self, id: &RawValue) {
        if let Some(handle) = lock(&self.running_requests).get(id.get()) {
            handle.abort();
        }
    }

    /// Sends a server request, `{method, params}`, and waits for the client's response.
    pub(crate) async fn request_client(
        &self,
        outbound: &Outbound,
        mut request: Value,
    ) -> Result<Value, Failure> {
        let number = self.next_request_id.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        lock(&self.pending_requests).insert(number, sender);
        let _forget = CancelGuard { channel: self, request_id: number };
        if let Value::Object(fields) = &mut request {
            fields.insert("jsonrpc".to_owned(), "2.0".into());
            fields.insert("id".to_owned(), number.into());
        }
        if !outbound.send(jsonrpc::to_json(&request)).await {
            return Err(Failure::internal_error(
                "cannot send a request to the client: it accepts no stream (text/event-stream)",
            ));
        }
        match tokio::time::timeout(CLIENT_REPLY_TIMEOUT, receiver).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => {
                let data = json!({ "client": error });
                let failure =
                    Failure::internal_error("the client answered the request with an error");
                Err(Failure { data: Some(data), ..failure })
            }
            Ok(Err(_)) | Err(_) => {
                Err(Failure::internal_error("the client did not answer in time"))
            }
        }
    }

    /// Delivers the client's response to the pending server request with this id.
    pub(crate) fn complete_request(&self, id: &RawValue, outcome: Result<&RawValue, &RawValue>) {
        let waiting =
            id.get().parse().ok().and_then(|number| lock(&self.pending_requests).remove(&number));
        let read = |text: &RawValue| serde_json::from_str(text.get()).unwrap_or_default();
        if let Some(waiting) = waiting {
            // The waiting request may have been dropped already.
            drop(waiting.send(outcome.map(read).map_err(read)));
        }
    }
}

struct RunningGuard<'a> {
    channel: &'a SessionChannel,
    id: &'a RawValue,
}

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        lock(&self.channel.running_requests).remove(self.id.get());
    }
}

struct CancelGuard<'a> {
    channel: &'a SessionChannel,
    request_id: u64,
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        lock(&self.channel.pending_requests).remove(&self.request_id);
    }
}

/// Locks a mutex, ignoring poisoning: no code path leaves the guarded data half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
