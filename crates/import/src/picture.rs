//! Pictures with a character: PNG files that carry a card in a text chunk.

use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use png::{Decoder, Info};
use vademecum_kit::model::{CharacterDraft, SourceName};

use super::{
    CardError, Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile, card, characters,
};

/// The chunks that hold a card, the newer specification first.
const KEYWORDS: [&str; 2] = ["ccv3", "chara"];

/// How every PNG begins.
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Most chunks of a picture that are looked at for the name of a card.
const MAX_CHUNKS: usize = 65_536;

/// Longest card that is unpacked, in bytes.
const MAX_CARD_BYTES: usize = 64 * 1024 * 1024;

/// Base64 as it is met: with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Reads pictures with a card.
#[derive(Debug)]
pub(super) struct Pictures;

impl Importer for Pictures {
    fn source(&self) -> SourceName {
        SourceName::Characters
    }

    fn format(&self) -> &'static str {
        "pictures with a character card (.png)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        if !glance.head().starts_with(SIGNATURE) {
            return Fit::Maybe.when(glance.ends_in(&["png"]) && glance.root().is_none());
        }
        let has_card =
            glance.reader().is_some_and(|reader| has_card(BufReader::new(reader)).unwrap_or(false));
        // A picture in a folder is a picture; one that is named is said to be no card.
        Fit::Content.when(has_card).max(Fit::Maybe.when(glance.root().is_none()))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let read = pictured(&file.bytes);
        let (character, problems) =
            read.map_err(|cause| ImportError::Card { path: file.path.clone(), cause })?;
        Ok(Reading { drafts: vec![characters::draft(file, character)], problems })
    }
}

/// Whether a text chunk is called like one with a card. Only the heads of the
/// chunks are read.
fn has_card(mut png: BufReader<impl Read + Seek>) -> io::Result<bool> {
    png.seek_relative(SIGNATURE.len().try_into().unwrap_or(0))?;
    for _ in 0..MAX_CHUNKS {
        let mut length = [0; 4];
        let mut kind = [0; 4];
        png.read_exact(&mut length)?;
        png.read_exact(&mut kind)?;
        let length = u64::from(u32::from_be_bytes(length));
        let mut keyword = Vec::new();
        match &kind {
            b"IEND" => break,
            b"tEXt" | b"zTXt" | b"iTXt" => {
                // A keyword has 79 bytes at most, and ends with a zero.
                png.by_ref().take(length.min(80)).read_until(0, &mut keyword)?;
                let name = keyword.strip_suffix(b"\0");
                if KEYWORDS.iter().any(|known| Some(known.as_bytes()) == name) {
                    return Ok(true);
                }
            }
            _ => {}
        }
        let rest = length - keyword.len() as u64;
        // The checksum follows.
        png.seek_relative(i64::try_from(rest + 4).unwrap_or(i64::MAX))?;
    }
    Ok(false)
}

