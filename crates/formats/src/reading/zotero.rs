//! The database of Zotero: papers and books with collections, tags, notes, attachments, and the
//! annotations of PDFs. It is read while Zotero runs, and never written.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;
use serde_json::Value;
use vademecum_model::SourceName;

use super::entry::{Highlight, ReadingEntry};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    html_markdown::html_to_markdown,
    sqlite_image::{has_table, read_rows},
    text::{
        datetime,
        json::{id_at, text_at},
        keywords::distinct_keywords,
    },
};

/// Maximum number of collections in one another.
const MAX_DEPTH: usize = 64;

/// Types of items that are parts of others.
const PART_TYPES: [&str; 3] = ["attachment", "note", "annotation"];

/// Items with their types and libraries.
const ITEMS_SQL: &str = "
    SELECT items.itemID AS id, items.key AS key, items.libraryID AS library,
           itemTypes.typeName AS type, dateAdded AS created, dateModified AS modified
    FROM items JOIN itemTypes USING (itemTypeID) ORDER BY items.itemID";
/// Fields of items.
const FIELDS_SQL: &str = "
    SELECT itemData.itemID AS id, fields.fieldName AS name, itemDataValues.value AS value
    FROM itemData JOIN fields USING (fieldID) JOIN itemDataValues USING (valueID)";
/// Names of people, in order.
const CREATORS_SQL: &str = "
    SELECT itemCreators.itemID AS id, creators.firstName AS first, creators.lastName AS last,
           creatorTypes.creatorType AS role
    FROM itemCreators JOIN creators USING (creatorID) JOIN creatorTypes USING (creatorTypeID)
    ORDER BY itemCreators.itemID, itemCreators.orderIndex";
/// Tags of items.
const TAGS_SQL: &str = "SELECT itemTags.itemID AS id, tags.name AS name FROM itemTags JOIN tags USING (tagID) ORDER BY name";
/// Collections, and their items.
const COLLECTIONS_SQL: &str = "SELECT collectionID AS id, collectionName AS name, parentCollectionID AS parent FROM collections";
const COLLECTION_ITEMS_SQL: &str = "SELECT itemID AS id, collectionID AS collection FROM collectionItems ORDER BY itemID, collectionID";
/// Notes, attachments and annotations, with the item that they belong to.
const NOTES_SQL: &str =
    "SELECT itemID AS id, parentItemID AS parent, note, title FROM itemNotes ORDER BY itemID";
const ATTACHMENTS_SQL: &str =
    "SELECT itemID AS id, parentItemID AS parent, path FROM itemAttachments ORDER BY itemID";
const ANNOTATIONS_SQL: &str = "SELECT * FROM itemAnnotations ORDER BY parentItemID, sortIndex";

/// The database of Zotero.
#[derive(Debug)]
pub(crate) struct Zotero;

impl Format for Zotero {
    fn id(&self) -> &'static str {
        "zotero"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "database of Zotero (zotero.sqlite)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_database(&["zotero.sqlite"], &["itemDataValues", "itemData", "items"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let database = input.database()?;
        if !has_table(&database, "itemDataValues") {
            return Err(FormatError::new("it has no table `itemDataValues`"));
        }
        Library::read(&database)?.into_parsed()
    }
}

/// The rows of a database, by the number of their item.
#[derive(Debug, Default)]
struct Library {
    items: Vec<Value>,
    deleted: HashSet<String>,
    fields: HashMap<String, BTreeMap<String, String>>,
    creators: HashMap<String, Vec<String>>,
    tags: HashMap<String, Vec<String>>,
    collections: HashMap<String, Vec<String>>,
    notes: HashMap<String, Vec<String>>,
    alone: HashMap<String, (String, String)>,
    attachments: HashMap<String, Vec<String>>,
    highlights: HashMap<String, Vec<Highlight>>,
}

