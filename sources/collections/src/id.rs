//! The identifier of a chunk: its document's, `#`, and its place in it.

use std::{fmt, str::FromStr};

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
        let doc_id = self.doc_id.replace('%', "%25").replace('#', "%23");
        Uri::part(SourceName::Collections, format!("{collection}/{doc_id}"), self.index.to_string())
    }
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
        let digits = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        let index = index.parse().ok().filter(|_| digits && !doc_id.is_empty());
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
}
