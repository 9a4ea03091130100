//! Tests that no read of `PostgreSQL` evaluates what belongs to a type, relation or procedure that it
//! names in a value.

use serde_json::Value;
use vademecum_sql::{
    ErrorCode,
    guard::{FunctionVerdict, PostgresFunction},
};

use super::{open_database, read, single_row};
use crate::support::TestDatabase;

const TRAPS: &str = include_str!("../fixtures/sql/object_traps.sql");

/// Functions of the server with an argument that names an object, with all that the guard judges.
const OBJECT_FUNCTIONS: &str = "SELECT proname::text AS name, prosrc::text AS source,
        provolatile = 'v' AS is_volatile,
        array_to_string(ARRAY(SELECT format_type(type, NULL) FROM unnest(proargtypes::oid[]) AS type), ',')
            AS argument_types
    FROM pg_proc
    WHERE oid < 16384 AND prokind = 'f' AND 'internal'::regtype <> ALL (proargtypes::oid[])
        AND EXISTS (SELECT FROM unnest(proargtypes::oid[]) AS type
            WHERE format_type(type, NULL) ~ '^(cstring|oid|oidvector|reg[a-z]+)(\\[\\])?$')
    ORDER BY 1";

fn is_hit(fresh: &TestDatabase) -> bool {
    fresh.query_value("SELECT is_called::text FROM hits") == "true"
}

fn call_with_traps(fresh: &TestDatabase, names: &[&str]) -> i64 {
    let names = names.join(",");
    fresh.query_value(&format!("SELECT call_with_traps('{{{names}}}')::text")).parse().unwrap()
}

#[tokio::test]
async fn server_functions_evaluate_no_object_or_are_rejected() {
    for fresh in [TestDatabase::postgres(), TestDatabase::pgvector()] {
        fresh.execute(TRAPS);
        let rows = read(&open_database(fresh.target(), 1), OBJECT_FUNCTIONS).await.unwrap().rows;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let functions: Vec<PostgresFunction> = rows
            .iter()
            .map(|row| PostgresFunction {
                schema: "pg_catalog".to_owned(),
                name: text(&row[0]),
                language: "internal".to_owned(),
                source: text(&row[1]),
                is_volatile: row[2].as_bool().unwrap(),
                argument_types: text(&row[3]).split(',').map(str::to_owned).collect(),
                ..PostgresFunction::default()
            })
            .collect();
        let (rejected, permitted): (Vec<_>, Vec<_>) =
            functions.iter().partition(|it| matches!(it.judge(&[]), FunctionVerdict::Rejected(_)));
        assert!(functions.len() > 400 && permitted.len() > 250, "{}", permitted.len());
        let names: Vec<&str> = permitted.iter().map(|it| it.name.as_str()).collect();
        assert!(call_with_traps(&fresh, &names) > 10_000);
        assert!(!is_hit(&fresh), "a function that the guard permits evaluates an object");
        for name in ["array_in", "record_in", "domain_in", "satisfies_hash_partition"] {
            assert!(rejected.iter().any(|it| it.name == name), "{name}");
        }
        for name in ["array_in", "record_in", "domain_in"] {
            fresh.execute("ALTER SEQUENCE hits RESTART");
            call_with_traps(&fresh, &[name]);
            assert!(is_hit(&fresh), "the traps do not find what {name} evaluates");
        }
        fresh.execute("ALTER SEQUENCE hits RESTART");
        fresh.query_value(
            "SELECT satisfies_hash_partition('trap_parts'::regclass, 2, 0, 'x'::text)::text",
        );
        assert!(is_hit(&fresh));
    }
}

