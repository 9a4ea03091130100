//! Applying the items of other machines to this library.

use rusqlite::named_params;
use vademecum_model::{DraftBody, SourceName, Uri};
use vademecum_source::{Source, SourceError, find_origin};
use vademecum_store::{StoreError, Writer};
use vademecum_vault::journal::{
    ExportedVersions, ReceivedItem, add_received_origins, canonical_text, find_received_version,
    find_version, last_client, write_received,
};

use crate::{
    SyncError,
    database::SyncedDatabase,
    merge::{ConflictCopy, Side, distinct_name, merge},
    record::{ItemRecord, fingerprint, picture, text_fingerprint},
    replica::ReplicaId,
    report::SyncReport,
    revision::{History, Revision},
    scan::{has_own_keys, load_body, read_stamp, refresh},
    state::{DELETED, Place, SyncedItem},
};

/// Selects the prompt of a name, and whether it is deleted.
const NAMED_PROMPT_SQL: &str =
    "SELECT CAST(id AS TEXT) AS id, deleted FROM Prompts WHERE name = :name";
/// Frees the name of a deleted prompt.
const FREE_NAME_SQL: &str = "UPDATE Prompts SET name = name || ' (deleted ' || uuid || ')' \
     WHERE id = CAST(:id AS INTEGER)";

/// Treatment of conversations whose character or parent is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingReferences {
    /// They are read again after all other items.
    Wait,
    /// They are stored without, until they are read again.
    Drop,
}

/// Result of applying a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    /// The library has all that the record has.
    Done,
    /// It refers to an item that is not known yet, and is to be read again.
    Waiting,
}

/// Applies records in one transaction.
pub(crate) struct Applier<'a, 't> {
    pub(crate) database: &'a SyncedDatabase,
    pub(crate) replica: &'a ReplicaId,
    pub(crate) writer: &'a Writer<'t>,
    pub(crate) place: Place<'a>,
    pub(crate) missing: MissingReferences,
    pub(crate) report: &'a mut SyncReport,
}

impl Applier<'_, '_> {
    /// Applies a record, which was checked.
    pub(crate) fn apply(&mut self, mut record: ItemRecord) -> Result<Applied, SyncError> {
        let database = self.database;
        let Some(source) = database.source(record.source) else {
            let reason = format!("it is no item of {}", database.name());
            return Err(SourceError::Refused(reason).into());
        };
        let is_waiting = self.lacks_reference(&record)?;
        if is_waiting && self.missing == MissingReferences::Wait {
            return Ok(Applied::Waiting);
        }
        forget_foreign_numbers(&mut record.versions);
        let key_in_file = record.key.clone();
        let known = match SyncedItem::by_key(self.writer, record.source, &record.key)? {
            Some(known) => Some(known),
            None => self.unify(source, &mut record)?,
        };
        let known = match known.as_ref().and_then(|known| known.item.as_deref()) {
            Some(id) => refresh(self.writer, source, id, self.replica)?.or(known),
            None => known,
        };
        match known {
            None => self.add(source, &record)?,
            Some(known) => {
                self.update(source, known, &record)?;
                if record.key != key_in_file
                    && let Some(known) =
                        SyncedItem::by_key(self.writer, record.source, &record.key)?
                {
                    // The file has the content under the other key, which is deleted.
                    known.unplace(self.writer)?;
                }
            }
        }
        Ok(if is_waiting { Applied::Waiting } else { Applied::Done })
    }

    /// Finds an item of this library that is the same as that of a record under another key: both were
    /// imported from one origin, or have the same content and were never exchanged. The smaller key stays.
    fn unify(
        &self,
        source: &dyn Source,
        record: &mut ItemRecord,
    ) -> Result<Option<SyncedItem>, SyncError> {
        let name = record.source;
        if has_own_keys(name)
            && let Some(known) = refresh(self.writer, source, &record.key, self.replica)?
        {
            return Ok(Some(known));
        }
        if record.body.is_none() {
            return Ok(None);
        }
        let mut same = None;
        for origin in &record.origins {
            let Some(known) = find_origin(self.writer, name, &origin.origin)? else { continue };
            same = refresh(self.writer, source, &known.item, self.replica)?;
            if same.is_some() {
                break;
            }
        }
        if same.is_none() && record.revision.number(self.replica) == 0 {
            for known in SyncedItem::by_fingerprint(self.writer, name, &record.fingerprint)? {
                let is_own = known.revision.is_only_of(self.replica);
                if is_own && !known.was_exchanged(self.writer)? {
                    same = Some(known);
                    break;
                }
            }
        }
        let Some(mut same) = same else { return Ok(None) };
        // Other machines may know both keys.
        let (key, revision) = if same.key < record.key {
            (std::mem::replace(&mut record.key, same.key.clone()), &record.revision)
        } else {
            same.unplace(self.writer)?;
            (std::mem::replace(&mut same.key, record.key.clone()), &same.revision)
        };
        let gone = tombstone(name, key, revision.next(self.replica));
        same.save(self.writer)?;
        gone.save(self.writer)?;
        Ok(Some(same))
    }

