//! Tests of the check of changes: which statements a profile with `allow` and `tables` permits.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use vademecum_core::config::ChangeKind;
use vademecum_sql::{
    Engine, ErrorCode, SqlError,
    guard::{ChangeLimits, check_change, is_change},
};

/// Checks a statement with all kinds of changes permitted.
fn check(engine: Engine, text: &str) -> Result<String, SqlError> {
    check_kinds(engine, text, &ChangeKind::ALL)
}

fn check_kinds(engine: Engine, text: &str, kinds: &[ChangeKind]) -> Result<String, SqlError> {
    let tables = match engine {
        Engine::Postgres => ["public.orders", "public.lines", "public.Mixed", "public.a_b"],
        Engine::MySql | Engine::Sqlite => ["orders", "lines", "Mixed", "a_b"],
    };
    let (tables, functions) = (tables.map(str::to_owned), ["app.next_number".to_owned()]);
    let limits = ChangeLimits { kinds, tables: &tables, functions: &functions };
    check_change(engine, text, limits).map(|statement| statement.text().to_owned())
}

fn assert_refused(engine: Engine, text: &str) {
    let checked = check(engine, text);
    assert!(checked.is_err(), "{engine} {text}");
    let error = checked.unwrap_err();
    assert_eq!(error.code, ErrorCode::XsqlRoBlocked, "{engine} {text}: {}", error.message);
}

#[test]
fn changes_of_listed_tables_are_permitted() {
    for text in [
        "INSERT INTO public.orders (id, note) VALUES (1, 'DROP TABLE public.orders; --')",
        "insert into public.orders as o values ($1, $2) on conflict (id) do nothing returning id",
        "INSERT INTO public.orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET id = excluded.id",
        "INSERT INTO public.orders SELECT id, lower(note) FROM public.lines WHERE id > 3",
        "INSERT INTO public.orders DEFAULT VALUES",
        "UPDATE public.orders SET note = upper(note), at = now() WHERE id = 7;",
        "UPDATE public.orders o SET note = l.note FROM public.lines l WHERE l.id = o.id",
        "UPDATE PUBLIC.Orders SET note = NULL",
        "UPDATE public.\"Mixed\" SET note = (SELECT max(id)::text FROM public.lines)",
        "UPDATE public.orders SET id = app.next_number() /* x */ WHERE id = 1 -- y",
        "DELETE FROM public.orders USING public.lines WHERE lines.id = orders.id",
        "DELETE FROM public.orders WHERE id IN (SELECT id FROM public.lines) RETURNING *",
        "UPDATE public.orders SET price = CAST($1 AS numeric(10, 2))",
    ] {
        assert!(
            check(Engine::Postgres, text).is_ok(),
            "{text}: {:?}",
            check(Engine::Postgres, text)
        );
    }
    for text in [
        "INSERT INTO orders (id) VALUES (?) ON DUPLICATE KEY UPDATE note = VALUES(note)",
        "INSERT INTO orders SET id = 1",
        "UPDATE `Mixed` SET note = CONCAT(note, 'x') WHERE id = 1 LIMIT 1",
        "DELETE FROM orders WHERE id = 1",
    ] {
        assert!(check(Engine::MySql, text).is_ok(), "{text}: {:?}", check(Engine::MySql, text));
    }
    for text in [
        "INSERT INTO main.orders VALUES (1)",
        "UPDATE Orders SET note = strftime('%Y', 'now') WHERE id = 1",
        "DELETE FROM \"orders\" WHERE id = 1",
    ] {
        assert!(check(Engine::Sqlite, text).is_ok(), "{text}: {:?}", check(Engine::Sqlite, text));
    }
}

