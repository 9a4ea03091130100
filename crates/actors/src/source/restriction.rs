//! Restriction of a source to the items that a principal may see.

use std::{
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use vademecum_model::{
    Change, ChangeAuthor, ChangedItem, ContentOrigin, Deadline, Draft, ItemId, OriginSet,
    SourceAccess, SourceName,
};
use vademecum_source::SourceError;
use vademecum_store::Store;

use super::handle::{Restriction, SourceHandle};
use crate::blocking_pool::BlockingPool;

impl SourceHandle {
    /// Starts an actor for the same source on a restricted store. Items that `access` hides do not
    /// exist for the returned handle.
    pub(crate) fn restricted_to(
        &self,
        access: SourceAccess,
        store: Arc<Store>,
        pool: Arc<BlockingPool>,
    ) -> Self {
        let restriction = Arc::new(Restriction { access, whole: self.clone() });
        Self {
            replica: self.replica.clone(),
            meter: self.meter.clone(),
            restriction: Some(restriction),
            ..Self::start(Arc::clone(&self.source), store, pool)
        }
    }

    /// Returns the error for an item of a hidden source, the same as for one that does not exist.
    pub(super) fn hidden_item(&self, id: &ItemId) -> SourceError {
        let what = match self.name() {
            SourceName::Notes => "note",
            SourceName::Media => "media",
            SourceName::Chats => "conversation",
            SourceName::Characters => "character",
            SourceName::Prompts => "prompt",
            SourceName::Collections => "document",
        };
        SourceError::not_found(what, id)
    }

    /// Returns `true` if the item with this row exists for this handle. Blocks.
    pub(crate) fn is_visible(&self, key: i64, deadline: &Deadline) -> Result<bool, SourceError> {
        if self.is_hidden() {
            return Ok(false);
        }
        let (Some(_), Some(statements)) = (&self.restriction, self.source.item_statements()) else {
            return Ok(true);
        };
        let found = self.store.read(deadline.clone(), |reader| {
            reader.query_each_key(statements.identify_sql, [(key, ())], |_, (), _| Ok(()))
        })?;
        Ok(!found.is_empty())
    }

    /// Applies a change to an item that exists for this handle, with the actor of the whole source.
    pub(super) async fn apply_restricted(
        &self,
        restriction: &Restriction,
        change: Change,
        author: ChangeAuthor,
        deadline: Deadline,
    ) -> Result<ChangedItem, SourceError> {
        restriction.check_origins(&change, &author)?;
        let change = match change {
            Change::Add(draft) => Change::Add(Box::new(restriction.check_new_item(*draft)?)),
            Change::Restore { .. } => {
                return Err(SourceError::Refused(
                    "earlier versions are not restored with a key or client that does not see all \
                     items: they may have had other tags"
                        .to_owned(),
                ));
            }
            Change::Tag { ref id, .. } | Change::Edit { ref id, .. } => {
                self.check_item(id, deadline.clone()).await?;
                change
            }
        };
        restriction.whole.apply_change(change, author, deadline).await
    }
}

impl Restriction {
    /// Returns an error if the item would be hidden from its author by what is in it now.
    fn check_origins(&self, change: &Change, author: &ChangeAuthor) -> Result<(), SourceError> {
        let origins = author.provenance.as_ref().filter(|_| change.adds_text());
        let origins = origins.map_or_else(OriginSet::default, |provenance| provenance.origins);
        match origins.iter().find(|origin| self.access.denied_origins.contains(*origin)) {
            None => Ok(()),
            Some(ContentOrigin::Unknown) => Err(SourceError::Refused(
                "this key sees only items of certain origins, and what this client was shown before \
                 is not known without a session: connect with a session"
                    .to_owned(),
            )),
            Some(origin) => Err(SourceError::Refused(format!(
                "this key sees no items of origin {}, and this one would be of it",
                origin.as_str()
            ))),
        }
    }

    /// Returns an error if the item would not be visible to its author. The digest becomes that of
    /// this restriction, so that an identical item that is hidden is not found.
    fn check_new_item(&self, draft: Draft) -> Result<Draft, SourceError> {
        if !self.access.permits_tags(draft.body.tags()) {
            return Err(SourceError::Refused(
                "this key sees only items with certain tags, and not this one: add a tag that it \
                 sees, or leave out one that it does not see"
                    .to_owned(),
            ));
        }
        let digest = match draft.digest.as_str() {
            "" => String::new(),
            digest => format!(
                "{digest} {:016x}",
                BuildHasherDefault::<DefaultHasher>::default().hash_one(&self.access)
            ),
        };
        Ok(Draft { digest, ..draft })
    }
}