/// The first card in a picture that can be read, and what is wrong with
/// those before it.
fn pictured(png: &[u8]) -> Result<(CharacterDraft, Vec<Problem>), CardError> {
    let mut first_error = None;
    let mut problems = Vec::new();
    for chunk in cards(png)? {
        match chunk.text.and_then(|text| card::character(&text)) {
            Ok(character) => {
                return Ok((CharacterDraft { image: Some(png.to_vec()), ..character }, problems));
            }
            Err(error) => {
                let place = format!("text chunk `{}`", chunk.keyword);
                problems.push(Problem { place, reason: error.to_string() });
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or(CardError::NoChunk))
}

/// A text chunk with a card.
#[derive(Debug)]
struct Chunk {
    /// What the chunk is called.
    keyword: &'static str,
    /// The card as JSON.
    text: Result<String, CardError>,
}

/// Finds the chunks with cards, the newest kind of card first. The pixels
/// are not looked at.
fn cards(png: &[u8]) -> Result<Vec<Chunk>, CardError> {
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
mod tests {
    use super::*;
    use crate::{characters::tests::read, glance::tests::glance};

    /// A picture of one pixel with these texts.
    fn png_with(texts: &[(&str, &str)]) -> Vec<u8> {
        encode(|encoder| {
            for (keyword, text) in texts {
                encoder.add_text_chunk((*keyword).to_owned(), (*text).to_owned()).unwrap();
            }
        })
    }

    fn base64(text: &str) -> String {
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

    const V2: &str = r#"{"spec": "chara_card_v2", "data": {"name": "Two"}}"#;
    const V3: &str = r#"{"spec": "chara_card_v3", "data": {"name": "Three"}}"#;

    #[test]
    fn the_newer_card_of_a_picture_wins_and_the_picture_is_kept() {
        let png = png_with(&[("chara", &base64(V2)), ("ccv3", &base64(V3))]);
        let (character, reading) = read(&Pictures, "/a.png", png.clone()).unwrap();
        assert_eq!(character.name, "Three");
        assert_eq!(character.image, Some(png));
        assert!(reading.problems.is_empty());
    }

    #[test]
    fn a_picture_may_hold_a_bare_first_version() {
        let bare = r#"{"name": "One", "description": "First", "char_greeting": "Hi"}"#;
        let png = png_with(&[("chara", &base64(bare))]);
        let (character, _) = read(&Pictures, "/a.png", png).unwrap();
        assert_eq!(character.name, "One");
        assert_eq!(character.first_message.as_deref(), Some("Hi"));
    }

    #[test]
    fn a_broken_newer_card_leaves_the_older() {
        let png = png_with(&[("ccv3", "?"), ("chara", &base64(V2))]);
        let (character, reading) = read(&Pictures, "/a.png", png).unwrap();
        assert_eq!(character.name, "Two");
        assert_eq!(reading.problems[0].place, "text chunk `ccv3`");
    }

    #[test]
    fn what_has_no_card_is_refused_with_the_reason() {
        let refused = |bytes: &[u8]| read(&Pictures, "/a.png", bytes).unwrap_err();
        assert!(refused(&png_with(&[("Title", "x")])).contains("no text chunk"));
        assert!(refused(b"GIF89a").contains("not a valid PNG"));
        assert!(refused(&png_with(&[("chara", "a?b=")])).contains("not base64"));
    }

    #[test]
    fn a_picture_without_a_card_is_only_a_picture_unless_it_is_named() {
        let fit = |bytes: &[u8]| Pictures.recognise(&glance("a.png", bytes));
        let after = after_the_pixels("chara", &base64("{1}"));
        assert_eq!(fit(&after), Fit::Content);
        let plain = png_with(&[("Title", "chara"), ("charas", "x"), ("char", "y")]);
        assert_eq!(fit(&plain), Fit::No);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        std::fs::write(&path, plain).unwrap();
        assert_eq!(Pictures.recognise(&Glance::take(&path, None).unwrap()), Fit::Maybe);
    }

    #[test]
    fn chunks_that_lie_about_their_length_are_not_followed() {
        let lying = [SIGNATURE, &[0xff; 4], b"tEXt", b"chara"].concat();
        assert_eq!(Pictures.recognise(&glance("a.png", lying)), Fit::No);
        let lying = [SIGNATURE, &[0xff; 4], b"IDAT", b"abc"].concat();
        assert_eq!(Pictures.recognise(&glance("a.png", &lying)), Fit::No);
        assert!(read(&Pictures, "/a.png", lying).is_err());
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

    fn after_the_pixels(keyword: &str, text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
        encoder.set_color(png::ColorType::Grayscale);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[0]).unwrap();
        let chunk = png::text_metadata::TEXtChunk::new(keyword, text);
        writer.write_text_chunk(&chunk).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn a_chunk_after_the_pixels_is_found() {
        assert_eq!(texts(&after_the_pixels("chara", &base64("{1}"))), ["{1}"]);
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
