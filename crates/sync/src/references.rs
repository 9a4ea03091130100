//! The items to which conversations refer: the character, and the conversation that they branch off.
//!
//! They are named by their origins. One that is not known yet may be in a file that comes later.

use rusqlite::named_params;
use vademecum_model::{ChatDraft, DraftBody, SourceName};
use vademecum_source::{Source, find_origin};
use vademecum_store::{Reader, StoreError};
use vademecum_vault::journal::{ExportedVersions, ReceivedItem, link_received};

use crate::{
    SyncError,
    apply::Applier,
    record::ItemRecord,
    scan::{load_body, read_stamp},
    state::SyncedItem,
};

/// Returns a row if the item of an origin is deleted.
const IS_DELETED_SQL: &str = "SELECT 1 FROM imported JOIN sync_items \
     ON sync_items.source = imported.source AND sync_items.item = imported.item \
     WHERE imported.source = :source AND imported.origin = :origin AND sync_items.fingerprint = ''";

/// Forgets the references of a conversation to deleted items: a new machine would wait for them.
pub(crate) fn forget_deleted_references(
    reader: &Reader<'_>,
    body: &mut DraftBody,
) -> Result<(), StoreError> {
    let DraftBody::Chat(chat) = body else { return Ok(()) };
    let is_deleted = |source: SourceName, origin: &str| {
        let named = named_params! { ":source": source.as_str(), ":origin": origin };
        reader.query_first(IS_DELETED_SQL, named, |_| Ok(())).map(|found| found.is_some())
    };
    if let Some(character) = &chat.character
        && is_deleted(SourceName::Characters, character)?
    {
        chat.character = None;
    }
    if let Some(fork) = &chat.fork
        && is_deleted(SourceName::Chats, &fork.of)?
    {
        chat.fork = None;
    }
    Ok(())
}

impl Applier<'_, '_> {
    /// Returns `true` if the record is a conversation whose character or parent is not known.
    pub(crate) fn lacks_reference(&self, record: &ItemRecord) -> Result<bool, StoreError> {
        let Some(DraftBody::Chat(chat)) = &record.body else { return Ok(false) };
        let lacks = |source, origin: Option<&String>| match origin {
            Some(_) => Ok(!self.is_known(source, origin)?),
            None => Ok::<_, StoreError>(false),
        };
        Ok(lacks(SourceName::Characters, chat.character.as_ref())?
            || lacks(SourceName::Chats, chat.fork.as_ref().map(|fork| &fork.of))?)
    }

    /// Gives a conversation the character and the parent that arrived after it.
    pub(crate) fn link(
        &self,
        source: &dyn Source,
        item: &mut SyncedItem,
        record: &ItemRecord,
    ) -> Result<(), SyncError> {
        let (Some(DraftBody::Chat(theirs)), Some(id)) = (&record.body, item.item.clone()) else {
            return Ok(());
        };
        if theirs.character.is_none() && theirs.fork.is_none() {
            return Ok(());
        }
        let DraftBody::Chat(ours) = load_body(self.writer, source, &id)? else { return Ok(()) };
        let character = theirs.character.clone().filter(|_| ours.character.is_none());
        let fork = theirs.fork.clone().filter(|_| ours.fork.is_none());
        if !self.is_known(SourceName::Characters, character.as_ref())?
            && !self.is_known(SourceName::Chats, fork.as_ref().map(|fork| &fork.of))?
        {
            return Ok(());
        }
        let character = character.or(ours.character.clone());
        let fork = fork.or(ours.fork.clone());
        let body = DraftBody::Chat(ChatDraft { character, fork, ..ours });
        let received = ReceivedItem {
            body: Some(&body),
            id: None,
            key: &item.key,
            versions: &ExportedVersions::default(),
            origins: &record.origins,
            is_imported: false,
            import_base: None,
        };
        link_received(source, self.writer, &id, &received)?;
        item.stamp = read_stamp(self.writer, source, &id)?;
        item.save(self.writer)?;
        Ok(())
    }

    fn is_known(&self, source: SourceName, origin: Option<&String>) -> Result<bool, StoreError> {
        match origin {
            Some(origin) => Ok(find_origin(self.writer, source, origin)?.is_some()),
            None => Ok(false),
        }
    }
}
