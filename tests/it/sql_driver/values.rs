//! Tests of lossless conversion of values of every column type.

use serde_json::{Value, json};
use vademecum_sql::{Engine, Parameter, guard};

use super::{DEFAULT_CAPS, SqliteFile, open_database, read, single_row};
use crate::support::TestDatabase;

#[tokio::test]
async fn postgres_types_are_read_losslessly() {
    let fresh = TestDatabase::postgres();
    fresh.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'glad');
         CREATE TYPE place AS (x int, y numeric);
         CREATE DOMAIN price AS numeric(10, 2);",
    );
    let database = open_database(fresh.target(), 1);
    for (expression, kind, expected) in [
        ("true", "bool", json!(true)),
        ("32767::int2", "int2", json!(32767)),
        ("9007199254740991::int8", "int8", json!(9_007_199_254_740_991_i64)),
        ("9007199254740993", "int8", json!("9007199254740993")),
        ("(-9223372036854775808)::int8", "int8", json!("-9223372036854775808")),
        ("1.50", "numeric", json!("1.50")),
        ("3.14159", "numeric", json!("3.14159")),
        ("sum(1::int8)", "numeric", json!(1)),
        ("12345678901234567890.123456789", "numeric", json!("12345678901234567890.123456789")),
        ("'NaN'::numeric", "numeric", json!("NaN")),
        ("9.99::price", "numeric", json!("9.99")),
        ("0.1::float4", "float4", json!(0.1)),
        ("0.1::float8 + 0.2::float8", "float8", json!(0.300_000_000_000_000_04)),
        ("'-Infinity'::float8", "float8", json!("-Infinity")),
        ("'a''b\\c'", "text", json!("a'b\\c")),
        ("'ä€😀'", "text", json!("ä€😀")),
        ("'ab'::char(4)", "bpchar", json!("ab  ")),
        ("'x'::\"char\"", "char", json!("x")),
        ("'\\x00ff10'::bytea", "bytea", json!("AP8Q")),
        ("'2024-02-29'::date", "date", json!("2024-02-29")),
        ("'infinity'::date", "date", json!("infinity")),
        ("'13:05:09.12'::time", "time", json!("13:05:09.12")),
        ("'2024-02-29 13:05:09.12'::timestamp", "timestamp", json!("2024-02-29T13:05:09.12")),
        ("'1 year 2 days'::interval", "interval", json!("1 year 2 days")),
        (
            "'0191d1f0-0000-7000-8000-000000000000'::uuid",
            "uuid",
            json!("0191d1f0-0000-7000-8000-000000000000"),
        ),
        ("'10.1.2.0/24'::inet", "inet", json!("10.1.2.0/24")),
        ("'[1,5)'::int4range", "int4range", json!("[1,5)")),
        ("'(1,2)'::point", "point", json!("(1,2)")),
        ("B'101'", "bit", json!("101")),
        ("'<a>b</a>'::xml", "xml", json!("<a>b</a>")),
        ("12.5::money", "money", json!("$12.50")),
        ("'glad'::mood", "mood", json!("glad")),
        ("row(1, 2.50)::place", "place", json!({"x": 1, "y": 2.5})),
        ("ARRAY[1, NULL, 3]", "int4[]", json!([1, null, 3])),
        ("ARRAY[9007199254740993]", "int8[]", json!(["9007199254740993"])),
        (
            "'{\"a\": [1.5, 9007199254740993]}'::jsonb",
            "jsonb",
            json!({"a": [1.5, "9007199254740993"]}),
        ),
        ("'[1, \"x\"]'::json", "json", json!([1, "x"])),
        ("to_tsvector('simple', 'a b')", "tsvector", json!("'a':1 'b':2")),
        ("NULL::int4", "int4", Value::Null),
    ] {
        let query = format!("SELECT {expression} AS value");
        let rows =
            read(&database, &query).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
        assert_eq!(rows.rows, [[expected]], "{query}");
        assert_eq!(rows.columns[0].kind, kind, "{query}");
    }
}

