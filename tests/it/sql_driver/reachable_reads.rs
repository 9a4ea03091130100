//! Tests that a read of `PostgreSQL` is judged by what it can reach: ordinary schemas can be read.

use serde_json::json;
use vademecum_core::config::TrustPattern;
use vademecum_sql::{ErrorCode, ServerTarget, driver::Database};

use super::{DEFAULT_CAPS, open_database, read, single_row};
use crate::support::TestDatabase;

/// Database with one of the schemas, and a role that may only read it.
struct Readable {
    fresh: TestDatabase,
    role: String,
}

impl Readable {
    fn new(schema: &str) -> Self {
        let fresh = TestDatabase::postgres();
        let role = fresh.name()[..30].to_owned();
        fresh.execute(&format!("CREATE ROLE {role} LOGIN PASSWORD 'x'"));
        fresh.execute(&schema.replace("{role}", &role));
        Self { fresh, role }
    }

    /// Opens the database as the role, trusting these functions.
    fn open(&self, trust: &[&str]) -> Database {
        let trust = trust.iter().map(|it| TrustPattern::try_from((*it).to_owned()).unwrap());
        let server = ServerTarget {
            user: self.role.clone(),
            password: Some("x".into()),
            trust: trust.collect(),
            ..self.fresh.server()
        };
        open_database(self.fresh.target_with(server), 1)
    }
}

impl Drop for Readable {
    fn drop(&mut self) {
        let role = &self.role;
        self.fresh.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    }
}

const SHOP: &str = include_str!("../fixtures/sql/readable/shop.sql");
const TENANTS: &str = include_str!("../fixtures/sql/readable/tenants.sql");
const PLACES: &str = include_str!("../fixtures/sql/readable/places.sql");

#[tokio::test]
async fn all_tables_of_ordinary_schemas_are_readable() {
    for (schema, tables) in [(SHOP, 5), (TENANTS, 10), (PLACES, 7)] {
        let readable = Readable::new(schema);
        let report = readable.open(&[]).check_tables(DEFAULT_CAPS).await.unwrap();
        assert_eq!(report.refused, [], "{schema}");
        assert_eq!(report.tables, tables, "{schema}");
    }
}

#[tokio::test]
async fn rows_behind_checks_and_domains_are_read() {
    let shop = Readable::new(SHOP);
    let database = shop.open(&[]);
    for (statement, row) in [
        (
            "SELECT name, mail, handle FROM shop.customer WHERE mail = 'ada@example.org'",
            vec![json!("Ada Byron"), json!("ada@example.org"), json!("ada-byron")],
        ),
        (
            "SELECT count(*) FROM shop.orders WHERE status = 'open' AND placed IN (2026)",
            vec![json!(1)],
        ),
        (
            "SELECT name, total FROM shop.open_orders LIMIT 1",
            vec![json!("Ada Byron"), json!("12.50")],
        ),
        ("SELECT others, (address).mail FROM shop.customer", {
            vec![json!(["a@b", "c@d"]), json!("ada@example.org")]
        }),
        ("SELECT array_agg(mail), max(mail) FROM shop.customer", {
            vec![json!(["ada@example.org"]), json!("ada@example.org")]
        }),
    ] {
        assert_eq!(single_row(&database, statement).await, row, "{statement}");
    }
    for statement in [
        "SELECT 'a@b'::shop.mail",
        "SELECT (name || '@b')::shop.mail FROM shop.customer",
        "SELECT * FROM shop.customer WHERE others = '{a@b}'",
        "SELECT shop.slug(name) FROM shop.customer",
        "SELECT * FROM shop.customer WHERE shop.slug(name) = 'x'",
    ] {
        let answer = read(&database, statement).await;
        assert!(answer.is_ok(), "{statement}: {answer:?}");
        shop.fresh.execute(RUN_TEXTS_SQL);
        let error = read(&database, statement).await.expect_err(statement);
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{statement}: {error:?}");
        shop.fresh.execute(ONLY_READ_SQL);
    }
}

