//! Tests of write statements, which are applied completely or not at all.

use serde_json::json;
use vademecum_sql::ErrorCode;

use super::{SqliteFile, open_database, write};
use crate::support::TestDatabase;

#[tokio::test]
async fn write_counts_and_returns_affected_rows() {
    let (postgres, mariadb) = (TestDatabase::postgres(), TestDatabase::mariadb());
    let file = SqliteFile::new("");
    for database in
        [open_database(postgres.target(), 1), open_database(mariadb.target(), 1), file.open(1)]
    {
        let done = write(&database, "CREATE TABLE t (a int PRIMARY KEY, b numeric(10, 2))").await;
        assert_eq!(done.unwrap().rows_affected, 0, "{database:?}");
        let added = write(&database, "INSERT INTO t VALUES (1, 1.5), (2, 2.5), (3, 3.5)").await;
        assert_eq!(added.unwrap().rows_affected, 3, "{database:?}");
        let returned = write(&database, "DELETE FROM t WHERE a > 1 RETURNING a, a + 1 AS a").await;
        let returned = returned.unwrap();
        assert_eq!(returned.rows_affected, 2, "{database:?}");
        assert_eq!(
            returned.rows.rows,
            [[json!(2), json!(3)], [json!(3), json!(4)]],
            "{database:?}"
        );
        let error = write(&database, "INSERT INTO t VALUES (5, 1), (1, 1)").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlDbExecFailed, "{database:?}");
        let left = write(&database, "SELECT count(*) FROM t").await.unwrap();
        assert_eq!(left.rows.rows, [[json!(1)]], "{database:?}");
    }
}

#[tokio::test]
async fn writing_cte_requires_text_result_columns() {
    let fresh = TestDatabase::postgres();
    fresh.execute("CREATE TABLE t (a int, b text)");
    let database = open_database(fresh.target(), 1);
    let both = "WITH one AS (INSERT INTO t VALUES (1, 'x') RETURNING b) INSERT INTO t SELECT 2, b FROM one RETURNING ";
    let done = write(&database, &format!("{both} b")).await.unwrap();
    assert_eq!((done.rows_affected, done.rows.rows), (1, vec![vec![json!("x")]]));
    let error = write(&database, &format!("{both} a")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::XsqlDbDriverUnsupported);
    assert_eq!(fresh.query_value("SELECT count(*) FROM t"), "2");
}