#[tokio::test]
async fn postgres_array_elements_are_read_like_columns() {
    let fresh = TestDatabase::postgres();
    fresh
        .execute("CREATE TYPE place AS (x int, y numeric); CREATE DOMAIN price AS numeric(10, 2);");
    let database = open_database(fresh.target(), 1);
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for (expression, expected) in [
        (
            "'{1.50,NULL,NaN,12345678901234567890.10}'::numeric[]",
            json!(["1.50", null, "NaN", "12345678901234567890.10"]),
        ),
        ("'{{1.50},{2}}'::numeric[]", json!([["1.50"], [2]])),
        ("ARRAY[9.90::price]", json!(["9.90"])),
        ("'{NaN,-Infinity,0.1}'::float8[]", json!(["NaN", "-Infinity", 0.1])),
        ("ARRAY['\\x6869'::bytea]", json!(["aGk="])),
        (
            "ARRAY[row(1, 0.1234567890123456789)::place]",
            json!([{"x": 1, "y": "0.1234567890123456789"}]),
        ),
        ("numrange(1.50, 2.5)", json!("[1.50,2.5)")),
        (
            "'{\"a\": [0.1234567890123456789, 1e400]}'::json",
            json!({"a": ["0.1234567890123456789", "1e400"]}),
        ),
    ] {
        let query = format!("SELECT {expression} AS value");
        assert_eq!(single_row(&database, &query).await, [expected], "{query}");
    }
    let mut row =
        single_row(&database, "SELECT (repeat('[', 3000) || repeat(']', 3000))::json").await;
    for _ in 0..100 {
        row = row.remove(0).as_array().unwrap().clone();
    }
    assert_eq!(row, [json!(nested(2900))], "deep levels are text");
}

#[tokio::test]
async fn pgvector_types_are_read() {
    let fresh = TestDatabase::pgvector();
    let database = open_database(fresh.target(), 1);
    let rows =
        read(&database, "SELECT '[1,2.5]'::vector AS v, '[1,2]'::halfvec AS h").await.unwrap();
    assert_eq!(rows.rows, [[json!("[1,2.5]"), json!("[1,2]")]]);
    assert_eq!(rows.columns[0].kind, "vector");
}

#[tokio::test]
async fn mariadb_types_are_read_losslessly() {
    let fresh = TestDatabase::mariadb();
    fresh.execute(
        "CREATE TABLE t (
            tiny TINYINT, small SMALLINT, mid MEDIUMINT, wide BIGINT, huge BIGINT UNSIGNED,
            price DECIMAL(30, 2), whole DECIMAL(20, 0), f FLOAT, d DOUBLE, flags BIT(9), y YEAR,
            day DATE, zero DATE, at DATETIME(3), stamp TIMESTAMP NULL, span TIME(2),
            name VARCHAR(20), code CHAR(3), note LONGTEXT, raw VARBINARY(9), picture BLOB,
            mood ENUM('sad', 'glad'), tags SET('a', 'b'), doc JSON, place POINT, id UUID, ip INET6,
            nothing INT
         );
         SET sql_mode = '';
         INSERT INTO t VALUES (
            -128, 32767, -8388608, 9007199254740993, 18446744073709551615,
            '12345678901234567890.50', 42, 0.1, 0.30000000000000004, b'100000001', 2024,
            '2024-02-29', '0000-00-00', '2024-02-29 13:05:09.12', '2024-02-29 13:05:09', '-838:59:59',
            'ä€😀', 'abc', 'long', x'00ff', x'10',
            'glad', 'a,b', '{\"a\": 1}', POINT(1, 2), '0191d1f0-0000-7000-8000-000000000000', '::1',
            NULL
         )",
    );
    let database = open_database(fresh.target(), 1);
    for (column, kind, expected) in [
        ("tiny", "tinyint", json!(-128)),
        ("small", "smallint", json!(32767)),
        ("mid", "mediumint", json!(-8_388_608)),
        ("wide", "bigint", json!("9007199254740993")),
        ("huge", "bigint unsigned", json!("18446744073709551615")),
        ("price", "decimal", json!("12345678901234567890.50")),
        ("whole", "decimal", json!(42)),
        ("f", "float", json!(0.1)),
        ("d", "double", json!(0.300_000_000_000_000_04)),
        ("flags", "bit", json!(257)),
        ("y", "year", json!(2024)),
        ("day", "date", json!("2024-02-29")),
        ("zero", "date", json!("0000-00-00")),
        ("at", "datetime", json!("2024-02-29 13:05:09.120")),
        ("stamp", "timestamp", json!("2024-02-29 13:05:09")),
        ("span", "time", json!("-838:59:59.00")),
        ("name", "varchar", json!("ä€😀")),
        ("code", "char", json!("abc")),
        ("note", "longtext", json!("long")),
        ("raw", "varbinary", json!("AP8=")),
        ("picture", "blob", json!("EA==")),
        ("mood", "enum", json!("glad")),
        ("tags", "set", json!("a,b")),
        ("doc", "longtext", json!("{\"a\": 1}")),
        ("id", "char", json!("0191d1f0-0000-7000-8000-000000000000")),
        ("ip", "char", json!("::1")),
        ("nothing", "int", Value::Null),
        ("ST_AsText(place)", "longtext", json!("POINT(1 2)")),
        ("count(*)", "bigint", json!(1)),
    ] {
        let rows = read(&database, &format!("SELECT {column} FROM t")).await.unwrap();
        assert_eq!(rows.rows, [[expected]], "{column}");
        assert_eq!(rows.columns[0].kind, kind, "{column}");
    }
    let place = single_row(&database, "SELECT place FROM t").await;
    assert!(place[0].as_str().unwrap().starts_with("AAAAAAEBAAAA"), "{place:?}");
}

