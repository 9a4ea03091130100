//! Hits of damaged items: they are listed without their texts.

use vademecum_model::{Hit, ItemId, Uri};
use vademecum_source::SourceError;
use vademecum_store::{Reader, ShownRows, StoreError};

/// What a hit of a damaged item shows instead of its text.
const DAMAGED_HIT: &str = "This item is damaged on the disk of the server, so its text is not shown; \
     `vademecum check` on the server names it and how to repair it.";

/// Replaces hits whose rows differ from what was written by hits without any of their texts.
pub(super) fn hide_damaged_hits(reader: &Reader<'_>, hits: &mut [Hit]) -> Result<(), SourceError> {
    for hit in hits {
        let rows = ShownRows::Hit { message: hit.message_id.as_deref() };
        match reader.verify_item(hit.source, &hit.uri.id, rows) {
            Ok(()) => {}
            Err(StoreError::DamagedItem { path }) => {
                tracing::error!(source = %hit.source, path = %path.display(), "an item is damaged");
                let (uri, id): (Uri, ItemId) = (hit.uri.clone(), hit.id.clone());
                let bare = Hit::new(uri, id);
                let snippet = Some(DAMAGED_HIT.to_owned());
                *hit = Hit {
                    snippet,
                    origin: hit.origin,
                    score: hit.score,
                    score_type: hit.score_type,
                    conversation_id: hit.conversation_id.take(),
                    message_id: hit.message_id.take(),
                    ..bare
                };
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
