//! Tests that functions of `PostgreSQL` in plpgsql are called if their bodies only read, and that
//! nothing else in a body gets through.

use std::{fs, path::PathBuf};

use serde_json::json;
use vademecum_sql::{ErrorCode, ServerTarget, driver::Database};

use super::{open_database, read, single_row};
use crate::support::{TestDatabase, require_env};

/// Database with the function `trap`, and with objects that write a file when they are used.
struct BodyTrap {
    fresh: TestDatabase,
    file: PathBuf,
    role: String,
}

impl BodyTrap {
    fn new() -> Self {
        let fresh = TestDatabase::postgres();
        let role = fresh.name()[..30].to_owned();
        let folder = PathBuf::from(require_env("VADEMECUM_SERVERS"));
        let file = folder.join(format!("{}.hit", fresh.name()));
        let setup = include_str!("../fixtures/sql/body_traps.sql").replace("{role}", &role);
        fresh.execute(&setup.replace("{file}", file.to_str().unwrap()));
        drop(fs::remove_file(&file));
        Self { fresh, file, role }
    }

    /// Opens the database as its owner.
    fn open(&self) -> Database {
        open_database(self.fresh.target(), 1)
    }

    /// Opens the database as a role that may only read.
    fn open_as_reader(&self) -> Database {
        let user = self.role.clone();
        let reader = ServerTarget { user, password: Some("x".into()), ..self.fresh.server() };
        open_database(self.fresh.target_with(reader), 1)
    }

    /// Replaces the body of the function `trap`.
    fn replace_body(&self, body: &str) {
        let body = body.replace("{file}", self.file.to_str().unwrap());
        self.fresh.execute(&format!(
            "SET check_function_bodies = off; CREATE OR REPLACE FUNCTION trap() RETURNS int IMMUTABLE \
             LANGUAGE plpgsql AS $body$ {body} $body$"
        ));
    }
}

impl Drop for BodyTrap {
    fn drop(&mut self) {
        let role = &self.role;
        self.fresh.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    }
}

/// Reads that call the function `trap`.
const CALLS: &[&str] = &[
    "SELECT trap()",
    "SELECT definer()",
    "SELECT * FROM seen",
    "EXPLAIN ANALYZE SELECT * FROM seen",
    "SELECT '1'::checked",
    "SELECT w::int::checked FROM (VALUES ('1')) AS v (w)",
    "SELECT * FROM indexed WHERE id = 1",
    "SELECT * FROM partial WHERE id = 1",
    "SELECT add_traps(1)",
    "SELECT ##> 1",
];

/// Bodies that only read.
const READS: &[&str] = &[
    "BEGIN RETURN 1; END",
    "DECLARE n int := 0; r record; all_words text[]; w public.words.w%TYPE; BEGIN \
     SELECT count(*) INTO n FROM public.words AS a WHERE a.w = ANY (ARRAY['a', 'b']); \
     IF n > 5 THEN RETURN 0; ELSIF n = 5 THEN n := 4; ELSE NULL; END IF; \
     FOR r IN SELECT a.w FROM public.words AS a ORDER BY a.w LOOP all_words := all_words || r.w; END LOOP; \
     FOR i IN 1 .. 3 LOOP CONTINUE WHEN i = 2; n := n + i; END LOOP; \
     CASE WHEN n > 0 THEN n := CASE WHEN n > 1 THEN 1 ELSE 2 END; ELSE RAISE EXCEPTION 'none'; END CASE; \
     RETURN n; END",
    "BEGIN PERFORM 1 / 0; RETURN 2; EXCEPTION WHEN division_by_zero THEN RETURN 1; END",
];

