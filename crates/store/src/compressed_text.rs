//! Compression of stored texts with a dictionary of their database.
//!
//! A row of a table is too short to be compressed well by itself. A dictionary that was trained
//! with some of the rows halves the result (`docs/adr/0030-texts-stored-once.md`). A compressed
//! text is a BLOB, any other a TEXT, so the two can share a column.

use std::{fmt, io};

use rusqlite::{
    Connection, Error,
    functions::FunctionFlags,
    types::{Type, Value, ValueRef},
};
use zstd::bulk::{Compressor, Decompressor};

/// Compression level: higher ones take much longer and save little.
const LEVEL: i32 = 6;
/// Size of a dictionary, in bytes.
const DICTIONARY_BYTES: usize = 64 << 10;
/// Minimum number of samples for a dictionary. Fewer texts need none.
const MIN_SAMPLES: usize = 64;
/// Minimum length of a text that is compressed, in bytes.
const MIN_COMPRESSED_BYTES: usize = 64;
/// The first bytes of every frame of zstd, which are not stored.
const MAGIC_NUMBER: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Maximum length of a text that is decompressed, in bytes. A damaged file can state any length.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// Trains a dictionary with texts that are typical of a database. Returns `None` if they are too
/// few or too similar.
pub fn train_text_dictionary(samples: &[impl AsRef<[u8]>]) -> Option<Vec<u8>> {
    if samples.len() < MIN_SAMPLES {
        return None;
    }
    zstd::dict::from_samples(samples, DICTIONARY_BYTES).ok()
}

/// Compresses texts with a dictionary.
pub struct TextCompressor(Compressor<'static>);

impl TextCompressor {
    /// Creates the compressor. An empty dictionary is none.
    pub fn new(dictionary: &[u8]) -> io::Result<Self> {
        Compressor::with_dictionary(LEVEL, dictionary).map(Self)
    }

    /// Compresses a text. Returns `None` if the result would not be shorter.
    pub fn compress(&mut self, text: &str) -> Option<Vec<u8>> {
        if text.len() < MIN_COMPRESSED_BYTES {
            return None;
        }
        let mut compressed = self.0.compress(text.as_bytes()).ok()?;
        compressed.drain(..MAGIC_NUMBER.len().min(compressed.len()));
        (compressed.len() < text.len()).then_some(compressed)
    }
}

impl fmt::Debug for TextCompressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TextCompressor").finish_non_exhaustive()
    }
}

/// Reads texts, compressed or not.
pub struct TextDecompressor {
    dictionary: Vec<u8>,
    /// Created for the first compressed text.
    decompressor: Option<Decompressor<'static>>,
}

impl TextDecompressor {
    /// Creates the reader of texts that were compressed with this dictionary, which may be empty.
    pub fn new(dictionary: Vec<u8>) -> Self {
        Self { dictionary, decompressor: None }
    }

    /// Reads a text. Fails if it is damaged or was compressed with another dictionary.
    pub fn read(&mut self, value: ValueRef<'_>) -> rusqlite::Result<String> {
        let damaged =
            |error: io::Error| Error::FromSqlConversionFailure(0, Type::Blob, Box::new(error));
        match value {
            ValueRef::Blob(bytes) => self.decompress(bytes).map_err(damaged),
            ValueRef::Text(text) => Ok(str::from_utf8(text)?.to_owned()),
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {
                Err(damaged(io::Error::other("a stored text has another type")))
            }
        }
    }

    fn decompress(&mut self, bytes: &[u8]) -> io::Result<String> {
        let frame = [&MAGIC_NUMBER, bytes].concat();
        let length = zstd::zstd_safe::get_frame_content_size(&frame).ok().flatten();
        let length = length.filter(|length| *length <= MAX_TEXT_BYTES);
        let capacity = length.and_then(|length| usize::try_from(length).ok());
        let capacity = capacity.ok_or_else(|| io::Error::other("a compressed text is damaged"))?;
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::with_dictionary(&self.dictionary)?),
        };
        let text = decompressor.decompress(&frame, capacity)?;
        String::from_utf8(text).map_err(io::Error::other)
    }
}

impl fmt::Debug for TextDecompressor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TextDecompressor").finish_non_exhaustive()
    }
}

/// Returns the stored form of a text, compressed without a dictionary if that is shorter.
pub fn to_stored_text(text: &str) -> Value {
    let compressed =
        TextCompressor::new(&[]).ok().and_then(|mut compressor| compressor.compress(text));
    compressed.map_or_else(|| Value::Text(text.to_owned()), Value::Blob)
}