impl Library {
    fn read(database: &Connection) -> Result<Self, FormatError> {
        let rows = |table: &str, sql: &str| {
            if has_table(database, table) { read_rows(database, sql, None) } else { Ok(Vec::new()) }
        };
        let mut library = Self { items: rows("items", ITEMS_SQL)?, ..Self::default() };
        let keys: HashMap<String, String> =
            library.items.iter().map(|row| (id_at(row, "/id"), id_at(row, "/key"))).collect();
        let deleted = rows("deletedItems", "SELECT itemID AS id FROM deletedItems")?;
        library.deleted = deleted.iter().map(|row| id_at(row, "/id")).collect();
        for row in rows("itemData", FIELDS_SQL)? {
            let fields = library.fields.entry(id_at(&row, "/id")).or_default();
            fields.insert(text_at(&row, "/name").to_owned(), id_at(&row, "/value"));
        }
        for row in rows("itemCreators", CREATORS_SQL)? {
            let name = format!("{} {}", text_at(&row, "/first"), text_at(&row, "/last"));
            let role = text_at(&row, "/role");
            let role = if role == "author" { String::new() } else { format!(" ({role})") };
            let people = library.creators.entry(id_at(&row, "/id")).or_default();
            people.push(format!("{}{role}", name.trim()));
        }
        for row in rows("itemTags", TAGS_SQL)? {
            let tags = library.tags.entry(id_at(&row, "/id")).or_default();
            tags.push(text_at(&row, "/name").to_owned());
        }
        let collections = rows("collections", COLLECTIONS_SQL)?;
        let known: HashMap<String, &Value> =
            collections.iter().map(|row| (id_at(row, "/id"), row)).collect();
        for row in rows("collectionItems", COLLECTION_ITEMS_SQL)? {
            let path = collection_path(&id_at(&row, "/collection"), &known);
            library.collections.entry(id_at(&row, "/id")).or_default().push(path);
        }
        library.read_parts(&rows, &keys)?;
        Ok(library)
    }

    /// Reads notes, attachments and annotations.
    fn read_parts<E>(
        &mut self,
        rows: &impl Fn(&str, &str) -> Result<Vec<Value>, E>,
        keys: &HashMap<String, String>,
    ) -> Result<(), E> {
        for row in rows("itemNotes", NOTES_SQL)? {
            let (id, parent) = (id_at(&row, "/id"), id_at(&row, "/parent"));
            if self.deleted.contains(&id) {
                continue;
            }
            let html = text_at(&row, "/note");
            let note = html_to_markdown(html, None).unwrap_or_else(|_| html.to_owned());
            if parent.is_empty() {
                self.alone.insert(id, (text_at(&row, "/title").to_owned(), note));
            } else {
                self.notes.entry(parent).or_default().push(note);
            }
        }
        let mut owners: HashMap<String, String> = HashMap::new();
        for row in rows("itemAttachments", ATTACHMENTS_SQL)? {
            let (id, parent) = (id_at(&row, "/id"), id_at(&row, "/parent"));
            let owner = if parent.is_empty() { id.clone() } else { parent };
            owners.insert(id.clone(), owner.clone());
            if self.deleted.contains(&id) {
                continue;
            }
            let path = text_at(&row, "/path");
            let key = keys.get(&id).map(String::as_str).unwrap_or_default();
            let stored = path.strip_prefix("storage:").map(|name| format!("storage/{key}/{name}"));
            let path = stored.unwrap_or_else(|| path.to_owned());
            let address = self.field(&id, "url");
            let name = if path.is_empty() { address.to_owned() } else { path };
            self.attachments.entry(owner).or_default().push(name);
        }
        for row in rows("itemAnnotations", ANNOTATIONS_SQL)? {
            let Some(owner) = owners.get(&id_at(&row, "/parentItemID")) else { continue };
            let id = id_at(&row, "/itemID");
            if self.deleted.contains(&id) {
                continue;
            }
            let page = id_at(&row, "/pageLabel");
            let highlight = Highlight {
                text: text_at(&row, "/text").to_owned(),
                note: text_at(&row, "/comment").to_owned(),
                place: if page.is_empty() { page } else { format!("Page {page}") },
                color: text_at(&row, "/color").to_owned(),
                tags: self.tags.get(&id).cloned().unwrap_or_default(),
                created_at: None,
            };
            if !highlight.text.trim().is_empty() || !highlight.note.trim().is_empty() {
                self.highlights.entry(owner.clone()).or_default().push(highlight);
            }
        }
        Ok(())
    }

    fn field(&self, id: &str, name: &str) -> &str {
        let fields = self.fields.get(id);
        fields.and_then(|fields| fields.get(name)).map(String::as_str).unwrap_or_default()
    }

    fn into_parsed(mut self) -> Result<ParsedFormat, FormatError> {
        let mut parsed = ParsedFormat::default();
        let items = std::mem::take(&mut self.items);
        let mut trashed = 0;
        for item in &items {
            let id = id_at(item, "/id");
            let kind = text_at(item, "/type");
            // A file without an item of its own is one; so is a note.
            let is_owner = self.attachments.contains_key(&id) || self.highlights.contains_key(&id);
            let is_note = self.alone.contains_key(&id);
            if PART_TYPES.contains(&kind) && !is_owner && !is_note {
                continue;
            }
            if self.deleted.contains(&id) {
                trashed += 1;
                continue;
            }
            let entry = self.entry(item, &id, kind);
            parsed.add_entry(entry);
        }
        parsed.add_count(trashed, "item", "in the trash of Zotero");
        parsed.or_empty("it has no items")
    }

