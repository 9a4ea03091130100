//! Writing of a source: saving, changing, removing and undoing.

use vademecum_model::{Change, ChangeAuthor, ChangedItem, Deadline, Draft, SaveOutcome, Uri};
use vademecum_source::{Source, SourceError, list_origins, rename_origin};
use vademecum_store::{Durability, Store, StoreError, Writer};
use vademecum_vault::{
    journal::{self, ConflictCopies, ExportedVersions, UndoSelection, UndoneItem},
    links::update_renamed,
};

use super::{actor::WriteSource, handle::SourceHandle};

/// Selection of the items of an origin, whose parts have origins such as `file:/a#1`.
#[derive(Clone, Debug)]
pub enum OriginParts {
    /// The item of the origin itself.
    Whole,
    /// The item of the origin itself and those of its parts.
    All,
    /// The items of its parts, except those with these origins.
    Except(Vec<String>),
}

impl OriginParts {
    /// Returns `true` if `candidate` is one of the selected origins of `origin`.
    fn selects(&self, origin: &str, candidate: &str) -> bool {
        let part = || candidate.strip_prefix(origin).is_some_and(|rest| rest.starts_with('#'));
        match self {
            Self::Whole => candidate == origin,
            Self::All => candidate == origin || part(),
            Self::Except(kept) => part() && !kept.iter().any(|it| it == candidate),
        }
    }
}

impl SourceHandle {
    /// Saves drafts, in one transaction if all are valid.
    ///
    /// An invalid draft is skipped and reported with its error; the others are saved.
    pub async fn save_drafts(
        &self,
        drafts: Vec<Draft>,
        copies: ConflictCopies,
    ) -> Result<Vec<Result<SaveOutcome, SourceError>>, SourceError> {
        self.write(move |source, store| Ok(save_drafts(source, store, &drafts, copies))).await
    }

    /// Returns the result of saving drafts without saving them.
    pub async fn dry_run(
        &self,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Result<SaveOutcome, SourceError>>, SourceError> {
        let work = move |source: &dyn Source, store: &Store| dry_run(source, store, &drafts);
        self.send(None, WriteSource { work: Box::new(work) }).await
    }

    /// Adds exported versions to an imported item that has none.
    pub async fn add_versions(
        &self,
        item: String,
        versions: ExportedVersions,
    ) -> Result<(), SourceError> {
        self.write(move |source, store| {
            store.write(Durability::Bulk, |writer| {
                journal::import_versions(source, writer, &item, &versions).map(drop)
            })
        })
        .await
    }

    /// Removes items from an origin or parts of it, except those modified here since. Returns the
    /// number of removed items.
    pub async fn remove_origin(
        &self,
        origin: String,
        parts: OriginParts,
    ) -> Result<usize, SourceError> {
        self.write(move |source, store| {
            let origins = list_origins(store, source.name(), &origin)?;
            store.write(Durability::Bulk, |writer| {
                let mut count = 0;
                for origin in origins.keys().filter(|it| parts.selects(&origin, it)) {
                    let is_removed =
                        journal::remove_origin(source, writer, origin, &import_author())?;
                    count += usize::from(is_removed);
                }
                Ok(count)
            })
        })
        .await
    }

    /// Removes the item of an origin, also if it was changed in the library. A later import of the
    /// origin restores it. Returns whether there was an item.
    pub async fn remove_changed_origin(&self, origin: String) -> Result<bool, SourceError> {
        self.write(move |source, store| {
            store.write(Durability::Full, |writer| {
                journal::remove_changed_origin(source, writer, &origin, &import_author())
            })
        })
        .await
    }

    /// Changes the origin of all items from one origin.
    pub async fn rename_origin(&self, from: String, to: String) -> Result<(), SourceError> {
        self.write(move |source, store| {
            store.write(Durability::Bulk, |writer| {
                rename_origin(writer, source.name(), &from, &to)?;
                update_renamed(source, writer, &to)
            })
        })
        .await
    }

    /// Applies a change and records it in the journal. It is durable on disk when this returns.
    pub async fn apply_change(
        &self,
        change: Change,
        author: ChangeAuthor,
        deadline: Deadline,
    ) -> Result<ChangedItem, SourceError> {
        self.check_writable()?;
        if let Some(restriction) = self.restriction.clone() {
            return Box::pin(self.apply_restricted(&restriction, change, author, deadline)).await;
        }
        let bound = deadline.clone();
        let work = move |source: &dyn Source, store: &Store| {
            store.write(Durability::Full, |writer| {
                // The request may have waited for other writers. An abandoned change is not
                // started, so that a retry does not apply it twice.
                if bound.has_passed() {
                    return Err(StoreError::DeadlineExceeded.into());
                }
                journal::apply_change(source, writer, &change, &author)
            })
        };
        self.send(Some(&deadline), WriteSource { work: Box::new(work) }).await
    }

    /// Undoes changes. Without `commit`, it only returns what would be done.
    pub async fn undo_changes(
        &self,
        selection: UndoSelection,
        author: ChangeAuthor,
        commit: bool,
    ) -> Result<Vec<UndoneItem>, SourceError> {
        self.write(move |source, store| {
            let undo =
                |writer: &Writer<'_>| journal::undo_changes(source, writer, &selection, &author);
            if commit { store.write(Durability::Full, undo) } else { store.dry_run(undo) }
        })
        .await
    }
}

/// Tests saving drafts in a transaction that is rolled back. A missing store is not created.
fn dry_run(
    source: &dyn Source,
    store: &Store,
    drafts: &[Draft],
) -> Result<Vec<Result<SaveOutcome, SourceError>>, SourceError> {
    if !store.may_have_rows() {
        let new = |draft: &Draft| SaveOutcome::New(Uri::item(source.name(), draft.origin.as_str()));
        return Ok(drafts.iter().map(|draft| Ok(new(draft))).collect());
    }
    store.dry_run(|writer| {
        let copies = ConflictCopies::InLibrary;
        Ok(drafts.iter().map(|draft| save_draft(source, writer, draft, copies)).collect())
    })
}

/// Saves all drafts in one transaction. If that fails, saves each in its own, so that an invalid
/// draft does not affect the others.
fn save_drafts(
    source: &dyn Source,
    store: &Store,
    drafts: &[Draft],
    copies: ConflictCopies,
) -> Vec<Result<SaveOutcome, SourceError>> {
    let save = |writer: &Writer<'_>, draft: &Draft| save_draft(source, writer, draft, copies);
    let together: Result<Vec<SaveOutcome>, SourceError> = store
        .write(Durability::Bulk, |writer| drafts.iter().map(|draft| save(writer, draft)).collect());
    match together {
        Ok(saved) => saved.into_iter().map(Ok).collect(),
        Err(SourceError::Store(error)) if error.affects_whole_file() => {
            // A failure of the file affects every draft, so it is reported once.
            vec![Err(SourceError::Store(error))]
        }
        Err(_) => drafts
            .iter()
            .map(|draft| store.write(Durability::Bulk, |writer| save(writer, draft)))
            .collect(),
    }
}

fn save_draft(
    source: &dyn Source,
    writer: &Writer<'_>,
    draft: &Draft,
    copies: ConflictCopies,
) -> Result<SaveOutcome, SourceError> {
    journal::save_draft(source, writer, draft, &import_author(), copies)
}

/// Returns the author of changes by imports, of whom only the tool is known.
fn import_author() -> ChangeAuthor {
    ChangeAuthor { tool: "import".to_owned(), ..ChangeAuthor::default() }
}
