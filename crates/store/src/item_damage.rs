//! Verification of the rows of one item when it is read, and of its tags and origins when rules judge it.

use std::{fmt::Write as _, sync::OnceLock};

use rusqlite::{Connection, ToSql};
use vademecum_model::SourceName;

use super::{Database, DigestedTable, Reader, StoreError};

/// Rows of an item that are about to be shown.
#[derive(Clone, Copy, Debug)]
pub enum ShownRows<'a> {
    /// Those of a hit: its item, and of a conversation this message, or the first one.
    Hit {
        /// Identifier of the message.
        message: Option<&'a str>,
    },
    /// All of the item.
    Item,
    /// The item and its earlier versions.
    Versions,
}

/// A table, and the condition for its rows of the item `:id`.
type ItemRows<'a> = (&'a str, &'a str);

/// The tables of a source.
struct ItemTables {
    database: Database,
    /// The table of items.
    item: ItemRows<'static>,
    /// Identifier of an item of that table, in SQL.
    id: &'static str,
    /// The links of items to tags, their column with the item, and the tags.
    tags: Option<(&'static str, &'static str, &'static str)>,
    /// Further rows of an item that hits show.
    hit: &'static [ItemRows<'static>],
    /// Rows that are read with a whole item.
    parts: &'static [ItemRows<'static>],
    /// An index, and what finds the entry of an item in it. Entries have the number of their row, so they
    /// tell a row whose own number is damaged.
    numbered_by: Option<(&'static str, &'static str)>,
}

const NOTES: ItemTables = ItemTables {
    database: Database::Chacha,
    item: ("notes", "stored.id = :id"),
    id: "notes.id",
    tags: Some(("note_keywords", "note_id", "keywords")),
    hit: &[],
    parts: &[],
    numbered_by: None,
};
const CHATS: ItemTables = ItemTables {
    database: Database::Chacha,
    item: ("conversations", "stored.id = :id"),
    id: "conversations.id",
    tags: Some(("conversation_keywords", "conversation_id", "keywords")),
    hit: &[
        ("messages", "stored.id = :message"),
        ("messages", "stored.conversation_id = :id AND stored.position = 0 AND :message IS NULL"),
    ],
    parts: &[
        ("messages", "stored.conversation_id = :id"),
        (
            "message_metadata",
            "stored.message_id IN (SELECT message.id FROM main.messages AS message \
             WHERE message.conversation_id = :id)",
        ),
    ],
    numbered_by: None,
};
const CHARACTERS: ItemTables = ItemTables {
    database: Database::Chacha,
    item: ("character_cards", "stored.id = :id"),
    id: "CAST(character_cards.id AS TEXT)",
    tags: None,
    hit: &[],
    parts: &[],
    numbered_by: Some((
        "characters_listed",
        "same.deleted = 0 AND same.last_modified = character_cards.last_modified",
    )),
};
const MEDIA: ItemTables = ItemTables {
    database: Database::Media,
    item: ("Media", "stored.id = :id"),
    id: "CAST(Media.id AS TEXT)",
    tags: Some(("MediaKeywords", "media_id", "Keywords")),
    hit: &[("DocumentDates", "stored.media_id = :id")],
    parts: &[
        ("DocumentDates", "stored.media_id = :id"),
        ("DocumentVersions", "stored.media_id = :id"),
        ("DocumentChunks", "stored.media_id = :id"),
        ("Transcripts", "stored.media_id = :id"),
    ],
    numbered_by: Some(("sqlite_autoindex_Media_1", "same.uuid = Media.uuid")),
};
const PROMPTS: ItemTables = ItemTables {
    database: Database::Prompts,
    item: ("Prompts", "stored.id = :id"),
    id: "CAST(Prompts.id AS TEXT)",
    tags: Some(("PromptKeywordLinks", "prompt_id", "PromptKeywordsTable")),
    hit: &[],
    parts: &[],
    numbered_by: Some(("sqlite_autoindex_Prompts_1", "same.name = Prompts.name")),
};
const OF_ITEM: &str = "stored.source = :source AND stored.item = :id";
/// The tables of origins, and their index by item. Rules ask the same index, so that they see nothing else
/// than what is verified.
const ORIGINS: [(&str, &str); 2] =
    [("imported", "imported_by_item"), ("provenance", "sqlite_autoindex_provenance_1")];
