//! The character cards that a PNG carries in its text chunks.

use std::io::Cursor;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use png::{Decoder, Info};

use super::CardError;

/// The chunks that hold a card, the newer specification first.
const KEYWORDS: [&str; 2] = ["ccv3", "chara"];

/// Longest card that is unpacked, in bytes.
const MAX_CARD_BYTES: usize = 64 * 1024 * 1024;

/// Base64 as it is met: with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A text chunk with a card.
#[derive(Debug)]
pub(super) struct Chunk {
    /// What the chunk is called.
    pub keyword: &'static str,
    /// The card as JSON.
    pub text: Result<String, CardError>,
}

/// Finds the chunks with cards, the newest kind of card first. The pixels
/// are not looked at.
pub(super) fn cards(png: &[u8]) -> Result<Vec<Chunk>, CardError> {
    let mut reader = Decoder::new(Cursor::new(png)).read_info()?;
    // Chunks may follow the pixels. If the end is broken, the beginning may
    // still hold a card.
    let end = reader.finish();
    let chunks: Vec<_> = KEYWORDS
        .into_iter()
        .flat_map(|keyword| {
            packed(reader.info(), keyword)
                .into_iter()
                .map(move |packed| Chunk { keyword, text: packed.and_then(|text| json(&text)) })
        })
        .collect();
    match end {
        Err(error) if chunks.is_empty() => Err(error.into()),
        Err(_) | Ok(()) => Ok(chunks),
    }
}

/// The texts of this name, unpacked if they are compressed.
fn packed(info: &Info, keyword: &str) -> Vec<Result<String, CardError>> {
    let plain = info.uncompressed_latin1_text.iter().filter(|chunk| chunk.keyword == keyword);
    let mut texts: Vec<_> = plain.map(|chunk| Ok(chunk.text.clone())).collect();
    texts.extend(info.compressed_latin1_text.iter().filter(|it| it.keyword == keyword).map(|it| {
        let mut chunk = it.clone();
        chunk.decompress_text_with_limit(MAX_CARD_BYTES)?;
        Ok(chunk.get_text()?)
    }));
    texts.extend(info.utf8_text.iter().filter(|it| it.keyword == keyword).map(|it| {
        let mut chunk = it.clone();
        chunk.decompress_text_with_limit(MAX_CARD_BYTES)?;
        Ok(chunk.get_text()?)
    }));
    texts
}

/// The JSON in a chunk: as base64, or plainly.
fn json(text: &str) -> Result<String, CardError> {
    if text.trim_start().starts_with('{') {
        return Ok(text.to_owned());
    }
    let letters: String = text.split_whitespace().collect();
    let bytes = BASE64.decode(letters)?;
    String::from_utf8(bytes).map_err(|_| CardError::NotUtf8)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A picture of one pixel with these texts, before and after it.
    pub(in crate::import) fn png_with(texts: &[(&str, &str)]) -> Vec<u8> {
        encode(|encoder| {
            for (keyword, text) in texts {
                encoder.add_text_chunk((*keyword).to_owned(), (*text).to_owned()).unwrap();
            }
        })
    }

    pub(in crate::import) fn base64(text: &str) -> String {
        BASE64.encode(text)
    }

    fn encode(add: impl FnOnce(&mut png::Encoder<&mut Vec<u8>>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
        encoder.set_color(png::ColorType::Grayscale);
        add(&mut encoder);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[0]).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn texts(png: &[u8]) -> Vec<String> {
        cards(png).unwrap().into_iter().map(|chunk| chunk.text.unwrap()).collect()
    }

    #[test]
    fn the_newer_kind_of_card_comes_first() {
        let png = png_with(&[("chara", &base64("{1}")), ("ccv3", &base64("{2}")), ("x", "y")]);
        assert_eq!(texts(&png), ["{2}", "{1}"]);
    }

    #[test]
    fn compressed_and_unicode_chunks_are_read_as_well() {
        let png = encode(|encoder| {
            encoder.add_ztxt_chunk("chara".into(), base64("{\"a\": \"ä\"}")).unwrap();
            encoder.add_itxt_chunk("ccv3".into(), "{\"ü\": 1}".into()).unwrap();
        });
        assert_eq!(texts(&png), ["{\"ü\": 1}", "{\"a\": \"ä\"}"]);
    }

    #[test]
    fn a_chunk_after_the_pixels_is_found() {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
        encoder.set_color(png::ColorType::Grayscale);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[0]).unwrap();
        let chunk = png::text_metadata::TEXtChunk::new("chara", base64("{1}"));
        writer.write_text_chunk(&chunk).unwrap();
        writer.finish().unwrap();
        assert_eq!(texts(&bytes), ["{1}"]);
    }

    #[test]
    fn base64_is_read_without_padding_and_over_many_lines() {
        let broken: String = base64("{\"a\": 12345}").replace('=', "") + "\r\n";
        assert_eq!(json(&format!("{}\n{}", &broken[..8], &broken[8..])).unwrap(), "{\"a\": 12345}");
        assert!(matches!(json("%%"), Err(CardError::Base64(_))));
        assert!(matches!(json(&BASE64.encode([0xff])), Err(CardError::NotUtf8)));
    }

    #[test]
    fn a_picture_cut_short_is_refused_unless_a_card_was_found() {
        let png = png_with(&[("chara", &base64("{1}"))]);
        assert_eq!(texts(&png[..png.len() - 20]), ["{1}"]);
        assert!(matches!(cards(&png[..20]), Err(CardError::Png(_))));
    }
}
