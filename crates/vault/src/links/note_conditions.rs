//! Notes by their properties, tasks and files (`docs/adr/0072-properties-and-tasks.md`). The conditions are
//! decided by the stored rows; a text is read only to show the tasks of a listed note.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::named_params;
use serde_json::json;
use vademecum_model::{ListRequest, PropertyCondition, PropertyValue, TaskState};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Reader, StoreError};

use super::{
    item_rows::ItemPlace, link::read_place, path_pattern::PathPattern, tasks::for_each_task,
};

/// The values of a property, by item.
const VALUES_SQL: &str = "SELECT link_items.item, note_properties.value
     FROM note_properties
     CROSS JOIN link_items ON link_items.number = note_properties.item
     WHERE note_properties.name = :name AND link_items.source = :source";
/// The items with properties or other rows.
const ITEMS_SQL: &str = "SELECT item FROM link_items WHERE source = :source";
/// The items with open tasks.
const OPEN_SQL: &str = "SELECT item FROM link_items INDEXED BY items_with_open_tasks
     WHERE source = :source AND open_tasks > 0";
/// The items with tasks that are done.
const DONE_SQL: &str = "SELECT item FROM link_items INDEXED BY items_with_done_tasks
     WHERE source = :source AND done_tasks > 0";

/// Maximum number of tasks of a note that a list shows.
const MAX_TASKS: usize = 20;
/// Maximum length of a shown task, in characters.
const MAX_TASK_CHARS: usize = 160;

/// What a list shows of a note because of its conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteDetails {
    /// The first tasks in the requested state.
    pub tasks: Vec<String>,
    /// Number of further tasks.
    pub omitted_tasks: usize,
    /// Values of the properties that the conditions name.
    pub properties: BTreeMap<String, String>,
}

/// Returns the items that pass the conditions of a list on paths, properties and tasks; `None` if there are
/// none. Items that the reader may not see may be among them.
pub fn matching_items(
    source: &dyn Source,
    reader: &Reader<'_>,
    request: &ListRequest,
) -> Result<Option<HashSet<String>>, StoreError> {
    let mut passing: Option<HashSet<String>> = request.only.clone();
    let mut restrict = |found: HashSet<String>| match &mut passing {
        Some(passing) => passing.retain(|item| found.contains(item)),
        None => passing = Some(found),
    };
    let name = source.name().as_str();
    if let Some(path) = &request.path {
        restrict(items_of_path(reader, name, &PathPattern::parse(path))?);
    }
    let of_source = named_params! { ":source": name };
    if let Some(state) = request.tasks {
        let sql = match state {
            TaskState::Open => OPEN_SQL,
            TaskState::Done => DONE_SQL,
        };
        restrict(read_items(reader, sql, of_source)?);
    }
    for condition in &request.properties {
        let mut values = read_values(reader, name, condition)?;
        if condition.accepts_missing() {
            for item in read_items(reader, ITEMS_SQL, of_source)? {
                values.entry(item).or_default();
            }
        }
        let passing = values.into_iter().filter(|(_, values)| condition.matches(values.iter()));
        restrict(passing.map(|(item, _)| item).collect());
    }
    Ok(passing)
}

/// Returns the items of a source from files that a pattern means.
fn items_of_path(
    reader: &Reader<'_>,
    source: &str,
    pattern: &PathPattern,
) -> Result<HashSet<String>, StoreError> {
    let mut items = HashSet::new();
    let of_source = named_params! { ":source": source };
    reader.for_each_row(include_str!("sql/items_of_path.sql"), of_source, |row| {
        let (_, space) = read_place(row)?;
        if pattern.matches(row.get_ref("origin")?.as_str()?, &space) {
            items.insert(row.get("item")?);
        }
        Ok(())
    })?;
    Ok(items)
}

fn read_items(
    reader: &Reader<'_>,
    sql: &str,
    parameters: &[(&str, &dyn rusqlite::ToSql)],
) -> Result<HashSet<String>, StoreError> {
    let items = reader.query_all(sql, parameters, |row| row.get("item"))?;
    Ok(items.into_iter().collect())
}

fn read_values(
    reader: &Reader<'_>,
    source: &str,
    condition: &PropertyCondition,
) -> Result<HashMap<String, Vec<PropertyValue>>, StoreError> {
    let mut values: HashMap<String, Vec<PropertyValue>> = HashMap::new();
    let parameters = named_params! { ":name": condition.name, ":source": source };
    reader.for_each_row(VALUES_SQL, parameters, |row| {
        let value = PropertyValue::parse(row.get_ref("value")?.as_str()?);
        values.entry(row.get("item")?).or_default().push(value);
        Ok(())
    })?;
    Ok(values)
}

/// Returns what a list shows of these notes, which the reader may see, because of its conditions.
pub fn read_note_details(
    source: &dyn Source,
    reader: &Reader<'_>,
    request: &ListRequest,
    items: &[String],
) -> Result<HashMap<String, NoteDetails>, SourceError> {
    let mut details: HashMap<String, NoteDetails> =
        items.iter().map(|item| (item.clone(), NoteDetails::default())).collect();
    let listed = json!(items).to_string();
    for condition in &request.properties {
        let parameters = named_params! {
            ":source": source.name().as_str(), ":items": listed, ":name": condition.name,
        };
        reader.for_each_row(include_str!("sql/values_of_items.sql"), parameters, |row| {
            let (item, value): (String, String) = (row.get("item")?, row.get("value")?);
            if let Some(details) = details.get_mut(&item) {
                let known = details.properties.entry(condition.name.clone()).or_default();
                let separator = if known.is_empty() { "" } else { ", " };
                known.push_str(separator);
                known.push_str(&value);
            }
            Ok(())
        })?;
    }
    if let Some(wanted) = request.tasks {
        for (item, details) in &mut details {
            read_tasks(source, reader, (item, wanted), details)?;
        }
    }
    Ok(details)
}

/// Reads the tasks of a note from its text.
fn read_tasks(
    source: &dyn Source,
    reader: &Reader<'_>,
    (item, wanted): (&str, TaskState),
    details: &mut NoteDetails,
) -> Result<(), SourceError> {
    let draft = match source.load_draft(reader, item) {
        Ok(draft) => draft,
        // It was deleted meanwhile.
        Err(SourceError::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let vademecum_model::DraftBody::Note(note) = &draft.body else { return Ok(()) };
    let place = ItemPlace::stored(reader, source.name(), item, &draft.body)?;
    for_each_task(&note.content, place.dialect(source.name()), |state, text| {
        if state != wanted {
            return;
        }
        if details.tasks.len() < MAX_TASKS {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let cut = text.char_indices().nth(MAX_TASK_CHARS).map_or(text.len(), |(at, _)| at);
            let end = if cut < text.len() { "…" } else { "" };
            details.tasks.push([text.get(..cut).unwrap_or_default(), end].concat());
        } else {
            details.omitted_tasks += 1;
        }
    });
    Ok(())
}