/// Bodies that write a file or change something, if they run.
const ATTACKS: &[&str] = &[
    "BEGIN RETURN hit(); END",
    "BEGIN RETURN \"hit\"(); END",
    "BEGIN RETURN public . HIT ( ); END",
    "BEGIN PERFORM hit(); RETURN 1; END",
    "BEGIN PERFORM strike(); RETURN 1; END",
    "BEGIN PERFORM by_sql(); RETURN 1; END",
    "BEGIN PERFORM with_default(); RETURN 1; END",
    "BEGIN RETURN (WITH x AS MATERIALIZED (SELECT hit() AS h) SELECT h FROM x); END",
    "BEGIN RETURN count(*) FROM words TABLESAMPLE bernoulli (hit()); END",
    "BEGIN RETURN aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(); END",
    "BEGIN RETURN \"Größe\"(); END",
    "BEGIN RETURN /* -- */ hit(/* $$ */); END",
    "BEGIN IF hit() = 1 THEN RETURN 1; END IF; RETURN 2; END",
    "BEGIN IF FALSE THEN NULL; ELSE RETURN hit(); END IF; END",
    "BEGIN CASE hit() WHEN 1 THEN RETURN 1; ELSE RETURN 2; END CASE; END",
    "BEGIN WHILE hit() > 1 LOOP NULL; END LOOP; RETURN 1; END",
    "BEGIN FOR i IN 1 .. hit() LOOP NULL; END LOOP; RETURN 1; END",
    "DECLARE r record; BEGIN FOR r IN SELECT hit() LOOP NULL; END LOOP; RETURN 1; END",
    "DECLARE x int; BEGIN FOREACH x IN ARRAY ARRAY[hit()] LOOP NULL; END LOOP; RETURN 1; END",
    "DECLARE x int := hit(); BEGIN RETURN 1; END",
    "DECLARE x int[]; BEGIN x[hit()] := 1; RETURN 1; END",
    "BEGIN RAISE NOTICE '%', hit(); RETURN 1; END",
    "BEGIN RAISE EXCEPTION USING MESSAGE = hit()::text; END",
    "BEGIN ASSERT hit() = 1; RETURN 1; END",
    "BEGIN BEGIN PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN PERFORM hit(); END; RETURN 1; END",
    // Texts that are run as statements, and cursors.
    "BEGIN EXECUTE 'SELECT hit()'; RETURN 1; END",
    "DECLARE n int; BEGIN EXECUTE 'SELECT ' || 'hit' || '()' INTO n; RETURN n; END",
    "DECLARE r record; BEGIN FOR r IN EXECUTE 'SELECT hit()' LOOP NULL; END LOOP; RETURN 1; END",
    "DECLARE c refcursor; n int; BEGIN OPEN c FOR SELECT hit(); FETCH c INTO n; RETURN n; END",
    "DECLARE c refcursor; n int; BEGIN OPEN c FOR EXECUTE 'SELECT hit()'; FETCH c INTO n; RETURN n; END",
    "DECLARE c CURSOR FOR SELECT hit() AS h; BEGIN FOR r IN c LOOP RETURN r.h; END LOOP; END",
    "BEGIN RETURN (xpath('//h/text()', query_to_xml('SELECT hit() AS h', TRUE, FALSE, '')))[1]::text; END",
    "BEGIN RETURN length(pg_input_is_valid('a', 'strict')::text); END",
    "BEGIN RETURN length((to_regtype('strict'))::text); END",
    // Statements of other kinds.
    "BEGIN COPY (SELECT 1) TO '{file}'; RETURN 1; END",
    "BEGIN IF TRUE THEN COPY (SELECT 1) TO '{file}'; END IF; RETURN 1; END",
    "BEGIN INSERT INTO words VALUES ('c'); RETURN 1; END",
    "BEGIN WITH x AS (INSERT INTO words VALUES ('c') RETURNING w) SELECT 1 FROM x; RETURN 1; END",
    "BEGIN CREATE TEMP TABLE x (); RETURN 1; END",
    "BEGIN SET work_mem = '1MB'; RETURN 1; END",
    "BEGIN PERFORM w FROM words FOR UPDATE; RETURN 1; END",
    "BEGIN NOTIFY x; RETURN 1; END",
    // Functions of the server and of extensions.
    "BEGIN PERFORM set_config('work_mem', '1MB', FALSE); RETURN 1; END",
    "BEGIN RETURN nextval('counter'); END",
    "BEGIN RETURN lo_create(0); END",
    "BEGIN RETURN length(pg_read_file('/etc/hostname')); END",
    "BEGIN PERFORM pg_advisory_lock(1); RETURN 1; END",
    "BEGIN PERFORM dblink_exec('dbname=x', 'SELECT 1'); RETURN 1; END",
    "BEGIN PERFORM array_in('{x}', 'strict', -1); RETURN 1; END",
    // Calls without the name of a function.
    "BEGIN RETURN length('a' #### 'b'); END",
    "BEGIN RETURN length('a' OPERATOR(public.####) 'b'); END",
    "BEGIN RETURN (SELECT pairs.p::int FROM pairs); END",
    "DECLARE n int; BEGIN SELECT p INTO n FROM pairs; RETURN n; END",
    "DECLARE n int; x pair := ROW('a', 'b'); BEGIN n := x; RETURN n; END",
    "DECLARE x pair := ROW('a', 'b'); BEGIN RETURN x; END",
    "BEGIN RETURN (SELECT (pairs.p).strike FROM pairs); END",
    "BEGIN RETURN count(*) FROM pairs WHERE p IN (SELECT p FROM pairs); END",
    "BEGIN RETURN count(*) FROM pairs JOIN pairs AS other USING (p); END",
    "BEGIN RETURN count(DISTINCT strike_all) FROM (SELECT strike_all(w) FROM words) AS x; END",
    "DECLARE s strict := 'a'; BEGIN RETURN 1; END",
    "DECLARE s holders.s%TYPE; BEGIN s := 'a'; RETURN 1; END",
    "DECLARE h holders; BEGIN h.s := 'a'; RETURN 1; END",
    "DECLARE s text := 'a'; BEGIN RETURN length(s::strict); END",
    "BEGIN RETURN count(*) FROM json_to_recordset('[{\"s\": \"a\"}]') AS x (s strict); END",
    "BEGIN RETURN length(text_range('a', 'b')::text); END",
    "BEGIN RETURN (SELECT 1 FROM words ORDER BY w USING <# LIMIT 1); END",
    "BEGIN RETURN (SELECT h FROM more_hits); END",
    "BEGIN RETURN (SELECT count(*) FROM private_words); END",
    "BEGIN RETURN (SELECT count(*) FROM listed); END",
    // A name that means something else with another search path.
    "BEGIN RETURN calm(); END",
];

