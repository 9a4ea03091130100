//! The memory of engram: its database, or its export as JSON. Deleted rows are left out.

use serde_json::Value;
use vademecum_model::SourceName;

use super::memory_note::{MemoryNote, time_at};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    sqlite_image::{is_database, read_rows},
    text::json::{id_at, list_at, parse_entry, text_at},
};

/// The memory of engram.
#[derive(Debug)]
pub(crate) struct Engram;

impl Format for Engram {
    fn id(&self) -> &'static str {
        "engram"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "memory of engram (engram.db, .json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_database(&["engram.db"], &["observations", "topic_key"])
            || sample.is_json_with(&["observations", "topic_key"])
            || sample.is_json_with(&["observations", "sessions", "exported_at"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let rows = if is_database(input.bytes) {
            read_rows(&input.database()?, "SELECT * FROM observations ORDER BY id", None)?
        } else {
            let text = input.text()?;
            let export: Value = parse_entry(&text).map_err(FormatError::new)?;
            list_at(&export, "/observations").to_vec()
        };
        let mut parsed = ParsedFormat::default();
        let mut deleted = 0;
        for row in &rows {
            if text_at(row, "/deleted_at").is_empty() {
                add_observation(&mut parsed, row);
            } else {
                deleted += 1;
            }
        }
        parsed.add_count(deleted, "observation", "deleted in engram");
        parsed.or_empty("it has no observations")
    }
}

fn add_observation(parsed: &mut ParsedFormat, row: &Value) {
    let (project, shared) = (text_at(row, "/project"), id_at(row, "/sync_id"));
    let origin = match shared.as_str() {
        "" => format!("engram:{project}:{}-{}", text_at(row, "/created_at"), id_at(row, "/id")),
        shared => format!("engram:{shared}"),
    };
    let tags = ["/type", "/scope", "/topic_key"].map(|path| text_at(row, path).to_owned());
    let note = MemoryNote {
        title: text_at(row, "/title").to_owned(),
        blocks: vec![text_at(row, "/content").to_owned()],
        tags: tags.into(),
        project: project.to_owned(),
        created_at: time_at(row, &["/created_at"]),
        modified_at: time_at(row, &["/updated_at"]),
    };
    parsed.add_note(origin, note.into_draft(), "Observation");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::tests::{detects, notes, parse},
        sqlite_image::tests::database,
    };

    #[test]
    fn observations_are_notes_and_deleted_ones_counted() {
        let bytes = database(
            "CREATE TABLE observations (id INTEGER, type TEXT, title TEXT, content TEXT, project TEXT,
                 scope TEXT, topic_key TEXT, created_at TEXT, updated_at TEXT, deleted_at TEXT);
             INSERT INTO observations VALUES (1, 'decision', 'Mulch', 'Use straw.', 'garden', 'project',
                 'soil/mulch', '2026-01-05 10:00:00', '2026-01-06 10:00:00', NULL),
                 (2, 'note', 'Old', 'x', 'garden', '', '', '2026-01-05', '', '2026-01-07');",
        );
        assert!(detects(&Engram, "/a.db", &bytes));
        let parsed = parse(&Engram, "/engram.db", &bytes);
        let found = notes(&parsed);
        assert_eq!(parsed.drafts[0].origin, "engram:garden:2026-01-05 10:00:00-1");
        assert_eq!((found.len(), found[0].content.as_str()), (1, "Use straw."));
        assert_eq!(found[0].tags, ["decision", "project", "soil/mulch"]);
        assert_eq!(found[0].modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
        assert_eq!(parsed.problems[0].to_string(), "1 observation: deleted in engram");
        let export = r#"{"sessions": [], "observations": [{"sync_id": "o", "topic_key": "", "title": "A", "content": "B"}]}"#;
        assert!(detects(&Engram, "/a.json", export));
        assert_eq!(parse(&Engram, "/a.json", export).drafts[0].origin, "engram:o");
    }
}
