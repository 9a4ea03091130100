//! The table that holds the items of a source, and the statements that are the same for all of them
//! but for its names.

use rusqlite::{ToSql, named_params};
use uuid::Uuid;
use vademecum_model::{FtsTable, SourceName, Timestamp};
use vademecum_store::{DerivedFtsTable, StoreError, Writer};

use crate::{IdType, ItemStatements, ListStatements, SyncStatements};

/// Selects `version` and `deleted` of the item `:id`.
const VERSION: &str = "SELECT version, NOT ({live}) AS deleted FROM {table} WHERE id = {id}";
/// Sets the `:version` of the item `:id`.
const SET_VERSION: &str = "UPDATE {table} SET version = :version WHERE id = {id}";
/// Selects the item `:id`, whose source has no kinds of documents.
const KIND: &str = "SELECT NULL AS media_type, NULL AS url FROM {table} WHERE id = {id}";
/// Selects the `title` of the item `:id`.
const TITLE: &str = "SELECT {title} AS title FROM {table} WHERE id = {id} AND {live}";
/// Selects identifier, last modification and title of the match `:key`.
const IDENTIFY: &str =
    "SELECT id, last_modified, {title} AS titles FROM {table} WHERE {row} = :key";
/// Lists the items with a stamp that changes whenever the item changes.
const VERSIONS: &str = "SELECT {row} AS key, CAST(id AS TEXT) AS id, version || ' ' || last_modified AS stamp \
     FROM {table} WHERE {live}";
/// Selects the full-text rows that a restricted reader may not see, whose table is then a view.
const HIDDEN: &str = "SELECT {row} AS key FROM main.{table} WHERE {row} NOT IN (SELECT {row} FROM {table}) \
     ORDER BY {row}";
/// Counts the items, each of which is one passage, and finds the latest change.
const STATS: &str = "SELECT count(*) AS items, count(*) AS passages, max(last_modified) AS newest \
     FROM {table} WHERE {live}";
/// Marks the item `:id` as deleted and returns its `row`.
const REMOVE: &str = "UPDATE {table} SET deleted = 1 WHERE id = {id} RETURNING {row} AS row";
/// Removes the row `:key` from the full-text table.
const UNINDEX: &str = "DELETE FROM {full_text} WHERE rowid = :key";
/// Returns a row if some item has a tag.
const TAGGED: &str = "SELECT 1 FROM {links} LIMIT 1";
/// Removes all keywords from the item `:id`.
const UNLINK_KEYWORDS: &str = "DELETE FROM {links} WHERE {item} = :id";
/// Inserts a keyword, or restores it if it was deleted.
const ADD_KEYWORD: &str = "INSERT INTO {keywords} (keyword, {stamp}, last_modified) \
     VALUES (:keyword, :stamp, :now) \
     ON CONFLICT (keyword) DO UPDATE SET deleted = 0 WHERE deleted <> 0";
/// Assigns a keyword to the item `:id`.
const LINK_KEYWORD: &str = "INSERT OR IGNORE INTO {links} ({item}, keyword_id) \
     SELECT :id, id FROM {keywords} WHERE keyword = :keyword";
/// Assigns a keyword to the item `:id` at the time `:now`.
const LINK_DATED_KEYWORD: &str = "INSERT OR IGNORE INTO {links} ({item}, keyword_id, created_at) \
     SELECT :id, id, :now FROM {keywords} WHERE keyword = :keyword";

/// The table that holds the items of a source. All fields but the first are parts of statements.
#[derive(Clone, Copy, Debug)]
pub struct ItemTable {
    /// The source.
    pub source: SourceName,
    /// Name of the table.
    pub table: &'static str,
    /// Type of its column `id`.
    pub id_type: IdType,
    /// Column with the row number.
    pub row: &'static str,
    /// Rowid in the full-text table of an item's title, computed from the columns of the item.
    pub key: &'static str,
    /// Row number of an item, computed from the `rowid` of its title in the full-text table.
    pub row_of_key: &'static str,
    /// Column with the title.
    pub title: &'static str,
    /// Column with the web address; `NULL`, which equals none, if items have no address.
    pub address: &'static str,
    /// Condition that an item is not deleted.
    pub live: &'static str,
    /// The full-text table.
    pub full_text: &'static FtsTable,
    /// Tables of the keywords, unless they are stored in the item.
    pub keywords: Option<KeywordTables>,
}

/// The tables that hold the keywords of a source and assign them to items.
#[derive(Clone, Copy, Debug)]
pub struct KeywordTables {
    /// Table of the keywords.
    pub keywords: &'static str,
    /// Table that assigns keywords to items.
    pub links: &'static str,
    /// Column of that table with the identifier of the item.
    pub item: &'static str,
    /// What a new keyword is given.
    pub stamp: KeywordStamp,
}

/// What a new keyword is given besides its time of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywordStamp {
    /// The time at which it was created and at which it was assigned.
    CreatedAt,
    /// A random UUID.
    Uuid,
}