#[tokio::test]
async fn bodies_that_only_read_are_called() {
    let trap = BodyTrap::new();
    let (database, reader) = (trap.open(), trap.open_as_reader());
    for body in READS {
        trap.replace_body(body);
        for statement in CALLS {
            let answer = read(&database, statement).await;
            assert!(answer.is_ok(), "{statement}: {body}: {answer:?}");
        }
        let answer = read(&reader, "SELECT * FROM guarded").await;
        assert!(answer.is_ok(), "{body}: {answer:?}");
        assert_eq!(single_row(&database, "SELECT trap()").await, [json!(1)], "{body}");
    }
}

#[tokio::test]
async fn bodies_with_more_than_reads_are_rejected() {
    let trap = BodyTrap::new();
    let (database, reader) = (trap.open(), trap.open_as_reader());
    for body in ATTACKS {
        trap.replace_body(body);
        let calls = CALLS.iter().map(|it| (&database, *it));
        for (database, statement) in calls.chain([(&reader, "SELECT * FROM guarded")]) {
            let error = read(database, statement).await.expect_err(body);
            assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{statement}: {body}: {error:?}");
            assert!(!trap.file.exists(), "{statement}: {body}");
        }
    }
    trap.replace_body("BEGIN PERFORM hit(); RETURN 1; END");
    let error = read(&database, "SELECT * FROM seen").await.unwrap_err();
    assert!(error.message.contains("the body of `public.trap` may call it"), "{error}");
    trap.fresh.execute("SELECT trap()");
    assert!(trap.file.exists(), "the control writes no file");
}

