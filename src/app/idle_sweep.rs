//! Gives back what is not used: expired sessions, idle libraries, caches and free memory.

use std::{sync::Arc, time::Duration};

use vademecum_actors::{UserRegistry, collections::Catalogue};
use vademecum_mcp::Service;
use vademecum_store::release_free_memory;

/// Interval of the sweeps, and the time without use after which a cache of searches is removed.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Sweeps once in each interval until the task is aborted. Memory is given back last, because what
/// was closed and removed before belongs to it.
pub(super) async fn sweep_idle(
    service: Service,
    registry: Arc<UserRegistry>,
    collections: Arc<Catalogue>,
) {
    let mut rounds = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        rounds.tick().await;
        service.remove_expired();
        registry.remove_idle();
        let (registry, collections) = (Arc::clone(&registry), Arc::clone(&collections));
        let swept = tokio::task::spawn_blocking(move || {
            collections.close_replaced();
            registry.remove_unused_caches(SWEEP_INTERVAL);
            collections.remove_unused_caches(SWEEP_INTERVAL);
            release_free_memory();
        });
        // A panic costs this sweep only.
        drop(swept.await);
    }
}
