//! Character cards as JSON files.

use vademecum_model::{CharacterDraft, Draft, DraftBody, SourceName};

use super::card;
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    detection::json_shape::JsonShape, digest,
};

/// Version of the importer; increment when the same card produces a different character.
const VERSION: &str = "characters/2";

/// Importer of character cards in JSON.
#[derive(Debug)]
pub(crate) struct CharacterImporter;

impl Importer for CharacterImporter {
    fn source(&self) -> SourceName {
        SourceName::Characters
    }

    fn format_name(&self) -> &'static str {
        "character cards V1 to V3 (.json)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        if !probe.has_extension(&["json"]) {
            return Confidence::NoMatch;
        }
        let outline = JsonShape::probe(probe);
        let says_so = outline.spec().is_some_and(|spec| spec.starts_with("chara_card"))
            || !outline.is_list && card::is_bare_card(|names| outline.has_any_field(names));
        // A lorebook is accepted here so that it is reported as such instead of being ignored.
        let is_lorebook = outline.spec().is_some_and(|spec| spec.starts_with("lorebook"))
            || outline.has_any_field(&["entries"])
                && outline.has_any_field(&["scanDepth", "tokenBudget"]);
        Confidence::ByContent
            .when(says_so)
            .max(Confidence::ByName.when(is_lorebook))
            .max(Confidence::Possible)
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let read = card::parse_card(&file.text()?);
        let character =
            read.map_err(|cause| ImportError::Card { path: file.path.clone(), cause })?;
        Ok(to_draft(file, character).into())
    }
}

/// Returns the draft of a character that is the whole file.
pub(super) fn to_draft(file: &SourceFile, mut character: CharacterDraft) -> Draft {
    character.modified_at = character.modified_at.or(file.modified);
    Draft {
        origin: file.origin(),
        digest: digest(VERSION, [file.bytes.as_slice()]),
        id: None,
        body: DraftBody::Character(Box::new(character)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::detection::file_probe::tests::probe_file;

    /// Reads one character, or returns the error message.
    pub(crate) fn read_character(
        importer: &dyn Importer,
        path: &str,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(CharacterDraft, ParsedFile), String> {
        let file = SourceFile::in_memory(path, bytes);
        let reading = importer.parse(&file).map_err(|error| error.to_string())?;
        let DraftBody::Character(character) = reading.drafts[0].body.clone() else {
            panic!("not a character")
        };
        Ok((*character, reading))
    }

    const V2: &str = r#"{"spec": "chara_card_v2", "data": {"name": "Two"}}"#;

    #[test]
    fn a_card_is_read_from_json() {
        let (character, reading) =
            read_character(&CharacterImporter, "/a.json", format!("\u{feff}{V2}")).unwrap();
        assert_eq!(character.name, "Two");
        assert_eq!(reading.drafts[0].origin, "file:/a.json");
        assert!(character.image.is_none());
    }

    #[test]
    fn card_is_detected_by_fields() {
        let fit = |json: &str| CharacterImporter.detect(&probe_file("a.json", json));
        assert_eq!(fit(V2), Confidence::ByContent);
        let long = "x".repeat(20_000);
        let late = format!(r#"{{"name": "A", "description": "{long}", "first_mes": "Hi"}}"#);
        assert_eq!(fit(&late), Confidence::ByContent);
        let late = format!(r#"{{"data": {{"name": "{long}"}}, "spec": "chara_card_v3"}}"#);
        assert_eq!(fit(&late), Confidence::ByContent);
        assert_eq!(fit(r#"{"char_name": "A", "char_persona": "B"}"#), Confidence::ByContent);
        assert_eq!(fit(r#"{"spec": "lorebook_v3", "data": {"entries": []}}"#), Confidence::ByName);
        assert_eq!(fit(r#"{"entries": {}, "scanDepth": 2}"#), Confidence::ByName);
        for other in ["{}", r#"{"name": "package", "description": "x"}"#, "{ invalid"] {
            assert_eq!(fit(other), Confidence::Possible, "{other}");
        }
        assert_eq!(CharacterImporter.detect(&probe_file("a.txt", V2)), Confidence::NoMatch);
    }

    #[test]
    fn invalid_card_is_rejected_with_reason() {
        let refused =
            |bytes: &[u8]| read_character(&CharacterImporter, "/a.json", bytes).unwrap_err();
        assert!(refused(b"{ invalid").contains("not valid JSON"));
        assert!(refused(b"\0").contains("is not text"));
    }
}
