//! The web address of a document: that of the settings, or else the one that the document names.

use vademecum_collections::{Passage, StoredDocument};
use vademecum_core::config::UrlField;

use super::{VisibleCollection, sections::HEADING_SEPARATOR};

impl VisibleCollection {
    /// Returns the web address of a document, without the heading of a passage.
    pub fn document_url(&self, document: &StoredDocument) -> Option<String> {
        self.url_of(document, None)
    }

    /// Returns the web address of a passage.
    pub fn passage_url(&self, passage: &Passage) -> Option<String> {
        self.url_of(&passage.document, passage.section.as_deref())
    }

    fn url_of(&self, document: &StoredDocument, section: Option<&str>) -> Option<String> {
        if let Some(template) = &self.url {
            return template.fill(|field| value_of(document, section, field));
        }
        // The address is the document's own text.
        document.url.clone().filter(|url| is_web_address(url))
    }
}

fn value_of(document: &StoredDocument, section: Option<&str>, field: UrlField) -> Option<String> {
    match field {
        UrlField::Path => document_path(document),
        UrlField::Stem => {
            let path = document_path(document)?;
            let name = path.rfind('/').map_or(0, |slash| slash + 1);
            let dot = path.rfind('.').filter(|dot| *dot > name);
            Some(dot.and_then(|dot| path.get(..dot)).unwrap_or(&path).to_owned())
        }
        UrlField::Key => {
            let mut values = document.primary_key.values();
            let (value, None) = (values.next()?, values.next()) else { return None };
            Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        }
        UrlField::DocId => Some(document.doc_id.clone()),
        UrlField::Project => document.project_name.clone(),
        UrlField::Version => document.project_version.clone(),
        UrlField::Anchor => section.map(heading_anchor),
    }
}

/// Returns the path of the file below its folder.
fn document_path(document: &StoredDocument) -> Option<String> {
    document.primary_key.get("path")?.as_str().map(str::to_owned)
}

/// Returns the anchor of the innermost heading, as GitHub forms it: small letters, blanks as `-`,
/// without other signs.
fn heading_anchor(section: &str) -> String {
    let title = section.rsplit(HEADING_SEPARATOR).next().unwrap_or(section);
    let signs = title.trim().chars().flat_map(char::to_lowercase);
    let kept = signs.filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    kept.map(|sign| if sign == ' ' { '-' } else { sign }).collect()
}

fn is_web_address(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|it| ["http", "https"].iter().any(|web| it.eq_ignore_ascii_case(web)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_those_of_the_document() {
        let document = |key: serde_json::Value| StoredDocument {
            doc_id: "docs:a/Read me.v2.md".to_owned(),
            primary_key: key.as_object().cloned().unwrap_or_default(),
            project_name: Some("Oven".to_owned()),
            ..StoredDocument::default()
        };
        let file = document(json!({ "path": "a/Read me.v2.md" }));
        let row = document(json!({ "id": 7 }));
        let value = |document, field| value_of(document, Some("Bread › C++ & `Ovens_2`"), field);
        for (found, expected) in [
            (value(&file, UrlField::Path), Some("a/Read me.v2.md")),
            (value(&file, UrlField::Stem), Some("a/Read me.v2")),
            (value(&file, UrlField::Project), Some("Oven")),
            (value(&file, UrlField::Version), None),
            (value(&file, UrlField::Anchor), Some("c--ovens_2")),
            (value(&row, UrlField::Key), Some("7")),
            (value(&row, UrlField::Path), None),
            (value(&document(json!({ "path": "a.b/.env" })), UrlField::Stem), Some("a.b/.env")),
            (value(&document(json!({ "a": 1, "b": 2 })), UrlField::Key), None),
        ] {
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[test]
    fn only_web_addresses_of_documents_are_shown() {
        assert!(is_web_address("https://a.example/x") && is_web_address("HTTP://a.example"));
        for url in ["javascript:alert(1)//https://", "file:///etc/passwd", "data:text/html,x", "/a"]
        {
            assert!(!is_web_address(url), "{url}");
        }
    }
}
