//! Claims of builds among servers that follow one archive.
//!
//! A claim expires by the clock of the archive, and only its owner extends or releases it. Each has a
//! number that is greater than those of all claims before. The number names the file that the build
//! makes, so that no two builds ever make the same file, and the catalogue only accepts greater numbers,
//! so that a server that was stopped during a build cannot replace what another one has built since.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
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
/// Kind of the shared values that count builds.
const NUMBER_KIND: &str = "collection_number";

/// The right of this server to build a collection. Dropping it releases the right.
#[derive(Debug)]
pub(super) struct BuildClaim {
    archive: Arc<dyn Archive>,
    name: String,
    key: String,
    value: SharedValue,
    number: u64,
    /// Renewal ends when this is dropped.
    stop: Option<mpsc::Sender<()>>,
    renewal: Option<thread::JoinHandle<()>>,
}

impl BuildClaim {
    /// Claims the build of a collection, with a number of at least `least`, or returns
    /// [`CollectionError::Busy`].
    pub(super) fn acquire(
        archive: Arc<dyn Archive>,
        name: &str,
        least: u64,
    ) -> Result<Self, CollectionError> {
        let key = name.to_ascii_lowercase();
        let bytes = Uuid::new_v4().into_bytes().to_vec();
        let value = SharedValue { bytes, ttl: Some(CLAIM_TTL) };
        // The number comes first: if the claim is lost before it is used, others have greater numbers.
        let number = archive.next_number("", NUMBER_KIND, key.as_bytes(), least);
        let number = number.map_err(StoreError::from)?;
        let kept = archive.value_or_insert("", KIND, key.as_bytes(), &value);
        if kept.map_err(StoreError::from)?.bytes != value.bytes {
            return Err(CollectionError::Busy(name.to_owned()));
        }
        let (stop, stopped) = mpsc::channel();
        let (renewed, renewed_key, renewed_value) =
            (Arc::clone(&archive), key.clone(), value.clone());
        let renewal = thread::Builder::new().name("build-claim".to_owned()).spawn(move || {
            while let Err(mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(RENEWAL_INTERVAL)
            {
                let key = renewed_key.as_bytes();
                match renewed.extend_value("", KIND, key, &renewed_value) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        tracing::warn!(%error, "the claim of a build could not be extended");
                    }
                }
            }
        });
        let (name, stop, renewal) = (name.to_owned(), Some(stop), renewal.ok());
        Ok(Self { archive, name, key, value, number, stop, renewal })
    }

    /// Returns the number of the build, by which its file is named.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Fails with [`CollectionError::TakenOver`] unless the build still belongs to this server.
    pub(super) fn confirm(&self) -> Result<(), CollectionError> {
        let extended = self.archive.extend_value("", KIND, self.key.as_bytes(), &self.value);
        if extended.map_err(StoreError::from)? {
            return Ok(());
        }
        Err(CollectionError::TakenOver(self.name.clone()))
    }
}

impl Drop for BuildClaim {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(renewal) = self.renewal.take() {
            renewal.join().ok();
        }
        // If the archive cannot be reached, the claim expires.
        self.archive.release_value("", KIND, self.key.as_bytes(), &self.value.bytes).ok();
    }
}

#[cfg(test)]
mod tests {
    use vademecum_testing::MemoryArchive;

    use super::*;

    fn acquire(archive: &Arc<MemoryArchive>) -> Result<BuildClaim, CollectionError> {
        BuildClaim::acquire(Arc::clone(archive) as _, "Docs", 3)
    }

    #[test]
    fn lost_claim_stays_lost() {
        let archive = Arc::new(MemoryArchive::default());
        let stopped = acquire(&archive).unwrap();
        assert_eq!(stopped.number(), 3);
        stopped.confirm().unwrap();
        assert!(matches!(acquire(&archive), Err(CollectionError::Busy(_))));
        // The claim expires while its server is stopped, and another one claims the build.
        archive.remove_value("", KIND, b"docs").unwrap();
        assert!(matches!(stopped.confirm(), Err(CollectionError::TakenOver(_))));
        let other = acquire(&archive).unwrap();
        assert!(other.number() > stopped.number());
        assert!(matches!(stopped.confirm(), Err(CollectionError::TakenOver(_))));
        // The end of the first build does not release the claim of the other one.
        drop(stopped);
        other.confirm().unwrap();
        drop(other);
        acquire(&archive).unwrap();
    }
}
