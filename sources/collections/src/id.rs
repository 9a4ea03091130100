//! What chunks are called: in their collection, and from outside of it.

use std::{fmt, str::FromStr};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use vademecum_kit::model::{SourceName, Uri};

/// The identifier of a chunk: `posts:12345#0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkId {
    /// The document's identifier. May hold any character, `#` as well.
    pub doc_id: String,
    /// The place of the chunk in the document, counted from 0.
    pub index: u32,
}

/// Says why a text is not the identifier of a chunk.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not the identifier of a chunk: expected a document's, `#` and a number, such as posts:12345#0"
)]
pub struct ChunkIdError(String);

impl ChunkId {
    /// The pointer to it in a collection of that name.
    pub fn uri(&self, collection: &str) -> Uri {
        document_uri(collection, &self.doc_id, Some(self.index))
    }
}

/// What may stand in no URI, or would end the path of one; nor may what is not
/// ASCII.
const ENCODED: &AsciiSet = &CONTROLS
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

/// The pointer to a document in a collection of that name, or to one of its
/// chunks. What it reads as, [`Pointer`] says.
pub fn document_uri(collection: &str, doc_id: &str, index: Option<u32>) -> Uri {
    let doc_id = utf8_percent_encode(doc_id, ENCODED);
    let part = index.map(|index| index.to_string());
    Uri { source: SourceName::Collections, id: format!("{collection}/{doc_id}"), part }
}

/// What the URI of a document or of a chunk points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The name of the collection.
    pub collection: String,
    /// The document.
    pub doc_id: String,
    /// The chunk; without one, the whole document is meant.
    pub index: Option<u32>,
}

/// Says why a URI points at nothing in a collection.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` points at no document: expected collections://<collection>/<document>, and `#` and a \
     number for one of its chunks"
)]
pub struct PointerError(Uri);

impl TryFrom<&Uri> for Pointer {
    type Error = PointerError;

    fn try_from(uri: &Uri) -> Result<Self, Self::Error> {
        let refuse = || PointerError(uri.clone());
        // Whoever fills a template encodes more than is written here.
        let decoded = |text: &str| {
            let text = percent_decode_str(text).decode_utf8().ok()?;
            (!text.is_empty()).then(|| text.into_owned())
        };
        let (collection, doc_id) = uri.id.split_once('/').ok_or_else(refuse)?;
        let index = match &uri.part {
            Some(part) => Some(chunk_index(part).ok_or_else(refuse)?),
            None => None,
        };
        let is_ours = uri.source == SourceName::Collections;
        let collection = decoded(collection).filter(|_| is_ours).ok_or_else(refuse)?;
        Ok(Self { collection, doc_id: decoded(doc_id).ok_or_else(refuse)?, index })
    }
}

/// A number in digits only.
fn chunk_index(text: &str) -> Option<u32> {
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
        let index = chunk_index(index).filter(|_| !doc_id.is_empty());
        Ok(Self { doc_id: doc_id.to_owned(), index: index.ok_or_else(refuse)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_reads_what_it_writes() {
        for text in ["posts:1#0", "a#b#12", "ü/x y.md#3"] {
            assert_eq!(text.parse::<ChunkId>().unwrap().to_string(), text);
        }
        for text in ["", "posts:1", "posts:1#", "#1", "posts:1#-1", "posts:1#+1", "a#99999999999"] {
            assert!(text.parse::<ChunkId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_pointer_names_the_collection_and_the_chunk() {
        let id: ChunkId = "a#b%c#2".parse().unwrap();
        assert_eq!(id.uri("kb").to_string(), "collections://kb/a%23b%25c#2");
        assert_eq!(id.uri("kb").to_string().parse::<Uri>().unwrap(), id.uri("kb"));
    }

    fn pointer(text: &str) -> Result<Pointer, PointerError> {
        Pointer::try_from(&text.parse::<Uri>().unwrap())
    }

    #[test]
    fn whatever_a_document_is_called_its_pointer_leads_to_it() {
        for doc_id in
            ["posts:1", "a#b%c/ü x.md", "/etc/hosts", "https://a.b/?q=%20#c", "100%", "%23"]
        {
            for index in [None, Some(0), Some(12)] {
                let uri = document_uri("kb", doc_id, index).to_string();
                let found = pointer(&uri).unwrap();
                assert_eq!((found.doc_id.as_str(), found.index), (doc_id, index), "{uri}");
                assert_eq!(found.collection, "kb");
            }
        }
    }

    #[test]
    fn a_pointer_may_be_encoded_more_than_need_be() {
        let found = pointer("collections://a%40b/a%23b%25c%2F%C3%BC%20x.md#2").unwrap();
        let doc_id = "a#b%c/ü x.md".to_owned();
        assert_eq!(found, Pointer { collection: "a@b".to_owned(), doc_id, index: Some(2) });
        assert_eq!(pointer("collections://kb/100%").unwrap().doc_id, "100%");
    }

    #[test]
    fn what_points_at_no_document_is_refused() {
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
            assert!(pointer(text).is_err(), "{text}");
        }
    }
}
