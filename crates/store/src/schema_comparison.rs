//! Comparison of a file's schema with the schema that the migrations create.
//!
//! A file from elsewhere may hold triggers, views or indexes that act when the file is used. The
//! comparison reads the file without running any of them.

use std::{collections::BTreeMap, fmt, path::Path};

use rusqlite::{Connection, config::DbConfig};

use super::{Database, ReadOnlyFile, Store, StoreError, file::open_connection};

/// Lists all objects of the schema.
const OBJECTS_SQL: &str = "SELECT type, name, tbl_name, COALESCE(sql, '') AS sql \
     FROM sqlite_schema ORDER BY type, name LIMIT 10000";

/// An object of a schema that differs from the one that the migrations create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDifference {
    kind: DifferenceKind,
    /// Type of the object: table, index, view or trigger.
    object_type: String,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DifferenceKind {
    Foreign,
    Changed,
    Missing,
}

impl SchemaDifference {
    /// Returns whether the migrations do not create the object.
    pub(super) fn is_foreign(&self) -> bool {
        self.kind == DifferenceKind::Foreign
    }
}

impl fmt::Display for SchemaDifference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, object_type, name } = self;
        let kind = match kind {
            DifferenceKind::Foreign => "foreign",
            DifferenceKind::Changed => "changed",
            DifferenceKind::Missing => "missing",
        };
        write!(formatter, "{kind} {object_type} `{name}`")
    }
}

/// Table and normalized SQL of each object, by type and name.
type SchemaObjects = BTreeMap<(String, String), (String, String)>;

impl Store {
    /// Compares the schema of the file with the one of the same version that the migrations create.
    /// The file is neither migrated nor changed, and must have no write-ahead log.
    pub fn compare_schema(&self) -> Result<Vec<SchemaDifference>, StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        let connection = open_restricted(self.path()).map_err(failed)?;
        let version = self.detect_schema(&connection)?;
        self.schema_differences(&connection, version)
    }

    /// Compares the schema of a connection with the one that the first `version` migrations create.
    pub(super) fn schema_differences(
        &self,
        connection: &Connection,
        version: usize,
    ) -> Result<Vec<SchemaDifference>, StoreError> {
        let failed = |source| StoreError::from_file(self.path(), source);
        let found = list_objects(connection).map_err(failed)?;
        let expected = expected_schema(self.database(), version).map_err(failed)?;
        let definitions = self.database().fts_definitions().iter();
        let redefined: BTreeMap<&str, String> =
            definitions.map(|(table, sql)| (*table, normalize_definition(sql))).collect();
        let is_redefined = |(_, name): &(String, String), (_, sql): &(String, String)| {
            redefined.get(name.as_str()) == Some(sql)
        };
        let described = |kind, (object_type, name): &(String, String)| SchemaDifference {
            kind,
            object_type: object_type.clone(),
            name: name.clone(),
        };
        let differing = found.iter().filter_map(|(object, parts)| match expected.get(object) {
            None => Some(described(DifferenceKind::Foreign, object)),
            Some(own) if own != parts && !is_redefined(object, parts) => {
                Some(described(DifferenceKind::Changed, object))
            }
            Some(_) => None,
        });
        let missing = expected.keys().filter(|object| !found.contains_key(*object));
        let missing = missing.map(|object| described(DifferenceKind::Missing, object));
        Ok(differing.chain(missing).collect())
    }
}

/// Opens a file for reading, without views and triggers.
fn open_restricted(path: &Path) -> rusqlite::Result<Connection> {
    let connection = ReadOnlyFile::Immutable.open(path)?;
    for (setting, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ] {
        connection.set_db_config(setting, value)?;
    }
    Ok(connection)
}

/// Returns the schema that the first `version` migrations create in an empty database.
fn expected_schema(database: Database, version: usize) -> rusqlite::Result<SchemaObjects> {
    let connection = open_connection(Path::new(":memory:"))?;
    for migration in database.migrations().iter().take(version) {
        connection.execute_batch(migration)?;
    }
    list_objects(&connection)
}

