//! The tokenizer as FTS5 uses it, for texts and for queries.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly, its helpers too")]

use std::ops::ControlFlow;

use rusqlite::{Connection, Result};
use vademecum_fts5::{Prepared, index_tokens, register, with_prepared};

fn table(options: &str) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    register(&connection).unwrap();
    let table = format!(
        "CREATE VIRTUAL TABLE t USING fts5 (a{options}, tokenize = 'vademecum');
         CREATE VIRTUAL TABLE place USING fts5vocab(t, instance);"
    );
    connection.execute_batch(&table).unwrap();
    connection
}

/// The tokens that FTS5 has of a text, with their offsets.
fn stored(connection: &Connection) -> Vec<(i64, String)> {
    let sql = "SELECT offset, CAST(term AS BLOB) AS term FROM place ORDER BY offset, term";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let term: Vec<u8> = row.get("term")?;
        Ok((row.get("offset")?, String::from_utf8(term).unwrap()))
    });
    rows.unwrap().collect::<Result<_>>().unwrap()
}

/// The tokens of a text, with their offsets.
fn tokens(text: &str) -> Vec<(i64, String)> {
    let (mut offset, mut tokens) = (-1, Vec::new());
    index_tokens(text, |token, _, same| {
        offset += i64::from(!same);
        tokens.push((offset, token.to_owned()));
        ControlFlow::Continue(())
    });
    tokens.sort();
    tokens.dedup();
    tokens
}

fn count(connection: &Connection, expression: &str) -> Result<i64> {
    let sql = "SELECT count(*) FROM t WHERE t MATCH ?1";
    connection.query_row(sql, [expression], |row| row.get(0))
}

/// Writes bytes as a text, whatever they are.
fn write(connection: &Connection, bytes: &[u8]) {
    connection.execute("INSERT INTO t (a) VALUES (CAST(?1 AS TEXT))", [bytes]).unwrap();
}

#[test]
fn what_is_stored_are_the_tokens_of_the_text() {
    for text in [
        "",
        " ",
        "Kneading the DOUGH, kneaded.",
        "東京都へ行く。 서울역 ภาษาไทย",
        "camelCase HTTPServer snake_case foo-bar C++ R&D v1.2.3",
        "Crème Brûlée Straße ＦＵＬＬ ﷺ İstanbul",
        "nul\0byte \0\0 x\0",
        "e\u{301}\u{301} \u{301}a 👨\u{200d}👩\u{200d}👧 \u{FFFD} \u{10FFFF}",
        "=exact \"quoted\" a*b",
    ] {
        let connection = table(", content = ''");
        write(&connection, text.as_bytes());
        assert_eq!(stored(&connection), tokens(text), "{text:?}");
        let prepared = table(", content = ''");
        with_prepared(vec![Prepared::new(text.into())], || write(&prepared, text.as_bytes()));
        assert_eq!(stored(&prepared), tokens(text), "{text:?}, prepared");
    }
}

#[test]
fn bytes_that_are_no_text_are_read_as_far_as_they_are() {
    let connection = table("");
    write(&connection, b"rye\xFFbread \xC3\x28 \xF0\x9F dough\x80");
    let words = stored(&connection).into_iter().map(|(_, token)| token);
    let words: Vec<_> = words.filter(|token| !token.starts_with('=')).collect();
    assert_eq!(words, ["rye", "bread", "dough"]);
}

#[test]
fn a_word_after_bytes_that_are_no_text_is_never_shown_from_beyond_the_text() {
    for before in [1, 10, 1_000, 100_000] {
        let connection = table("");
        let bytes = [&vec![0xFF; before], &b" dough"[..]].concat();
        write(&connection, &bytes);
        for shown in ["highlight(t, 0, '<', '>')", "snippet(t, 0, '<', '>', '', 3)"] {
            let sql = format!("SELECT CAST({shown} AS BLOB) FROM t WHERE t MATCH 'dough'");
            let text: Vec<u8> = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            let text: Vec<u8> = text.into_iter().filter(|it| !b"<>".contains(it)).collect();
            assert!(bytes.ends_with(&text), "{shown} after {before}");
        }
    }
}

