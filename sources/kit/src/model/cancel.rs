//! Breaking work off.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A word that work is not wanted any more. All clones hear it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Says that the work is not wanted any more.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was said.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
