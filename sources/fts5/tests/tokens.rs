//! Tests of the tokenizer within FTS5, for documents and queries.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly, its helpers too")]

use std::ops::ControlFlow;

use rusqlite::{Connection, Result};
use vademecum_fts5::{PreparedText, for_each_index_token, register, with_prepared_texts};

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

/// Returns the tokens that FTS5 stores, with their offsets.
fn stored_tokens(connection: &Connection) -> Vec<(i64, String)> {
    let sql = "SELECT offset, CAST(term AS BLOB) AS term FROM place ORDER BY offset, term";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let term: Vec<u8> = row.get("term")?;
        Ok((row.get("offset")?, String::from_utf8(term).unwrap()))
    });
    rows.unwrap().collect::<Result<_>>().unwrap()
}

/// Returns the tokens of a text, with their offsets.
fn tokens_of(text: &str) -> Vec<(i64, String)> {
    let (mut offset, mut tokens) = (-1, Vec::new());
    for_each_index_token(text, |token, _, same| {
        offset += i64::from(!same);
        tokens.push((offset, token.to_owned()));
        ControlFlow::Continue(())
    });
    tokens.sort();
    tokens.dedup();
    tokens
}

fn count_matches(connection: &Connection, expression: &str) -> Result<i64> {
    let sql = "SELECT count(*) FROM t WHERE t MATCH ?1";
    connection.query_row(sql, [expression], |row| row.get(0))
}

/// Inserts arbitrary bytes as text.
fn insert_bytes(connection: &Connection, bytes: &[u8]) {
    connection.execute("INSERT INTO t (a) VALUES (CAST(?1 AS TEXT))", [bytes]).unwrap();
}

#[test]
fn stored_tokens_equal_tokens_of_text() {
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
        insert_bytes(&connection, text.as_bytes());
        assert_eq!(stored_tokens(&connection), tokens_of(text), "{text:?}");
        let prepared = table(", content = ''");
        with_prepared_texts(vec![PreparedText::new(text.into())], || {
            insert_bytes(&prepared, text.as_bytes());
        });
        assert_eq!(stored_tokens(&prepared), tokens_of(text), "{text:?}, prepared");
    }
}

#[test]
fn invalid_utf8_is_tokenized_around() {
    let connection = table("");
    insert_bytes(&connection, b"rye\xFFbread \xC3\x28 \xF0\x9F dough\x80");
    let words = stored_tokens(&connection).into_iter().map(|(_, token)| token);
    assert_eq!(words.collect::<Vec<_>>(), ["=rye", "=bread", "=dough"]);
}

#[test]
fn highlight_after_invalid_bytes_stays_inside_text() {
    for before in [1, 10, 1_000, 100_000] {
        let connection = table("");
        let bytes = [&vec![0xFF; before], &b" dough"[..]].concat();
        insert_bytes(&connection, &bytes);
        for shown in ["highlight(t, 0, '<', '>')", "snippet(t, 0, '<', '>', '', 3)"] {
            let sql = format!("SELECT CAST({shown} AS BLOB) FROM t WHERE t MATCH '\"=dough\"'");
            let text: Vec<u8> = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            let text: Vec<u8> = text.into_iter().filter(|it| !b"<>".contains(it)).collect();
            assert!(bytes.ends_with(&text), "{shown} after {before}");
        }
    }
}

#[test]
fn highlight_marks_word_positions() {
    let connection = table("");
    insert_bytes(&connection, "Die Bäckerei: kneading 東京都, C++!".as_bytes());
    for (expression, shown) in [
        ("\"=backerei\"", "Die [Bäckerei]: kneading 東京都, C++!"),
        ("\"=kneading\"", "Die Bäckerei: [kneading] 東京都, C++!"),
        ("\"c++\"", "Die Bäckerei: kneading 東京都, [C++]!"),
        ("\"京 都\"", "Die Bäckerei: kneading 東[京都], C++!"),
    ] {
        let sql = "SELECT highlight(t, 0, '[', ']') FROM t WHERE t MATCH ?1";
        let text: String = connection.query_row(sql, [expression], |row| row.get(0)).unwrap();
        assert_eq!(text, shown);
    }
}

#[test]
fn arbitrary_bytes_can_be_stored_shown_and_deleted() {
    let connection = table("");
    let mut rng = 1_u32;
    let mut next = || {
        rng = rng.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        rng.to_be_bytes()
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
        insert_bytes(&connection, &bytes);
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
    assert_eq!(stored_tokens(&connection), []);
}

#[test]
fn huge_text_is_indexed() {
    let pieces = ["a", "aB", "東", "é", "\0", "x ", "C++", "ab\u{301}", "𠀀"];
    for piece in pieces {
        let connection = table(", content = ''");
        let mut text = piece.repeat(2_000_000 / piece.len());
        text.push_str(" needle");
        insert_bytes(&connection, text.as_bytes());
        assert_eq!(count_matches(&connection, "\"=needle\"").unwrap(), 1, "{piece:?}");
    }
}

#[test]
fn query_matches_tokens_not_words() {
    let connection = table("");
    insert_bytes(&connection, "Kneading fooBar 東京都".as_bytes());
    for (expression, found) in [
        ("\"=knead\"", 0),
        ("\"kneading\"", 0),
        ("\"=kneading\"", 1),
        ("\"=KNEADING\"", 0),
        ("\"=kneading =foo\"", 1),
        ("\"=knead\u{1}=kneading =foo\"", 1),
        ("\"=kneading  =foo =bar\"", 1),
        ("\"=kneading,=foo\"", 0),
        ("\"=foobar\"", 1),
        ("\"=fooBar\"", 0),
        ("\"東京\"", 1),
        ("\"東京都\"", 0),
        ("\"=kneadi\" *", 1),
        ("\"kne\" *", 0),
        ("\"=kneading =fo\" *", 1),
        ("\"=kne fo\" *", 0),
        ("\" \"", 0),
        ("\"\"", 0),
    ] {
        assert_eq!(count_matches(&connection, expression).unwrap(), found, "{expression}");
    }
}

#[test]
fn tokenizer_ignores_options_across_table_lifetimes() {
    let connection = Connection::open_in_memory().unwrap();
    register(&connection).unwrap();
    for number in 0..20 {
        let sql = format!(
            "CREATE VIRTUAL TABLE t USING fts5 (a, tokenize = 'vademecum option {number}');
             INSERT INTO t (a) VALUES ('kneading');"
        );
        connection.execute_batch(&sql).unwrap();
        assert_eq!(count_matches(&connection, "\"=kneading\"").unwrap(), 1);
        connection.execute_batch("DROP TABLE t").unwrap();
    }
}
