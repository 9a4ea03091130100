//! The memory of the MCP memory server: `memory.jsonl`, before 2025 `memory.json`, with an entity or a
//! relation in each line.

use serde_json::Value;
use vademecum_model::SourceName;

use super::graph::Graph;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::json::{parse_entry, text_at, texts_at},
};

/// The memory of the MCP memory server.
#[derive(Debug)]
pub(crate) struct MemoryServer;

impl Format for MemoryServer {
    fn id(&self) -> &'static str {
        "memory_server"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "memory of the MCP memory server (memory.jsonl, memory.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let is_entity = sample.is_json_with(&["type", "name", "entityType", "observations"]);
        (is_entity || sample.is_json_with(&["type", "from", "to", "relationType"]))
            && !sample.head.starts_with('[')
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let mut graph = Graph::default();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("line {number}");
            match parse_entry::<Value>(line) {
                Ok(value) => {
                    if let Err(reason) = add_line(&mut graph, &value) {
                        parsed.add_problem(place, reason);
                    }
                }
                Err(reason) => parsed.add_problem(place, reason),
            }
        }
        graph.add_notes("memory", &mut parsed);
        parsed.bind_to_file(input);
        parsed.or_empty("it has no entities")
    }
}

fn add_line(graph: &mut Graph, line: &Value) -> Result<(), &'static str> {
    let field = |path: &str| Some(text_at(line, path).trim()).filter(|text| !text.is_empty());
    match text_at(line, "/type") {
        "entity" => {
            let name = field("/name").ok_or("the entity has no name")?;
            graph.add_entity(name, text_at(line, "/entityType"), texts_at(line, "/observations"));
        }
        "relation" => {
            let (from, to) = field("/from").zip(field("/to")).ok_or("the relation has no ends")?;
            graph.add_relation(from, text_at(line, "/relationType"), to, "");
        }
        _ => return Err("it is neither an entity nor a relation"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    #[test]
    fn entities_are_notes_and_relations_links() {
        let text = concat!(
            r#"{"type":"entity","name":"Ada","entityType":"person","observations":["grows rye"]}"#,
            "\n",
            r#"{"type":"relation","from":"Ada","to":"Bed 7","relationType":"waters"}"#,
            "\n{\"type\":\"entity\"}\n{\n",
            r#"{"type":"entity","name":"Ada","entityType":"person","observations":["lives in Bern","grows rye"]}"#,
        );
        assert!(detects(&MemoryServer, "/memory.json", text));
        let parsed = parse(&MemoryServer, "/memory.json", text);
        let found = notes(&parsed);
        assert_eq!(parsed.drafts[0].body.former_origin(), Some("memory:Ada"));
        assert!(parsed.drafts[0].origin.starts_with("file:/memory.json#"), "{parsed:?}");
        let other = parse(&MemoryServer, "/work/memory.json", text);
        assert_ne!(other.drafts[0].origin, parsed.drafts[0].origin, "a memory of its own");
        assert_eq!(other.drafts[0].digest, parsed.drafts[0].digest);
        assert_eq!(
            found[0].content,
            "- grows rye\n- lives in Bern\n\n## Relations\n\n- waters [[Bed 7]]"
        );
        assert_eq!(
            (found[0].tags.join(","), found[1].title.as_str()),
            ("person".to_owned(), "Bed 7")
        );
        let problems: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 2);
        assert_eq!(problems[0], "line 3: the entity has no name");
        assert!(try_parse(&MemoryServer, "/memory.json", "").is_err());
    }
}
