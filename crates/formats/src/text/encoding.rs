//! Decoding of bytes to text in any encoding.
//!
//! In order of precedence: a byte order mark, UTF-8, the encoding declared by the file, the
//! encoding guessed from the bytes. Binary data is rejected, because it would only add noise to
//! every search.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

/// Minimum number of bytes per control character in text that is not UTF-8; binary data has more
/// control characters.
const MIN_BYTES_PER_CONTROL: usize = 100;

/// Reason why bytes are not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// Byte at which a NUL occurs. Only UTF-16 text contains NUL bytes.
    #[error("byte {0} is NUL; if it is UTF-16, save it with a byte order mark")]
    Nul(usize),
    /// First invalid byte of a text that is mostly UTF-8.
    #[error("invalid UTF-8 at byte {0}; save the file as UTF-8 first")]
    DamagedUtf8(usize),
    /// The bytes are invalid or contain too many control characters in the detected encoding.
    #[error("binary data or unknown encoding; save the file as UTF-8 first")]
    Unknown,
}

/// Decodes `bytes` to text without a byte order mark. `declared` is the label of the encoding that
/// the file declares, if any.
pub fn decode_text<'a>(
    bytes: &'a [u8],
    declared: Option<&str>,
) -> Result<Cow<'a, str>, EncodingError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes)
        && encoding != encoding_rs::UTF_8
    {
        let text = encoding.decode_without_bom_handling(&bytes[mark..]).0;
        // Bytes after a UTF-16 mark may still be binary.
        return match text.split_once('\0') {
            Some((before, _)) => Err(EncodingError::Nul(mark + 2 * before.encode_utf16().count())),
            None => Ok(text),
        };
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(EncodingError::Nul(at));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text).into()),
        Err(error) if is_mostly_utf8(bytes) => Err(EncodingError::DamagedUtf8(error.valid_up_to())),
        Err(_) => {
            let named = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
            named
                .and_then(|encoding| decode_strictly(bytes, encoding))
                .or_else(|| decode_strictly(bytes, guess_encoding(bytes)))
                .ok_or(EncodingError::Unknown)
        }
    }
}

/// Encoding of the text of a file, with or without a byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEncoding {
    encoding: &'static Encoding,
    has_mark: bool,
}

impl TextEncoding {
    /// Detects the encoding as the importers do. An empty file is UTF-8.
    pub fn detect(bytes: &[u8]) -> Self {
        if let Some((encoding, _)) = Encoding::for_bom(bytes) {
            return Self { encoding, has_mark: true };
        }
        let is_utf8 = std::str::from_utf8(bytes).is_ok();
        let encoding = if is_utf8 { encoding_rs::UTF_8 } else { guess_encoding(bytes) };
        Self { encoding, has_mark: false }
    }

    /// Returns the name of the encoding, such as `windows-1252`.
    pub fn name(self) -> &'static str {
        self.encoding.name()
    }

    /// Encodes a text. `None` if the encoding lacks one of its characters.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        let units = text.encode_utf16();
        let mark = if self.has_mark { "\u{feff}" } else { "" };
        let bytes = if self.encoding == encoding_rs::UTF_16LE {
            mark.encode_utf16().chain(units).flat_map(u16::to_le_bytes).collect()
        } else if self.encoding == encoding_rs::UTF_16BE {
            mark.encode_utf16().chain(units).flat_map(u16::to_be_bytes).collect()
        } else {
            let (bytes, _, is_lossy) = self.encoding.encode(text);
            if is_lossy {
                return None;
            }
            [mark.as_bytes(), &bytes].concat()
        };
        Some(bytes)
    }
}

/// Returns `true` if there are more valid non-ASCII characters than invalid sequences. ASCII is not
/// counted, since it occurs in most encodings.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|sign| !sign.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad
}

