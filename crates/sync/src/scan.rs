//! Changes of this library since the last sync, by tools, imports and other programs.

use rusqlite::named_params;
use uuid::Uuid;
use vademecum_model::{DraftBody, SourceName, Uri};
use vademecum_source::{Source, SourceError, SyncStatements};
use vademecum_store::{Durability, ShownRows, StoreError, Writer};

use crate::{
    SyncError,
    database::SyncedDatabase,
    record::fingerprint,
    replica::ReplicaId,
    report::SyncReport,
    revision::{History, Revision},
    state::{DELETED, SyncedItem},
};

/// Number of items that are looked at in one transaction.
const ITEMS_PER_TRANSACTION: usize = 200;

/// An item that differs from its state at the last sync.
struct ChangedItem {
    row: i64,
    id: String,
    stamp: String,
}

/// Gives each item that was changed since the last sync a new revision.
pub(crate) fn record_local_changes(
    database: &SyncedDatabase,
    replica: &ReplicaId,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    for source in database.sources() {
        let Some(statements) = source.item_statements() else { continue };
        let mut after = i64::MIN;
        loop {
            let mut problems = Vec::new();
            let last = database.store().write(Durability::Full, |writer| {
                problems.clear();
                scan_changed(writer, &**source, after, replica, &mut problems)
            })?;
            for problem in problems {
                report.add_problem(problem);
            }
            let Some(last) = last else { break };
            after = last;
        }
        let scan_gone =
            |writer: &Writer<'_>| scan_gone(writer, source.name(), &statements.sync, replica);
        while database.store().write(Durability::Full, scan_gone)? > 0 {}
    }
    Ok(())
}

/// Looks at the next changed items, and returns the row of the last one.
fn scan_changed(
    writer: &Writer<'_>,
    source: &dyn Source,
    after: i64,
    replica: &ReplicaId,
    problems: &mut Vec<String>,
) -> Result<Option<i64>, SyncError> {
    let Some(statements) = source.item_statements() else { return Ok(None) };
    let limit = i64::try_from(ITEMS_PER_TRANSACTION).unwrap_or(i64::MAX);
    let changed = writer.query_all(
        statements.sync.changed_sql,
        named_params! { ":after": after, ":limit": limit },
        |row| {
            Ok(ChangedItem { row: row.get("row")?, id: row.get("id")?, stamp: row.get("stamp")? })
        },
    )?;
    for item in &changed {
        if let Err(error) = record_change(writer, source, &item.id, &item.stamp, replica) {
            problems.push(problem_of(source.name(), &item.id, error)?);
        }
    }
    Ok(changed.last().map(|item| item.row))
}

/// Returns the problem of an item that cannot be read; other errors are returned.
fn problem_of(source: SourceName, id: &str, error: SyncError) -> Result<String, SyncError> {
    match error {
        SyncError::Store(error @ StoreError::DamagedItem { .. })
        | SyncError::Source(SourceError::Store(error @ StoreError::DamagedItem { .. })) => {
            Ok(format!("{}: not synced: {error}", Uri::item(source, id)))
        }
        SyncError::Source(error @ (SourceError::Refused(_) | SourceError::NotFound { .. })) => {
            Ok(format!("{}: not synced: {error}", Uri::item(source, id)))
        }
        error => Err(error),
    }
}

/// Gives an item a new revision, unless its content is that of the last sync.
fn record_change(
    writer: &Writer<'_>,
    source: &dyn Source,
    id: &str,
    stamp: &str,
    replica: &ReplicaId,
) -> Result<SyncedItem, SyncError> {
    let name = source.name();
    let found = fingerprint(&load_body(writer, source, id)?)?;
    let known = SyncedItem::by_item(writer, name, id)?;
    let known = match known {
        None if has_own_keys(name) => SyncedItem::by_key(writer, name, id)?,
        known => known,
    };
    let mut item = known.unwrap_or_else(|| SyncedItem {
        number: 0,
        source: name,
        key: if has_own_keys(name) { id.to_owned() } else { Uuid::new_v4().to_string() },
        item: None,
        stamp: String::new(),
        revision: Revision::default(),
        fingerprint: String::new(),
        history: History::default(),
    });
    item.item = Some(id.to_owned());
    stamp.clone_into(&mut item.stamp);
    if item.fingerprint != found {
        item.advance(writer, item.revision.next(replica), &found)?;
    }
    item.number = item.save(writer)?;
    Ok(item)
}

/// Returns `true` if the identifiers of a source are the same on all machines.
pub(crate) fn has_own_keys(source: SourceName) -> bool {
    matches!(source, SourceName::Notes | SourceName::Chats)
}

/// Loads the content of an item. Fails if a row of it is damaged, so that damage does not travel.
pub(crate) fn load_body(
    writer: &Writer<'_>,
    source: &dyn Source,
    id: &str,
) -> Result<DraftBody, SourceError> {
    writer.with_reader(|reader| {
        reader.verify_item(source.name(), id, ShownRows::Versions)?;
        Ok(source.load_draft(reader, id)?.body)
    })
}

/// Gives the next deleted items a new revision, and returns their number.
fn scan_gone(
    writer: &Writer<'_>,
    source: SourceName,
    statements: &SyncStatements,
    replica: &ReplicaId,
) -> Result<usize, SyncError> {
    let limit = i64::try_from(ITEMS_PER_TRANSACTION).unwrap_or(i64::MAX);
    let gone: Vec<String> =
        writer.query_all(statements.gone_sql, named_params! { ":limit": limit }, |row| {
            row.get("id")
        })?;
    for id in &gone {
        record_deletion(writer, source, id, replica)?;
    }
    Ok(gone.len())
}

fn record_deletion(
    writer: &Writer<'_>,
    source: SourceName,
    id: &str,
    replica: &ReplicaId,
) -> Result<Option<SyncedItem>, SyncError> {
    let Some(mut item) = SyncedItem::by_item(writer, source, id)? else { return Ok(None) };
    DELETED.clone_into(&mut item.stamp);
    item.advance(writer, item.revision.next(replica), "")?;
    item.save(writer)?;
    Ok(Some(item))
}

/// Returns the stamp of an item; that of deleted items if it does not exist.
pub(crate) fn read_stamp(
    writer: &Writer<'_>,
    source: &dyn Source,
    id: &str,
) -> Result<String, StoreError> {
    let Some(statements) = source.item_statements() else { return Ok(DELETED.to_owned()) };
    let this = named_params! { ":id": id };
    let found = writer.query_first(statements.sync.stamp_sql, this, |row| row.get("stamp"))?;
    Ok(found.unwrap_or_else(|| DELETED.to_owned()))
}

/// Returns the state of an item of this library, with a new revision if it was changed since the scan.
pub(crate) fn refresh(
    writer: &Writer<'_>,
    source: &dyn Source,
    id: &str,
    replica: &ReplicaId,
) -> Result<Option<SyncedItem>, SyncError> {
    let stamp = read_stamp(writer, source, id)?;
    let known = SyncedItem::by_item(writer, source.name(), id)?;
    match known {
        Some(known) if known.stamp == stamp => Ok(Some(known)),
        Some(_) if stamp == DELETED => record_deletion(writer, source.name(), id, replica),
        None if stamp == DELETED => Ok(None),
        Some(_) | None => record_change(writer, source, id, &stamp, replica).map(Some),
    }
}
