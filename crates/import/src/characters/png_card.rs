//! Character cards in text chunks of PNG files.

use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use png::{Decoder, Info};
use vademecum_model::{CharacterDraft, SourceName};

use super::{card, json_card};
use crate::{
    CardError, Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
};

/// Keywords of chunks with a card, the newer specification first.
const CARD_KEYWORDS: [&str; 2] = ["ccv3", "chara"];

/// Signature of PNG files.
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Maximum number of chunks examined for the keyword of a card.
const MAX_CHUNKS: usize = 65_536;

/// Maximum size of a decompressed card, in bytes.
const MAX_CARD_BYTES: usize = 64 * 1024 * 1024;

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Importer of PNG files with a card.
#[derive(Debug)]
pub(crate) struct PngCardImporter;

impl Importer for PngCardImporter {
    fn source(&self) -> SourceName {
        SourceName::Characters
    }

    fn format_name(&self) -> &'static str {
        "pictures with a character card (.png)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        if !probe.head().starts_with(PNG_SIGNATURE) {
            return Confidence::Possible
                .when(probe.has_extension(&["png"]) && probe.root().is_none());
        }
        let has_card = probe
            .reader()
            .is_some_and(|reader| has_card_chunk(BufReader::new(reader)).unwrap_or(false));
        // A picture found in a folder is ignored; one named by the user is reported as not being a
        // card.
        Confidence::ByContent.when(has_card).max(Confidence::Possible.when(probe.root().is_none()))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let read = read_first_card(&file.bytes);
        let (character, problems) =
            read.map_err(|cause| ImportError::Card { path: file.path.clone(), cause })?;
        Ok(ParsedFile {
            drafts: vec![json_card::to_draft(file, character)],
            problems,
            ..ParsedFile::default()
        })
    }
}

/// Returns `true` if a text chunk has the keyword of a card. Only the chunk headers are read.
fn has_card_chunk(mut png: BufReader<impl Read + Seek>) -> io::Result<bool> {
    png.seek_relative(PNG_SIGNATURE.len().try_into().unwrap_or(0))?;
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
                // A keyword has at most 79 bytes and ends with a zero byte.
                png.by_ref().take(length.min(80)).read_until(0, &mut keyword)?;
                let name = keyword.strip_suffix(b"\0");
                if CARD_KEYWORDS.iter().any(|known| Some(known.as_bytes()) == name) {
                    return Ok(true);
                }
            }
            _ => {}
        }
        let rest = length - keyword.len() as u64;
        // The checksum follows the data.
        png.seek_relative(i64::try_from(rest + 4).unwrap_or(i64::MAX))?;
    }
    Ok(false)
}

