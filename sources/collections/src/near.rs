//! Finding chunks by their vectors: a look through the codes of all, which
//! are kept in memory, then the vectors of the best.

use std::{
    cell::RefCell,
    collections::HashSet,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use rusqlite::{ToSql, named_params};
use vademecum_kit::{
    model::Timestamp,
    retrieve::{
        Code, Codes, rescored,
        vector::{VectorError, bytes, exact, numbers, unit},
    },
    source::SourceError,
    store::{Reader, StoreError, Writer},
};

use crate::{
    Collection, EmbeddingModel, Scope, document::embedded, scope::of_counting, words::restricted,
};

/// A chunk and how near it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The chunk.
    pub key: i64,
    /// The cosine of the angle to what was asked for: -1 to 1.
    pub similarity: f32,
}

/// What lies near a vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nearest {
    /// The nearest first; then by row.
    pub found: Vec<Near>,
    /// Whether there are more that count.
    pub more: bool,
}

/// Chunks that are asked for one by one whether they count; if there are more,
/// it is quicker to ask for all that do.
const ONE_BY_ONE: usize = 1_000;

/// The codes of a collection, as of some moment.
#[derive(Debug, Default)]
pub(crate) struct Vectors(RwLock<Loaded>);

#[derive(Debug, Default)]
struct Loaded {
    /// The last change that is in it.
    changed: i64,
    codes: Option<Codes>,
}

impl Vectors {
    fn read(&self) -> RwLockReadGuard<'_, Loaded> {
        // Whoever panicked was not the writer, or has left a code that is looked at again.
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Loaded> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collection {
    /// Finds the chunks that are nearest to a vector, which must be as long as
    /// those that are stored. What does not count is passed over on the way, not
    /// afterwards.
    pub fn nearest(
        &self,
        reader: &Reader<'_>,
        query: &[f32],
        take: usize,
        scope: &Scope,
    ) -> Result<Nearest, SourceError> {
        let Some(model) = self.model(reader)? else { return Ok(Nearest::default()) };
        if model.dimensions != query.len() {
            return Err(SourceError::Refused(format!(
                "the query has {} dimensions, the vectors of this collection have {} ({} `{}`)",
                query.len(),
                model.dimensions,
                model.provider,
                model.model
            )));
        }
        self.follow(reader, model.dimensions)?;
        let counting = Counting::new(reader, scope)?;
        let candidates = {
            let loaded = self.vectors.read();
            let Some(codes) = &loaded.codes else { return Ok(Nearest::default()) };
            // One more tells whether there are more.
            let looked_at = rescored(take.saturating_add(1));
            codes.nearest(query, looked_at, |key| counting.counts(key)).map_err(unfit)?
        };
        counting.finish()?;
        let keys: Vec<i64> = candidates.into_iter().map(|(key, _)| key).collect();
        let mut found = self.similarities(reader, query, &keys)?;
        let more = found.len() > take;
        found.truncate(take);
        Ok(Nearest { found, more })
    }

    /// How near these chunks are, nearest first. Those without a vector are
    /// left out.
    pub fn similarities(
        &self,
        reader: &Reader<'_>,
        query: &[f32],
        keys: &[i64],
    ) -> Result<Vec<Near>, SourceError> {
        let keys = keys.iter().map(|key| (*key, ()));
        let found = reader.each_key(include_str!("../sql/vector.sql"), keys, |key, (), row| {
            // A vector of another length is of a model that was left.
            let similarity = exact(query, row.get_ref("vector")?.as_blob()?).ok();
            Ok(similarity.map(|similarity| Near { key, similarity }))
        })?;
        let mut found: Vec<Near> = found.into_iter().flatten().collect();
        found.sort_by(|one, other| {
            other.similarity.total_cmp(&one.similarity).then_with(|| one.key.cmp(&other.key))
        });
        Ok(found)
    }

    /// The vector of a chunk, if it has one.
    pub fn vector(&self, reader: &Reader<'_>, key: i64) -> Result<Option<Vec<f32>>, SourceError> {
        let found =
            reader.each_key(include_str!("../sql/vector.sql"), [(key, ())], |_, (), row| {
                let stored = row.get_ref("vector")?.as_blob()?;
                Ok(numbers(stored, stored.len() / 4).ok())
            })?;
        Ok(found.into_iter().flatten().next())
    }

    /// The vector of a document, or of one of its chunks: the direction in which
    /// those of its chunks point together. `None` if none of them has one.
    pub fn mean(
        &self,
        reader: &Reader<'_>,
        doc_id: &str,
        index: Option<u32>,
    ) -> Result<Option<Vec<f32>>, SourceError> {
        let mut sum: Vec<f32> = Vec::new();
        for (key, place, _) in self.outline(reader, doc_id)? {
            if index.is_some_and(|index| index != place) {
                continue;
            }
            let Some(vector) = self.vector(reader, key)? else { continue };
            sum.resize(vector.len(), 0.0);
            sum.iter_mut().zip(&vector).for_each(|(sum, value)| *sum += value);
        }
        // Those that point in opposite directions have none together.
        Ok(unit(&sum).ok())
    }

    /// Chunks without a vector: the rows with what is to be embedded, its title,
    /// section and body; `most` at most, from a row on.
    pub fn without_vector(
        &self,
        reader: &Reader<'_>,
        from: i64,
        most: usize,
    ) -> Result<Vec<(i64, String)>, SourceError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let parameters = named_params! { ":from": from, ":most": most };
        Ok(reader.all(include_str!("../sql/without_vector.sql"), parameters, |row| {
            let lines: [Option<String>; 3] =
                [row.get("title")?, row.get("section")?, row.get("body")?];
            Ok((row.get("id")?, embedded(lines.each_ref().map(Option::as_deref))))
        })?)
    }

