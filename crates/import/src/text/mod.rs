//! Parsing of text that several formats share: encodings, dates, titles, keywords, front matter,
//! JSON.

pub(crate) mod datetime;
pub(crate) mod encoding;
pub(crate) mod json;
pub(crate) mod keywords;
pub(crate) mod markdown;
pub(crate) mod title;

pub use self::encoding::{EncodingError, TextEncoding, decode_text};
