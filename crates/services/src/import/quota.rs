//! The quotas of a user during an import: items are saved in groups that cannot exceed them by more
//! than one item.

use std::sync::Arc;

use vademecum_actors::{CallError, Library, LibraryRoom, QuotaTurn, UserRegistry};
use vademecum_core::auth::UserId;
use vademecum_import::Problem;
use vademecum_model::Draft;

/// Maximum number of drafts that are saved before the size of a library with a quota is measured again.
const MAX_DRAFTS: usize = 20;
/// Upper estimate of what a draft takes on disk, as a multiple of its size: its text, its versions,
/// the full-text index, and the write-ahead log of them all.
const STORED_SIZE_FACTOR: u64 = 8;

/// A user whose quotas an import keeps.
#[derive(Clone, Debug)]
pub struct ImportQuota {
    /// Libraries and their quotas.
    pub registry: Arc<UserRegistry>,
    /// The user.
    pub user: UserId,
}

impl ImportQuota {
    /// Waits for the turn to add an item of this size to the library. Fails if a quota is reached or
    /// the item is larger than the room.
    pub(crate) async fn begin(&self, library: &Library, size: u64) -> Result<QuotaTurn, CallError> {
        let turn = self.registry.quotas().begin_items(&self.user, library).await?;
        let room = turn.room.bytes;
        if size > room {
            return Err(CallError::LimitExceeded(format!(
                "the quota of this library has room for {room} bytes more, and the next item has \
                 {size}; delete items, or ask the operator for more (`vademecum user quota`)"
            )));
        }
        Ok(turn)
    }

    /// Waits for the turn to save some of these drafts. Returns how many of them, at least one.
    pub(super) async fn begin_drafts(
        &self,
        library: &Library,
        drafts: &[Draft],
    ) -> Result<(QuotaTurn, usize), CallError> {
        let turn = self.begin(library, drafts.first().map_or(0, Draft::size_bytes)).await?;
        let fitting = fitting_drafts(drafts, turn.room);
        Ok((turn, fitting))
    }
}

/// Returns how many of the drafts can be saved before the quotas are compared again: at least one,
/// and no second one that may exceed them.
fn fitting_drafts(drafts: &[Draft], room: LibraryRoom) -> usize {
    let items = usize::try_from(room.items).unwrap_or(usize::MAX);
    if room.bytes == u64::MAX {
        return drafts.len().min(items);
    }
    let mut left = room.bytes;
    let fits = |draft: &&Draft| {
        let size = draft.size_bytes().saturating_mul(STORED_SIZE_FACTOR);
        let rest = left.checked_sub(size);
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let fitting = drafts.iter().take(items.min(MAX_DRAFTS)).take_while(fits).count();
    fitting.max(1).min(drafts.len())
}

/// Returns the problem of a file of whose items some were refused.
pub(super) fn refused_items(count: usize, all: usize, refusal: &str) -> Problem {
    let reason = if count == all {
        format!("not imported: {refusal}")
    } else {
        format!("{count} of {all} items were not imported: {refusal}")
    };
    Problem { place: String::new(), reason }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{DraftBody, NoteDraft};

    use super::*;

    #[test]
    fn drafts_fit_by_number_and_by_size() {
        let note = NoteDraft { content: "x".repeat(1_000), ..NoteDraft::default() };
        let drafts = vec![Draft::from_stored("1", DraftBody::Note(note)); 30];
        assert!((1_000..1_100).contains(&drafts[0].size_bytes()));
        let fitting = |bytes, items| fitting_drafts(&drafts, LibraryRoom { bytes, items });
        assert_eq!(fitting(u64::MAX, u64::MAX), 30);
        assert_eq!(fitting(u64::MAX, 7), 7);
        assert_eq!(fitting(1 << 30, u64::MAX), MAX_DRAFTS);
        assert_eq!(fitting(1 << 30, 7), 7);
        let size = drafts[0].size_bytes() * STORED_SIZE_FACTOR;
        assert_eq!(fitting(3 * size - 1, u64::MAX), 2);
        assert_eq!(fitting(3 * size, u64::MAX), 3);
        assert_eq!(fitting(2_000, u64::MAX), 1, "the one that may exceed the quota");
    }
}
