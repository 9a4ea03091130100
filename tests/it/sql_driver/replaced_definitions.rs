//! Tests that a statement of `PostgreSQL` that was accepted is judged anew after a definition has
//! changed, on the same connection: neither plans nor answers of the check are older than that.
//!
//! The function `hit` writes a file, which a read-only transaction does not prevent.

use std::{fs, path::PathBuf};

use vademecum_sql::{ErrorCode, driver::Database};

use super::{open_database, read};
use crate::support::{TestDatabase, require_env};

const SETUP: &str = "
CREATE FUNCTION hit() RETURNS int LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE 'COPY (SELECT 1) TO ''{file}'''; RETURN 1; END $$;
CREATE FUNCTION strike() RETURNS int IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN 1; END $$;
CREATE FUNCTION strike(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN $1; END $$;
CREATE FUNCTION strike(text, text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN $1; END $$;
CREATE TABLE words (w text); INSERT INTO words VALUES ('b'), ('a');
CREATE FUNCTION calm(text) RETURNS text STABLE LANGUAGE sql AS 'SELECT upper($1)';
CREATE FUNCTION by_calm(text) RETURNS text STABLE LANGUAGE sql AS 'SELECT calm($1)';
CREATE FUNCTION by_body(text) RETURNS text STABLE LANGUAGE sql RETURN calm($1);
CREATE FUNCTION by_name(a text) RETURNS text STABLE LANGUAGE plpgsql AS
    $$ BEGIN RETURN calm(a); END $$;
CREATE FUNCTION twice(numeric) RETURNS numeric IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1';
CREATE FUNCTION with_default(a int DEFAULT 1) RETURNS int IMMUTABLE LANGUAGE sql RETURN a;
CREATE VIEW shown AS SELECT upper(w) AS w FROM words;
CREATE VIEW shown_again AS SELECT w FROM shown;
CREATE FUNCTION joined(text, text) RETURNS text IMMUTABLE LANGUAGE sql RETURN $1 || $2;
CREATE OPERATOR ## (LEFTARG = text, RIGHTARG = text, FUNCTION = joined);
CREATE TYPE pair AS (a text, b text);
CREATE FUNCTION pair_text(pair) RETURNS text IMMUTABLE LANGUAGE sql RETURN ($1).a;
CREATE FUNCTION strike(pair) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
    $$ BEGIN PERFORM hit(); RETURN ($1).a; END $$;
CREATE CAST (pair AS text) WITH FUNCTION pair_text(pair);
CREATE AGGREGATE all_words (text) (SFUNC = textcat, STYPE = text);
CREATE DOMAIN mail AS text CHECK (value ~ '@');
CREATE TABLE indexed (w text);
CREATE TABLE parts (w text) PARTITION BY LIST (w);
CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;";

const CALM: &str =
    "CREATE OR REPLACE FUNCTION calm(text) RETURNS text STABLE LANGUAGE sql AS 'SELECT upper($1)'";
const WILD: &str = "CREATE OR REPLACE FUNCTION calm(text) RETURNS text STABLE LANGUAGE plpgsql AS \
    $$ BEGIN PERFORM hit(); RETURN $1; END $$";

/// A statement, a change after which it would call `hit` or cannot be checked, and the way back.
const CHANGES: &[(&str, &str, &str)] = &[
    ("SELECT calm('a')", WILD, CALM),
    ("SELECT calm(w) FROM words", WILD, CALM),
    ("SELECT ('a'::text).calm", WILD, CALM),
    ("SELECT by_calm('a')", WILD, CALM),
    ("SELECT by_body('a')", WILD, CALM),
    ("SELECT by_name('a')", WILD, CALM),
    ("EXPLAIN SELECT by_name(w) FROM words", WILD, CALM),
    (
        "SELECT calm('a')",
        "ALTER FUNCTION calm(text) SET work_mem = '1MB'",
        "ALTER FUNCTION calm(text) RESET ALL",
    ),
    (
        "SELECT calm('a')",
        "ALTER FUNCTION calm(text) RENAME TO kept; ALTER FUNCTION strike(text) RENAME TO calm",
        "ALTER FUNCTION calm(text) RENAME TO strike; ALTER FUNCTION kept(text) RENAME TO calm",
    ),
    (
        "SELECT calm('a')",
        "CREATE SCHEMA vademecum; CREATE FUNCTION vademecum.calm(text) RETURNS text STABLE
         LANGUAGE plpgsql AS $$ BEGIN PERFORM public.hit(); RETURN $1; END $$",
        "DROP SCHEMA vademecum CASCADE",
    ),
    (
        "SELECT * FROM words",
        "CREATE SCHEMA vademecum; CREATE VIEW vademecum.words AS SELECT strike('a') AS w",
        "DROP SCHEMA vademecum CASCADE",
    ),
    (
        "SELECT twice(4)",
        "CREATE FUNCTION twice(int) RETURNS int STABLE LANGUAGE plpgsql AS
         $$ BEGIN RETURN hit(); END $$",
        "DROP FUNCTION twice(int)",
    ),
    (
        "SELECT with_default()",
        "CREATE OR REPLACE FUNCTION with_default(a int DEFAULT strike()) RETURNS int IMMUTABLE
         LANGUAGE sql RETURN a",
        "CREATE OR REPLACE FUNCTION with_default(a int DEFAULT 1) RETURNS int IMMUTABLE
         LANGUAGE sql RETURN a",
    ),
    (
        "SELECT * FROM shown",
        "CREATE OR REPLACE VIEW shown AS SELECT strike(w) AS w FROM words",
        "CREATE OR REPLACE VIEW shown AS SELECT upper(w) AS w FROM words",
    ),
    (
        "SELECT count(*) FROM shown_again",
        "CREATE OR REPLACE RULE \"_RETURN\" AS ON SELECT TO shown DO INSTEAD
         SELECT strike(w) AS w FROM words",
        "CREATE OR REPLACE VIEW shown AS SELECT upper(w) AS w FROM words",
    ),
    (
        "SELECT w ## w FROM words",
        "DROP OPERATOR ## (text, text);
         CREATE OPERATOR ## (LEFTARG = text, RIGHTARG = text, FUNCTION = strike)",
        "DROP OPERATOR ## (text, text);
         CREATE OPERATOR ## (LEFTARG = text, RIGHTARG = text, FUNCTION = joined)",
    ),
    (
        "SELECT ROW('a', 'b')::pair::text",
        "DROP CAST (pair AS text); CREATE CAST (pair AS text) WITH FUNCTION strike(pair)",
        "DROP CAST (pair AS text); CREATE CAST (pair AS text) WITH FUNCTION pair_text(pair)",
    ),
    (
        "SELECT all_words(w) FROM words",
        "DROP AGGREGATE all_words (text);
         CREATE AGGREGATE all_words (text) (SFUNC = strike, STYPE = text)",
        "DROP AGGREGATE all_words (text);
         CREATE AGGREGATE all_words (text) (SFUNC = textcat, STYPE = text)",
    ),
    (
        "SELECT 'a@b'::mail",
        "ALTER DOMAIN mail ADD CONSTRAINT more CHECK (strike(value) = value) NOT VALID",
        "ALTER DOMAIN mail DROP CONSTRAINT more",
    ),
    (
        "SELECT w::mail FROM words WHERE w = 'none'",
        "ALTER DOMAIN mail ADD CONSTRAINT more CHECK (strike(value) = value) NOT VALID",
        "ALTER DOMAIN mail DROP CONSTRAINT more",
    ),
    (
        "SELECT * FROM indexed WHERE w = 'a'",
        "CREATE INDEX one ON indexed ((w || strike('x')))",
        "DROP INDEX one",
    ),
    (
        "SELECT * FROM indexed WHERE w > 'a'",
        "ALTER TABLE indexed ADD CONSTRAINT one CHECK (strike('x') = w) NOT VALID",
        "ALTER TABLE indexed DROP CONSTRAINT one",
    ),
    (
        "SELECT * FROM parts",
        "CREATE FOREIGN TABLE part PARTITION OF parts DEFAULT SERVER files
         OPTIONS (program 'touch {file}; echo')",
        "DROP FOREIGN TABLE part",
    ),
];

async fn assert_accepted(database: &Database, statement: &str, after: &str) {
    let done = read(database, statement).await;
    assert!(done.is_ok(), "{statement} after {after}: {done:?}");
}

#[tokio::test]
async fn accepted_statement_is_judged_anew_after_changes() {
    let fresh = TestDatabase::postgres();
    let folder = PathBuf::from(require_env("VADEMECUM_SERVERS"));
    let file = folder.join(format!("{}.hit", fresh.name()));
    let path = file.to_str().unwrap();
    fresh.execute(&SETUP.replace("{file}", path));
    let database = open_database(fresh.target(), 1);
    for (statement, change, back) in CHANGES {
        assert_accepted(&database, statement, "the setup").await;
        assert_accepted(&database, statement, "the setup").await;
        fresh.execute(&change.replace("{file}", path));
        // Making an index may call the function.
        drop(fs::remove_file(&file));
        for _ in 0..2 {
            let error = read(&database, statement).await.expect_err(change);
            assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{statement}, {change}: {error}");
            assert!(!file.exists(), "{statement} after {change}");
        }
        fresh.execute(back);
        assert_accepted(&database, statement, back).await;
    }
    assert!(!file.exists());
}
