//! Bookmarks of Linkwarden as JSON: collections with links.

use std::collections::HashMap;

use serde_json::Value;
use vademecum_model::SourceName;

use super::entry::ReadingEntry;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        json::{id_at, list_at, parse_entry, text_at},
    },
};

/// Maximum number of collections in one another whose names are kept.
const MAX_FOLDERS: usize = 64;

/// Bookmarks of Linkwarden.
#[derive(Debug)]
pub(crate) struct Linkwarden;

impl Format for Linkwarden {
    fn id(&self) -> &'static str {
        "linkwarden"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "bookmarks of Linkwarden (.json)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.is_json_with(&["collections", "parentId", "links"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let export: Value = parse_entry(&text).map_err(FormatError::new)?;
        let collections = list_at(&export, "/collections");
        let known: HashMap<String, &Value> =
            collections.iter().map(|it| (id_at(it, "/id"), it)).collect();
        let mut parsed = ParsedFormat::default();
        for collection in collections {
            let folders = path(collection, &known);
            for link in list_at(collection, "/links") {
                parsed.add_entry(entry(link, &folders));
            }
        }
        parsed.or_empty("it has no links")
    }
}

fn path(collection: &Value, known: &HashMap<String, &Value>) -> Vec<String> {
    let (mut names, mut next) = (Vec::new(), Some(collection));
    while let Some(it) = next.filter(|_| names.len() < MAX_FOLDERS) {
        names.push(text_at(it, "/name").to_owned());
        next = known.get(&id_at(it, "/parentId")).copied();
    }
    names.reverse();
    names
}

fn entry(link: &Value, folders: &[String]) -> ReadingEntry {
    let (name, url) = (text_at(link, "/name"), text_at(link, "/url"));
    let tags = list_at(link, "/tags").iter().map(|tag| text_at(tag, "/name").to_owned());
    ReadingEntry {
        origin: format!("linkwarden:{}", id_at(link, "/id")),
        title: if name.is_empty() { url } else { name }.to_owned(),
        url: url.to_owned(),
        media_type: "bookmark",
        folders: folders.to_vec(),
        tags: tags.filter(|tag| !tag.is_empty()).collect(),
        note: text_at(link, "/description").to_owned(),
        text: text_at(link, "/textContent").to_owned(),
        created_at: datetime::parse_text(text_at(link, "/createdAt")),
        modified_at: datetime::parse_text(text_at(link, "/updatedAt")),
        ..ReadingEntry::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    #[test]
    fn link_keeps_collection_tags_and_text() {
        let json = r#"{"collections": [
            {"id": 1, "name": "Food", "parentId": null, "links": []},
            {"id": 2, "name": "Bread", "parentId": 1, "links": [{"id": 5, "name": "Rye",
             "url": "https://example.org", "description": "Mine", "textContent": "Rye rises.",
             "createdAt": "2026-01-05T10:00:00.000Z", "tags": [{"name": "a"}]}]}]}"#;
        assert!(detects(&Linkwarden, "/a.json", json));
        let parsed = parse(&Linkwarden, "/a.json", json);
        assert_eq!(parsed.drafts[0].origin, "linkwarden:5");
        let found = documents(&parsed)[0];
        assert_eq!((found.title.as_str(), found.tags.clone()), ("Rye", vec!["a".to_owned()]));
        assert_eq!(
            found.content,
            "Mine\n\nRye rises.\n\nAddress: https://example.org\nFolder: Food / Bread"
        );
    }

    #[test]
    fn circle_of_collections_ends() {
        let json = r#"{"collections": [{"id": 1, "name": "a", "parentId": 1, "links": [{"id": 2, "url": "b"}]}]}"#;
        assert_eq!(parse(&Linkwarden, "/a.json", json).drafts.len(), 1);
        assert!(try_parse(&Linkwarden, "/a.json", "{}").is_err());
    }
}