    /// Adds an item that is not known here.
    fn add(&mut self, source: &dyn Source, record: &ItemRecord) -> Result<(), SyncError> {
        let mut item = tombstone(record.source, record.key.clone(), record.revision.clone());
        item.history = record.history.clone();
        if let Some(body) = &record.body {
            if has_own_keys(item.source) && self.was_deleted(source, &record.key)? {
                item.item = Some(record.key.clone());
            }
            self.write(source, &mut item, body.clone(), &record.fingerprint, record)?;
            self.report.received += 1;
        }
        self.save_at_place(&mut item, &record.revision)
    }

    /// Returns `true` if the library has a deleted item with this identifier.
    fn was_deleted(&self, source: &dyn Source, id: &str) -> Result<bool, StoreError> {
        let Some(statements) = source.item_statements() else { return Ok(false) };
        let this = named_params! { ":id": id };
        let found = self.writer.query_first(statements.version_sql, this, |_| Ok(()))?;
        Ok(found.is_some())
    }

    /// Compares a record with the item here, and takes or merges its content.
    fn update(
        &mut self,
        source: &dyn Source,
        mut item: SyncedItem,
        record: &ItemRecord,
    ) -> Result<(), SyncError> {
        let joined = item.revision.join(&record.revision);
        if item.fingerprint == record.fingerprint {
            self.link(source, &mut item, record)?;
            if record.revision == item.revision {
                return Ok(self.place.add(self.writer, item.number, self.replica)?);
            }
            if item.revision.includes(&record.revision) {
                return Ok(());
            }
            if let Some(id) = &item.item {
                add_received_origins(self.writer, item.source, id, &record.origins)?;
            }
            // The file has the same content, so the joined revision need not be written.
            item.history.push(record.revision.clone(), &record.fingerprint);
            item.history.push(item.revision.clone(), &item.fingerprint);
            item.revision = joined.clone();
            return self.save_at_place(&mut item, &joined);
        }
        // Numbers of this machine that it does not know: its library was rolled back since.
        let is_ahead = record.revision.number(self.replica) > item.revision.number(self.replica);
        let was_rolled_back = is_ahead && !record.history.has_fingerprint(&item.fingerprint);
        if item.revision.includes(&record.revision) && item.revision != record.revision {
            return Ok(());
        }
        let follows = record.revision.includes(&item.revision) && item.revision != record.revision;
        if follows && !was_rolled_back {
            return self.follow(source, item, record);
        }
        self.merge(source, item, record)
    }

    /// Takes the content of a later revision.
    fn follow(
        &mut self,
        source: &dyn Source,
        mut item: SyncedItem,
        record: &ItemRecord,
    ) -> Result<(), SyncError> {
        item.advance(self.writer, record.revision.clone(), &record.fingerprint)?;
        if let Some(body) = &record.body {
            self.write(source, &mut item, body.clone(), &record.fingerprint, record)?;
        } else {
            self.delete(source, &mut item, record)?;
            self.report.deleted += 1;
        }
        self.report.received += 1;
        self.save_at_place(&mut item, &record.revision)
    }

