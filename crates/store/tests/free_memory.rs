//! Tests of the memory that a process keeps although nothing uses it. They are a program of their
//! own, because they measure the whole process.

use std::time::Duration;

use rusqlite::named_params;
use vademecum_model::Deadline;
use vademecum_store::{Database, Durability, Store, StoreError, sqlite_heap_bytes};

#[test]
fn cached_pages_are_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Database::Prompts, folder.path());
    let text = "x".repeat(3_000);
    let written: Result<_, StoreError> = store.write(Durability::Full, |writer| {
        writer.execute("CREATE TABLE pages (number INTEGER PRIMARY KEY, text TEXT)", &[])?;
        for number in 0..1_500 {
            let values = named_params! { ":number": number, ":text": text };
            writer.execute("INSERT INTO pages VALUES (:number, :text)", values)?;
        }
        Ok(())
    });
    written.unwrap();
    let sum_lengths = || {
        let sum: Result<i64, StoreError> =
            store.read(Deadline::after(Duration::from_mins(1)), |reader| {
                let sql = "SELECT sum(length(text)) FROM pages";
                reader.query_one(sql, &[], |row| row.get(0))
            });
        sum.unwrap()
    };
    assert_eq!(sum_lengths(), 4_500_000);
    let before = sqlite_heap_bytes();
    store.remove_unused_caches(Duration::from_mins(1));
    let after = sqlite_heap_bytes();
    assert!(after + (8 << 20) < before, "{before} bytes before, {after} after");
    assert_eq!(sum_lengths(), 4_500_000, "the pages are read again");
}
