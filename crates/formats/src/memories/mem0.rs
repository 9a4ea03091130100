//! The memory of mem0: an export as JSON, or the history of changes of a local store (`history.db`), of
//! which the last change of each memory counts.

use std::collections::BTreeMap;

use serde_json::Value;
use vademecum_model::SourceName;

use super::memory_note::{MemoryNote, first_text, text_list, time_at};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    sqlite_image::{is_database, read_rows},
    text::json::{id_at, list_at, parse_entry, text_at},
};

/// The memory of mem0.
#[derive(Debug)]
pub(crate) struct Mem0;

impl Format for Mem0 {
    fn id(&self) -> &'static str {
        "mem0"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "memory of mem0 (history.db, .json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_database(&[], &["memory_id", "old_memory", "new_memory"])
            || sample.is_json_with(&["id", "memory", "user_id", "created_at"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let mut parsed = ParsedFormat::default();
        let mut memories: BTreeMap<String, Value> = BTreeMap::new();
        if is_database(input.bytes) {
            let sql = "SELECT * FROM history ORDER BY coalesce(updated_at, created_at), rowid";
            for row in read_rows(&input.database()?, sql, None)? {
                memories.insert(id_at(&row, "/memory_id"), row);
            }
        } else {
            let text = input.text()?;
            let export: Value = parse_entry(&text).map_err(FormatError::new)?;
            let rows =
                [list_at(&export, ""), list_at(&export, "/results"), list_at(&export, "/memories")];
            memories.extend(rows.concat().into_iter().map(|row| (id_at(&row, "/id"), row)));
        }
        let mut deleted = 0;
        for (id, row) in memories {
            let text = first_text(&row, &["/memory", "/new_memory"]);
            if text_at(&row, "/event") == "DELETE"
                || row.get("is_deleted").and_then(Value::as_i64) == Some(1)
            {
                deleted += 1;
            } else if text.is_empty() {
                parsed.add_problem(format!("memory `{id}`"), "it has no text");
            } else {
                let mut tags = text_list(&row, "/categories");
                tags.extend(["/user_id", "/agent_id"].map(|path| text_at(&row, path).to_owned()));
                let note = MemoryNote {
                    blocks: vec![text],
                    tags,
                    created_at: time_at(&row, &["/created_at"]),
                    modified_at: time_at(&row, &["/updated_at"]),
                    ..MemoryNote::default()
                };
                parsed.add_note(format!("mem0:{id}"), note.into_draft(), "Memory");
            }
        }
        parsed.add_count(deleted, "record", "deleted in mem0");
        parsed.or_empty("it has no memories")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::tests::{detects, notes, parse},
        sqlite_image::tests::database,
    };

    #[test]
    fn last_change_of_a_memory_counts() {
        let bytes = database(
            "CREATE TABLE history (id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT,
                 event TEXT, created_at TEXT, updated_at TEXT, is_deleted INTEGER);
             INSERT INTO history VALUES ('1', 'm', NULL, 'Likes rye', 'ADD', '2026-01-05T10:00:00', NULL, 0),
                 ('2', 'm', 'Likes rye', 'Likes oats', 'UPDATE', '2026-01-05T10:00:00', '2026-01-06T10:00:00', 0),
                 ('3', 'n', 'x', NULL, 'DELETE', '2026-01-05T10:00:00', NULL, 1);",
        );
        assert!(detects(&Mem0, "/history.db", &bytes));
        let parsed = parse(&Mem0, "/history.db", &bytes);
        assert_eq!((notes(&parsed)[0].content.as_str(), parsed.drafts.len()), ("Likes oats", 1));
        assert_eq!(parsed.drafts[0].origin, "mem0:m");
        assert_eq!(parsed.problems[0].to_string(), "1 record: deleted in mem0");
        let export = r#"{"results": [{"id": "m", "memory": "Likes rye", "user_id": "ada",
            "categories": ["food"], "created_at": "2026-01-05T10:00:00Z"}]}"#;
        assert!(detects(&Mem0, "/a.json", export));
        assert_eq!(notes(&parse(&Mem0, "/a.json", export))[0].tags, ["food", "ada"]);
    }
}