    /// Merges two revisions, none of which includes the other. A change stays if the other one deleted the
    /// item.
    fn merge(
        &mut self,
        source: &dyn Source,
        mut item: SyncedItem,
        record: &ItemRecord,
    ) -> Result<(), SyncError> {
        let joined = item.revision.join(&record.revision);
        let local = match (&item.item, item.is_deleted()) {
            (Some(id), false) => Some(load_body(self.writer, source, id)?),
            _ => None,
        };
        let before = item.fingerprint.clone();
        let (body, copy) = match (&record.body, local) {
            (None, None) => (None, None),
            (None, Some(local)) => (Some(local), None),
            (Some(body), None) => (Some(body.clone()), None),
            (Some(theirs), Some(ours)) => {
                let base = self.find_base(source, (&item, &ours), (record, theirs))?;
                let id = item.item.as_deref().unwrap_or_default();
                let client =
                    self.writer.with_reader(|reader| last_client(reader, record.source, id))?;
                let ours = Side { body: ours, fingerprint: item.fingerprint.clone(), client };
                let client = record.versions.changes.first().map(|it| it.author.client.clone());
                let theirs = Side {
                    body: theirs.clone(),
                    fingerprint: record.fingerprint.clone(),
                    client: client.unwrap_or_default(),
                };
                let merged = merge((&record.key, &joined), base.as_ref(), ours, theirs)?;
                self.report.merged += 1;
                (Some(merged.body), merged.copy)
            }
        };
        let found = body.as_ref().map(fingerprint).transpose()?.unwrap_or_default();
        item.history.push(record.revision.clone(), &record.fingerprint);
        item.advance(self.writer, joined.next(self.replica), &found)?;
        if let Some(copy) = copy {
            self.add_copy(source, copy, &item, record)?;
        }
        if let Some(body) = body.filter(|_| found != before) {
            self.write(source, &mut item, body, &found, record)?;
            self.report.received += 1;
        }
        item.number = item.save(self.writer)?;
        Ok(())
    }

    /// Finds the newest content that both machines had.
    fn find_base(
        &self,
        source: &dyn Source,
        (item, ours): (&SyncedItem, &DraftBody),
        (record, theirs): (&ItemRecord, &DraftBody),
    ) -> Result<Option<DraftBody>, SyncError> {
        let Some(id) = &item.item else { return Ok(None) };
        let pictures = [None, picture(ours), picture(theirs)];
        let own = item.history.newest_within(&record.revision);
        let their = record.history.newest_within(&item.revision);
        for known in [own, their].into_iter().flatten() {
            let with_picture = |text: &str| {
                pictures.iter().find(|it| text_fingerprint(text, **it) == known.fingerprint)
            };
            let is_base = |text: &str| with_picture(text).is_some();
            let found =
                self.writer.with_reader(|reader| find_version(source, reader, id, is_base))?;
            let found = match found {
                Some(found) => Some(found),
                None => find_received_version(record.source, theirs, &record.versions, is_base)?,
            };
            let Some(mut found) = found else { continue };
            let text = canonical_text(&found)?;
            if let DraftBody::Character(card) = &mut found {
                card.image = with_picture(&text).copied().flatten().map(<[u8]>::to_vec);
            }
            return Ok(Some(found));
        }
        Ok(None)
    }

    /// Adds the item with the content that contradicts another one, unless another machine has added it.
    fn add_copy(
        &mut self,
        source: &dyn Source,
        copy: ConflictCopy,
        of: &SyncedItem,
        record: &ItemRecord,
    ) -> Result<(), SyncError> {
        if SyncedItem::by_key(self.writer, of.source, &copy.key)?.is_some() {
            return Ok(());
        }
        let revision = Revision::default().next(self.replica);
        let mut item = tombstone(of.source, copy.key.clone(), revision);
        let provenance = record.versions.provenance.clone();
        let made = ItemRecord {
            key: copy.key,
            id: None,
            versions: ExportedVersions { provenance, ..ExportedVersions::default() },
            origins: Vec::new(),
            import_base: None,
            ..record.clone()
        };
        let found = fingerprint(&copy.body)?;
        self.write(source, &mut item, copy.body, &found, &made)?;
        item.save(self.writer)?;
        let id = item.item.unwrap_or_default();
        self.report.conflict_copies.push(Uri::item(of.source, id));
        Ok(())
    }

