//! What a source is told to write.

use actix::prelude::*;
use vademecum_kit::{
    model::{Change, Deadline, Draft, Saved, Uri, Written},
    source::{Source, SourceError},
    store::{Durability, Store, StoreError, rename_origin},
};

use super::SourceActor;

/// Saves drafts.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Result<Saved, SourceError>>, SourceError>")]
pub(super) struct Save {
    pub(super) drafts: Vec<Draft>,
    pub(super) keep: bool,
}

impl Handler<Save> for SourceActor {
    type Result = ResponseFuture<Result<Vec<Result<Saved, SourceError>>, SourceError>>;

    fn handle(&mut self, Save { drafts, keep }: Save, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| {
            if keep {
                Ok(save_all(source, store, &drafts))
            } else {
                rehearse(source, store, &drafts)
            }
        })
    }
}

/// Takes items away whose origin is gone.
#[derive(Debug, Message)]
#[rtype(result = "Result<usize, SourceError>")]
pub(super) struct Remove {
    pub(super) origin: String,
}

impl Handler<Remove> for SourceActor {
    type Result = ResponseFuture<Result<usize, SourceError>>;

    fn handle(&mut self, Remove { origin }: Remove, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| {
            let part = format!("{origin}#");
            let origins = store.origins(source.name(), &origin)?;
            store.write(Durability::Bulk, |writer| {
                let meant = origins.keys().filter(|it| **it == origin || it.starts_with(&part));
                let mut count = 0;
                for origin in meant {
                    count += usize::from(source.remove(writer, origin)?);
                }
                Ok(count)
            })
        })
    }
}

/// Changes where items came from.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), SourceError>")]
pub(super) struct Rename {
    pub(super) from: String,
    pub(super) to: String,
}

impl Handler<Rename> for SourceActor {
    type Result = ResponseFuture<Result<(), SourceError>>;

    fn handle(&mut self, Rename { from, to }: Rename, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| {
            store.write(Durability::Bulk, |writer| {
                Ok(rename_origin(writer, source.name(), &from, &to)?)
            })
        })
    }
}

/// What would become of drafts. A library that is not there is not made for it.
fn rehearse(
    source: &dyn Source,
    store: &Store,
    drafts: &[Draft],
) -> Result<Vec<Result<Saved, SourceError>>, SourceError> {
    if !store.path().exists() {
        let new = |draft: &Draft| Saved::New(Uri::item(source.name(), draft.origin.as_str()));
        return Ok(drafts.iter().map(|draft| Ok(new(draft))).collect());
    }
    store.rehearse(|writer| Ok(drafts.iter().map(|draft| source.save(writer, draft)).collect()))
}

/// Saves all drafts at once; if that fails, each by itself, so that one that
/// cannot be saved costs nothing but itself.
fn save_all(
    source: &dyn Source,
    store: &Store,
    drafts: &[Draft],
) -> Vec<Result<Saved, SourceError>> {
    let together: Result<Vec<Saved>, SourceError> = store.write(Durability::Bulk, |writer| {
        drafts.iter().map(|draft| source.save(writer, draft)).collect()
    });
    match together {
        Ok(saved) => saved.into_iter().map(Ok).collect(),
        Err(SourceError::Store(error)) if error.is_of_file() => {
            // Nothing will go in: the reason is said once.
            vec![Err(SourceError::Store(error))]
        }
        Err(_) => drafts
            .iter()
            .map(|draft| store.write(Durability::Bulk, |writer| source.save(writer, draft)))
            .collect(),
    }
}

/// Changes something.
#[derive(Debug, Message)]
#[rtype(result = "Result<Written, SourceError>")]
pub(super) struct Alter {
    pub(super) change: Change,
    pub(super) deadline: Deadline,
}

impl Handler<Alter> for SourceActor {
    type Result = ResponseFuture<Result<Written, SourceError>>;

    fn handle(&mut self, Alter { change, deadline }: Alter, _: &mut Self::Context) -> Self::Result {
        self.beside(move |source, store| {
            store.write(Durability::Full, |writer| {
                // It may have waited for others who write. What nobody waits for
                // any more is not begun, so that whoever asks again does it once.
                if deadline.is_over() {
                    return Err(StoreError::TimeIsUp.into());
                }
                source.change(writer, &change)
            })
        })
    }
}