#[test]
fn words_are_shown_where_they_stand() {
    let connection = table("");
    write(&connection, "Die Bäckerei: kneading 東京都, C++!".as_bytes());
    for (expression, shown) in [
        ("backerei", "Die [Bäckerei]: kneading 東京都, C++!"),
        ("knead", "Die Bäckerei: [kneading] 東京都, C++!"),
        ("\"c++\"", "Die Bäckerei: kneading 東京都, [C++]!"),
        ("\"京 都\"", "Die Bäckerei: kneading 東[京都], C++!"),
    ] {
        let sql = "SELECT highlight(t, 0, '[', ']') FROM t WHERE t MATCH ?1";
        let text: String = connection.query_row(sql, [expression], |row| row.get(0)).unwrap();
        assert_eq!(text, shown);
    }
}

#[test]
fn any_bytes_can_be_stored_deleted_and_shown() {
    let connection = table("");
    let mut dice = 1_u32;
    let mut next = || {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        dice.to_be_bytes()
    };
    for number in 0..400_usize {
        let bytes: Vec<u8> = (0..number)
            .map(|_| match next() {
                [0..0x60, letter, ..] => b"abA Z9+#\0\n"[usize::from(letter) % 10],
                [0x60..0x90, letter, ..] => {
                    b"\xE6\x9D\xB1\xE0\xB8\xCC\x81\xED\xF0"[usize::from(letter) % 9]
                }
                [_, any, ..] => any,
            })
            .collect();
        write(&connection, &bytes);
    }
    for word in ["a", "b", "z9", "ab", "東", "a*"] {
        let sql = "SELECT length(highlight(t, 0, '[', ']')) + length(snippet(t, 0, '', '', '', 9))
                   FROM t WHERE t MATCH ?1";
        let mut statement = connection.prepare(sql).unwrap();
        let mut rows = statement.query([word]).unwrap();
        while rows.next().unwrap().is_some() {}
    }
    connection.execute("INSERT INTO t (t) VALUES ('integrity-check')", []).unwrap();
    connection.execute("DELETE FROM t WHERE rowid % 3 = 0", []).unwrap();
    connection.execute("INSERT INTO t (t) VALUES ('integrity-check')", []).unwrap();
    connection.execute("DELETE FROM t", []).unwrap();
    assert_eq!(stored(&connection), []);
}

#[test]
fn a_huge_text_is_stored() {
    let pieces = ["a", "aB", "東", "é", "\0", "x ", "C++", "ab\u{301}", "𠀀"];
    for piece in pieces {
        let connection = table(", content = ''");
        let mut text = piece.repeat(2_000_000 / piece.len());
        text.push_str(" needle");
        write(&connection, text.as_bytes());
        assert_eq!(count(&connection, "needl").unwrap(), 1, "{piece:?}");
    }
}

#[test]
fn a_query_names_tokens_and_not_words() {
    let connection = table("");
    write(&connection, "Kneading fooBar 東京都".as_bytes());
    for (expression, found) in [
        ("\"knead\"", 1),
        ("\"kneading\"", 0),
        ("\"=kneading\"", 1),
        ("\"KNEAD\"", 0),
        ("\"knead foo\"", 1),
        ("\"knead  foo bar\"", 1),
        ("\"knead,foo\"", 0),
        ("\"foobar\"", 1),
        ("\"fooBar\"", 0),
        ("\"東京\"", 1),
        ("\"東京都\"", 0),
        ("\"=kneadi\" *", 1),
        ("\"kne\" *", 1),
        ("\"=kne fo\" *", 0),
        ("\" \"", 0),
        ("\"\"", 0),
    ] {
        assert_eq!(count(&connection, expression).unwrap(), found, "{expression}");
    }
}

#[test]
fn options_of_the_tokenizer_are_passed_over_and_tables_come_and_go() {
    let connection = Connection::open_in_memory().unwrap();
    register(&connection).unwrap();
    for number in 0..20 {
        let sql = format!(
            "CREATE VIRTUAL TABLE t USING fts5 (a, tokenize = 'vademecum option {number}');
             INSERT INTO t (a) VALUES ('kneading');"
        );
        connection.execute_batch(&sql).unwrap();
        assert_eq!(count(&connection, "knead").unwrap(), 1);
        connection.execute_batch("DROP TABLE t").unwrap();
    }
}
