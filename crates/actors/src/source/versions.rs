//! Earlier versions of items: their history, and items as they were.

use vademecum_model::{Deadline, ItemId, ListRequest, Retrieval, Timestamp};
use vademecum_search::Item;
use vademecum_source::SourceError;
use vademecum_store::ShownRows;
use vademecum_vault::journal::{self, AsOf, ItemHistory, PastListing};

use super::handle::SourceHandle;

impl SourceHandle {
    /// Returns the history of an item. For a handle that hides items it has no texts, since earlier
    /// versions may have had other tags.
    pub async fn item_history(
        &self,
        id: &ItemId,
        page: (usize, usize),
        deadline: Deadline,
    ) -> Result<ItemHistory, SourceError> {
        if self.is_hidden() {
            return Err(self.hidden_item(id));
        }
        let is_restricted = self.restriction.is_some();
        if is_restricted {
            self.check_item(id, deadline.clone()).await?;
        }
        let id = id.to_string();
        let mut history = self
            .read_visible(deadline, move |source, reader| {
                reader.verify_item(source.name(), &id, ShownRows::Versions)?;
                journal::read_history(source, reader, &id, page)
            })
            .await?;
        if is_restricted {
            history.oldest_version = None;
            history.changes.iter_mut().for_each(|change| change.fields = None);
        }
        Ok(history)
    }

    /// Returns an item as it was. Fails for a handle that hides items, since earlier versions may
    /// have had other tags.
    pub async fn item_as_of(
        &self,
        id: ItemId,
        as_of: AsOf,
        retrieval: Retrieval,
        deadline: Deadline,
    ) -> Result<Item, SourceError> {
        if self.is_hidden() {
            return Err(self.hidden_item(&id));
        }
        self.check_unrestricted()?;
        self.read_visible(deadline, move |source, reader| {
            reader.verify_item(source.name(), &id.to_string(), ShownRows::Versions)?;
            journal::load_item_as_of(source, reader, &id, as_of, &retrieval)
        })
        .await
    }

    /// Lists the items as they were at a time. Fails for a handle that hides items.
    pub(crate) async fn items_as_of(
        &self,
        request: ListRequest,
        time: Timestamp,
        snippet_length: usize,
        deadline: Deadline,
    ) -> Result<PastListing, SourceError> {
        self.check_unrestricted()?;
        self.read_visible(deadline, move |source, reader| {
            journal::list_items_as_of(source, reader, &request, time, snippet_length)
        })
        .await
    }

    fn check_unrestricted(&self) -> Result<(), SourceError> {
        if self.restriction.is_none() {
            return Ok(());
        }
        let reason = "as_of: a caller who does not see all items gets no earlier versions";
        Err(SourceError::Refused(reason.to_owned()))
    }
}