/// Returns the first card that can be parsed, with the problems of those before it.
fn read_first_card(png: &[u8]) -> Result<(CharacterDraft, Vec<Problem>), CardError> {
    let mut first_error = None;
    let mut problems = Vec::new();
    for chunk in card_chunks(png)? {
        match chunk.text.and_then(|text| card::parse_card(&text)) {
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

/// A text chunk of a PNG file that holds a character card.
#[derive(Debug)]
struct CardChunk {
    /// Keyword of the chunk.
    keyword: &'static str,
    /// Card as JSON.
    text: Result<String, CardError>,
}

/// Returns the chunks with cards, the newest specification first. Pixels are not decoded.
fn card_chunks(png: &[u8]) -> Result<Vec<CardChunk>, CardError> {
    let mut reader = Decoder::new(Cursor::new(png)).read_info()?;
    // Chunks may follow the pixels. If the end is damaged, the beginning may still contain a card.
    let end = reader.finish();
    let chunks: Vec<_> = CARD_KEYWORDS
        .into_iter()
        .flat_map(|keyword| {
            chunk_texts(reader.info(), keyword).into_iter().map(move |packed| CardChunk {
                keyword,
                text: packed.and_then(|text| decode_card_json(&text)),
            })
        })
        .collect();
    match end {
        Err(error) if chunks.is_empty() => Err(error.into()),
        Err(_) | Ok(()) => Ok(chunks),
    }
}

/// Returns the texts with this keyword, decompressed if necessary.
fn chunk_texts(info: &Info, keyword: &str) -> Vec<Result<String, CardError>> {
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

/// Returns the JSON of a chunk, which is base64 or plain.
fn decode_card_json(text: &str) -> Result<String, CardError> {
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
    use crate::{
        characters::json_card::tests::read_character, detection::file_probe::tests::probe_file,
    };

    /// Returns a picture of one pixel with these text chunks.
    fn png_with(texts: &[(&str, &str)]) -> Vec<u8> {
        encode_png(|encoder| {
            for (keyword, text) in texts {
                encoder.add_text_chunk((*keyword).to_owned(), (*text).to_owned()).unwrap();
            }
        })
    }

    fn base64(text: &str) -> String {
        BASE64.encode(text)
    }

    fn encode_png(add: impl FnOnce(&mut png::Encoder<&mut Vec<u8>>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
        encoder.set_color(png::ColorType::Grayscale);
        add(&mut encoder);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[0]).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn card_texts(png: &[u8]) -> Vec<String> {
        card_chunks(png).unwrap().into_iter().map(|chunk| chunk.text.unwrap()).collect()
    }

    const V2: &str = r#"{"spec": "chara_card_v2", "data": {"name": "Two"}}"#;
    const V3: &str = r#"{"spec": "chara_card_v3", "data": {"name": "Three"}}"#;

    #[test]
    fn newer_card_wins_and_picture_is_kept() {
        let png = png_with(&[("chara", &base64(V2)), ("ccv3", &base64(V3))]);
        let (character, reading) = read_character(&PngCardImporter, "/a.png", png.clone()).unwrap();
        assert_eq!(character.name, "Three");
        assert_eq!(character.image, Some(png));
        assert!(reading.problems.is_empty());
    }

    #[test]
    fn picture_may_contain_bare_v1_card() {
        let bare = r#"{"name": "One", "description": "First", "char_greeting": "Hi"}"#;
        let png = png_with(&[("chara", &base64(bare))]);
        let (character, _) = read_character(&PngCardImporter, "/a.png", png).unwrap();
        assert_eq!(character.name, "One");
        assert_eq!(character.first_message.as_deref(), Some("Hi"));
    }

    #[test]
    fn broken_newer_card_falls_back_to_older() {
        let png = png_with(&[("ccv3", "?"), ("chara", &base64(V2))]);
        let (character, reading) = read_character(&PngCardImporter, "/a.png", png).unwrap();
        assert_eq!(character.name, "Two");
        assert_eq!(reading.problems[0].place, "text chunk `ccv3`");
    }

    #[test]
    fn picture_without_card_is_rejected_with_reason() {
        let refused = |bytes: &[u8]| read_character(&PngCardImporter, "/a.png", bytes).unwrap_err();
        assert!(refused(&png_with(&[("Title", "x")])).contains("no text chunk"));
        assert!(refused(b"GIF89a").contains("not a valid PNG"));
        assert!(refused(&png_with(&[("chara", "a?b=")])).contains("not base64"));
    }

    #[test]
    fn picture_without_card_is_ignored_unless_named() {
        let fit = |bytes: &[u8]| PngCardImporter.detect(&probe_file("a.png", bytes));
        let after = png_with_trailing_chunk("chara", &base64("{1}"));
        assert_eq!(fit(&after), Confidence::ByContent);
        let plain = png_with(&[("Title", "chara"), ("charas", "x"), ("char", "y")]);
        assert_eq!(fit(&plain), Confidence::NoMatch);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        std::fs::write(&path, plain).unwrap();
        assert_eq!(
            PngCardImporter.detect(&FileProbe::open(&path, None).unwrap()),
            Confidence::Possible
        );
    }

    #[test]
    fn chunks_with_false_length_are_not_followed() {
        let lying = [PNG_SIGNATURE, &[0xff; 4], b"tEXt", b"chara"].concat();
        assert_eq!(PngCardImporter.detect(&probe_file("a.png", lying)), Confidence::NoMatch);
        let lying = [PNG_SIGNATURE, &[0xff; 4], b"IDAT", b"abc"].concat();
        assert_eq!(PngCardImporter.detect(&probe_file("a.png", &lying)), Confidence::NoMatch);
        assert!(read_character(&PngCardImporter, "/a.png", lying).is_err());
    }

    #[test]
    fn chunks_are_ordered_newest_specification_first() {
        let png = png_with(&[("chara", &base64("{1}")), ("ccv3", &base64("{2}")), ("x", "y")]);
        assert_eq!(card_texts(&png), ["{2}", "{1}"]);
    }

    #[test]
    fn compressed_and_unicode_chunks_are_read() {
        let png = encode_png(|encoder| {
            encoder.add_ztxt_chunk("chara".into(), base64("{\"a\": \"ä\"}")).unwrap();
            encoder.add_itxt_chunk("ccv3".into(), "{\"ü\": 1}".into()).unwrap();
        });
        assert_eq!(card_texts(&png), ["{\"ü\": 1}", "{\"a\": \"ä\"}"]);
    }

    fn png_with_trailing_chunk(keyword: &str, text: &str) -> Vec<u8> {
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
    fn chunk_after_pixels_is_found() {
        assert_eq!(card_texts(&png_with_trailing_chunk("chara", &base64("{1}"))), ["{1}"]);
    }

    #[test]
    fn base64_is_decoded_without_padding_and_across_lines() {
        let broken: String = base64("{\"a\": 12345}").replace('=', "") + "\r\n";
        assert_eq!(
            decode_card_json(&format!("{}\n{}", &broken[..8], &broken[8..])).unwrap(),
            "{\"a\": 12345}"
        );
        assert!(matches!(decode_card_json("%%"), Err(CardError::Base64(_))));
        assert!(matches!(decode_card_json(&BASE64.encode([0xff])), Err(CardError::NotUtf8)));
    }

    #[test]
    fn truncated_picture_is_rejected_unless_card_found() {
        let png = png_with(&[("chara", &base64("{1}"))]);
        assert_eq!(card_texts(&png[..png.len() - 20]), ["{1}"]);
        assert!(matches!(card_chunks(&png[..20]), Err(CardError::Png(_))));
    }
}