    /// Says of which model the vectors are. Those of another go.
    pub fn put_model(
        &self,
        writer: &Writer<'_>,
        model: &EmbeddingModel,
    ) -> Result<(), SourceError> {
        let dimensions = i64::try_from(model.dimensions).unwrap_or(i64::MAX);
        let parameters = named_params! {
            ":provider": model.provider, ":model": model.model, ":dimensions": dimensions,
        };
        let same = include_str!("../sql/same_model.sql");
        if writer.first(same, parameters, |_| Ok(()))?.is_none() {
            let gone: Vec<i64> =
                writer.all(include_str!("../sql/with_vector.sql"), &[], |row| row.get("chunk"))?;
            for key in gone {
                forget_vector(writer, key)?;
            }
            writer.run(include_str!("../sql/put_model.sql"), parameters)?;
        }
        Ok(())
    }

    /// Gives a chunk its vector, which must be of length 1 and of the model that
    /// was said. `input_hash` says of which text and model it is.
    pub fn put_vector(
        &self,
        writer: &Writer<'_>,
        key: i64,
        input_hash: &[u8],
        vector: &[f32],
    ) -> Result<(), SourceError> {
        let code = Code::of(vector).map_err(unfit)?;
        writer.run(
            include_str!("../sql/put_vector.sql"),
            named_params! {
                ":chunk": key, ":input_hash": input_hash, ":updated_at": Timestamp::now(),
                ":vector": bytes(vector),
            },
        )?;
        writer.run(
            include_str!("../sql/put_code.sql"),
            named_params! { ":chunk": key, ":scale": code.scale(), ":code": code.bytes() },
        )?;
        Ok(())
    }