const VERSIONS: &[ItemRows<'_>] = &[("changes", OF_ITEM), ("import_bases", OF_ITEM)];

impl Reader<'_> {
    /// Fails if a row of an item differs from what was written. Rows without a digest are trusted.
    pub fn verify_item(
        &self,
        source: SourceName,
        id: &str,
        rows: ShownRows<'_>,
    ) -> Result<(), StoreError> {
        let Some(sql) = item_damage_sql(source, rows) else { return Ok(()) };
        let (name, message) =
            (source.as_str(), if let ShownRows::Hit { message } = rows { message } else { None });
        let all: [(&str, &dyn ToSql); 3] =
            [(":id", &id), (":source", &name), (":message", &message)];
        let given: Vec<_> = all.into_iter().filter(|(name, _)| sql.contains(name)).collect();
        match self.query_first(sql, &given, |_| Ok(()))? {
            Some(()) => Err(self.damaged_item()),
            None => Ok(()),
        }
    }
}

/// Returns the statement that selects the damaged rows of the item `:id` of `:source`.
fn item_damage_sql(source: SourceName, rows: ShownRows<'_>) -> Option<&'static str> {
    static STATEMENTS: [[OnceLock<String>; 3]; 5] = [const { [const { OnceLock::new() }; 3] }; 5];
    let (index, tables) = match source {
        SourceName::Notes => (0, &NOTES),
        SourceName::Chats => (1, &CHATS),
        SourceName::Characters => (2, &CHARACTERS),
        SourceName::Media => (3, &MEDIA),
        SourceName::Prompts => (4, &PROMPTS),
        SourceName::Collections => return None,
    };
    let (scope, parts): (usize, &[&[ItemRows<'_>]]) = match rows {
        ShownRows::Hit { .. } => (0, &[tables.hit]),
        ShownRows::Item => (1, &[tables.parts]),
        ShownRows::Versions => (2, &[tables.parts, VERSIONS]),
    };
    let statement = STATEMENTS.get(index)?.get(scope)?;
    Some(statement.get_or_init(|| {
        let mut damage = DamageSql { database: tables.database, sql: String::new() };
        damage.add_changed(tables.item, "");
        damage.add_links(tables);
        parts.iter().copied().flatten().for_each(|rows| damage.add_changed(*rows, ""));
        damage.sql
    }))
}

/// Returns the definitions of views of the items of a database whose tags and origins are certain:
/// `sound_` and the name of the table. Rules of access judge no others, because a damaged key hides a
/// tag or an origin from them.
pub(super) fn sound_items_sql(database: Database) -> String {
    let mut views = String::new();
    for (source, tables) in sources_of(database) {
        let mut damage = DamageSql { database, sql: String::new() };
        damage.add_item(tables);
        damage.add_links(tables);
        let name = tables.item.0;
        let of_item =
            damage.sql.replace(":source", &format!("'{source}'")).replace(":id", tables.id);
        // Writing into a string cannot fail.
        write!(
            views,
            "CREATE TEMP VIEW sound_{name} AS SELECT * FROM main.{name} WHERE NOT EXISTS ({of_item});"
        )
        .ok();
    }
    views
}

fn sources_of(database: Database) -> impl Iterator<Item = (SourceName, &'static ItemTables)> {
    let all = [
        (SourceName::Notes, &NOTES),
        (SourceName::Chats, &CHATS),
        (SourceName::Characters, &CHARACTERS),
        (SourceName::Media, &MEDIA),
        (SourceName::Prompts, &PROMPTS),
    ];
    all.into_iter().filter(move |(_, tables)| tables.database == database)
}

/// Returns the source and the identifier of the item that links with this access key belong to.
pub(super) fn find_item(
    connection: &Connection,
    database: Database,
    access_key: i64,
) -> Option<(String, String)> {
    sources_of(database).find_map(|(source, tables)| {
        let ((name, _), id) = (tables.item, tables.id);
        let sql = format!(
            "SELECT {id} AS id FROM main.{name} WHERE vademecum_row_key('{source}', {id}) = ?1"
        );
        let found = connection.query_row(&sql, [access_key], |row| row.get("id"));
        // The table of items may be damaged, too.
        found.ok().map(|id| (source.to_string(), id))
    })
}

/// A statement that selects damaged rows of the item `:id` of `:source`. A digest that is damaged itself
/// says nothing of its row.
struct DamageSql {
    database: Database,
    sql: String,
}

impl DamageSql {
    fn table(&self, name: &str) -> Option<&'static DigestedTable> {
        self.database.digested_tables().iter().find(|it| it.name == name)
    }

    fn add(&mut self, select: &str) {
        if !self.sql.is_empty() {
            self.sql.push_str(" UNION ALL ");
        }
        self.sql.push_str(select);
    }

    /// Adds the rows that differ from their digest. `access` names the index to use, if one must be.
    fn add_changed(&mut self, (name, condition): ItemRows<'_>, access: &str) {
        let Some(table) = self.table(name) else { return };
        self.add(&format!(
            "SELECT 1 FROM main.{name} AS stored {access} \
             CROSS JOIN main.row_digests AS known ON known.table_number = {} \
             AND known.key = {} WHERE ({condition}) AND known.digest <> {} \
             AND vademecum_is_sealed(known.digest)",
            table.number,
            table.key_sql("stored"),
            table.digest_sql("stored")
        ));
    }

    /// Adds the digests of links of the item whose rows are gone.
    fn add_missing(&mut self, (name, condition): ItemRows<'_>, access: &str) {
        let Some(table) = self.table(name) else { return };
        self.add(&format!(
            "SELECT 1 FROM main.row_digests AS known \
             WHERE known.access_key = vademecum_row_key(:source, :id) AND known.table_number = {} \
             AND vademecum_is_sealed(known.digest) \
             AND known.key NOT IN (SELECT {} FROM main.{name} AS stored {access} \
             WHERE ({condition}) AND {} IS NOT NULL)",
            table.number,
            table.key_sql("stored"),
            // Reads the row, and not an index that still has its right key.
            table.digest_sql("stored"),
        ));
    }

    /// Adds damaged tags, origins, and links to them.
    fn add_links(&mut self, tables: &ItemTables) {
        for (name, index) in ORIGINS {
            let access = format!("INDEXED BY {index}");
            self.add_changed((name, OF_ITEM), &access);
            self.add_missing((name, OF_ITEM), &access);
        }
        let Some((links, item, tags)) = tables.tags else { return };
        let of_item = format!("stored.{item} = :id");
        let access = format!("INDEXED BY sqlite_autoindex_{links}_1");
        self.add_changed((links, &of_item), &access);
        self.add_missing((links, &of_item), &access);
        let link = format!("main.{links} AS link {access}");
        let of_links =
            format!("stored.id IN (SELECT keyword_id FROM {link} WHERE link.{item} = :id)");
        self.add_changed((tags, &of_links), "NOT INDEXED");
        let Some(table) = self.table(tags) else { return };
        self.add(&format!(
            "SELECT 1 FROM {link} CROSS JOIN main.row_digests AS known \
             ON known.table_number = {} AND known.key = link.keyword_id \
             WHERE link.{item} = :id AND vademecum_is_sealed(known.digest) AND NOT EXISTS (\
             SELECT 1 FROM main.{tags} AS stored NOT INDEXED WHERE stored.id = link.keyword_id)",
            table.number
        ));
    }

    /// Adds the row of the item, if the columns that rules read are damaged, or its number. The other
    /// columns may hold long texts.
    fn add_item(&mut self, tables: &ItemTables) {
        let (name, _) = tables.item;
        let Some(table) = self.table(name) else { return };
        let known = format!(
            "FROM main.row_digests AS known WHERE known.table_number = {} AND known.key = {}",
            table.number,
            table.key_sql(name)
        );
        self.add(&format!(
            "SELECT 1 {known} AND known.access_key <> {} AND vademecum_is_sealed(known.digest)",
            table.access_key_sql(name)
        ));
        if let Some((index, entry)) = tables.numbered_by {
            self.add(&format!(
                "SELECT 1 WHERE NOT EXISTS (SELECT 1 {known}) AND NOT EXISTS (\
                 SELECT 1 FROM main.{name} AS same INDEXED BY {index} \
                 WHERE {entry} AND same.id = {name}.id)"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::Deadline;

    use super::*;
    use crate::Store;

    #[test]
    fn rows_of_item_are_found_by_indexes() {
        let folder = tempfile::tempdir().unwrap();
        for database in [Database::Chacha, Database::Media, Database::Prompts] {
            let store = Store::new(database, folder.path());
            for (source, _) in sources_of(database) {
                for rows in
                    [ShownRows::Hit { message: Some("m") }, ShownRows::Item, ShownRows::Versions]
                {
                    let sql = item_damage_sql(source, rows).unwrap();
                    let explained = format!("EXPLAIN QUERY PLAN {sql}");
                    let steps =
                        store.read(Deadline::after(std::time::Duration::from_mins(1)), |reader| {
                            reader.query_all(&explained, &[], |row| row.get::<_, String>("detail"))
                        });
                    for step in steps.unwrap() {
                        // The rows of a source are as many as its items.
                        let reads_all = step.starts_with("SCAN ") && step != "SCAN CONSTANT ROW";
                        assert!(!reads_all && !step.ends_with("(source=?)"), "{source}: {step}");
                    }
                }
            }
        }
    }
}
