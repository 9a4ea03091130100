//! Character cards as JSON files.

use vademecum_kit::model::{Body, CharacterDraft, Draft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, card, digest::digest, outline::Outline,
};

/// Goes up when the same card makes another character than before.
const VERSION: &str = "characters/2";

/// Reads character cards.
#[derive(Debug)]
pub(super) struct Characters;

impl Importer for Characters {
    fn source(&self) -> SourceName {
        SourceName::Characters
    }

    fn format(&self) -> &'static str {
        "character cards V1 to V3 (.json)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        if !glance.ends_in(&["json"]) {
            return Fit::No;
        }
        let outline = Outline::of(glance);
        let says_so = outline.spec().is_some_and(|spec| spec.starts_with("chara_card"))
            || !outline.is_list && card::is_bare(|names| outline.has(names));
        // A lorebook is none, and that is said rather than passed by.
        let is_lorebook = outline.spec().is_some_and(|spec| spec.starts_with("lorebook"))
            || outline.has(&["entries"]) && outline.has(&["scanDepth", "tokenBudget"]);
        Fit::Content.when(says_so).max(Fit::Name.when(is_lorebook)).max(Fit::Maybe)
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let read = card::character(&file.text()?);
        let character =
            read.map_err(|cause| ImportError::Card { path: file.path.clone(), cause })?;
        Ok(draft(file, character).into())
    }
}

/// The draft of a character that is the whole file.
pub(super) fn draft(file: &SourceFile, mut character: CharacterDraft) -> Draft {
    character.modified_at = character.modified_at.or(file.modified);
    Draft {
        origin: file.origin(),
        digest: digest(VERSION, [file.bytes.as_slice()]),
        id: None,
        body: Body::Character(Box::new(character)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::glance::tests::glance;

    /// Reads one character, or says why there is none.
    pub(crate) fn read(
        importer: &dyn Importer,
        path: &str,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(CharacterDraft, Reading), String> {
        let file = SourceFile::example(path, bytes);
        let reading = importer.read(&file).map_err(|error| error.to_string())?;
        let Body::Character(character) = reading.drafts[0].body.clone() else {
            panic!("not a character")
        };
        Ok((*character, reading))
    }

    const V2: &str = r#"{"spec": "chara_card_v2", "data": {"name": "Two"}}"#;

    #[test]
    fn a_card_is_read_from_json() {
        let (character, reading) = read(&Characters, "/a.json", format!("\u{feff}{V2}")).unwrap();
        assert_eq!(character.name, "Two");
        assert_eq!(reading.drafts[0].origin, "file:/a.json");
        assert!(character.image.is_none());
    }

    #[test]
    fn a_card_is_known_by_its_fields() {
        let fit = |json: &str| Characters.recognise(&glance("a.json", json));
        assert_eq!(fit(V2), Fit::Content);
        let long = "x".repeat(20_000);
        let late = format!(r#"{{"name": "A", "description": "{long}", "first_mes": "Hi"}}"#);
        assert_eq!(fit(&late), Fit::Content);
        let late = format!(r#"{{"data": {{"name": "{long}"}}, "spec": "chara_card_v3"}}"#);
        assert_eq!(fit(&late), Fit::Content);
        assert_eq!(fit(r#"{"char_name": "A", "char_persona": "B"}"#), Fit::Content);
        assert_eq!(fit(r#"{"spec": "lorebook_v3", "data": {"entries": []}}"#), Fit::Name);
        assert_eq!(fit(r#"{"entries": {}, "scanDepth": 2}"#), Fit::Name);
        for other in ["{}", r#"{"name": "package", "description": "x"}"#, "{ invalid"] {
            assert_eq!(fit(other), Fit::Maybe, "{other}");
        }
        assert_eq!(Characters.recognise(&glance("a.txt", V2)), Fit::No);
    }

    #[test]
    fn what_is_no_card_is_refused_with_the_reason() {
        let refused = |bytes: &[u8]| read(&Characters, "/a.json", bytes).unwrap_err();
        assert!(refused(b"{ invalid").contains("not valid JSON"));
        assert!(refused(b"\0").contains("is no text"));
    }
}