    fn entry(&mut self, item: &Value, id: &str, kind: &str) -> ReadingEntry {
        let alone = self.alone.remove(id);
        let notes = self.notes.remove(id).unwrap_or_default();
        let mut notes: Vec<String> = notes.into_iter().filter(|it| !it.trim().is_empty()).collect();
        notes.extend(alone.iter().map(|(_, text)| text.clone()));
        let field = |name: &str| self.field(id, name).to_owned();
        let files = self.attachments.get(id).cloned().unwrap_or_default();
        let mut title = field("title");
        if title.is_empty() {
            title = alone.map(|(title, _)| title).filter(|it| !it.is_empty()).unwrap_or_default();
        }
        if title.is_empty() {
            let file = files.first().and_then(|file| file.rsplit('/').next());
            file.unwrap_or_default().clone_into(&mut title);
        }
        let collections = self.collections.get(id).cloned().unwrap_or_default();
        let library = id_at(item, "/library");
        ReadingEntry {
            origin: format!("zotero:{library}:{}", id_at(item, "/key")),
            title,
            author: self.creators.get(id).map(|people| people.join(", ")).unwrap_or_default(),
            url: field("url"),
            media_type: match kind {
                "book" => "book",
                "webpage" | "blogPost" | "newspaperArticle" | "magazineArticle" => "article",
                "note" => "note",
                _ => "paper",
            },
            tags: distinct_keywords(self.tags.get(id).cloned().unwrap_or_default()),
            note: notes.join("\n\n"),
            text: field("abstractNote"),
            fields: vec![
                ("Collection", collections.join("; ")),
                ("Date", plain_date(&field("date"))),
                ("DOI", field("DOI")),
                ("Publication", field("publicationTitle")),
                ("Publisher", field("publisher")),
                ("ISBN", field("ISBN")),
                ("Volume", field("volume")),
                ("Pages", field("pages")),
                ("Extra", field("extra")),
                ("File", files.join("; ")),
            ],
            created_at: datetime::parse_text(text_at(item, "/created")),
            modified_at: datetime::parse_text(text_at(item, "/modified")),
            highlights: self.highlights.remove(id).unwrap_or_default(),
            ..ReadingEntry::default()
        }
    }
}

/// Returns the names of a collection and of those around it, the outermost first.
fn collection_path(id: &str, known: &HashMap<String, &Value>) -> String {
    let (mut names, mut next) = (Vec::new(), known.get(id));
    while let Some(row) = next.filter(|_| names.len() < MAX_DEPTH) {
        names.push(text_at(row, "/name").to_owned());
        next = known.get(&id_at(row, "/parent"));
    }
    names.reverse();
    names.join(" / ")
}

