//! Character cards: JSON files, and PNG pictures with a card inside.

use vademecum_kit::model::{Body, CharacterDraft, Draft, SourceName};

use super::{
    CardError, Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile, card,
    digest::digest, picture,
};

/// Goes up when the same card makes another character than before.
const VERSION: &str = "characters/1";

/// Reads character cards.
#[derive(Debug)]
pub(super) struct Characters;

impl Importer for Characters {
    fn source(&self) -> SourceName {
        SourceName::Characters
    }

    fn format(&self) -> &'static str {
        "character cards V1 to V3 (.json, .png)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let says_so = glance.ends_in(&["json"]) && glance.opening().contains("\"chara_card_v");
        Fit::Content.when(says_so).max(Fit::Maybe.when(glance.ends_in(&["json", "png"])))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let refused = |cause| ImportError::Card { path: file.path.clone(), cause };
        let (mut character, problems) = if file.ends_in(&["png"]) {
            pictured(&file.bytes).map_err(refused)?
        } else {
            (card::character(&file.text()?).map_err(refused)?, Vec::new())
        };
        character.modified_at = character.modified_at.or(file.modified);
        let draft = Draft {
            origin: file.origin(),
            digest: digest(VERSION, [file.bytes.as_slice()]),
            id: None,
            body: Body::Character(Box::new(character)),
        };
        Ok(Reading { drafts: vec![draft], problems })
    }
}

/// The first card in a picture that can be read, and what is wrong with
/// those before it.
fn pictured(png: &[u8]) -> Result<(CharacterDraft, Vec<Problem>), CardError> {
    let mut first_error = None;
    let mut problems = Vec::new();
    for chunk in picture::cards(png)? {
        match chunk.text.and_then(|text| card::character(&text)) {
            Ok(character) => {
                return Ok((CharacterDraft { image: Some(png.to_vec()), ..character }, problems));
            }
            Err(error) => {
                let place = format!("text chunk `{}`", chunk.keyword);
                problems.push(Problem { place, reason: error.to_string() });
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or(CardError::NoChunk))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::picture::tests::{base64, png_with};

    fn read(path: &str, bytes: impl Into<Vec<u8>>) -> Result<(CharacterDraft, Reading), String> {
        let file = SourceFile::example(path, bytes);
        let reading = Characters.read(&file).map_err(|error| error.to_string())?;
        let Body::Character(character) = reading.drafts[0].body.clone() else {
            panic!("not a character")
        };
        Ok((*character, reading))
    }

    const V2: &str = r#"{"spec": "chara_card_v2", "data": {"name": "Two"}}"#;
    const V3: &str = r#"{"spec": "chara_card_v3", "data": {"name": "Three"}}"#;

    #[test]
    fn a_card_is_read_from_json() {
        let (character, reading) = read("/a.json", format!("\u{feff}{V2}")).unwrap();
        assert_eq!(character.name, "Two");
        assert_eq!(reading.drafts[0].origin, "file:/a.json");
        assert!(character.image.is_none());
    }

    #[test]
    fn the_newer_card_of_a_picture_wins_and_the_picture_is_kept() {
        let png = png_with(&[("chara", &base64(V2)), ("ccv3", &base64(V3))]);
        let (character, reading) = read("/a.png", png.clone()).unwrap();
        assert_eq!(character.name, "Three");
        assert_eq!(character.image, Some(png));
        assert!(reading.problems.is_empty());
    }

    #[test]
    fn a_picture_may_hold_a_bare_first_version() {
        let bare = r#"{"name": "One", "description": "First", "char_greeting": "Hi"}"#;
        let (character, _) = read("/a.png", png_with(&[("chara", &base64(bare))])).unwrap();
        assert_eq!(character.name, "One");
    }

    #[test]
    fn a_broken_newer_card_leaves_the_older() {
        let png = png_with(&[("ccv3", "?"), ("chara", &base64(V2))]);
        let (character, reading) = read("/a.png", png).unwrap();
        assert_eq!(character.name, "Two");
        assert_eq!(reading.problems[0].place, "text chunk `ccv3`");
    }

    #[test]
    fn what_is_no_card_is_refused_with_the_reason() {
        let refused = |path, bytes: Vec<u8>| read(path, bytes).unwrap_err();
        assert!(refused("/a.png", png_with(&[("Title", "x")])).contains("no text chunk"));
        assert!(refused("/a.png", b"GIF89a".to_vec()).contains("not a valid PNG"));
        assert!(refused("/a.png", png_with(&[("chara", "a?b=")])).contains("not base64"));
        assert!(refused("/a.json", b"{ invalid".to_vec()).contains("not valid JSON"));
        assert!(refused("/a.json", b"\0".to_vec()).contains("is no text"));
    }
}