/// Statements that evaluate the object which a value names.
const ATTACKS: &[&str] = &[
    "SELECT array_in('{x}', 'trap_domain'::regtype, -1)",
    "SELECT array_in('{x}', (SELECT oid FROM pg_type WHERE typname = 'trap_domain'), -1)",
    "SELECT pg_catalog.\"array_in\"('{x}', 16384::oid, -1)",
    "SELECT ('{x}'::cstring).array_in",
    "SELECT record_in('(x)', 'trap_row'::regtype, -1)",
    "SELECT domain_in('x', 'trap_domain'::regtype, -1)",
    "SELECT range_in('[a,b)', 'trap_range'::regtype, -1)",
    "SELECT multirange_in('{[a,b)}', 'trap_range'::regtype, -1)",
    "SELECT satisfies_hash_partition('trap_parts'::regclass, 2, 0, 'x'::text)",
    "SELECT pg_get_partition_constraintdef('trap_default_part'::regclass)",
    "SELECT fmgr_sql_validator('trap_body'::regproc)",
    "SELECT plpgsql_validator('strike'::regproc)",
    "SELECT pg_input_is_valid('x', 'trap_domain')",
    "SELECT json_populate_record(NULL::trap_row, '{\"a\": \"x\"}')",
    "SELECT jsonb_populate_record(t, '{\"a\": \"x\"}') FROM trap_table AS t",
    "SELECT * FROM jsonb_populate_recordset(NULL::trap_table, '[{\"a\": \"x\"}]')",
    "SELECT * FROM jsonb_to_record('{\"a\": \"x\"}') AS x (a trap_domain)",
    "SELECT * FROM xmltable('/a' PASSING '<a>x</a>' COLUMNS a trap_domain PATH '.')",
    "SELECT b::trap_domain FROM trap_table",
    "SELECT ARRAY[b]::trap_domain[] FROM trap_table",
    "SELECT trap_default()",
    "SELECT trap_body()",
    "SELECT trap_text()",
    "SELECT a < b FROM trap_ranges, LATERAL (SELECT strike(a)) AS x (s)",
    "SELECT * FROM trap_view",
    "SELECT * FROM trap_table WHERE strike(b)",
    "SELECT currtid2('trap_view', '(0,1)'::tid)",
    "SELECT query_to_xml('SELECT strike(1::text)', true, true, '')",
    "SELECT * FROM trap_parts WHERE a = 'x'",
    "SELECT * FROM trap_ranges WHERE a > 'x'",
];

/// Statements whose literals the server may convert to a type with a check, by the version.
const CONVERSIONS: &[&str] = &[
    "SELECT array_append(ARRAY[t], '(x,y,z)') FROM trap_table AS t",
    "SELECT array_append(ARRAY[a], 'x') FROM trap_table",
    "SELECT array_append(array_agg(a), 'x') FROM trap_table",
];

#[tokio::test]
async fn objects_named_by_values_are_not_evaluated() {
    let fresh = TestDatabase::postgres();
    fresh.execute(TRAPS);
    let database = open_database(fresh.target(), 1);
    for statement in ATTACKS {
        let answer = match vademecum_sql::guard::check_query(database.engine(), statement) {
            Ok(query) => database.run_query(&query, &[], super::DEFAULT_CAPS, None).await,
            Err(error) => Err(error),
        };
        let error = answer.expect_err(statement);
        let codes = [ErrorCode::XsqlRoBlocked, ErrorCode::XsqlDbExecFailed];
        assert!(codes.contains(&error.code), "{statement}: {error:?}");
        assert!(!is_hit(&fresh), "{statement}");
    }
    for statement in CONVERSIONS {
        drop(read(&database, statement).await);
        assert!(!is_hit(&fresh), "{statement}");
    }
    for read_only in [
        "SELECT a, b, c FROM trap_table WHERE a = 'x' AND b LIKE 'y%' ORDER BY c",
        "SELECT max(a), array_agg(a), json_agg(t) FROM trap_table AS t",
        "SELECT format_type('trap_domain'::regtype, NULL), pg_get_viewdef('trap_view'::regclass)",
        "SELECT pg_get_constraintdef(oid), pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conbin IS NOT NULL",
        "SELECT pg_get_functiondef('trap_body'::regproc), obj_description('trap_row'::regtype)",
        "SELECT has_table_privilege('trap_table', 'SELECT'), 'trap_domain'::regtype::oid > 0",
        "SELECT pg_typeof(a), pg_relation_size('trap_table'::regclass) FROM trap_table",
    ] {
        read(&database, read_only).await.unwrap_or_else(|error| panic!("{read_only}: {error:?}"));
        assert!(!is_hit(&fresh), "{read_only}");
    }
}

#[tokio::test]
async fn statistics_with_password_hashes_are_rejected() {
    let fresh = TestDatabase::postgres();
    let database = open_database(fresh.target(), 1);
    fresh.execute(
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); ANALYZE t; ANALYZE pg_authid",
    );
    for statement in [
        "SELECT histogram_bounds FROM pg_stats WHERE tablename = 'pg_authid'",
        "SELECT stats.histogram_bounds FROM pg_catalog.pg_stats AS stats",
    ] {
        let error = read(&database, statement).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{statement}: {error:?}");
        assert!(error.message.contains("hashes of passwords"), "{error}");
    }
    let row = single_row(&database, "SELECT n_distinct FROM pg_stats WHERE tablename = 't'").await;
    assert_eq!(row, [serde_json::json!(-1)]);
}