    /// Writes a content, which has this fingerprint, to the item.
    fn write(
        &mut self,
        source: &dyn Source,
        item: &mut SyncedItem,
        mut body: DraftBody,
        intended: &str,
        record: &ItemRecord,
    ) -> Result<(), SyncError> {
        self.free_name(source, item, &mut body)?;
        let id = if has_own_keys(item.source) { Some(&item.key) } else { record.id.as_ref() };
        let received = ReceivedItem {
            body: Some(&body),
            id: id.map(String::as_str),
            key: &item.key,
            versions: &record.versions,
            origins: &record.origins,
            is_imported: intended == record.fingerprint
                && record.origins.iter().all(|origin| !origin.is_changed),
            import_base: record.import_base.as_deref(),
        };
        let id = write_received(source, self.writer, item.item.as_deref(), &received)?;
        intended.clone_into(&mut item.fingerprint);
        item.stamp = read_stamp(self.writer, source, &id)?;
        let written = fingerprint(&load_body(self.writer, source, &id)?)?;
        item.item = Some(id);
        if written != intended {
            // The library stores it in another way, such as under another name: that is a change.
            item.number = item.save(self.writer)?;
            item.advance(self.writer, item.revision.next(self.replica), &written)?;
        }
        Ok(())
    }

    fn delete(
        &self,
        source: &dyn Source,
        item: &mut SyncedItem,
        record: &ItemRecord,
    ) -> Result<(), SyncError> {
        if let Some(id) = &item.item {
            let received = ReceivedItem {
                body: None,
                id: None,
                key: &item.key,
                versions: &record.versions,
                origins: &[],
                is_imported: false,
                import_base: None,
            };
            write_received(source, self.writer, Some(id), &received)?;
        }
        DELETED.clone_into(&mut item.stamp);
        Ok(())
    }

    /// Makes the name of a prompt unique: of two with one name, that with the greater key gets another one,
    /// on all machines the same.
    fn free_name(
        &mut self,
        source: &dyn Source,
        item: &SyncedItem,
        body: &mut DraftBody,
    ) -> Result<(), SyncError> {
        let DraftBody::Prompt(prompt) = body else { return Ok(()) };
        let named = named_params! { ":name": prompt.name };
        let owner: Option<(String, bool)> =
            self.writer.query_first(NAMED_PROMPT_SQL, named, |row| {
                Ok((row.get("id")?, row.get("deleted")?))
            })?;
        let Some((owner, is_deleted)) = owner else { return Ok(()) };
        if item.item.as_ref() == Some(&owner) {
            return Ok(());
        }
        if is_deleted {
            self.writer.execute(FREE_NAME_SQL, named_params! { ":id": owner })?;
            return Ok(());
        }
        let Some(mut other) = refresh(self.writer, source, &owner, self.replica)? else {
            return Ok(());
        };
        if other.key < item.key {
            prompt.name = distinct_name(&prompt.name, &item.key);
            return Ok(());
        }
        let mut renamed = load_body(self.writer, source, &owner)?;
        let name = renamed.title_mut();
        *name = distinct_name(name, &other.key);
        let found = fingerprint(&renamed)?;
        other.advance(self.writer, other.revision.next(self.replica), &found)?;
        let received = ReceivedItem {
            body: Some(&renamed),
            id: None,
            key: &other.key,
            versions: &ExportedVersions::default(),
            origins: &[],
            is_imported: false,
            import_base: None,
        };
        write_received(source, self.writer, Some(&owner), &received)?;
        other.stamp = read_stamp(self.writer, source, &owner)?;
        other.save(self.writer)?;
        Ok(())
    }

    /// Stores the state of an item. It is at the place that the record came from if it has that revision.
    fn save_at_place(&self, item: &mut SyncedItem, revision: &Revision) -> Result<(), SyncError> {
        item.number = item.save(self.writer)?;
        if item.revision == *revision {
            self.place.add(self.writer, item.number, self.replica)?;
        }
        Ok(())
    }
}

/// Returns the state of an item that does not exist.
fn tombstone(source: SourceName, key: String, revision: Revision) -> SyncedItem {
    SyncedItem {
        number: 0,
        source,
        key,
        item: None,
        stamp: DELETED.to_owned(),
        revision,
        fingerprint: String::new(),
        history: History::default(),
    }
}

/// Removes from the provenance the items with numbers, which are other items on other machines. That the
/// item is derived from such origins stays known.
fn forget_foreign_numbers(versions: &mut ExportedVersions) {
    versions.provenance.derived_from.retain(|from| has_own_keys(from.uri.source));
}