    /// Brings what is kept in memory up to the reader's moment.
    fn follow(&self, reader: &Reader<'_>, dimensions: usize) -> Result<(), SourceError> {
        let newest: Option<i64> =
            reader.one(include_str!("../sql/newest_code.sql"), &[], |row| row.get("changed"))?;
        let newest = newest.unwrap_or(0);
        {
            let loaded = self.vectors.read();
            // A reader of an earlier moment passes over what it cannot read.
            if loaded.codes.as_ref().is_some_and(|codes| codes.dimensions() == dimensions)
                && loaded.changed >= newest
            {
                return Ok(());
            }
        }
        let mut loaded = self.vectors.write();
        if loaded.codes.as_ref().is_none_or(|codes| codes.dimensions() != dimensions) {
            *loaded = Loaded { changed: 0, codes: Some(Codes::new(dimensions)) };
        }
        let since = loaded.changed;
        let known = named_params! { ":changed": since };
        let Loaded { changed, codes: Some(codes) } = &mut *loaded else { return Ok(()) };
        reader.each(include_str!("../sql/codes.sql"), known, |row| {
            let key: i64 = row.get("chunk")?;
            let code = Code::from_parts(row.get_ref("code")?.as_blob()?, row.get("scale")?);
            // What is gone has an empty code, which fits no vector.
            if code.and_then(|code| codes.insert(key, &code)).is_err() {
                codes.remove(key);
            }
            *changed = row.get("changed")?;
            Ok(())
        })?;
        Ok(())
    }
}

/// Takes out the vector of a chunk.
pub(crate) fn forget_vector(writer: &Writer<'_>, key: i64) -> Result<(), StoreError> {
    let chunk = named_params! { ":chunk": key };
    if writer.run(include_str!("../sql/delete_vector.sql"), chunk)? > 0 {
        writer.run(include_str!("../sql/forget_code.sql"), chunk)?;
    }
    Ok(())
}

fn unfit(error: VectorError) -> SourceError {
    SourceError::Refused(error.to_string())
}

/// Says which chunks count: asks for each, and for all if that has become many.
struct Counting<'r, 's> {
    reader: &'r Reader<'r>,
    /// None if everything counts.
    scope: Option<&'s Scope>,
    asked: RefCell<Asked>,
}

#[derive(Default)]
struct Asked {
    times: usize,
    all: Option<HashSet<i64>>,
    failed: Option<StoreError>,
}

impl<'r, 's> Counting<'r, 's> {
    fn new(reader: &'r Reader<'r>, scope: &'s Scope) -> Result<Self, SourceError> {
        let bound = scope.bound();
        let some = bound.filtered || restricted(reader, &bound.parameters())?;
        Ok(Self { reader, scope: some.then_some(scope), asked: RefCell::default() })
    }

    fn counts(&self, key: i64) -> bool {
        let Some(scope) = self.scope else { return true };
        let mut asked = self.asked.borrow_mut();
        if asked.failed.is_some() {
            return false;
        }
        if let Some(all) = &asked.all {
            return all.contains(&key);
        }
        asked.times += 1;
        let answer = if asked.times > ONE_BY_ONE {
            self.all(scope).map(|all| asked.all.insert(all).contains(&key))
        } else {
            self.one(scope, key)
        };
        answer.unwrap_or_else(|error| {
            asked.failed = Some(error);
            false
        })
    }

    fn one(&self, scope: &Scope, key: i64) -> Result<bool, StoreError> {
        let bound = scope.bound();
        let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":key", &key)];
        parameters.extend(bound.parameters());
        let found =
            self.reader.first(of_counting!("../sql/passes.sql"), &parameters, |_| Ok(()))?;
        Ok(found.is_some())
    }

    fn all(&self, scope: &Scope) -> Result<HashSet<i64>, StoreError> {
        let mut all = HashSet::new();
        let bound = scope.bound();
        self.reader.each(of_counting!("../sql/allowed.sql"), &bound.parameters(), |row| {
            all.insert(row.get("id")?);
            Ok(())
        })?;
        Ok(all)
    }

    /// What went wrong on the way, if something did.
    fn finish(self) -> Result<(), SourceError> {
        self.asked.into_inner().failed.map_or(Ok(()), |error| Err(error.into()))
    }
}