/// Has the functions of the shop run a text as a statement.
const RUN_TEXTS_SQL: &str = "
    CREATE OR REPLACE FUNCTION shop.is_mail(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
        'BEGIN EXECUTE ''SELECT 1''; RETURN TRUE; END';
    CREATE OR REPLACE FUNCTION shop.slug(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
        'BEGIN EXECUTE ''SELECT 1''; RETURN $1; END'";
/// Has the functions of the shop only read.
const ONLY_READ_SQL: &str = "
    CREATE OR REPLACE FUNCTION shop.is_mail(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
        'BEGIN RETURN position(''@'' IN $1) > 0; END';
    CREATE OR REPLACE FUNCTION shop.slug(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
        'BEGIN RETURN lower($1); END'";

#[tokio::test]
async fn row_policies_with_definer_functions_are_followed() {
    let tenants = Readable::new(TENANTS);
    let database = tenants.open(&[]);
    let text = "SELECT string_agg(title, ',') FROM app.project";
    assert_eq!(single_row(&database, text).await, [json!("Engine")]);
    let text = "SELECT count(*) FROM app.comment JOIN app.task ON task.id = comment.task";
    assert_eq!(single_row(&database, text).await, [json!(1)]);
    let text = "SELECT sum(amount) FROM app.invoice";
    assert_eq!(single_row(&database, text).await, [json!(10)]);
    let text = "SELECT string_agg(path, ','), (SELECT count(*) FROM app.message) FROM app.file";
    assert_eq!(single_row(&database, text).await, [json!("1/plan.pdf"), json!(1)]);
    let text = "SELECT count(*) FROM app.channel, app.permission ORDER BY 1";
    assert_eq!(single_row(&database, text).await, [json!(2)]);
    // The functions are judged by the bodies that they have at the time of the statement.
    tenants.fresh.execute(
        "CREATE FUNCTION app.strike() RETURNS bool LANGUAGE plpgsql AS 'BEGIN RETURN TRUE; END';
         CREATE OR REPLACE FUNCTION app.is_member(org int) RETURNS bool
             STABLE SECURITY DEFINER SET search_path = '' LANGUAGE sql AS 'SELECT app.strike()'",
    );
    let error = read(&database, "SELECT * FROM app.comment").await.unwrap_err();
    assert!(error.message.contains("app.strike"), "{error}");
    tenants.fresh.execute(
        "CREATE OR REPLACE FUNCTION app.is_member(org int) RETURNS bool
             STABLE SECURITY DEFINER SET work_mem = '1MB' LANGUAGE sql AS 'SELECT TRUE'",
    );
    let error = read(&database, "SELECT * FROM app.comment").await.unwrap_err();
    assert!(error.message.contains("changes settings"), "{error}");
}

#[tokio::test]
async fn replaced_view_is_judged_in_next_statement() {
    let places = Readable::new(PLACES);
    let database = places.open(&[]);
    let statement = "SELECT distance FROM map.near";
    assert_eq!(single_row(&database, statement).await, [json!(5)]);
    places.fresh.execute(
        "CREATE OR REPLACE VIEW map.near AS SELECT id, id AS other, length(map.st_cell(at, 1))::float8 AS distance \
         FROM map.place",
    );
    let error = read(&database, statement).await.unwrap_err();
    assert!(error.message.contains("map.st_cell"), "{error}");
}

#[tokio::test]
async fn trusted_functions_count_if_others_cannot_replace_them() {
    let places = Readable::new(PLACES);
    let statement = "SELECT count(DISTINCT map.st_cell(at, 10)) FROM map.place";
    for trust in [&["other.*"][..], &["stxcell"], &["extension:plpgsql"], &[]] {
        let error = read(&places.open(trust), statement).await.unwrap_err();
        assert!(error.message.contains("map.st_cell"), "{trust:?}: {error}");
    }
    for trust in ["map.*", "st_*", "map.st_cell"] {
        assert_eq!(single_row(&places.open(&[trust]), statement).await, [json!(1)], "{trust}");
    }
    let role = &places.role;
    // Another role could put its own function in the place of the trusted one.
    for (grant, revoke) in [
        (
            format!("GRANT CREATE ON SCHEMA map TO {role}"),
            format!("REVOKE CREATE ON SCHEMA map FROM {role}"),
        ),
        (
            "GRANT CREATE ON SCHEMA map TO public".to_owned(),
            "REVOKE CREATE ON SCHEMA map FROM public".to_owned(),
        ),
        (
            format!("ALTER FUNCTION map.st_cell OWNER TO {role}"),
            "ALTER FUNCTION map.st_cell OWNER TO vademecum".to_owned(),
        ),
        (
            format!("ALTER SCHEMA map OWNER TO {role}"),
            format!("ALTER SCHEMA map OWNER TO vademecum; GRANT USAGE ON SCHEMA map TO {role}"),
        ),
    ] {
        places.fresh.execute(&grant);
        let error = read(&places.open(&["map.*"]), statement).await.expect_err(&grant);
        assert!(error.message.contains("not trusted"), "{grant}: {error}");
        places.fresh.execute(&revoke);
    }
    assert_eq!(single_row(&places.open(&["map.*"]), statement).await, [json!(1)]);
    places.fresh.execute("ALTER FUNCTION map.st_cell VOLATILE");
    assert!(read(&places.open(&["map.*"]), statement).await.is_err());
}

#[tokio::test]
async fn refused_tables_are_reported_with_setting() {
    let places = Readable::new(PLACES);
    places.fresh.execute(&format!(
        "CREATE VIEW map.cells AS SELECT map.st_cell(at, 1) FROM map.place; GRANT SELECT ON map.cells TO {}",
        places.role
    ));
    let report = places.open(&[]).check_tables(DEFAULT_CAPS).await.unwrap();
    let [refused] = report.refused.as_slice() else { panic!("{report:?}") };
    assert_eq!((refused.name.as_str(), report.tables), ("map.cells", 8));
    assert!(refused.reason.contains("map.st_cell") && refused.reason.contains("allow_functions"));
    let remedy = format!("GRANT SET ON PARAMETER log_min_messages TO {}", places.role);
    assert_eq!(report.log_remedy.as_deref(), Some(remedy.as_str()));
    places.fresh.execute(&remedy);
    let report = places.open(&["map.*"]).check_tables(DEFAULT_CAPS).await.unwrap();
    assert_eq!((report.refused, report.log_remedy), (Vec::new(), None));
    places.fresh.execute(&format!("REVOKE SET ON PARAMETER log_min_messages FROM {}", places.role));
}
