//! Tests of the whole guard: accepted and rejected statements of every kind for each engine, and
//! random mutations of them.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;

use vademecum_sql::{
    Engine, ErrorCode,
    guard::{StatementKind, check_condition, check_query, check_write},
};

/// Test vectors of one engine.
#[derive(Deserialize)]
struct GuardVectors {
    reads: Vec<String>,
    /// Statements by the category of their effect.
    refused: BTreeMap<String, Vec<String>>,
    conditions: ConditionVectors,
}

/// Test vectors for conditions of one engine.
#[derive(Deserialize)]
struct ConditionVectors {
    reads: Vec<String>,
    refused: Vec<String>,
}

/// Characters and words that are special to some engine.
const ODD_FRAGMENTS: [&str; 32] = [
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

/// Seeded random number generator (64-bit linear congruential), so that failures are reproducible.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    /// Inserts up to three odd fragments into a text, or replaces characters by them.
    fn mutate(&mut self, text: &str) -> String {
        let mut signs: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(3) {
            let at = self.below(signs.len() + 1);
            let end = (at + self.below(4)).min(signs.len());
            signs.splice(at..end, ODD_FRAGMENTS[self.below(ODD_FRAGMENTS.len())].chars());
        }
        signs.into_iter().collect()
    }
}

fn load_vectors() -> [(Engine, GuardVectors); 3] {
    let read = |text| serde_json::from_str(text).unwrap();
    [
        (Engine::Postgres, read(include_str!("../../../tests/it/fixtures/sql/postgres.json"))),
        (Engine::MySql, read(include_str!("../../../tests/it/fixtures/sql/mysql.json"))),
        (Engine::Sqlite, read(include_str!("../../../tests/it/fixtures/sql/sqlite.json"))),
    ]
}

#[test]
fn guard_accepts_reads_as_single_statement() {
    for (engine, vectors) in load_vectors() {
        for statement in vectors.reads {
            let query = check_query(engine, &statement).unwrap_or_else(|error| {
                panic!("{engine}: {statement}: {error}");
            });
            assert!(!query.text().ends_with(';'), "{engine}: {statement}");
            let again = check_query(engine, query.text());
            assert_eq!(again.as_ref(), Ok(&query), "the checked text passes the guard again");
        }
    }
}

#[test]
fn guard_rejects_writes_and_tricks() {
    for (engine, vectors) in load_vectors() {
        for (category, statements) in vectors.refused {
            for statement in statements {
                let error = check_query(engine, &statement).expect_err(&statement);
                assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{category}: {statement}");
                let is_placed = error.message.contains("line") || category == "empty";
                assert!(is_placed, "{statement}: {error}");
            }
        }
    }
}

#[test]
fn guard_rejects_conditions_beyond_one_row() {
    for (engine, vectors) in load_vectors() {
        for text in vectors.conditions.reads {
            let condition = check_condition(engine, &text);
            let condition = condition.unwrap_or_else(|error| panic!("{engine}: {text}: {error}"));
            let count = format!("SELECT count(*) FROM t WHERE ({})", condition.text());
            assert!(check_query(engine, &count).is_ok(), "{count}");
        }
        for text in vectors.conditions.refused {
            assert!(check_condition(engine, &text).is_err(), "{engine}: {text}");
        }
    }
}

