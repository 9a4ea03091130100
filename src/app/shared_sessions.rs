//! Records of protocol sessions in the archive, so that any server continues them.

use std::{sync::Arc, time::Duration};

use vademecum_core::auth::UserId;
use vademecum_mcp::{SessionId, SessionRecords, Unreachable};
use vademecum_store::{Archive, ArchiveError, DataFolder, Replication, SharedValue};

/// Kind of the values in the archive.
const KIND: &str = "session";

/// Records of protocol sessions in an archive.
#[derive(Debug)]
pub(super) struct ArchivedSessions(Arc<dyn Replication>);

impl ArchivedSessions {
    /// Returns the records in the archive of a data folder; `None` without an archive.
    pub(super) fn open(data: &DataFolder) -> Option<Arc<dyn SessionRecords>> {
        data.archive().map(|archive| Arc::new(Self(Arc::clone(archive))) as Arc<dyn SessionRecords>)
    }

    /// Calls the archive, and logs a failure.
    fn call<T>(
        &self,
        call: impl FnOnce(&dyn Archive) -> Result<T, ArchiveError>,
    ) -> Result<T, Unreachable> {
        self.0.call(call).map_err(|error| {
            tracing::debug!(%error, "the record of a session is not shared");
            Unreachable
        })
    }
}

impl SessionRecords for ArchivedSessions {
    fn save(
        &self,
        owner: &UserId,
        id: &SessionId,
        record: Vec<u8>,
        ttl: Duration,
    ) -> Result<(), Unreachable> {
        let value = SharedValue { bytes: record, ttl: Some(ttl) };
        let key = id.as_str().as_bytes();
        self.call(|archive| archive.set_values(owner.as_str(), KIND, &[(key, value)]))
    }

    fn load(&self, owner: &UserId, id: &SessionId) -> Result<Option<Vec<u8>>, Unreachable> {
        let key = id.as_str().as_bytes();
        let found = self.call(|archive| archive.value(owner.as_str(), KIND, key))?;
        Ok(found.map(|value| value.bytes))
    }

    fn remove(&self, owner: &UserId, id: &SessionId) {
        let key = id.as_str().as_bytes();
        self.call(|archive| archive.remove_value(owner.as_str(), KIND, key)).ok();
    }

    fn remove_user(&self, owner: &UserId) {
        self.call(|archive| archive.remove_values(owner.as_str(), Some(KIND))).ok();
    }
}
