//! Character archives (CHARX): a ZIP with a `card.json` and its pictures.

use serde_json::{Map, Value};
use vademecum_kit::model::SourceName;

use super::{
    CardError, Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile, archive::Archive,
    card, characters,
};

/// What the card is called in its archive.
const CARD: &str = "card.json";

/// Reads character archives.
#[derive(Debug)]
pub(super) struct Charx;

impl Importer for Charx {
    fn source(&self) -> SourceName {
        SourceName::Characters
    }

    fn format(&self) -> &'static str {
        "character archives (.charx)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let says_so = glance.entries().iter().any(|name| name == CARD);
        Fit::Content.when(says_so).max(Fit::Name.when(glance.ends_in(&["charx"])))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let damaged = |cause| ImportError::Archive { path: file.path.clone(), cause };
        let refused = |cause| ImportError::Card { path: file.path.clone(), cause };
        let mut archive = Archive::open(&file.bytes).map_err(damaged)?;
        let json = archive.unpack(CARD).map_err(damaged)?;
        let json = json.ok_or_else(|| refused(CardError::NoCard))?;
        let json = std::str::from_utf8(&json).map_err(|_| refused(CardError::CardNotUtf8))?;
        let json = json.strip_prefix('\u{feff}').unwrap_or(json);
        let mut character = card::character(json).map_err(refused)?;
        let mut problems = Vec::new();
        let icon = icon(&character.extensions);
        if let Some(name) = &icon {
            character.image = match archive.unpack(name) {
                Ok(found) => found,
                Err(error) => {
                    problems.push(Problem { place: name.clone(), reason: error.to_string() });
                    None
                }
            };
        }
        problems.extend(left_out(&archive, icon.as_deref()));
        Ok(Reading { drafts: vec![characters::draft(file, character)], problems })
    }
}

/// The name of the picture that stands for the character.
fn icon(extensions: &Map<String, Value>) -> Option<String> {
    let assets = extensions.get("assets")?.as_array()?;
    let text = |asset: &'_ Value, key: &str| asset.get(key)?.as_str().map(str::to_owned);
    let icons = || assets.iter().filter(|it| text(it, "type").as_deref() == Some("icon"));
    let main = icons().find(|it| text(it, "name").as_deref() == Some("main"));
    let uri = text(main.or_else(|| icons().next())?, "uri")?;
    // The specification misspells it, and not everybody follows.
    let name = uri.strip_prefix("embeded://").or_else(|| uri.strip_prefix("embedded://"))?;
    Some(name.to_owned())
}

/// What else is packed: it is counted, so that nobody thinks it is there.
fn left_out(archive: &Archive<'_>, icon: Option<&str>) -> Option<Problem> {
    let is_kept = |name: &str| name == CARD || Some(name) == icon;
    let others: Vec<_> = archive.names().into_iter().filter(|name| !is_kept(name)).collect();
    let place = match others.as_slice() {
        [] => return None,
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    Some(Problem { place, reason: "only the main picture of a character is kept".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        characters::tests::read,
        glance::tests::{glance, packed},
    };

    const ASSETS: &str = r#"{"spec": "chara_card_v3", "data": {"name": "Three", "assets": [
        {"type": "emotion", "uri": "embeded://e/happy.png", "name": "happy"},
        {"type": "icon", "uri": "embeded://other.png", "name": "other"},
        {"type": "icon", "uri": "embeded://main.png", "name": "main"}]}}"#;

    #[test]
    fn the_card_and_its_main_picture_are_kept_and_the_others_counted() {
        let zip = packed(&[
            (CARD, ASSETS.as_bytes()),
            ("main.png", b"M"),
            ("other.png", b"O"),
            ("e/happy.png", b"H"),
        ]);
        assert_eq!(Charx.recognise(&glance("a.zip", &zip)), Fit::Content);
        let (character, reading) = read(&Charx, "/a.charx", zip).unwrap();
        assert_eq!((character.name.as_str(), character.image), ("Three", Some(b"M".to_vec())));
        assert!(character.extensions.contains_key("assets"));
        assert_eq!(reading.problems[0].place, "other.png and 1 more");
    }

    #[test]
    fn an_archive_without_pictures_is_a_character_as_well() {
        let zip = packed(&[(CARD, ASSETS.as_bytes())]);
        let (character, reading) = read(&Charx, "/a.charx", zip).unwrap();
        assert!(character.image.is_none() && reading.problems.is_empty());
    }

    #[test]
    fn what_is_no_archive_or_has_no_card_is_refused_with_the_reason() {
        let refused = |bytes: Vec<u8>| read(&Charx, "/a.charx", bytes).unwrap_err();
        assert!(refused(b"PK".to_vec()).contains("damaged"));
        assert!(refused(packed(&[("x.json", b"{}")])).contains("no card.json"));
        assert!(refused(packed(&[(CARD, b"\xff")])).contains("not UTF-8"));
        assert!(refused(packed(&[(CARD, b"{}")])).contains("no `name`"));
        assert_eq!(Charx.recognise(&glance("a.zip", packed(&[("x", b"y")]))), Fit::No);
        assert_eq!(Charx.recognise(&glance("a.charx", b"PK")), Fit::Name);
    }
}
