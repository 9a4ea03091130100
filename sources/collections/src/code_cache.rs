//! The in-memory cache of a collection's vector codes.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use vademecum_search::QuantizedIndex;

/// The in-memory cache of a collection's vector codes.
#[derive(Debug, Default)]
pub(crate) struct CodeCache(RwLock<CachedCodes>);

/// Codes of all vectors, and the change that they correspond to.
#[derive(Debug, Default)]
pub(crate) struct CachedCodes {
    /// Highest `changed` number contained in the cache.
    pub(crate) changed: i64,
    pub(crate) codes: Option<QuantizedIndex>,
}

impl CodeCache {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, CachedCodes> {
        // A panic cannot leave wrong codes behind: the writer advances `changed` after each code,
        // so an interrupted refresh is repeated.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, CachedCodes> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