/// Returns a date as it was typed: Zotero stores `2026-01-05 January 2026`.
fn plain_date(date: &str) -> String {
    match date.split_once(' ') {
        Some((iso, typed)) if iso.len() == 10 && iso.contains('-') => typed.to_owned(),
        _ => date.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::tests::{detects, documents, parse, try_parse},
        sqlite_image::tests::database,
    };

    const SQL: &str = "
        CREATE TABLE itemTypes (itemTypeID INTEGER, typeName TEXT);
        CREATE TABLE items (itemID INTEGER, itemTypeID INTEGER, dateAdded TEXT, dateModified TEXT,
            libraryID INTEGER, key TEXT);
        CREATE TABLE fields (fieldID INTEGER, fieldName TEXT);
        CREATE TABLE itemData (itemID INTEGER, fieldID INTEGER, valueID INTEGER);
        CREATE TABLE itemDataValues (valueID INTEGER, value);
        CREATE TABLE creators (creatorID INTEGER, firstName TEXT, lastName TEXT);
        CREATE TABLE creatorTypes (creatorTypeID INTEGER, creatorType TEXT);
        CREATE TABLE itemCreators (itemID INTEGER, creatorID INTEGER, creatorTypeID INTEGER,
            orderIndex INTEGER);
        CREATE TABLE tags (tagID INTEGER, name TEXT);
        CREATE TABLE itemTags (itemID INTEGER, tagID INTEGER);
        CREATE TABLE collections (collectionID INTEGER, collectionName TEXT,
            parentCollectionID INTEGER);
        CREATE TABLE collectionItems (collectionID INTEGER, itemID INTEGER);
        CREATE TABLE itemNotes (itemID INTEGER, parentItemID INTEGER, note TEXT, title TEXT);
        CREATE TABLE itemAttachments (itemID INTEGER, parentItemID INTEGER, path TEXT);
        CREATE TABLE itemAnnotations (itemID INTEGER, parentItemID INTEGER, text TEXT, comment TEXT,
            color TEXT, pageLabel TEXT, sortIndex TEXT);
        CREATE TABLE deletedItems (itemID INTEGER);
        INSERT INTO itemTypes VALUES (1, 'journalArticle'), (2, 'attachment'), (3, 'note'),
            (4, 'annotation');
        INSERT INTO items VALUES (1, 1, '2026-01-05 10:00:00', '2026-01-06 10:00:00', 1, 'PAPER'),
            (2, 2, '', '', 1, 'FILE'), (3, 3, '', '', 1, 'NOTE'), (4, 4, '', '', 1, 'MARK'),
            (5, 3, '', '', 1, 'ALONE'), (6, 1, '', '', 1, 'GONE');
        INSERT INTO fields VALUES (1, 'title'), (2, 'abstractNote'), (3, 'date'), (4, 'DOI');
        INSERT INTO itemDataValues VALUES (1, 'Rye'), (2, 'It rises.'),
            (3, '2026-01-00 January 2026'), (4, '10.1/x');
        INSERT INTO itemData VALUES (1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 4, 4), (6, 1, 1);
        INSERT INTO creators VALUES (1, 'Ada', 'Miller'), (2, 'Ben', 'Baker');
        INSERT INTO creatorTypes VALUES (1, 'author'), (2, 'editor');
        INSERT INTO itemCreators VALUES (1, 1, 1, 0), (1, 2, 2, 1);
        INSERT INTO tags VALUES (1, 'bread');
        INSERT INTO itemTags VALUES (1, 1);
        INSERT INTO collections VALUES (1, 'Food', NULL), (2, 'Bread', 1);
        INSERT INTO collectionItems VALUES (2, 1);
        INSERT INTO itemNotes VALUES (3, 1, '<p>A note about <b>rye</b>.</p>', ''),
            (5, NULL, '<p>Sow in May.</p>', 'Plan');
        INSERT INTO itemAttachments VALUES (2, 1, 'storage:rye.pdf');
        INSERT INTO itemAnnotations VALUES (4, 2, 'Rye rises slowly.', 'Why?', '#ffd400', '12', '1');
        INSERT INTO deletedItems VALUES (6);";

    #[test]
    fn paper_has_collections_notes_files_and_annotations() {
        let bytes = database(SQL);
        assert!(detects(&Zotero, "/a/zotero.sqlite", &bytes));
        let parsed = parse(&Zotero, "/a/zotero.sqlite", &bytes);
        let origins: Vec<_> = parsed.drafts.iter().map(|it| it.origin.as_str()).collect();
        assert_eq!(origins, ["zotero:1:PAPER", "zotero:1:ALONE"]);
        let found = documents(&parsed);
        assert_eq!(found[0].title, "Rye");
        assert_eq!(found[0].author.as_deref(), Some("Ada Miller, Ben Baker (editor)"));
        assert_eq!(
            (found[0].tags.join(","), found[0].media_type.as_str()),
            ("bread".to_owned(), "paper")
        );
        for part in [
            "A note about rye.",
            "It rises.",
            "Collection: Food / Bread",
            "Date: January 2026",
            "DOI: 10.1/x",
            "File: storage/FILE/rye.pdf",
            "> Rye rises slowly.\n\nPage 12 · #ffd400\n\nNote: Why?",
        ] {
            assert!(found[0].content.contains(part), "{part}: {}", found[0].content);
        }
        assert_eq!(found[1].title, "Plan");
        assert_eq!(parsed.problems[0].to_string(), "1 item: in the trash of Zotero");
        let again = parse(&Zotero, "/a/zotero.sqlite", &bytes);
        assert_eq!(again.drafts[0].digest, parsed.drafts[0].digest);
    }

    #[test]
    fn circle_of_collections_ends_and_other_databases_fail() {
        let circle = SQL.replace("(1, 'Food', NULL)", "(1, 'Food', 2)");
        assert_eq!(parse(&Zotero, "/zotero.sqlite", database(&circle)).drafts.len(), 2);
        let error =
            try_parse(&Zotero, "/zotero.sqlite", database("CREATE TABLE a (b)")).unwrap_err();
        assert_eq!(error.to_string(), "it has no table `itemDataValues`");
        assert!(try_parse(&Zotero, "/zotero.sqlite", b"SQLite format 3\0").is_err());
    }
}
