//! The memory of MemPalace: the store of its texts (`chroma.sqlite3`) and its graph
//! (`knowledge_graph.db`).
//!
//! Most texts are copies of files and of sessions, which are imported themselves. Only those without a
//! file are notes.

use std::collections::BTreeMap;

use serde_json::Value;
use vademecum_model::SourceName;

use super::{
    graph::Graph,
    memory_note::{MemoryNote, first_text, time_at},
};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    sqlite_image::{has_table, read_rows},
    text::json::{id_at, text_at},
};

/// The memory of MemPalace.
#[derive(Debug)]
pub(crate) struct MemPalace;

impl Format for MemPalace {
    fn id(&self) -> &'static str {
        "mem_palace"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "memory of MemPalace (chroma.sqlite3, knowledge_graph.db)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let names = ["chroma.sqlite3", "knowledge_graph.db"];
        sample.is_database(&names, &["embedding_metadata", "string_value"])
            || sample.is_database(&[], &["triples", "subject", "predicate"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let database = input.database()?;
        let mut parsed = ParsedFormat::default();
        if has_table(&database, "triples") {
            let mut graph = Graph::default();
            for row in read_rows(&database, "SELECT * FROM triples ORDER BY rowid", None)? {
                let (from, to) = (first_text(&row, &["/subject"]), first_text(&row, &["/object"]));
                let ended = first_text(&row, &["/valid_to"]);
                let until = if ended.is_empty() { ended } else { format!(" (until {ended})") };
                if from.is_empty() || to.is_empty() {
                    parsed
                        .add_problem(format!("triple `{}`", id_at(&row, "/id")), "it has no ends");
                } else {
                    graph.add_relation(&from, text_at(&row, "/predicate"), &to, &until);
                }
            }
            graph.add_notes("mempalace", &mut parsed);
            parsed.bind_to_file(input);
            return parsed.or_empty("it has no triples");
        }
        let mut texts: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        let sql = "SELECT id, key, string_value, int_value, float_value FROM embedding_metadata ORDER BY id";
        for row in read_rows(&database, sql, None)? {
            let values = ["string_value", "int_value", "float_value"].map(|name| row.get(name));
            let value = values.into_iter().flatten().find(|value| !value.is_null());
            let fields = texts.entry(id_at(&row, "/id")).or_default();
            fields.insert(text_at(&row, "/key").to_owned(), value.cloned().unwrap_or(Value::Null));
        }
        // Other programs have such a store, too.
        if !texts.values().any(|fields| fields.contains_key("wing")) {
            return Err(FormatError::new("it is a Chroma store of another program"));
        }
        let mut copies = 0;
        for (id, fields) in texts {
            let row = Value::Object(fields.into_iter().collect());
            if text_at(&row, "/source_file").is_empty() {
                add_text(&mut parsed, &id, &row);
            } else {
                copies += 1;
            }
        }
        parsed.add_count(copies, "text", "copied from a file; import the file");
        parsed.or_empty("it has no texts")
    }
}

fn add_text(parsed: &mut ParsedFormat, id: &str, row: &Value) {
    let text = text_at(row, "/chroma:document");
    if text.trim().is_empty() {
        return parsed.add_problem(format!("text {id}"), "it has no text");
    }
    let created_at = time_at(row, &["/filed_at", "/created_at"]);
    let note = MemoryNote {
        blocks: vec![text.to_owned()],
        tags: ["/room", "/hall"].map(|path| text_at(row, path).to_owned()).into(),
        project: text_at(row, "/wing").to_owned(),
        created_at,
        ..MemoryNote::default()
    };
    let time = created_at.map(|it| it.to_string()).unwrap_or_default();
    let name = crate::digest("mempalace", [text.as_bytes(), time.as_bytes()]);
    let name: String = name.chars().take(16).collect();
    parsed.add_note(format!("mempalace:{name}"), note.into_draft(), "Memory");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::tests::{detects, notes, parse},
        sqlite_image::tests::database,
    };

    #[test]
    fn texts_without_file_are_notes() {
        let bytes = database(
            "CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT,
                 int_value INTEGER, float_value REAL);
             INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'Use straw.', NULL, NULL),
                 (1, 'wing', 'garden', NULL, NULL), (1, 'room', 'soil', NULL, NULL),
                 (1, 'filed_at', '2026-01-05T10:00:00', NULL, NULL),
                 (2, 'chroma:document', 'fn main', NULL, NULL), (2, 'source_file', 'a.rs', NULL, NULL),
                 (3, 'wing', 'empty', NULL, NULL);",
        );
        assert!(detects(&MemPalace, "/a.sqlite3", &bytes));
        let parsed = parse(&MemPalace, "/chroma.sqlite3", &bytes);
        let found = notes(&parsed);
        assert_eq!((found.len(), found[0].title.as_str()), (1, "Use straw."));
        assert_eq!(
            (found[0].folders.join("/"), found[0].tags.join(",")),
            ("garden".to_owned(), "soil".to_owned())
        );
        assert_eq!(parsed.problems.len(), 2);
    }

    #[test]
    fn triples_are_linked_notes() {
        let bytes = database(
            "CREATE TABLE triples (id TEXT, subject TEXT, predicate TEXT, object TEXT, valid_to TEXT);
             INSERT INTO triples VALUES ('t', 'Ada', 'waters', 'Bed 7', '2026-01'), ('u', '', '', '', '');",
        );
        let parsed = parse(&MemPalace, "/knowledge_graph.db", &bytes);
        assert!(parsed.drafts[0].origin.starts_with("file:/knowledge_graph.db#"), "{parsed:?}");
        assert_eq!(notes(&parsed)[0].content, "## Relations\n\n- waters [[Bed 7]] (until 2026-01)");
        assert_eq!(parsed.problems.len(), 1);
    }
}