#[test]
fn other_statements_are_refused_by_every_engine() {
    for engine in [Engine::Postgres, Engine::MySql, Engine::Sqlite] {
        let orders = if engine == Engine::Postgres { "public.orders" } else { "orders" };
        for text in [
            "",
            ";",
            "DROP TABLE @",
            "CREATE TABLE x (a int)",
            "CREATE TABLE x AS SELECT * FROM @",
            "ALTER TABLE @ ADD x int",
            "TRUNCATE @",
            "SELECT * FROM @",
            "SELECT * INTO x FROM @",
            "BEGIN",
            "SET ROLE postgres",
            "GRANT ALL ON @ TO public",
            "COPY @ FROM '/etc/passwd'",
            "COPY @ TO PROGRAM 'id'",
            "CALL x()",
            "DO $$ BEGIN END $$",
            "MERGE INTO @ USING @ ON true WHEN MATCHED THEN DELETE",
            "REPLACE INTO @ VALUES (1)",
            "EXPLAIN ANALYZE DELETE FROM @",
            "INSERT INTO @ VALUES (1); DROP TABLE @",
            "INSERT INTO @ VALUES (1); INSERT INTO @ VALUES (2)",
            "INSERT INTO secrets VALUES (1)",
            "INSERT INTO other.orders VALUES (1)",
            "INSERT INTO a.b.orders VALUES (1)",
            "UPDATE secrets SET a = 1",
            "DELETE FROM secrets",
            "DELETE FROM @, secrets",
            "INSERT INTO @ SELECT * FROM secrets",
            "INSERT INTO @ TABLE secrets",
            "INSERT INTO @ SELECT 1 UNION TABLE secrets",
            "INSERT INTO @ SELECT 1 UNION SELECT a FROM secrets",
            "INSERT INTO @ VALUES ((SELECT a FROM secrets))",
            "UPDATE @ SET a = (SELECT a FROM secrets)",
            "UPDATE @ SET a = 1 FROM secrets",
            "UPDATE @ SET a = 1 WHERE EXISTS (SELECT 1 FROM (SELECT * FROM secrets) s)",
            "UPDATE @, secrets SET secrets.a = 1",
            "UPDATE @ JOIN secrets ON true SET secrets.a = 1",
            "DELETE FROM @ WHERE id IN (SELECT id FROM secrets)",
            "DELETE @ FROM @ JOIN secrets",
            "WITH x AS (DELETE FROM secrets RETURNING *) INSERT INTO @ SELECT * FROM x",
            "WITH x AS (SELECT 1) UPDATE @ SET a = 1",
            "INSERT INTO @ WITH x AS (DELETE FROM secrets RETURNING *) SELECT * FROM x",
            "INSERT INTO @ VALUES (evil())",
            "INSERT INTO @ VALUES (other.lower('x'))",
            "INSERT INTO @ VALUES (\"evil\"())",
            "UPDATE @ SET a = evil(a) RETURNING a",
            "DELETE FROM @ RETURNING evil()",
            "INSERT INTO @ VALUES (1) ON CONFLICT (id) DO UPDATE SET a = evil()",
            "INSERT INTO @ SELECT * FROM evil()",
            "INSERT INTO @ SELECT * FROM lower('x')",
            "INSERT OR REPLACE INTO @ VALUES (1)",
            "UPDATE OR REPLACE @ SET a = 1",
            "INSERT OVERWRITE TABLE @ SELECT 1",
            "INSERT ALL INTO @ VALUES (1) INTO secrets VALUES (1) SELECT 1",
        ] {
            assert_refused(engine, &text.replace('@', orders));
        }
    }
}

#[test]
fn engines_own_ways_out_are_refused() {
    for text in [
        // Another table may be found first.
        "INSERT INTO orders VALUES (1)",
        "UPDATE public.Mixed SET a = 1",
        "UPDATE \"PUBLIC\".orders SET a = 1",
        // The parser sees `a_b`.
        "UPDATE public.\"a-b\" SET a = 1",
        "UPDATE public.U&\"a\\005fb\" SET a = 1",
        "UPDATE public.orders SET a = nextval('s')",
        "UPDATE public.orders SET a = pg_read_file('/etc/passwd')",
        "UPDATE public.orders SET a = pg_catalog.lo_import('/etc/passwd')",
        "UPDATE public.orders SET a = dblink_exec('x', 'DROP TABLE y')",
        "UPDATE public.orders SET a = pg_terminate_backend(1)",
        "INSERT INTO public.orders SELECT * FROM public.lines FOR UPDATE",
        // No functions of this engine.
        "UPDATE public.orders SET a = total(1)",
    ] {
        assert_refused(Engine::Postgres, text);
    }
    for text in [
        "UPDATE ORDERS SET a = 1",
        "UPDATE orders SET a = LOAD_FILE('/etc/passwd')",
        "UPDATE orders SET a = SLEEP(1)",
        "UPDATE orders SET a = to_char(1)",
        "INSERT INTO orders SELECT 1 INTO OUTFILE '/tmp/x'",
        "DELETE FROM orders USING orders JOIN secrets",
        "DELETE orders, secrets FROM orders JOIN secrets",
        "/*!50000 DROP TABLE orders */",
        "DELETE orders /*!50000 , secrets */ FROM orders JOIN secrets",
    ] {
        assert_refused(Engine::MySql, text);
    }
    for text in [
        "UPDATE orders SET a = load_extension('x')",
        "INSERT INTO temp.orders VALUES (1)",
        "INSERT INTO sqlite_master VALUES (1)",
        "ATTACH 'x' AS y",
        "PRAGMA writable_schema = 1",
    ] {
        assert_refused(Engine::Sqlite, text);
    }
}

#[test]
fn only_permitted_kinds_are_accepted() {
    let insert = [ChangeKind::Insert];
    let engine = Engine::Sqlite;
    let ok = |text: &str, kinds: &[ChangeKind]| check_kinds(engine, text, kinds).is_ok();
    assert!(ok("INSERT INTO orders VALUES (1) ON CONFLICT DO NOTHING", &insert));
    for text in [
        "UPDATE orders SET a = 1",
        "DELETE FROM orders",
        "INSERT INTO orders VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1",
    ] {
        assert!(!ok(text, &insert) && ok(text, &ChangeKind::ALL), "{text}");
    }
    let error = check_kinds(engine, "DELETE FROM orders", &insert).unwrap_err();
    assert!(error.message.contains("begins with INSERT"), "{}", error.message);
    let error = check(Engine::Postgres, "UPDATE orders SET a = 1").unwrap_err();
    assert!(error.message.contains("public.orders"), "{}", error.message);
    assert!(is_change(engine, " /* x */ delete FROM orders") && !is_change(engine, "SELECT 1"));
}
