//! What goes on in a session: who listens, what is running, what was asked of
//! the client.

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

use super::{Failure, Level, Link, jsonrpc, subscription::Watched};

/// How long a client may take to answer a request of ours: a person may be
/// reading it.
const PATIENCE: Duration = Duration::from_mins(10);
/// Streams of one session that news can go to.
const LISTENERS: usize = 8;

/// What goes on in a session.
#[derive(Debug, Default)]
pub(crate) struct Live {
    listeners: Mutex<Vec<Link>>,
    running: Mutex<HashMap<Box<str>, AbortHandle>>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Value>>>>,
    last_asked: AtomicU64,
    level: Mutex<Option<Level>>,
    /// The resources that the client subscribed to.
    pub(crate) watched: Watched,
    /// Whether somebody looks after them already.
    pub(crate) is_watching: AtomicBool,
}

impl Live {
    /// Sends news here from now on.
    pub(crate) fn listen(&self, link: Link) {
        let mut listeners = lock(&self.listeners);
        listeners.retain(Link::is_open);
        if listeners.len() >= LISTENERS {
            listeners.remove(0);
        }
        listeners.push(link);
    }

    /// Sends news to whoever listens; of several, to the newest.
    pub(crate) async fn post(&self, message: String) {
        let listener = lock(&self.listeners).iter().rfind(|link| link.is_open()).cloned();
        if let Some(listener) = listener {
            listener.send(message).await;
        }
    }

    /// The least that the client wants to be told.
    pub(crate) fn level(&self) -> Level {
        lock(&self.level).unwrap_or(Level::Info)
    }

    /// Sets the least that the client wants to be told.
    pub(crate) fn set_level(&self, level: Level) {
        *lock(&self.level) = Some(level);
    }

    /// Does the work of a request; gives up when the client does.
    pub(crate) async fn run<T>(&self, id: &RawValue, work: impl Future<Output = T>) -> Option<T> {
        let (handle, registration) = AbortHandle::new_pair();
        lock(&self.running).insert(id.get().into(), handle);
        let _forget = Forget { live: self, id };
        Abortable::new(work, registration).await.ok()
    }

    /// Gives up the work of a request.
    pub(crate) fn cancel(&self, id: &RawValue) {
        if let Some(handle) = lock(&self.running).get(id.get()) {
            handle.abort();
        }
    }

    /// Sends a request of ours, `{method, params}`, and waits for the answer.
    pub(crate) async fn ask(&self, link: &Link, mut request: Value) -> Result<Value, Failure> {
        let number = self.last_asked.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        lock(&self.asked).insert(number, sender);
        let _forget = Unask { live: self, number };
        if let Value::Object(fields) = &mut request {
            fields.insert("jsonrpc".to_owned(), "2.0".into());
            fields.insert("id".to_owned(), number.into());
        }
        if !link.send(jsonrpc::json(&request)).await {
            return Err(Failure::internal(
                "the client cannot be asked: it takes no stream (text/event-stream)",
            ));
        }
        match tokio::time::timeout(PATIENCE, receiver).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => {
                let data = json!({ "client": error });
                let failure = Failure::internal("the client could not answer what it was asked");
                Err(Failure { data: Some(data), ..failure })
            }
            Ok(Err(_)) | Err(_) => Err(Failure::internal("the client did not answer in time")),
        }
    }

    /// Takes the client's answer to a request of ours.
    pub(crate) fn answered(&self, id: &RawValue, outcome: Result<&RawValue, &RawValue>) {
        let waiting = id.get().parse().ok().and_then(|number| lock(&self.asked).remove(&number));
        let read = |text: &RawValue| serde_json::from_str(text.get()).unwrap_or_default();
        if let Some(waiting) = waiting {
            // Who asked may have given up.
            drop(waiting.send(outcome.map(read).map_err(read)));
        }
    }
}

struct Forget<'a> {
    live: &'a Live,
    id: &'a RawValue,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(&self.live.running).remove(self.id.get());
    }
}

struct Unask<'a> {
    live: &'a Live,
    number: u64,
}

impl Drop for Unask<'_> {
    fn drop(&mut self) {
        lock(&self.live.asked).remove(&self.number);
    }
}

/// Nothing that holds these locks can leave them half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
