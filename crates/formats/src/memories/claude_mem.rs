//! The memory of claude-mem: its database, or its export as JSON.

use serde_json::Value;
use vademecum_model::SourceName;

use super::memory_note::{MemoryNote, first_text, list, text_list, time_at};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    sqlite_image::{has_table, is_database, read_rows},
    text::json::{id_at, list_at, parse_entry, text_at},
};

/// Fields of a summary that are blocks of its note, with their headings.
const SUMMARY_FIELDS: [(&str, &str); 6] = [
    ("/request", "Request"),
    ("/investigated", "Investigated"),
    ("/learned", "Learned"),
    ("/completed", "Completed"),
    ("/next_steps", "Next steps"),
    ("/notes", "Notes"),
];

/// The memory of claude-mem.
#[derive(Debug)]
pub(crate) struct ClaudeMem;

impl Format for ClaudeMem {
    fn id(&self) -> &'static str {
        "claude_mem"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "memory of claude-mem (claude-mem.db, .json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_database(&["claude-mem.db"], &["sdk_sessions", "session_summaries"])
            || sample.is_json_with(&["observations", "narrative", "facts", "project"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let (observations, summaries, prompts) = if is_database(input.bytes) {
            let database = input.database()?;
            let rows = |table: &str, sql: &str| {
                if has_table(&database, table) {
                    read_rows(&database, sql, None)
                } else {
                    Ok(Vec::new())
                }
            };
            if !has_table(&database, "observations") {
                return Err(FormatError::new("it has no table `observations`"));
            }
            (
                rows("observations", "SELECT * FROM observations ORDER BY id")?,
                rows("session_summaries", "SELECT * FROM session_summaries ORDER BY id")?,
                rows("user_prompts", "SELECT id FROM user_prompts")?.len(),
            )
        } else {
            let text = input.text()?;
            let export: Value = parse_entry(&text).map_err(FormatError::new)?;
            let of = |path| list_at(&export, path).to_vec();
            (of("/observations"), of("/summaries"), list_at(&export, "/prompts").len())
        };
        let mut parsed = ParsedFormat::default();
        for row in &observations {
            add_observation(&mut parsed, row);
        }
        for row in &summaries {
            add_summary(&mut parsed, row);
        }
        parsed.add_count(prompts, "prompt", "they are in the sessions of the agent");
        parsed.or_empty("it has no observations")
    }
}

/// Returns the origin of a row: its number counts in one database only, and so has its time beside it.
fn origin(kind: &str, row: &Value) -> String {
    format!("claude-mem:{kind}:{}-{}", id_at(row, "/created_at_epoch"), id_at(row, "/id"))
}

fn add_observation(parsed: &mut ParsedFormat, row: &Value) {
    let files = [text_list(row, "/files_read"), text_list(row, "/files_modified")].concat();
    let mut tags = vec![text_at(row, "/type").to_owned()];
    tags.extend(text_list(row, "/concepts"));
    let note = MemoryNote {
        title: text_at(row, "/title").to_owned(),
        blocks: vec![
            text_at(row, "/subtitle").to_owned(),
            first_text(row, &["/narrative", "/text"]),
            list("Facts", &text_list(row, "/facts")),
            list("Files", &files),
        ],
        tags,
        project: text_at(row, "/project").to_owned(),
        created_at: time_at(row, &["/created_at_epoch", "/created_at"]),
        ..MemoryNote::default()
    };
    parsed.add_note(origin("observation", row), note.into_draft(), "Observation");
}

fn add_summary(parsed: &mut ParsedFormat, row: &Value) {
    let block = |(path, heading): &(&str, &str)| {
        let text = text_at(row, path).trim();
        if text.is_empty() { String::new() } else { format!("## {heading}\n\n{text}") }
    };
    let note = MemoryNote {
        title: text_at(row, "/request").lines().next().unwrap_or_default().to_owned(),
        blocks: SUMMARY_FIELDS.iter().map(block).collect(),
        tags: vec!["summary".to_owned()],
        project: text_at(row, "/project").to_owned(),
        created_at: time_at(row, &["/created_at_epoch", "/created_at"]),
        ..MemoryNote::default()
    };
    parsed.add_note(origin("summary", row), note.into_draft(), "Summary of a session");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        format::tests::{detects, notes, parse, try_parse},
        sqlite_image::tests::database,
    };

    pub(in crate::memories) const SQL: &str = "
        CREATE TABLE sdk_sessions (id INTEGER);
        CREATE TABLE observations (id INTEGER, type TEXT, title TEXT, subtitle TEXT, narrative TEXT,
            facts TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, project TEXT,
            created_at_epoch INTEGER);
        CREATE TABLE session_summaries (id INTEGER, request TEXT, learned TEXT, project TEXT,
            created_at_epoch INTEGER);
        CREATE TABLE user_prompts (id INTEGER, prompt_text TEXT);
        INSERT INTO observations VALUES (1, 'bugfix', 'Pump leaks', 'A seal', 'The seal was dry.',
            '[\"12 mm\"]', '[\"pump\"]', '[\"a.rs\"]', 'oh', 'garden', 1767607200000);
        INSERT INTO session_summaries VALUES (2, 'Mend the pump', 'Seals dry out.', 'garden', 1767607260000);
        INSERT INTO user_prompts VALUES (3, 'Mend it');";

    #[test]
    fn observations_and_summaries_are_notes() {
        let bytes = database(SQL);
        assert!(detects(&ClaudeMem, "/a.db", &bytes));
        let parsed = parse(&ClaudeMem, "/claude-mem.db", &bytes);
        let found = notes(&parsed);
        assert_eq!(parsed.drafts[0].origin, "claude-mem:observation:1767607200000-1");
        assert_eq!(
            found[0].content,
            "A seal\n\nThe seal was dry.\n\n## Facts\n\n- 12 mm\n\n## Files\n\n- a.rs\n- oh"
        );
        assert_eq!(found[0].tags, ["bugfix", "pump"]);
        assert_eq!(
            (found[0].folders.join("/"), found[1].title.as_str()),
            ("garden".to_owned(), "Mend the pump")
        );
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert_eq!(parsed.problems[0].place, "1 prompt");
    }

    #[test]
    fn export_is_read_and_other_databases_fail() {
        let export = r#"{"observations": [{"id": 1, "narrative": "Dry.", "facts": ["x"],
            "project": "garden", "title": "Pump", "created_at_epoch": 1767607200000}]}"#;
        assert!(detects(&ClaudeMem, "/a.json", export));
        assert_eq!(
            notes(&parse(&ClaudeMem, "/a.json", export))[0].content,
            "Dry.\n\n## Facts\n\n- x"
        );
        let error = try_parse(&ClaudeMem, "/a.db", database("CREATE TABLE a (b)")).unwrap_err();
        assert_eq!(error.to_string(), "it has no table `observations`");
    }
}