fn guess_encoding(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

fn decode_strictly<'a>(bytes: &'a [u8], encoding: &'static Encoding) -> Option<Cow<'a, str>> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let is_odd = |sign: &char| sign.is_control() && !matches!(sign, '\t' | '\n' | '\r' | '\u{c}');
    (text.chars().filter(is_odd).count() * MIN_BYTES_PER_CONTROL <= bytes.len()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_mark_sets_encoding_and_is_removed() {
        assert_eq!(decode_text("\u{feff}é\r\n".as_bytes(), None).unwrap(), "é\r\n");
        let utf_16: Vec<u8> =
            "\u{feff}Brötchen 🥐".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode_text(&utf_16, None).unwrap(), "Brötchen 🥐");
        let utf_16: Vec<u8> = "\u{feff}Brot".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode_text(&utf_16, Some("latin1")).unwrap(), "Brot");
    }

    #[test]
    fn legacy_encodings_are_guessed_from_bytes() {
        let german = "Die süßen Brötchen müssen über Nacht gehen, während es kühl ist.";
        let japanese = "名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,25,大阪\n";
        let russian = "Хлеб всему голова, говорит старая пословица.";
        for (text, encoding) in [
            (german, encoding_rs::WINDOWS_1252),
            (japanese, encoding_rs::SHIFT_JIS),
            (japanese, encoding_rs::EUC_JP),
            (russian, encoding_rs::WINDOWS_1251),
            (russian, encoding_rs::KOI8_R),
        ] {
            let bytes = encoding.encode(text).0;
            assert_eq!(decode_text(&bytes, None).unwrap(), text, "{}", encoding.name());
        }
    }

    #[test]
    fn declared_encoding_is_used_if_valid() {
        let bytes = b"\xe4\xf6\xfc";
        assert_eq!(decode_text(bytes, Some("iso-8859-5")).unwrap(), "\u{444}\u{456}\u{45c}");
        assert_eq!(decode_text("é".as_bytes(), Some("iso-8859-5")).unwrap(), "é");
        assert!(decode_text(bytes, Some("shift_jis")).is_ok(), "a wrong label is ignored");
        assert!(decode_text(bytes, Some("nonsense")).is_ok());
    }

    #[test]
    fn binary_data_is_rejected_with_reason() {
        assert_eq!(decode_text(b"ab\0cd", None), Err(EncodingError::Nul(2)));
        assert_eq!(decode_text(b"\xff\xfeab\0\0", None), Err(EncodingError::Nul(4)));
        let damaged = ["Brötchen und Käse".as_bytes(), b"\xff"].concat();
        assert_eq!(decode_text(&damaged, None), Err(EncodingError::DamagedUtf8(19)));
        let noise: Vec<u8> = (1..=255).collect();
        assert_eq!(decode_text(&noise, None), Err(EncodingError::Unknown));
    }

    #[test]
    fn text_is_encoded_as_it_was() {
        let russian = "Хлеб всему голова, говорит старая пословица.";
        let files = [
            "é\n".as_bytes().to_vec(),
            "\u{feff}é".as_bytes().to_vec(),
            "\u{feff}é🥐".encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "\u{feff}é🥐".encode_utf16().flat_map(u16::to_be_bytes).collect(),
            encoding_rs::WINDOWS_1251.encode(russian).0.into_owned(),
            Vec::new(),
        ];
        for bytes in files {
            let text = decode_text(&bytes, None).unwrap();
            assert_eq!(TextEncoding::detect(&bytes).encode(&text), Some(bytes.clone()), "{text}");
        }
        let legacy = TextEncoding::detect(&encoding_rs::WINDOWS_1251.encode(russian).0);
        assert_eq!((legacy.name(), legacy.encode("漢")), ("windows-1251", None));
    }

    #[test]
    fn bidirectional_controls_are_kept() {
        let text = "a\u{202e}b\u{2066}c\u{2069}";
        assert_eq!(decode_text(text.as_bytes(), None).unwrap(), text);
    }
}