#[tokio::test]
async fn sqlite_types_are_read_losslessly() {
    let file = SqliteFile::new(
        "CREATE TABLE t (n INTEGER, d DECIMAL(10, 2), s TEXT, b BLOB);
         INSERT INTO t VALUES (9007199254740993, 1.5, 'ä€😀', x'00ff10');
         CREATE VIRTUAL TABLE words USING fts5(body);
         INSERT INTO words VALUES ('the quick fox');",
    );
    let database = file.open(1);
    let rows = read(&database, "SELECT *, NULL, 9e999, 1.0 FROM t").await.unwrap();
    let expected = [
        json!("9007199254740993"),
        json!(1.5),
        json!("ä€😀"),
        json!("AP8Q"),
        json!(null),
        json!("inf"),
        json!(1.0),
    ];
    assert_eq!(rows.rows, [expected]);
    let kinds: Vec<_> = rows.columns.iter().map(|column| column.kind.as_str()).collect();
    assert_eq!(kinds, ["integer", "decimal(10, 2)", "text", "blob", "", "", ""]);
    let found = single_row(&database, "SELECT body FROM words WHERE words MATCH 'quick'").await;
    assert_eq!(found, [json!("the quick fox")]);
}

#[tokio::test]
async fn columns_with_same_name_are_kept() {
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    for database in
        [open_database(postgres.target(), 1), open_database(mariadb.target(), 1), file.open(1)]
    {
        let rows = read(&database, "SELECT 1 AS a, 2 AS a, 3 AS __row").await.unwrap();
        assert_eq!(rows.rows, [[json!(1), json!(2), json!(3)]], "{database:?}");
        let names: Vec<_> = rows.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["a", "a", "__row"], "{database:?}");
    }
}

#[tokio::test]
async fn empty_rows_and_empty_results_are_supported() {
    let fresh = TestDatabase::postgres();
    let database = open_database(fresh.target(), 1);
    assert_eq!(read(&database, "SELECT").await.unwrap().rows, [Vec::<Value>::new()]);
    let none = read(&database, "SELECT 1 AS a WHERE false").await.unwrap();
    assert_eq!((none.columns.len(), none.rows.len(), none.truncated), (1, 0, false));
}

#[tokio::test]
async fn explain_and_show_statements_return_rows() {
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    let database = open_database(postgres.target(), 1);
    let plan = single_row(&database, "EXPLAIN (FORMAT JSON) SELECT 1").await;
    assert_eq!(plan[0][0]["Plan"]["Node Type"], "Result");
    assert_eq!(single_row(&database, "EXPLAIN SELECT 1").await.len(), 1);
    assert_eq!(single_row(&database, "SHOW transaction_read_only").await, [json!("on")]);
    let database = open_database(mariadb.target(), 1);
    let plan = read(&database, "EXPLAIN SELECT 1").await.unwrap();
    assert_eq!(plan.columns[1].name, "select_type");
    assert_eq!(plan.rows[0][1], json!("SIMPLE"));
    let tables = read(&database, "SHOW DATABASES").await.unwrap();
    assert!(tables.rows.contains(&vec![json!(mariadb.name())]));
    let database = file.open(1);
    let plan = single_row(&database, "EXPLAIN QUERY PLAN SELECT 1").await;
    assert_eq!(plan[3], json!("SCAN CONSTANT ROW"));
}

#[tokio::test]
async fn parameters_convert_to_expected_type() {
    let given = [
        Parameter::Integer(7),
        Parameter::Text("2024-02-29".to_owned()),
        Parameter::Real(1.5),
        Parameter::Null,
    ];
    let (postgres, mariadb, file) =
        (TestDatabase::postgres(), TestDatabase::mariadb(), SqliteFile::new(""));
    for (database, query) in [
        (
            open_database(postgres.target(), 1),
            "SELECT $1::int2 + 1, $2::date, $3::numeric, $4::text",
        ),
        (
            open_database(mariadb.target(), 1),
            "SELECT ? + 1, CAST(? AS DATE), CAST(? AS DECIMAL(3, 1)), ?",
        ),
        (file.open(1), "SELECT ? + 1, date(?), ?, ?"),
    ] {
        let query = guard::check_query(database.engine(), query).unwrap();
        let rows = database.run_query(&query, &given, DEFAULT_CAPS, None).await.unwrap().rows;
        let real = if database.engine() == Engine::Sqlite { json!(1.5) } else { json!("1.5") };
        assert_eq!(rows, [[json!(8), json!("2024-02-29"), real, json!(null)]], "{database:?}");
        let error = database.run_query(&query, &given[..1], DEFAULT_CAPS, None).await.unwrap_err();
        assert_eq!(error.message, "the statement has 4 parameters, and 1 values were given");
    }
}