/// The statements of a source that have no common form.
#[derive(Clone, Copy, Debug)]
pub struct OwnStatements {
    /// Statement for [`ListStatements::list_sql`].
    pub list_sql: &'static str,
    /// Statement for [`ItemStatements::passes_sql`].
    pub passes_sql: &'static str,
    /// Statement for [`DerivedFtsTable::fill_sql`].
    pub fill_sql: &'static str,
    /// Statement for [`DerivedFtsTable::reindex_sql`].
    pub reindex_sql: &'static str,
}

impl ItemTable {
    /// Returns the statements of a source that has no others. They live as long as the process, so
    /// this is called once for each source.
    pub fn statements(&self, own: OwnStatements) -> ItemStatements {
        let (id_type, index) = (self.id_type, self.full_text);
        let suggest = match id_type {
            IdType::Numbers => include_str!("sql/suggest_numbers.sql"),
            IdType::Texts => include_str!("sql/suggest_texts.sql"),
        };
        let tagged = self.keywords.map_or("", |_| TAGGED);
        let list_tags = self.keywords.map_or("", |_| include_str!("sql/list_tags.sql"));
        ItemStatements {
            id_type,
            identify_sql: self.fill(IDENTIFY),
            suggest_sql: self.fill(suggest),
            list: ListStatements {
                list_sql: own.list_sql,
                list_tags_sql: self.fill(list_tags),
                find_sql: self.fill(include_str!("sql/find.sql")),
            },
            versions_sql: self.fill(VERSIONS),
            version_sql: self.fill(VERSION),
            set_version_sql: self.fill(SET_VERSION),
            kind_sql: self.fill(KIND),
            title_sql: self.fill(TITLE),
            passes_sql: own.passes_sql,
            tagged_sql: self.fill(tagged),
            hidden_sql: self.fill(HIDDEN),
            stats_sql: self.fill(STATS),
            remove_sql: self.fill(REMOVE),
            sync: SyncStatements {
                changed_sql: self.fill(include_str!("sql/sync_changed.sql")),
                gone_sql: self.fill(include_str!("sql/sync_gone.sql")),
                stamp_sql: self.fill(include_str!("sql/sync_stamp.sql")),
            },
            derived_fts_table: DerivedFtsTable {
                table: index.name,
                count_differences_sql: self.fill(include_str!("sql/fts_differences.sql")),
                fill_sql: own.fill_sql,
                index,
                reindex_sql: own.reindex_sql,
                unindex_sql: self.fill(UNINDEX),
            },
        }
    }

    /// Returns a template with the names of this table.
    fn fill(&self, template: &str) -> &'static str {
        let (id, id_affinity) = match self.id_type {
            IdType::Numbers => ("CAST(:id AS INTEGER)", "INTEGER"),
            IdType::Texts => (":id", "TEXT"),
        };
        let filled = template
            .replace("{table}", self.table)
            .replace("{id}", id)
            .replace("{id_affinity}", id_affinity)
            .replace("{row}", self.row)
            .replace("{key}", self.key)
            .replace("{row_of_key}", self.row_of_key)
            .replace("{title}", self.title)
            .replace("{address}", self.address)
            .replace("{live}", self.live)
            .replace("{source}", self.source.as_str())
            .replace("{full_text}", self.full_text.name);
        let filled = match self.keywords {
            Some(tables) => tables.fill(&filled),
            None => filled,
        };
        Box::leak(filled.into_boxed_str())
    }
}

impl KeywordTables {
    /// Replaces the keywords of the item `id` by these, without white space around them.
    pub fn replace_keywords(
        &self,
        writer: &Writer<'_>,
        id: &dyn ToSql,
        keywords: &[String],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let add = self.fill(ADD_KEYWORD);
        let link = self.fill(match self.stamp {
            KeywordStamp::CreatedAt => LINK_DATED_KEYWORD,
            KeywordStamp::Uuid => LINK_KEYWORD,
        });
        writer.execute(&self.fill(UNLINK_KEYWORDS), named_params! { ":id": id })?;
        for keyword in keywords {
            let keyword = keyword.trim();
            let uuid = Uuid::new_v4().to_string();
            let named: [(&str, &dyn ToSql); 3] =
                [(":id", id), (":keyword", &keyword), (":now", &now)];
            let (stamp, named): (&dyn ToSql, _) = match self.stamp {
                KeywordStamp::CreatedAt => (&now, &named[..]),
                KeywordStamp::Uuid => (&uuid, &named[..2]),
            };
            let added = named_params! { ":keyword": keyword, ":stamp": stamp, ":now": now };
            writer.execute(&add, added)?;
            writer.execute(&link, named)?;
        }
        Ok(())
    }

    /// Returns a template with the names of these tables.
    fn fill(&self, template: &str) -> String {
        let stamp = match self.stamp {
            KeywordStamp::CreatedAt => "created_at",
            KeywordStamp::Uuid => "uuid",
        };
        template
            .replace("{keywords}", self.keywords)
            .replace("{links}", self.links)
            .replace("{item}", self.item)
            .replace("{stamp}", stamp)
    }
}
