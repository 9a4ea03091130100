//! Identifiers of chunks, and the URIs of documents and chunks.

use std::{fmt, str::FromStr};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use vademecum_model::{SourceName, Uri};

/// The identifier of a chunk, such as `posts:12345#0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkId {
    /// Identifier of the document. May contain any character, including `#`.
    pub doc_id: String,
    /// Zero-based index of the chunk in the document.
    pub index: u32,
}

/// The error for a text that is not a chunk identifier.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a chunk identifier: expected a document identifier, `#` and a number, such as posts:12345#0"
)]
pub struct ChunkIdError(String);

impl ChunkId {
    /// Returns the URI of the chunk in the collection with this name.
    pub fn uri(&self, collection: &str) -> Uri {
        document_uri(collection, &self.doc_id, Some(self.index))
    }
}

/// Characters to percent-encode in a URI path, besides all non-ASCII ones.
const ENCODED_CHARACTERS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns the URI of a document in the collection with this name, or of one of its chunks.
/// [`DocumentPointer`] is the inverse.
pub fn document_uri(collection: &str, doc_id: &str, index: Option<u32>) -> Uri {
    let doc_id = utf8_percent_encode(doc_id, ENCODED_CHARACTERS);
    let part = index.map(|index| index.to_string());
    Uri { source: SourceName::Collections, id: format!("{collection}/{doc_id}"), part }
}

/// The target of a document or chunk URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPointer {
    /// Name of the collection.
    pub collection: String,
    /// Identifier of the document.
    pub doc_id: String,
    /// Index of the chunk; `None` means the whole document.
    pub index: Option<u32>,
}

/// The error for a URI that does not point at a document of a collection.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a document URI: expected collections://<collection>/<document>, with `#` and a \
     number for one of its chunks"
)]
pub struct DocumentPointerError(Uri);

impl TryFrom<&Uri> for DocumentPointer {
    type Error = DocumentPointerError;

    fn try_from(uri: &Uri) -> Result<Self, Self::Error> {
        let refuse = || DocumentPointerError(uri.clone());
        // Clients that expand a URI template encode more characters than `document_uri` does.
        let decoded = |text: &str| {
            let text = percent_decode_str(text).decode_utf8().ok()?;
            (!text.is_empty()).then(|| text.into_owned())
        };
        let (collection, doc_id) = uri.id.split_once('/').ok_or_else(refuse)?;
        let index = match &uri.part {
            Some(part) => Some(parse_chunk_index(part).ok_or_else(refuse)?),
            None => None,
        };
        let is_ours = uri.source == SourceName::Collections;
        let collection = decoded(collection).filter(|_| is_ours).ok_or_else(refuse)?;
        Ok(Self { collection, doc_id: decoded(doc_id).ok_or_else(refuse)?, index })
    }
}

/// Parses a number that consists of ASCII digits only.
fn parse_chunk_index(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl fmt::Display for ChunkId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}#{}", self.doc_id, self.index)
    }
}

impl FromStr for ChunkId {
    type Err = ChunkIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || ChunkIdError(text.chars().take(200).collect());
        let (doc_id, index) = text.rsplit_once('#').ok_or_else(refuse)?;
        let index = parse_chunk_index(index).filter(|_| !doc_id.is_empty());
        Ok(Self { doc_id: doc_id.to_owned(), index: index.ok_or_else(refuse)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_id_round_trips() {
        for text in ["posts:1#0", "a#b#12", "ü/x y.md#3"] {
            assert_eq!(text.parse::<ChunkId>().unwrap().to_string(), text);
        }
        for text in ["", "posts:1", "posts:1#", "#1", "posts:1#-1", "posts:1#+1", "a#99999999999"] {
            assert!(text.parse::<ChunkId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn chunk_uri_names_collection_and_chunk() {
        let id: ChunkId = "a#b%c#2".parse().unwrap();
        assert_eq!(id.uri("kb").to_string(), "collections://kb/a%23b%25c#2");
        assert_eq!(id.uri("kb").to_string().parse::<Uri>().unwrap(), id.uri("kb"));
    }

    fn parse_pointer(text: &str) -> Result<DocumentPointer, DocumentPointerError> {
        DocumentPointer::try_from(&text.parse::<Uri>().unwrap())
    }

    #[test]
    fn pointer_round_trips_any_document_id() {
        for doc_id in
            ["posts:1", "a#b%c/ü x.md", "/etc/hosts", "https://a.b/?q=%20#c", "100%", "%23"]
        {
            for index in [None, Some(0), Some(12)] {
                let uri = document_uri("kb", doc_id, index).to_string();
                let found = parse_pointer(&uri).unwrap();
                assert_eq!((found.doc_id.as_str(), found.index), (doc_id, index), "{uri}");
                assert_eq!(found.collection, "kb");
            }
        }
    }

    #[test]
    fn pointer_accepts_extra_percent_encoding() {
        let found = parse_pointer("collections://a%40b/a%23b%25c%2F%C3%BC%20x.md#2").unwrap();
        let doc_id = "a#b%c/ü x.md".to_owned();
        assert_eq!(found, DocumentPointer { collection: "a@b".to_owned(), doc_id, index: Some(2) });
        assert_eq!(parse_pointer("collections://kb/100%").unwrap().doc_id, "100%");
    }

    #[test]
    fn pointer_rejects_malformed_uris() {
        for text in [
            "collections://kb",
            "collections://kb/",
            "collections:///x",
            "collections://kb/x#",
            "collections://kb/x#one",
            "collections://kb/x#+1",
            "collections://kb/x#99999999999",
            "collections://kb/%FF",
            "notes://kb/x",
        ] {
            assert!(parse_pointer(text).is_err(), "{text}");
        }
    }
}
