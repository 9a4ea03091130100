//! Copies of the databases of a library whose full-text tables hold English stems, so that FTS5 can
//! rank them by itself.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use vademecum::registry;

/// Copies the databases of the library in a folder to another folder.
pub fn copy_with_stems(library: &Path, copy: &Path) -> Result<()> {
    fs::create_dir_all(copy)?;
    let sources = registry::sources();
    let databases: BTreeSet<&str> = sources.iter().map(|it| it.database().file_name()).collect();
    for name in databases {
        let from = library.join(name);
        let to = copy.join(name);
        if !from.exists() || to.exists() {
            continue;
        }
        open(&from)?.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
        open(&to)?.execute_batch(include_str!("sql/use_stems.sql"))?;
        let connection = open(&to)?;
        for source in sources.iter().filter(|source| source.database().file_name() == name) {
            let Some(table) = source.derived_fts_table() else { continue };
            let clear = format!("INSERT INTO {0} ({0}) VALUES ('delete-all');", table.table);
            connection.execute_batch(&format!("BEGIN; {clear} {} COMMIT;", table.fill_sql))?;
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = Connection::open_with_flags(path, flags)?;
    vademecum_fts5::register(&connection)?;
    vademecum_store::register_file_name(&connection)?;
    Ok(connection)
}
