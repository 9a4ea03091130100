//! Bibliographies as CSL JSON, which Zotero and Pandoc write.

use serde_json::Value;
use vademecum_model::SourceName;

use super::reference::Reference;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        json::{id_at, list_at, parse_entry, split_entries, text_at},
        keywords::split_commas,
    },
};

/// Bibliographies as CSL JSON.
#[derive(Debug)]
pub(crate) struct CslJson;

impl Format for CslJson {
    fn id(&self) -> &'static str {
        "csl_json"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "bibliographies as CSL JSON (.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.head.starts_with('[')
            && sample.is_json_with(&["id", "type", "title"])
            && (sample.head.contains("\"issued\"") || sample.head.contains("\"container-title\""))
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        for (number, json) in (1..).zip(split_entries(&text)?) {
            match parse_entry::<Value>(json.get()) {
                Ok(value) => parsed.add_entry(reference(&value).into_entry(&input.origin())),
                Err(reason) => parsed.add_problem(format!("entry {number}"), reason),
            }
        }
        parsed.or_empty("it has no entries")
    }
}

fn reference(value: &Value) -> Reference {
    let text = |path: &str| text_at(value, path).to_owned();
    let people = [list_at(value, "/author"), list_at(value, "/editor")];
    let people = people.into_iter().find(|people| !people.is_empty()).unwrap_or_default();
    Reference {
        key: id_at(value, "/id"),
        kind: text("/type"),
        title: text("/title"),
        authors: people.iter().map(person).filter(|name| !name.is_empty()).collect(),
        date: date(value),
        container: text("/container-title"),
        publisher: text("/publisher"),
        volume: id_at(value, "/volume"),
        number: id_at(value, "/issue"),
        pages: id_at(value, "/page"),
        doi: text("/DOI"),
        isbn: text("/ISBN"),
        url: text("/URL"),
        file: String::new(),
        summary: text("/abstract"),
        note: text("/note"),
        keywords: split_commas(text_at(value, "/keyword")).collect(),
    }
}

/// Returns `Family, Given`, with a particle such as `van` before the family name.
fn person(name: &Value) -> String {
    let literal = text_at(name, "/literal");
    if !literal.is_empty() {
        return literal.to_owned();
    }
    let particle = ["/non-dropping-particle", "/dropping-particle"].map(|it| text_at(name, it));
    let family = [particle[0], particle[1], text_at(name, "/family")];
    let family: Vec<&str> = family.into_iter().filter(|it| !it.is_empty()).collect();
    let given = text_at(name, "/given");
    let comma = if given.is_empty() || family.is_empty() { "" } else { ", " };
    format!("{}{comma}{given}", family.join(" "))
}

fn date(value: &Value) -> String {
    let parts = list_at(value, "/issued/date-parts").first().and_then(Value::as_array);
    let parts = parts.into_iter().flatten().filter_map(|part| match part {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    });
    let parts: Vec<String> = parts.map(|part| format!("{part:02}")).collect();
    let stated = ["/issued/raw", "/issued/literal"].map(|path| text_at(value, path));
    let stated = stated.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
    if parts.is_empty() { stated.to_owned() } else { parts.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    #[test]
    fn entry_keeps_all_fields() {
        let json = r#"[{"id": "k1", "type": "article-journal", "title": "Rye bread", "DOI": "10.1/X",
            "author": [{"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"},
                       {"literal": "Bakers"}], "issued": {"date-parts": [["2026", 2]]},
            "container-title": "Flour", "volume": 3, "page": "1-9", "abstract": "It rises.",
            "keyword": "bread, slow"}, 5, {"id": 2, "type": "book", "title": "Oats",
            "issued": {"literal": "forthcoming"}}]"#;
        assert!(detects(&CslJson, "/a.json", json));
        let parsed = parse(&CslJson, "/a.json", json);
        let found = documents(&parsed);
        assert_eq!(parsed.drafts[0].origin, "doi:10.1/x");
        assert_eq!(found[0].author.as_deref(), Some("van Beethoven, Ludwig; Bakers"));
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-02-01T00:00:00.000Z");
        assert_eq!(found[0].tags, ["bread", "slow"]);
        assert!(found[0].content.contains("In: Flour\nVolume: 3\nPages: 1-9"));
        assert_eq!(parsed.drafts.last().unwrap().origin, "file:/a.json#2");
        assert!(found.last().unwrap().content.contains("Published: forthcoming"));
    }

    #[test]
    fn other_list_is_rejected() {
        assert!(!detects(&CslJson, "/a.json", r#"[{"id": 1, "type": "x"}]"#));
        assert!(try_parse(&CslJson, "/a.json", "[").is_err());
    }
}
