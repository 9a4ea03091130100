//! Character archives (CHARX): a ZIP file with a `card.json` and pictures.

use serde_json::{Map, Value};
use vademecum_model::SourceName;

use super::{card, json_card};
use crate::{
    CardError, Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    files::archive::Archive,
};

/// Name of the card in the archive.
const CARD_FILE: &str = "card.json";

/// Importer of character archives.
#[derive(Debug)]
pub(crate) struct CharxImporter;

impl Importer for CharxImporter {
    fn source(&self) -> SourceName {
        SourceName::Characters
    }

    fn format_name(&self) -> &'static str {
        "character archives (.charx)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let says_so = probe.entries().iter().any(|name| name == CARD_FILE);
        Confidence::ByContent
            .when(says_so)
            .max(Confidence::ByName.when(probe.has_extension(&["charx"])))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let damaged = |cause| ImportError::Archive { path: file.path.clone(), cause };
        let refused = |cause| ImportError::Card { path: file.path.clone(), cause };
        let mut archive = Archive::open(&file.bytes).map_err(damaged)?;
        let json = archive.unpack_file(CARD_FILE).map_err(damaged)?;
        let json = json.ok_or_else(|| refused(CardError::NoCardFile))?;
        let json = std::str::from_utf8(&json).map_err(|_| refused(CardError::CardNotUtf8))?;
        let json = json.strip_prefix('\u{feff}').unwrap_or(json);
        let mut character = card::parse_card(json).map_err(refused)?;
        let mut problems = Vec::new();
        let icon = icon_path(&character.extensions);
        if let Some(name) = &icon {
            character.image = match archive.unpack_file(name) {
                Ok(found) => found,
                Err(error) => {
                    problems.push(Problem { place: name.clone(), reason: error.to_string() });
                    None
                }
            };
        }
        problems.extend(ignored_assets(&archive, icon.as_deref()));
        Ok(ParsedFile {
            drafts: vec![json_card::to_draft(file, character)],
            problems,
            ..ParsedFile::default()
        })
    }
}

/// Returns the name of the main picture of the character in the archive.
fn icon_path(extensions: &Map<String, Value>) -> Option<String> {
    let assets = extensions.get("assets")?.as_array()?;
    let text = |asset: &'_ Value, key: &str| asset.get(key)?.as_str().map(str::to_owned);
    let icons = || assets.iter().filter(|it| text(it, "type").as_deref() == Some("icon"));
    let main = icons().find(|it| text(it, "name").as_deref() == Some("main"));
    let uri = text(main.or_else(|| icons().next())?, "uri")?;
    // The specification misspells the scheme; some programs write it correctly.
    let name = uri.strip_prefix("embeded://").or_else(|| uri.strip_prefix("embedded://"))?;
    Some(name.to_owned())
}

/// Returns a problem that counts the other packed files, which are not imported.
fn ignored_assets(archive: &Archive<'_>, icon: Option<&str>) -> Option<Problem> {
    let is_kept = |name: &str| name == CARD_FILE || Some(name) == icon;
    let others: Vec<_> = archive.file_names().into_iter().filter(|name| !is_kept(name)).collect();
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
        characters::json_card::tests::read_character,
        detection::file_probe::tests::{probe_file, zip_archive},
    };

    const ASSETS: &str = r#"{"spec": "chara_card_v3", "data": {"name": "Three", "assets": [
        {"type": "emotion", "uri": "embeded://e/happy.png", "name": "happy"},
        {"type": "icon", "uri": "embeded://other.png", "name": "other"},
        {"type": "icon", "uri": "embeded://main.png", "name": "main"}]}}"#;

    #[test]
    fn card_and_main_picture_are_kept_others_counted() {
        let zip = zip_archive(&[
            (CARD_FILE, ASSETS.as_bytes()),
            ("main.png", b"M"),
            ("other.png", b"O"),
            ("e/happy.png", b"H"),
        ]);
        assert_eq!(CharxImporter.detect(&probe_file("a.zip", &zip)), Confidence::ByContent);
        let (character, reading) = read_character(&CharxImporter, "/a.charx", zip).unwrap();
        assert_eq!((character.name.as_str(), character.image), ("Three", Some(b"M".to_vec())));
        assert!(character.extensions.contains_key("assets"));
        assert_eq!(reading.problems[0].place, "other.png and 1 more");
    }

    #[test]
    fn archive_without_pictures_is_a_character() {
        let zip = zip_archive(&[(CARD_FILE, ASSETS.as_bytes())]);
        let (character, reading) = read_character(&CharxImporter, "/a.charx", zip).unwrap();
        assert!(character.image.is_none() && reading.problems.is_empty());
    }

    #[test]
    fn archive_without_card_is_rejected_with_reason() {
        let refused =
            |bytes: Vec<u8>| read_character(&CharxImporter, "/a.charx", bytes).unwrap_err();
        assert!(refused(b"PK".to_vec()).contains("damaged"));
        assert!(refused(zip_archive(&[("x.json", b"{}")])).contains("no card.json"));
        assert!(refused(zip_archive(&[(CARD_FILE, b"\xff")])).contains("not UTF-8"));
        assert!(refused(zip_archive(&[(CARD_FILE, b"{}")])).contains("no `name`"));
        assert_eq!(
            CharxImporter.detect(&probe_file("a.zip", zip_archive(&[("x", b"y")]))),
            Confidence::NoMatch
        );
        assert_eq!(CharxImporter.detect(&probe_file("a.charx", b"PK")), Confidence::ByName);
    }
}
