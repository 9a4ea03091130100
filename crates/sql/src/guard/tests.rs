//! What holds for the whole guard: statements of every kind that it lets through
//! and refuses, for each engine, and whatever comes of changing them.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;

use super::*;
use crate::{Engine, ErrorCode};

/// Statements for one engine.
#[derive(Deserialize)]
struct Vectors {
    reads: Vec<String>,
    /// By what they do.
    refused: BTreeMap<String, Vec<String>>,
    conditions: Conditions,
}

/// Conditions for one engine.
#[derive(Deserialize)]
struct Conditions {
    reads: Vec<String>,
    refused: Vec<String>,
}

/// Signs and words that mean something to some engine.
const ODD: [&str; 32] = [
    "'",
    "''",
    "\"",
    "`",
    "[",
    "]",
    "(",
    ")",
    "\\",
    "--",
    "-- ",
    "#",
    "/*",
    "*/",
    "/*!",
    "$$",
    "$a$",
    "E'",
    "x'",
    "U&\"",
    ";",
    "\n",
    "\r",
    "\u{a0}",
    "\0",
    " INTO ",
    " FOR UPDATE ",
    " AS (",
    "WITH a AS (SELECT 1) ",
    " DELETE FROM t ",
    ":=",
    ".",
];

/// A generator that always says the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    /// Puts up to three odd things into a text, in front of others or instead of them.
    fn change(&mut self, text: &str) -> String {
        let mut signs: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(3) {
            let at = self.below(signs.len() + 1);
            let end = (at + self.below(4)).min(signs.len());
            signs.splice(at..end, ODD[self.below(ODD.len())].chars());
        }
        signs.into_iter().collect()
    }
}

fn vectors() -> [(Engine, Vectors); 3] {
    let read = |text| serde_json::from_str(text).unwrap();
    [
        (Engine::Postgres, read(include_str!("../../../../tests/it/fixtures/sql/postgres.json"))),
        (Engine::MySql, read(include_str!("../../../../tests/it/fixtures/sql/mysql.json"))),
        (Engine::Sqlite, read(include_str!("../../../../tests/it/fixtures/sql/sqlite.json"))),
    ]
}

#[test]
fn every_read_is_let_through_and_runs_as_one_statement() {
    for (engine, vectors) in vectors() {
        for statement in vectors.reads {
            let query = read(engine, &statement).unwrap_or_else(|error| {
                panic!("{engine}: {statement}: {error}");
            });
            assert!(!query.text().ends_with(';'), "{engine}: {statement}");
            let again = read(engine, query.text());
            assert_eq!(again.as_ref(), Ok(&query), "what is run is itself let through");
        }
    }
}

#[test]
fn every_write_and_every_trick_is_refused() {
    for (engine, vectors) in vectors() {
        for (category, statements) in vectors.refused {
            for statement in statements {
                let error = read(engine, &statement).expect_err(&statement);
                assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{category}: {statement}");
                let is_placed = error.message.contains("line") || category == "empty";
                assert!(is_placed, "{statement}: {error}");
            }
        }
    }
}

#[test]
fn conditions_ask_about_one_row_and_nothing_else() {
    for (engine, vectors) in vectors() {
        for text in vectors.conditions.reads {
            let condition = condition(engine, &text);
            let condition = condition.unwrap_or_else(|error| panic!("{engine}: {text}: {error}"));
            let count = format!("SELECT count(*) FROM t WHERE ({})", condition.text());
            assert!(read(engine, &count).is_ok(), "{count}");
        }
        for text in vectors.conditions.refused {
            assert!(condition(engine, &text).is_err(), "{engine}: {text}");
        }
    }
}

#[test]
fn what_is_refused_is_named_with_its_place_and_what_to_do() {
    let message = |text| read(Engine::Postgres, text).unwrap_err().message;
    assert_eq!(
        message("SELECT 1,\n  nextval('s')"),
        "the function `nextval` moves a sequence on; leave it out (line 2, column 3)"
    );
    assert_eq!(
        message("delete from t"),
        "`DELETE` is not a read; only SELECT, WITH, VALUES, TABLE, EXPLAIN of a query and SHOW are \
         (line 1, column 1)"
    );
    assert_eq!(
        message("SELECT 1; SELECT 2"),
        "only one statement can be run at a time; leave the others out (line 1, column 9)"
    );
}

#[test]
fn comments_are_not_run_and_what_follows_keeps_its_place() {
    let query =
        read(Engine::MySql, "SELECT /*+ SET_VAR(max_execution_time=0) */ 1 -- ü\n;").unwrap();
    assert_eq!(query.text(), format!("SELECT{}1", " ".repeat(38)));
}

#[test]
fn a_query_knows_what_it_is_and_what_it_calls() {
    let text =
        "SELECT f(1), \"My\".\"F\"(2), now(), users.g, (u).h FROM users WHERE id IN (1) AND f(2)";
    let query = read(Engine::Postgres, text).unwrap();
    let names: Vec<String> = query.functions().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["f", "now", "My.F"]);
    assert_eq!(query.attributes(), ["g", "h"]);
    let kind = |engine, text| read(engine, text).unwrap().kind();
    assert_eq!(kind(Engine::Postgres, "(SELECT 1)"), Kind::Rows);
    assert_eq!(kind(Engine::Postgres, "EXPLAIN SELECT 1"), Kind::Explain);
    assert_eq!(kind(Engine::Postgres, "SHOW ALL"), Kind::Show);
    assert_eq!(kind(Engine::MySql, "DESC users"), Kind::Show);
    assert_eq!(kind(Engine::Sqlite, "PRAGMA table_list"), Kind::Show);
}