#[test]
fn rejection_names_position_and_remedy() {
    let message = |text| check_query(Engine::Postgres, text).unwrap_err().message;
    assert_eq!(
        message("SELECT 1,\n  nextval('s')"),
        "the function `nextval` advances a sequence; leave it out (line 2, column 3)"
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
fn comments_are_blanked_and_offsets_kept() {
    let query = check_query(Engine::MySql, "SELECT /*+ SET_VAR(max_execution_time=0) */ 1 -- ü\n;")
        .unwrap();
    assert_eq!(query.text(), format!("SELECT{}1", " ".repeat(38)));
}

#[test]
fn query_reports_kind_and_called_functions() {
    let text =
        "SELECT f(1), \"My\".\"F\"(2), now(), users.g, (u).h FROM users WHERE id IN (1) AND f(2)";
    let query = check_query(Engine::Postgres, text).unwrap();
    let names: Vec<String> = query.functions().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["f", "now", "My.F"]);
    assert!(["g", "h", "users", "My", "f"].iter().all(|name| query.mentions(name)));
    assert!(query.mentions("||") == text.contains("||") && !query.mentions("usersg"));
    let explained = check_query(Engine::Postgres, " EXPLAIN (ANALYZE) /*x*/ SELECT 1").unwrap();
    assert_eq!(explained.query_text(), "SELECT 1");
    let kind = |engine, text| check_query(engine, text).unwrap().kind();
    assert_eq!(kind(Engine::Postgres, "(SELECT 1)"), StatementKind::Rows);
    assert_eq!(kind(Engine::Postgres, "EXPLAIN SELECT 1"), StatementKind::Explain);
    assert_eq!(kind(Engine::Postgres, "SHOW ALL"), StatementKind::Show);
    assert_eq!(kind(Engine::MySql, "DESC users"), StatementKind::Show);
    assert_eq!(kind(Engine::Sqlite, "PRAGMA table_list"), StatementKind::Show);
}

#[test]
fn deep_statements_are_checked_fast_without_overflow() {
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
    // Smaller than the stack of any server thread.
    let narrow = thread::Builder::new().stack_size(1_024 * 1_024);
    let reading = narrow.spawn(move || {
        for text in chains {
            for engine in [Engine::Postgres, Engine::MySql, Engine::Sqlite] {
                let start = Instant::now();
                check_query(engine, &text).ok();
                check_condition(engine, text.strip_prefix("SELECT ").unwrap_or(&text)).ok();
                check_write(engine, &text).ok();
                let (took, head) = (start.elapsed(), text.get(..30));
                assert!(took < Duration::from_secs(5), "{engine}: {took:?}: {head:?}");
            }
        }
    });
    reading.unwrap().join().unwrap();
}

#[test]
fn guard_withstands_mutated_statements() {
    let mut rng = SeededRng(1);
    for (engine, vectors) in load_vectors() {
        let statements = vectors.reads.iter().chain(vectors.refused.values().flatten());
        for statement in statements {
            for _ in 0..20 {
                let text = rng.mutate(statement);
                check_condition(engine, &text).ok();
                check_write(engine, &text).ok();
                let Ok(query) = check_query(engine, &text) else { continue };
                let again = check_query(engine, query.text());
                assert_eq!(again, Ok(query), "the checked text passes the guard again: {text}");
            }
        }
    }
}

#[test]
fn guard_accepts_long_lists_and_chains() {
    let list = format!("SELECT * FROM t WHERE id IN ({}1)", "1, ".repeat(20_000));
    let chain = format!("SELECT * FROM t WHERE {}id = 1", "id = 1 OR ".repeat(2_000));
    for engine in [Engine::Postgres, Engine::MySql, Engine::Sqlite] {
        assert!(
            check_query(engine, &list).is_ok() && check_query(engine, &chain).is_ok(),
            "{engine}"
        );
        let write = chain.replace("SELECT", "WITH a AS (SELECT 1) DELETE");
        assert!(check_query(engine, &write).is_err(), "{engine}");
    }
}

#[test]
fn check_write_rejects_multiple_and_session_statements() {
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
        assert!(check_write(Engine::MySql, text).is_ok(), "{text}");
    }
    for text in refused {
        assert!(check_write(Engine::MySql, text).is_err(), "{text}");
    }
}

#[test]
fn harmless_function_is_not_denied() {
    for name in ["random", "pg_database_size", "clock_timestamp", "gen_random_uuid"] {
        let text = format!("SELECT {name}()");
        assert!(check_query(Engine::Postgres, &text).is_ok(), "{name}");
    }
}