fn list_objects(connection: &Connection) -> rusqlite::Result<SchemaObjects> {
    let mut statement = connection.prepare(OBJECTS_SQL)?;
    let rows = statement.query_map([], |row| {
        let sql: String = row.get("sql")?;
        Ok(((row.get("type")?, row.get("name")?), (row.get("tbl_name")?, normalize_sql(&sql))))
    })?;
    rows.collect()
}

/// Normalizes a statement as SQLite stores it: without comments before and the semicolon after it.
fn normalize_definition(sql: &str) -> String {
    normalize_sql(sql).trim_matches([' ', ';']).to_owned()
}

/// Removes comments, and reduces white space outside of quotes to single spaces.
fn normalize_sql(sql: &str) -> String {
    let mut normalized = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(letter) = rest.chars().next() {
        let closing = match letter {
            '\'' | '"' | '`' => Some(letter),
            '[' => Some(']'),
            _ => None,
        };
        let length = if let Some(closing) = closing {
            let inside = rest.get(1..).unwrap_or_default();
            inside.find(closing).map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            letter.len_utf8()
        };
        let (part, left) = rest.split_at(length);
        let is_space = closing.is_none() && (length > letter.len_utf8() || letter.is_whitespace());
        if !is_space {
            normalized.push_str(part);
        } else if !normalized.is_empty() && !normalized.ends_with(' ') {
            normalized.push(' ');
        }
        rest = left;
    }
    normalized.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Database; 8] = [
        Database::Chacha,
        Database::Media,
        Database::Prompts,
        Database::Imports,
        Database::Index,
        Database::Collection,
        Database::Embeddings,
        Database::Server,
    ];

    /// Creates a file of an older version.
    fn create_version(store: &Store, version: usize) {
        let file = open_connection(store.path()).unwrap();
        for migration in store.database().migrations().iter().take(version) {
            file.execute_batch(migration).unwrap();
        }
        file.pragma_update(None, "application_id", Database::APPLICATION_ID).unwrap();
        file.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
    }

    #[test]
    fn schema_of_every_version_has_no_difference() {
        for database in ALL {
            for version in 1..=database.migrations().len() {
                let folder = tempfile::tempdir().unwrap();
                let store = Store::new(database, folder.path());
                create_version(&store, version);
                assert_eq!(store.compare_schema().unwrap(), [], "{database:?} {version}");
                store.check_integrity().unwrap();
                store.checkpoint().unwrap();
                store.close();
                assert_eq!(store.compare_schema().unwrap(), [], "{database:?} from {version}");
            }
        }
    }

    #[test]
    fn foreign_changed_and_missing_objects_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Database::Prompts, folder.path());
        create_version(&store, store.database().migrations().len());
        open_connection(store.path())
            .unwrap()
            .execute_batch(
                "CREATE TRIGGER spy AFTER INSERT ON Prompts BEGIN DELETE FROM imported; END;
                 CREATE VIEW theirs AS SELECT 1 AS a;
                 CREATE INDEX slow ON Prompts (hex(name));
                 ALTER TABLE PromptKeywordsTable ADD COLUMN more;
                 DROP TABLE PromptKeywordLinks;",
            )
            .unwrap();
        let found = store.compare_schema().unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        for expected in [
            "foreign trigger `spy`",
            "foreign view `theirs`",
            "foreign index `slow`",
            "changed table `PromptKeywordsTable`",
            "missing table `PromptKeywordLinks`",
        ] {
            assert!(found.iter().any(|it| it == expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn comments_and_spaces_are_no_difference() {
        let one = "CREATE TABLE a (\n    b TEXT, -- its text\n    c /* \u{e9} */ TEXT\n)";
        assert_eq!(normalize_sql(one), "CREATE TABLE a ( b TEXT, c TEXT )");
        assert_eq!(
            normalize_sql("SELECT '--  \u{e9}', \"a  b\", [c  d]"),
            "SELECT '--  \u{e9}', \"a  b\", [c  d]"
        );
        assert_eq!(normalize_sql("SELECT 'open"), "SELECT 'open");
    }
}
