//! An item as it is exchanged: its content, revision and changes.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use vademecum_model::{DraftBody, SourceName};
use vademecum_source::{ItemOrigin, SourceError};
use vademecum_vault::journal::{ExportedVersions, canonical_text};

use crate::{
    error::InvalidInput,
    revision::{History, Revision},
};

/// Maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 500;
/// Number of bytes of a fingerprint.
const FINGERPRINT_BYTES: usize = 16;

/// An item and its revision.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ItemRecord {
    /// Source of the item.
    pub source: SourceName,
    /// Name of the item on all machines.
    pub key: String,
    /// Identifier of the item in the library that wrote the record.
    pub id: Option<String>,
    /// The changes that are part of the content.
    pub revision: Revision,
    /// Fingerprint of the content; empty for a deleted item.
    pub fingerprint: String,
    /// Earlier revisions.
    #[serde(default)]
    pub history: History,
    /// Content; `None` for a deleted item.
    pub body: Option<DraftBody>,
    /// Picture of a character, in Base64.
    pub image: Option<String>,
    /// Changes of the item, with their authors, and its provenance.
    #[serde(default)]
    pub versions: ExportedVersions,
    /// Origins of an imported item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<ItemOrigin>,
    /// What the file of the item said at its last import, if the item was changed since.
    pub import_base: Option<String>,
}

impl ItemRecord {
    /// Fails if the record contradicts itself, and moves the picture into the content.
    pub(crate) fn check(mut self) -> Result<Self, InvalidInput> {
        let invalid = |reason: &str| Err(InvalidInput::Item(reason.to_owned()));
        let is_text = |text: &str| {
            !text.is_empty() && text.len() <= MAX_KEY_BYTES && !text.contains(char::is_control)
        };
        if !is_text(&self.key) || self.id.as_deref().is_some_and(|id| !is_text(id)) {
            return invalid("its identifier is empty, too long or has control characters");
        }
        if let (Some(DraftBody::Character(card)), Some(image)) = (&mut self.body, self.image.take())
        {
            let image = STANDARD.decode(image);
            card.image = Some(image.map_err(|_| InvalidInput::Item("its picture".to_owned()))?);
        }
        let found = match &self.body {
            None => String::new(),
            Some(body) if body.source() != self.source => {
                return invalid("its content is of another source");
            }
            Some(body) => {
                fingerprint(body).map_err(|error| InvalidInput::Item(error.to_string()))?
            }
        };
        if found != self.fingerprint {
            return invalid("its content differs from its fingerprint");
        }
        Ok(self)
    }

    /// Takes the picture out of the content, which does not write it.
    #[must_use]
    pub(crate) fn with_image(self) -> Self {
        let image = match &self.body {
            Some(DraftBody::Character(card)) => card.image.as_ref().map(|it| STANDARD.encode(it)),
            _ => None,
        };
        Self { image, ..self }
    }
}

/// Returns the fingerprint of a content, which is the same on all machines.
pub(crate) fn fingerprint(body: &DraftBody) -> Result<String, SourceError> {
    Ok(text_fingerprint(&canonical_text(body)?, picture(body)))
}

/// Returns the fingerprint of a content with this canonical text and picture.
pub(crate) fn text_fingerprint(text: &str, picture: Option<&[u8]>) -> String {
    let mut digest = Sha256::new();
    digest.update(text.as_bytes());
    if let Some(picture) = picture {
        digest.update([0]);
        digest.update(picture);
    }
    to_hex(&digest.finalize(), FINGERPRINT_BYTES)
}

/// Returns the picture of a character.
pub(crate) fn picture(body: &DraftBody) -> Option<&[u8]> {
    let DraftBody::Character(card) = body else { return None };
    card.image.as_deref()
}

/// Returns the first `length` bytes in hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8], length: usize) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().take(length).flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use vademecum_model::{CharacterDraft, NoteDraft};

    use super::*;

    fn record(body: DraftBody) -> ItemRecord {
        ItemRecord {
            source: body.source(),
            key: "k".to_owned(),
            id: None,
            revision: Revision::default(),
            fingerprint: fingerprint(&body).unwrap(),
            history: History::default(),
            body: Some(body),
            image: None,
            versions: ExportedVersions::default(),
            origins: Vec::new(),
            import_base: None,
        }
    }

    #[test]
    fn order_of_tags_and_time_are_no_content() {
        let note = |tags: [&str; 2], day: &str| {
            let tags = tags.map(str::to_owned).to_vec();
            let modified_at = vademecum_model::Timestamp::parse(day).ok();
            DraftBody::Note(NoteDraft { tags, modified_at, ..NoteDraft::default() })
        };
        let one = fingerprint(&note(["a", "b"], "2026-01-01")).unwrap();
        assert_eq!(one, fingerprint(&note(["b", "a"], "2026-01-02")).unwrap());
        assert_ne!(one, fingerprint(&note(["b", "c"], "2026-01-01")).unwrap());
    }

    #[test]
    fn pictures_travel_and_count() {
        let card = |image: &[u8]| {
            let image = Some(image.to_vec());
            DraftBody::Character(Box::new(CharacterDraft { image, ..CharacterDraft::default() }))
        };
        let sent = record(card(b"one")).with_image();
        let text = serde_json::to_string(&sent).unwrap();
        let read: ItemRecord = serde_json::from_str(&text).unwrap();
        let Some(DraftBody::Character(read)) = read.check().unwrap().body else { panic!() };
        assert_eq!(read.image.as_deref(), Some(&b"one"[..]));
        let mut other: ItemRecord = serde_json::from_str(&text).unwrap();
        other.image = Some(STANDARD.encode(b"two"));
        assert!(other.check().is_err());
    }

    #[test]
    fn contradicting_records_are_refused() {
        let note = || record(DraftBody::Note(NoteDraft::default()));
        assert!(note().check().is_ok());
        let cases = [
            ItemRecord { key: String::new(), ..note() },
            ItemRecord { key: "a\nb".to_owned(), ..note() },
            ItemRecord { id: Some("x".repeat(501)), ..note() },
            ItemRecord { source: SourceName::Media, ..note() },
            ItemRecord { fingerprint: String::new(), ..note() },
            ItemRecord { body: None, ..note() },
        ];
        for case in cases {
            assert!(case.clone().check().is_err(), "{case:?}");
        }
    }
}