/// Reads what [`to_stored_text`] has stored.
pub fn read_stored_text(value: ValueRef<'_>) -> rusqlite::Result<String> {
    TextDecompressor::new(Vec::new()).read(value)
}

/// Returns the characters (code points) from `start` to `end` of a text. Returns `None` if the text
/// is shorter.
pub fn char_slice(text: &str, start: usize, end: usize) -> Option<&str> {
    if text.is_ascii() {
        return text.get(start..end);
    }
    let length = end.checked_sub(start)?;
    let mut boundaries = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let first = boundaries.nth(start)?;
    let last = if length == 0 { first } else { boundaries.nth(length - 1)? };
    text.get(first..last)
}

/// Registers `vademecum_chunk_text(chunk, document, start, end, dictionary)`: the text of a chunk,
/// or if it is empty, its place in the text of the document.
pub(super) fn register_chunk_text(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("vademecum_chunk_text", 5, flags, |context| {
        let dictionary = context.get_raw(4).as_blob_or_null()?.unwrap_or_default();
        let mut texts = TextDecompressor::new(dictionary.to_vec());
        let chunk = texts.read(context.get_raw(0))?;
        if !chunk.is_empty() {
            return Ok(chunk);
        }
        let document = texts.read(context.get_raw(1))?;
        let place = |index| context.get::<i64>(index).map(|at| usize::try_from(at).unwrap_or(0));
        Ok(char_slice(&document, place(2)?, place(3)?).unwrap_or_default().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<String> {
        let row = |n: usize| {
            format!(
                "Order {n} of customer {} was sent to the harbour of Größe {} by ship.",
                n * 7 % 91,
                n % 13
            )
        };
        (0..2_000).map(row).collect()
    }

    #[test]
    fn dictionary_halves_short_texts() {
        let rows = rows();
        let samples: Vec<&str> = rows.iter().take(500).map(String::as_str).collect();
        let dictionary = train_text_dictionary(&samples).unwrap();
        let size = |dictionary: &[u8]| -> usize {
            let mut compressor = TextCompressor::new(dictionary).unwrap();
            let length = |row: &String| compressor.compress(row).map_or(row.len(), |it| it.len());
            rows.iter().map(length).sum()
        };
        assert!(size(&dictionary) * 2 < size(&[]), "{} {}", size(&dictionary), size(&[]));
        assert_eq!(train_text_dictionary(&samples[..10]), None);
    }

    #[test]
    fn compressed_text_is_restored() {
        let rows = rows();
        let samples: Vec<&str> = rows.iter().map(String::as_str).collect();
        for dictionary in [Vec::new(), train_text_dictionary(&samples).unwrap()] {
            let mut compressor = TextCompressor::new(&dictionary).unwrap();
            let mut texts = TextDecompressor::new(dictionary);
            for text in ["", "short", &"x\0y".repeat(50), &"Größe 東京".repeat(5_000), &rows[9]]
            {
                let read = match compressor.compress(text) {
                    Some(bytes) => texts.read(ValueRef::Blob(&bytes)),
                    None => texts.read(ValueRef::Text(text.as_bytes())),
                };
                assert_eq!(read.unwrap(), text);
            }
        }
    }

    #[test]
    fn damaged_text_is_an_error() {
        let rows = rows();
        let samples: Vec<&str> = rows.iter().map(String::as_str).collect();
        let dictionary = train_text_dictionary(&samples).unwrap();
        let mut compressor = TextCompressor::new(&dictionary).unwrap();
        let bytes = compressor.compress(&rows[3]).unwrap();
        let mut texts = TextDecompressor::new(dictionary);
        for damaged in [&bytes[..bytes.len() - 2], &bytes[2..], b"", &[0xff; 40]] {
            assert!(texts.read(ValueRef::Blob(damaged)).is_err());
        }
        assert!(texts.read(ValueRef::Integer(1)).is_err());
        let mut others = TextDecompressor::new(Vec::new());
        assert!(others.read(ValueRef::Blob(&bytes)).is_err(), "the dictionary is missing");
    }

    #[test]
    fn char_slice_counts_characters() {
        for (text, start, end, slice) in [
            ("dough", 1, 3, Some("ou")),
            ("Größe", 2, 4, Some("öß")),
            ("Größe", 5, 5, Some("")),
            ("Größe", 0, 6, None),
            ("dough", 0, 6, None),
            ("Größe", 3, 2, None),
        ] {
            assert_eq!(char_slice(text, start, end), slice, "{text} {start} {end}");
        }
    }
}