#[test]
fn what_no_parser_can_follow_is_answered_at_once_and_costs_no_stack() {
    let chains = [
        format!("SELECT {}", "(".repeat(100_000)),
        format!("SELECT {}1{}", "(".repeat(99), ")".repeat(99)),
        format!("SELECT * FROM {}t{}", "(".repeat(60), ")".repeat(60)),
        format!("SELECT {}1", "1+".repeat(100_000)),
        format!("SELECT {}1", "1+".repeat(990)),
        format!("SELECT {}1", "NOT ".repeat(100_000)),
        format!("SELECT {}1", "- ".repeat(1_900)),
        format!("SELECT {}1", "NOT ".repeat(1_900)),
        format!("SELECT 1{}", "::int".repeat(600)),
        format!("SELECT a{}", "[1]".repeat(600)),
        format!("SELECT a{}", ".a".repeat(900)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(600)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(10_000)),
        format!("SELECT {}1{}", "CASE WHEN 1 THEN ".repeat(400), " END".repeat(400)),
        format!("SELECT {}1{}", "f(".repeat(90), ")".repeat(90)),
        format!("SELECT {}1{}", "(SELECT ".repeat(45), ")".repeat(45)),
        format!("SELECT * FROM a{}", " JOIN a ON 1=1".repeat(300)),
        format!("WITH a AS (SELECT 1){} SELECT 1", ", a AS (SELECT 1)".repeat(300)),
        format!("SELECT {}1", "/*".repeat(100_000)),
        format!("EXPLAIN {}1", "EXPLAIN ".repeat(20_000)),
        format!("SELECT 1 WHERE a IN ({}1)", "1,".repeat(50_000)),
        format!("SELECT {}", "'".repeat(100_001)),
        format!("SELECT {}", "$a$ $b$".repeat(10_000)),
    ];
    // Less than what any thread of the server has.
    let narrow = thread::Builder::new().stack_size(1_024 * 1_024);
    let reading = narrow.spawn(move || {
        for text in chains {
            for engine in [Engine::Postgres, Engine::MySql, Engine::Sqlite] {
                let start = Instant::now();
                read(engine, &text).ok();
                condition(engine, text.strip_prefix("SELECT ").unwrap_or(&text)).ok();
                one_statement(engine, &text).ok();
                let (took, head) = (start.elapsed(), text.get(..30));
                assert!(took < Duration::from_secs(5), "{engine}: {took:?}: {head:?}");
            }
        }
    });
    reading.unwrap().join().unwrap();
}

#[test]
fn whatever_is_changed_in_a_statement_breaks_nothing() {
    let mut dice = Dice(1);
    for (engine, vectors) in vectors() {
        let statements = vectors.reads.iter().chain(vectors.refused.values().flatten());
        for statement in statements {
            for _ in 0..20 {
                let text = dice.change(statement);
                condition(engine, &text).ok();
                one_statement(engine, &text).ok();
                let Ok(query) = read(engine, &text) else { continue };
                let again = read(engine, query.text());
                assert_eq!(again, Ok(query), "what is run is itself let through: {text}");
            }
        }
    }
}

#[test]
fn long_lists_and_long_chains_are_reads_too() {
    let list = format!("SELECT * FROM t WHERE id IN ({}1)", "1, ".repeat(20_000));
    let chain = format!("SELECT * FROM t WHERE {}id = 1", "id = 1 OR ".repeat(2_000));
    for engine in [Engine::Postgres, Engine::MySql, Engine::Sqlite] {
        assert!(read(engine, &list).is_ok() && read(engine, &chain).is_ok(), "{engine}");
        let write = chain.replace("SELECT", "WITH a AS (SELECT 1) DELETE");
        assert!(read(engine, &write).is_err(), "{engine}");
    }
}

#[test]
fn one_statement_of_any_kind_may_write_but_none_outlives_its_transaction() {
    let allowed = [
        "DELETE FROM t",
        "INSERT INTO t VALUES ('a;b');",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM u; DELETE FROM v; END;",
        "SELECT 1",
    ];
    let refused = [
        "",
        "DELETE FROM t; DELETE FROM u",
        "BEGIN",
        "commit;",
        "SET x = 1",
        "DELETE FROM t /*! */",
        "COPY t TO PROGRAM 'x'",
        "CREATE TABLE t (a int); DROP TABLE u",
        "ATTACH 'x' AS y",
    ];
    for text in allowed {
        assert!(one_statement(Engine::MySql, text).is_ok(), "{text}");
    }
    for text in refused {
        assert!(one_statement(Engine::MySql, text).is_err(), "{text}");
    }
}

#[test]
fn a_volatile_function_is_called_only_if_it_is_known_to_tell_something() {
    assert!(may_be_volatile("pg_catalog", "random"));
    assert!(may_be_volatile("public", "uuid_generate_v4"));
    assert!(!may_be_volatile("public", "random"));
    assert!(!may_be_volatile("public", "delete_all"));
    assert!(!may_be_volatile("pg_catalog", "nextval"));
}

#[test]
fn no_telling_function_is_refused_by_name() {
    for name in ["random", "pg_database_size", "clock_timestamp", "gen_random_uuid"] {
        let text = format!("SELECT {name}()");
        assert!(read(Engine::Postgres, &text).is_ok(), "{name}");
    }
}
