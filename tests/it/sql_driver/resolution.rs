//! Tests that a read-only statement of `PostgreSQL` runs only what the server resolves to harmless
//! functions, however they are called.
//!
//! The function `hit` writes a file, which a read-only transaction does not prevent.

use std::path::PathBuf;

use serde_json::json;
use vademecum_sql::{ErrorCode, ServerTarget, driver::Database};

use super::{open_database, read, single_row};
use crate::support::{TestDatabase, require_env};

/// Database whose objects call `hit` in every way that a read can reach.
struct Trap {
    fresh: TestDatabase,
    file: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let fresh = TestDatabase::postgres();
        let folder = PathBuf::from(require_env("VADEMECUM_SERVERS"));
        let file = folder.join(format!("{}.hit", fresh.name()));
        fresh.execute(&SETUP_SQL.replace("{file}", file.to_str().unwrap()));
        drop(std::fs::remove_file(&file));
        Self { fresh, file }
    }

    fn open(&self) -> Database {
        open_database(self.fresh.target(), 1)
    }

    fn was_hit(&self) -> bool {
        self.file.exists()
    }
}

const SETUP_SQL: &str = "
CREATE FUNCTION hit() RETURNS int LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE 'COPY (SELECT 1) TO ''{file}'''; RETURN 1; END $$;
CREATE FUNCTION strike() RETURNS int IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN 1; END $$;
CREATE FUNCTION strike(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN $1; END $$;
CREATE FUNCTION strike(text, text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN $1 = $2; END $$;
CREATE FUNCTION strike_order(text, text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN 0; END $$;
CREATE TABLE words (w text); INSERT INTO words VALUES ('b'), ('a');

CREATE VIEW first_view AS SELECT strike(w) AS s FROM words;
CREATE VIEW second_view AS SELECT s FROM first_view;
CREATE VIEW third_view AS SELECT count(s) FROM second_view;

CREATE OPERATOR #### (LEFTARG = text, RIGHTARG = text, FUNCTION = strike);
CREATE FUNCTION differs(text, text) RETURNS bool IMMUTABLE LANGUAGE sql RETURN $1 <> $2;
CREATE OPERATOR ##<> (LEFTARG = text, RIGHTARG = text, FUNCTION = differs, NEGATOR = ##=);
CREATE OPERATOR ##= (LEFTARG = text, RIGHTARG = text, FUNCTION = strike, NEGATOR = ##<>);

CREATE TYPE pair AS (a text, b text);
CREATE FUNCTION strike(pair) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN RETURN hit(); END $$;
CREATE CAST (pair AS int) WITH FUNCTION strike(pair);
CREATE TYPE sheet AS (a text);
CREATE FUNCTION strike_json(sheet) RETURNS json STABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN '1'; END $$;
CREATE CAST (sheet AS json) WITH FUNCTION strike_json(sheet);
CREATE TYPE letter AS (a text);
CREATE FUNCTION strike_text(letter) RETURNS text STABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN '1'; END $$;
CREATE CAST (letter AS text) WITH FUNCTION strike_text(letter) AS ASSIGNMENT;

CREATE FUNCTION strike_add(text, text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN $1; END $$;
CREATE AGGREGATE strike_all (text) (SFUNC = strike_add, STYPE = text);
CREATE AGGREGATE strike_end (text) (SFUNC = textcat, STYPE = text, FINALFUNC = strike);

CREATE DOMAIN strict AS text CHECK (strike(value) = value);
CREATE TYPE holder AS (s strict);
CREATE TABLE holders (s strict, a strict[]);
CREATE FUNCTION takes_strict(strict[]) RETURNS int IMMUTABLE LANGUAGE sql RETURN 1;

CREATE FUNCTION is_less(text, text) RETURNS bool IMMUTABLE LANGUAGE sql RETURN $1 < $2;
CREATE FUNCTION is_more(text, text) RETURNS bool IMMUTABLE LANGUAGE sql RETURN $1 > $2;
CREATE OPERATOR <# (LEFTARG = text, RIGHTARG = text, FUNCTION = is_less);
CREATE OPERATOR #> (LEFTARG = text, RIGHTARG = text, FUNCTION = is_more);
CREATE OPERATOR CLASS strike_ops FOR TYPE text USING btree AS
    OPERATOR 1 <#, OPERATOR 3 =, OPERATOR 5 #>, FUNCTION 1 strike_order(text, text);
CREATE TYPE text_range AS RANGE (SUBTYPE = text, SUBTYPE_OPCLASS = strike_ops);

CREATE TABLE indexed (w text); CREATE INDEX ON indexed ((w || strike('x')));
CREATE TABLE limited (w text); ALTER TABLE limited ADD CHECK (strike('x') = w) NOT VALID;
CREATE TABLE counted (w text, v text); CREATE STATISTICS tallies ON (w || strike('x')), v FROM counted;
CREATE TABLE split (w text) PARTITION BY LIST ((w || strike('x')));

CREATE FUNCTION with_default(a int DEFAULT strike()) RETURNS int IMMUTABLE LANGUAGE sql RETURN a;
CREATE FUNCTION by_text(word text) RETURNS text STABLE LANGUAGE sql AS 'SELECT strike(word)';
CREATE FUNCTION by_nested_text(text) RETURNS text STABLE LANGUAGE sql AS 'SELECT by_text($1)';
CREATE FUNCTION by_body(word text) RETURNS text STABLE LANGUAGE sql RETURN strike(word);
CREATE FUNCTION by_view() RETURNS bigint STABLE LANGUAGE sql
    BEGIN ATOMIC SELECT count(s) FROM second_view; END;
CREATE FUNCTION with_path(word text) RETURNS text STABLE LANGUAGE sql SET search_path = public
    AS 'SELECT strike(word)';
CREATE FUNCTION changes() RETURNS int LANGUAGE sql AS
    'INSERT INTO words VALUES (''c''); SELECT 1';
CREATE FUNCTION changes_once() RETURNS text LANGUAGE sql
    STABLE BEGIN ATOMIC INSERT INTO words VALUES ('c') RETURNING w; END;

CREATE FUNCTION peek(text) RETURNS text STABLE LANGUAGE internal AS 'pg_read_file_all';
CREATE SCHEMA hidden;
CREATE FUNCTION hidden.lower(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN $1; END $$;

CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE listed (w text) SERVER files OPTIONS (program 'touch {file}; echo');
CREATE TABLE parts (w text) PARTITION BY LIST (w);
CREATE FOREIGN TABLE part PARTITION OF parts DEFAULT SERVER files
    OPTIONS (program 'touch {file}; echo');

CREATE TABLE people (id int PRIMARY KEY, first text, last text);
INSERT INTO people VALUES (1, 'Ada', 'Byron');
CREATE TABLE visits (person int, day date); INSERT INTO visits VALUES (1, '2026-01-02');
CREATE FUNCTION full_name(p people) RETURNS text STABLE LANGUAGE sql AS
    'SELECT p.first || '' '' || (full_name.p).last';
CREATE FUNCTION visit_count(person int) RETURNS bigint STABLE LANGUAGE sql AS
    'SELECT count(*) FROM visits WHERE visits.person = visit_count.person;';
CREATE DOMAIN mail AS text CHECK (value ~ '@');
CREATE FUNCTION is_code(text) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN RETURN length($1) = 3; END $$;
";

/// Statements that would call `hit`, and the name that the error has to contain.
const ATTACKS: &[(&str, &str)] = &[
    ("SELECT strike('a')", "strike"),
    ("SELECT public.\"strike\" ( 'a' )", "strike"),
    ("SELECT ('a'::text).strike", "strike"),
    ("SELECT (words.w).strike FROM words", "strike"),
    ("SELECT words.w FROM words ORDER BY (w).strike", "strike"),
    ("SELECT x.strike FROM lower('A') AS x", "strike"),
    ("SELECT * FROM strike()", "strike"),
    ("SELECT * FROM words, LATERAL strike(w)", "strike"),
    ("SELECT 1 FROM words LIMIT strike()", "strike"),
    ("SELECT 1 FROM words GROUP BY w HAVING strike(w) = 'a'", "strike"),
    ("SELECT CASE WHEN FALSE THEN strike() END", "strike"),
    ("SELECT count(*) FILTER (WHERE strike(w) = 'a') FROM words", "strike"),
    ("SELECT * FROM words TABLESAMPLE bernoulli (strike())", "strike"),
    ("WITH a AS MATERIALIZED (SELECT strike()) SELECT 1", "strike"),
    ("VALUES (strike())", "strike"),
    ("EXPLAIN SELECT strike()", "strike"),
    ("EXPLAIN (ANALYZE) SELECT strike('a')", "strike"),
    ("SELECT * FROM first_view", "strike"),
    ("TABLE third_view", "strike"),
    ("EXPLAIN SELECT * FROM third_view", "strike"),
    ("SELECT 'a' #### 'b'", "strike"),
    ("SELECT 'a' OPERATOR(public.####) 'b'", "strike"),
    ("SELECT 'a' #### ANY (ARRAY['b'])", "strike"),
    ("SELECT NOT ('a' ##<> 'b')", "strike"),
    ("SELECT ROW('a', 'b')::pair::int", "strike"),
    ("SELECT CAST(ROW('a', 'b')::pair AS int)", "strike"),
    ("SELECT ROW('a')::sheet", "strike_json"),
    ("SELECT ARRAY[ROW('a')::sheet]", "strike_json"),
    ("SELECT to_json(ROW('a')::sheet)", "strike_json"),
    ("SELECT quote_literal(ROW('a')::letter)", "strike_text"),
    ("SELECT strike_all(w) FROM words", "strike"),
    ("SELECT strike_end(w) OVER () FROM words", "strike"),
    ("SELECT 'a'::strict", "strict"),
    ("SELECT '{a}'::strict[]", "strict"),
    ("SELECT '(a)'::holder", "strict"),
    ("SELECT '{\"(a)\"}'::holder[]", "strict"),
    ("SELECT w::strict FROM words", "strike"),
    ("SELECT * FROM holders WHERE a = '{x}'", "strict"),
    ("SELECT takes_strict('{x}')", "strict"),
    ("SELECT json_populate_record(NULL::holder, '{\"s\": \"a\"}')", "strict"),
    ("SELECT * FROM json_to_record('{\"s\": \"a\"}') AS x (s strict)", "strict"),
    ("SELECT '[a,b)'::text_range", "text_range"),
    ("SELECT text_range(w, w) FROM words", "text_range"),
    ("SELECT w FROM words ORDER BY w USING <#", "strike_order"),
    ("SELECT * FROM indexed WHERE w = 'a'", "strike"),
    ("SELECT * FROM limited", "strike"),
    ("SELECT * FROM counted WHERE w = 'a'", "strike"),
    ("SELECT * FROM split", "strike"),
    ("SELECT with_default()", "strike"),
    ("SELECT by_text('a')", "strike"),
    ("SELECT by_nested_text('a')", "strike"),
    ("SELECT by_body('a')", "strike"),
    ("SELECT by_view()", "strike"),
    ("SELECT with_path('a')", "strike"),
    ("SELECT changes()", "changes"),
    ("SELECT changes_once()", "changes_once"),
    ("SELECT peek('/etc/hostname')", "peek"),
    ("SELECT ('/etc/hostname'::text).pg_read_file", "pg_read_file"),
    ("SELECT ('/'::text).pg_ls_dir", "pg_ls_dir"),
    ("SELECT (1::bigint).pg_advisory_lock", "pg_advisory_lock"),
    ("SELECT hidden.lower('a')", "hidden.lower"),
    ("SELECT * FROM listed", "file_fdw_handler"),
    ("SELECT * FROM parts", "file_fdw_handler"),
    ("SELECT * FROM pg_hba_file_rules", "pg_hba_file_rules"),
];

#[tokio::test]
async fn hidden_calls_are_rejected_with_name() {
    let trap = Trap::new();
    let database = trap.open();
    for (statement, culprit) in ATTACKS {
        let error = read(&database, statement).await.expect_err(statement);
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{statement}: {error:?}");
        assert!(error.message.contains(culprit), "{statement}: {error}");
        assert!(!trap.was_hit(), "{statement}");
    }
}

#[tokio::test]
async fn function_in_front_of_server_schema_is_rejected() {
    let trap = Trap::new();
    let name = trap.fresh.name();
    trap.fresh.execute(&format!("ALTER DATABASE {name} SET search_path = hidden, pg_catalog"));
    let error = read(&trap.open(), "SELECT lower('A')").await.unwrap_err();
    assert!(error.message.contains("hidden.lower"), "{error}");
    let row = single_row(&trap.open(), "SELECT upper('a'), count(*) FROM public.words").await;
    assert_eq!((row, trap.was_hit()), (vec![json!("A"), json!(2)], false));
}

#[tokio::test]
async fn row_policy_is_checked() {
    let trap = Trap::new();
    let role = &trap.fresh.name()[..30];
    trap.fresh.execute(&format!(
        "ALTER TABLE words ENABLE ROW LEVEL SECURITY;
         CREATE POLICY p ON words USING (strike(w) = w);
         CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON words TO {role};"
    ));
    let reader =
        ServerTarget { user: role.to_owned(), password: Some("x".into()), ..trap.fresh.server() };
    let database = open_database(trap.fresh.target_with(reader), 1);
    let error = read(&database, "SELECT count(*) FROM words").await.unwrap_err();
    assert!(error.message.contains("strike") && !trap.was_hit(), "{error}");
    drop(database);
    trap.fresh.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[tokio::test]
async fn functions_with_harmless_bodies_are_called() {
    let trap = Trap::new();
    let database = trap.open();
    let row = single_row(
        &database,
        "SELECT full_name(people), people.full_name, visit_count(id), lower(first), takes_name.strike \
         FROM people, (SELECT 1 AS strike) AS takes_name",
    )
    .await;
    assert_eq!(row, [json!("Ada Byron"), json!("Ada Byron"), json!(1), json!("ada"), json!(1)]);
    let row = single_row(&database, "SELECT 'a@b'::mail, ARRAY['x@y']::mail[]").await;
    assert_eq!(row, [json!("a@b"), json!(["x@y"])]);
    let plan = read(&database, "EXPLAIN SELECT visit_count(1)").await.unwrap();
    assert!(!plan.rows.is_empty() && !trap.was_hit());
}

#[tokio::test]
async fn allowed_function_runs_and_its_session_ends() {
    let trap = Trap::new();
    let allow_functions = vec!["public.is_code".to_owned(), "file_fdw_handler".to_owned()];
    let server = ServerTarget { allow_functions, ..trap.fresh.server() };
    let database = open_database(trap.fresh.target_with(server), 1);
    let process = "SELECT pg_backend_pid()";
    let first = single_row(&database, process).await;
    assert_eq!(single_row(&database, process).await, first);
    assert_eq!(single_row(&database, "SELECT is_code('abc')").await, [json!(true)]);
    assert_ne!(single_row(&database, process).await, first);
    assert!(read(&database, "SELECT strike()").await.is_err() && !trap.was_hit());
    assert_eq!(read(&database, "SELECT * FROM parts").await.unwrap().rows.len(), 1);
}

const MARIADB_SETUP: &[&str] = &[
    "CREATE TABLE words (w varchar(20)); INSERT INTO words VALUES ('a')",
    "CREATE FUNCTION strike() RETURNS INT BEGIN SET @hit = 1; RETURN 1; END",
    "CREATE FUNCTION by_return() RETURNS INT RETURN strike() + 1",
    "CREATE FUNCTION waits() RETURNS INT RETURN SLEEP(1)",
    "CREATE FUNCTION twice(n INT) RETURNS INT BEGIN RETURN n * 2; END",
    "CREATE VIEW first_view AS SELECT strike() AS s",
    "CREATE VIEW second_view AS SELECT s FROM first_view",
    "CREATE SQL SECURITY DEFINER VIEW third_view AS SELECT s FROM second_view",
    "CREATE VIEW calm_view AS SELECT w, twice(4) AS n FROM words",
];

#[tokio::test]
async fn mariadb_hidden_calls_are_rejected_with_name() {
    let fresh = TestDatabase::mariadb();
    for statement in MARIADB_SETUP {
        fresh.execute(statement);
    }
    let database = open_database(fresh.target(), 1);
    let qualified = format!("SELECT * FROM `{}`.`third_view`", fresh.name());
    for (statement, culprit) in [
        ("SELECT strike()", "strike"),
        ("SELECT `strike` ()", "strike"),
        ("SELECT 1 FROM words WHERE strike() = 1", "strike"),
        ("SELECT by_return()", "strike"),
        ("SELECT waits()", "waits"),
        ("SELECT * FROM first_view", "strike"),
        ("SELECT * FROM words, third_view", "strike"),
        ("EXPLAIN SELECT * FROM third_view", "strike"),
        ("SELECT (SELECT s FROM second_view)", "strike"),
        (&qualified, "strike"),
        ("SHOW TABLES WHERE strike() = 1", "strike"),
    ] {
        let error = read(&database, statement).await.expect_err(statement);
        assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{statement}: {error:?}");
        assert!(error.message.contains(culprit), "{statement}: {error}");
    }
    let row = single_row(&database, "SELECT w, n, twice(n), /*!50000 1 */ FROM calm_view").await;
    assert_eq!(row, [json!("a"), json!(8), json!(16), json!(1)]);
}

#[tokio::test]
async fn mariadb_grants_hide_password_hashes() {
    let fresh = TestDatabase::mariadb();
    let grants = read(&open_database(fresh.target(), 1), "SHOW GRANTS").await.unwrap();
    let text = format!("{:?}", grants.rows);
    let shown = text.replace("'***'", "");
    assert!(text.contains("PASSWORD '***'") && !shown.contains("'*"), "{text}");
}
