//! Parsing of text that several formats share: encodings, dates, titles, keywords, front matter,
//! JSON.

pub mod datetime;
pub mod encoding;
pub mod json;
pub mod keywords;
pub mod local_date;
pub mod markdown;
pub mod title;

pub use self::encoding::{EncodingError, TextEncoding, decode_text};