#[tokio::test]
async fn operators_of_unnamed_types_are_found() {
    let trap = BodyTrap::new();
    let database = trap.open();
    trap.fresh.execute(
        "CREATE TYPE mood AS ENUM ('a'); CREATE TABLE moods (m mood); INSERT INTO moods VALUES ('a'); \
         CREATE DOMAIN doc AS json; CREATE DOMAIN word AS text; CREATE TYPE odd AS (a int); \
         CREATE FUNCTION to_odd(json) RETURNS odd IMMUTABLE LANGUAGE sql RETURN ROW(1)::odd; \
         CREATE CAST (json AS odd) WITH FUNCTION to_odd(json) AS IMPLICIT",
    );
    for (operator, of_type, body) in [
        ("=", "mood", "BEGIN RETURN count(*) FROM moods WHERE m = 'a'; END"),
        ("=", "mood", "BEGIN RETURN count(*) FROM moods WHERE m IN ('a', 'a'); END"),
        ("=", "doc", "BEGIN RETURN ('1'::json = '1'::json)::int; END"),
        ("=", "odd", "BEGIN RETURN ('1'::json = '1'::json)::int; END"),
        ("#~#", "mood", "BEGIN RETURN ('a' #~# 'a')::int; END"),
        ("@>", "word", "BEGIN RETURN ('a' @> 'a')::int; END"),
    ] {
        trap.fresh.execute(&format!(
            "CREATE FUNCTION hits({of_type}, {of_type}) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS \
             'BEGIN RETURN hit() = 1; END'; \
             CREATE OPERATOR {operator} (LEFTARG = {of_type}, RIGHTARG = {of_type}, FUNCTION = hits)"
        ));
        trap.replace_body(body);
        let error = read(&database, "SELECT trap()").await.expect_err(body);
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{body}: {error:?}");
        assert!(!trap.file.exists(), "{body}");
        // The control: the body calls the operator.
        trap.fresh.execute("SELECT trap()");
        assert!(trap.file.exists(), "{body}");
        fs::remove_file(&trap.file).unwrap();
        trap.fresh.execute(&format!("DROP FUNCTION hits({of_type}, {of_type}) CASCADE"));
    }
}

#[tokio::test]
async fn search_path_of_caller_is_inherited() {
    let trap = BodyTrap::new();
    let database = trap.open();
    assert_eq!(single_row(&database, "SELECT by_calm()").await, [json!(1)]);
    for (language, body) in
        [("sql", "SELECT public.by_calm()"), ("plpgsql", "BEGIN RETURN public.by_calm(); END")]
    {
        trap.fresh.execute(&format!(
            "CREATE OR REPLACE FUNCTION with_path() RETURNS int STABLE SET search_path = hidden \
             LANGUAGE {language} AS '{body}'"
        ));
        let error = read(&database, "SELECT with_path()").await.unwrap_err();
        assert!(error.message.contains("public.hit") && !trap.file.exists(), "{body}: {error}");
    }
}

#[tokio::test]
async fn volatile_or_unbounded_bodies_are_rejected() {
    let trap = BodyTrap::new();
    let database = trap.open();
    for (declaration, reason) in [
        ("other(int) RETURNS int VOLATILE", "declare it STABLE"),
        ("other(anyelement) RETURNS int STABLE", "any type"),
        ("other(int) RETURNS int STABLE SET work_mem = '1MB'", "changes settings"),
    ] {
        trap.fresh.execute(&format!(
            "CREATE FUNCTION {declaration} LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'"
        ));
        let error = read(&database, "SELECT other(1)").await.unwrap_err();
        assert!(error.message.contains(reason), "{declaration}: {error}");
        trap.fresh.execute("DROP FUNCTION other");
    }
    trap.fresh.execute("ALTER LANGUAGE plpgsql RENAME TO other_language");
    assert!(read(&database, "SELECT trap()").await.is_ok());
}
