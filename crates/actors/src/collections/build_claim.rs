//! Claims of builds among servers that follow one archive.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::{Duration, SystemTime},
};

use uuid::Uuid;
use vademecum_store::{Archive, SharedValue, StoreError};

use super::CollectionError;

/// Time after which a build whose server has ended may be begun by another one.
const CLAIM_TTL: Duration = Duration::from_secs(15);
/// Interval of extending a claim while the build runs.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(5);
/// Kind of the shared values that claim builds.
const KIND: &str = "collection_build";

/// The right of this server to build a collection. Dropping it releases the right.
#[derive(Debug)]
pub(super) struct BuildClaim {
    archive: Arc<dyn Archive>,
    name: String,
    /// Renewal ends when this is dropped.
    stop: Option<mpsc::Sender<()>>,
    renewal: Option<thread::JoinHandle<()>>,
}

impl BuildClaim {
    /// Claims the build of a collection, or returns [`CollectionError::Busy`].
    pub(super) fn acquire(archive: Arc<dyn Archive>, name: &str) -> Result<Self, CollectionError> {
        let key = name.to_ascii_lowercase();
        let owner = Uuid::new_v4().into_bytes().to_vec();
        let kept = archive.value_or_insert("", KIND, key.as_bytes(), &claim(owner.clone()));
        if kept.map_err(StoreError::from)?.bytes != owner {
            return Err(CollectionError::Busy(name.to_owned()));
        }
        let (stop, stopped) = mpsc::channel();
        let (renewed, name) = (Arc::clone(&archive), key.clone());
        let renewal = thread::Builder::new().name("build-claim".to_owned()).spawn(move || {
            while let Err(mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(RENEWAL_INTERVAL)
            {
                let value = claim(owner.clone());
                if let Err(error) = renewed.set_values("", KIND, &[(name.as_bytes(), value)]) {
                    tracing::warn!(%error, "the claim of a build could not be extended");
                }
            }
        });
        Ok(Self { archive, name: key, stop: Some(stop), renewal: renewal.ok() })
    }
}

impl Drop for BuildClaim {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(renewal) = self.renewal.take() {
            renewal.join().ok();
        }
        // If the archive cannot be reached, the claim expires.
        self.archive.remove_value("", KIND, self.name.as_bytes()).ok();
    }
}

fn claim(owner: Vec<u8>) -> SharedValue {
    SharedValue { bytes: owner, expires_at: SystemTime::now().checked_add(CLAIM_TTL) }
}
