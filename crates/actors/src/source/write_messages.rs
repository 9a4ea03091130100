//! Messages of the source actor that write.

use actix::prelude::*;
use vademecum_model::{
    Change, ChangeAuthor, ChangedItem, Deadline, Draft, SaveOutcome, Timestamp, Uri,
};
use vademecum_source::{Source, SourceError, rename_origin};
use vademecum_store::{Durability, Store, StoreError, Writer};
use vademecum_vault::{
    journal::{self, ConflictCopies, ExportedVersions, UndoneItem},
    links::update_renamed,
};

use super::SourceActor;

/// Saves drafts, or only tests saving them if `keep` is false.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Result<SaveOutcome, SourceError>>, SourceError>")]
pub(super) struct SaveDrafts {
    pub(super) drafts: Vec<Draft>,
    pub(super) conflict_copies: ConflictCopies,
    pub(super) commit: bool,
}

impl Handler<SaveDrafts> for SourceActor {
    type Result = ResponseFuture<Result<Vec<Result<SaveOutcome, SourceError>>, SourceError>>;

    fn handle(
        &mut self,
        SaveDrafts { drafts, conflict_copies, commit }: SaveDrafts,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_write(move |source, store| {
            if commit {
                Ok(save_drafts(source, store, &drafts, conflict_copies))
            } else {
                dry_run(source, store, &drafts)
            }
        })
    }
}

/// Adds exported versions to an imported item.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), SourceError>")]
pub(super) struct AddVersions {
    pub(super) item: String,
    pub(super) versions: ExportedVersions,
}

impl Handler<AddVersions> for SourceActor {
    type Result = ResponseFuture<Result<(), SourceError>>;

    fn handle(
        &mut self,
        AddVersions { item, versions }: AddVersions,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_write(move |source, store| {
            store.write(Durability::Bulk, |writer| {
                journal::import_versions(source, writer, &item, &versions).map(drop)
            })
        })
    }
}

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

/// Removes items whose origin was deleted.
#[derive(Debug, Message)]
#[rtype(result = "Result<usize, SourceError>")]
pub(super) struct RemoveOrigin {
    pub(super) origin: String,
    pub(super) parts: OriginParts,
}

impl Handler<RemoveOrigin> for SourceActor {
    type Result = ResponseFuture<Result<usize, SourceError>>;

    fn handle(
        &mut self,
        RemoveOrigin { origin, parts }: RemoveOrigin,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_write(move |source, store| {
            let origins = vademecum_source::list_origins(store, source.name(), &origin)?;
            store.write(Durability::Bulk, |writer| {
                let meant = origins.keys().filter(|it| parts.selects(&origin, it));
                let mut count = 0;
                for origin in meant {
                    count += usize::from(journal::remove_origin(
                        source,
                        writer,
                        origin,
                        &import_author(),
                    )?);
                }
                Ok(count)
            })
        })
    }
}

/// Removes the item of an origin, also if it was changed in the library.
#[derive(Debug, Message)]
#[rtype(result = "Result<bool, SourceError>")]
pub(super) struct RemoveChangedOrigin(pub(super) String);

impl Handler<RemoveChangedOrigin> for SourceActor {
    type Result = ResponseFuture<Result<bool, SourceError>>;

    fn handle(
        &mut self,
        RemoveChangedOrigin(origin): RemoveChangedOrigin,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_write(move |source, store| {
            store.write(Durability::Full, |writer| {
                journal::remove_changed_origin(source, writer, &origin, &import_author())
            })
        })
    }
}

/// Changes the origin of items.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), SourceError>")]
pub(super) struct RenameOrigin {
    pub(super) from: String,
    pub(super) to: String,
}

impl Handler<RenameOrigin> for SourceActor {
    type Result = ResponseFuture<Result<(), SourceError>>;

    fn handle(
        &mut self,
        RenameOrigin { from, to }: RenameOrigin,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_write(move |source, store| {
            store.write(Durability::Bulk, |writer| {
                rename_origin(writer, source.name(), &from, &to)?;
                update_renamed(source, writer, &to)
            })
        })
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

/// Undoes changes, or only tests it if `commit` is false.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<UndoneItem>, SourceError>")]
pub(super) struct UndoChanges {
    pub(super) since: Timestamp,
    pub(super) client: Option<String>,
    pub(super) author: ChangeAuthor,
    pub(super) commit: bool,
}

impl Handler<UndoChanges> for SourceActor {
    type Result = ResponseFuture<Result<Vec<UndoneItem>, SourceError>>;

    fn handle(&mut self, message: UndoChanges, _: &mut Self::Context) -> Self::Result {
        self.spawn_write(move |source, store| {
            let UndoChanges { since, client, author, commit } = message;
            let undo = |writer: &Writer<'_>| {
                journal::undo_changes(source, writer, since, client.as_deref(), &author)
            };
            if commit { store.write(Durability::Full, undo) } else { store.dry_run(undo) }
        })
    }
}

/// Returns the author of changes by imports.
fn import_author() -> ChangeAuthor {
    ChangeAuthor { tool: "import".to_owned(), ..ChangeAuthor::default() }
}

/// Applies a change and records it in the journal.
#[derive(Debug, Message)]
#[rtype(result = "Result<ChangedItem, SourceError>")]
pub(super) struct ApplyChange {
    pub(super) change: Change,
    pub(super) author: ChangeAuthor,
    pub(super) deadline: Deadline,
}

impl Handler<ApplyChange> for SourceActor {
    type Result = ResponseFuture<Result<ChangedItem, SourceError>>;

    fn handle(
        &mut self,
        ApplyChange { change, author, deadline }: ApplyChange,
        _: &mut Self::Context,
    ) -> Self::Result {
        self.spawn_write(move |source, store| {
            store.write(Durability::Full, |writer| {
                // The request may have waited for other writers. An abandoned change is not
                // started, so that a retry does not apply it twice.
                if deadline.has_passed() {
                    return Err(StoreError::DeadlineExceeded.into());
                }
                journal::apply_change(source, writer, &change, &author)
            })
        })
    }
}
