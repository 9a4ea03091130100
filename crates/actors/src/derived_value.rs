//! A value that is computed from all items of a library and kept until they change.
//!
//! It is a part of the library, so it is dropped when the library is closed or the user is removed,
//! and a restricted library has its own.

use std::{any::Any, sync::Arc};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::change_notifier::LibraryWatch;

/// Place for the value of a library.
#[derive(Clone, Debug, Default)]
pub(super) struct DerivedSlot(Arc<Mutex<DerivedState>>);

#[derive(Debug, Default)]
struct DerivedState {
    /// Watch that has checked at the time of the value.
    watch: Option<LibraryWatch>,
    value: Option<Arc<dyn Any + Send + Sync>>,
}

/// Exclusive use of the derived value of a library. While it exists, other callers wait, so that the
/// value is not computed twice at once.
#[derive(Debug)]
pub struct DerivedValue(OwnedMutexGuard<DerivedState>);

impl DerivedSlot {
    /// Waits for the others that use the value.
    pub(super) async fn lock(&self) -> DerivedValue {
        DerivedValue(Arc::clone(&self.0).lock_owned().await)
    }
}

impl DerivedValue {
    pub(super) fn take_watch(&mut self) -> Option<LibraryWatch> {
        self.0.watch.take()
    }

    /// Drops the value if the library has changed since it was kept. Blocks.
    pub(super) fn check(mut self, mut watch: LibraryWatch) -> Self {
        if watch.check_for_change() {
            self.0.value = None;
        }
        self.0.watch = Some(watch);
        self
    }

    /// Returns the value, if there is one of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(self.0.value.as_ref()?).downcast().ok()
    }

    /// Keeps a value that was computed after the library was checked.
    pub fn keep<T: Any + Send + Sync>(&mut self, value: Arc<T>) {
        self.0.value = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use vademecum_store::{Database, Store};

    use super::*;
    use crate::change_notifier::ChangeNotifier;

    #[actix::test]
    async fn value_is_kept_until_a_store_changes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::new(Database::Prompts, folder.path()));
        let notifier = ChangeNotifier::new(vec![Arc::clone(&store)], Vec::new());
        let slot = DerivedSlot::default();
        let mut value = slot.lock().await.check(notifier.watch());
        value.keep(Arc::new(7));
        assert_eq!((value.get::<i32>().as_deref(), value.get::<u8>()), (Some(&7), None));
        drop(value);
        let check = async || {
            let mut value = slot.lock().await;
            let watch = value.take_watch().unwrap();
            value.check(watch)
        };
        assert!(check().await.get::<i32>().is_some());
        store.check_integrity().unwrap();
        assert!(check().await.get::<i32>().is_none());
    }

    #[actix::test]
    async fn others_wait_for_the_value() {
        let slot = DerivedSlot::default();
        let value = slot.lock().await;
        let waiting = slot.lock();
        tokio::pin!(waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(value);
        waiting.await;
    }
}
