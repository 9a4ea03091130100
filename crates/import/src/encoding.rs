//! Bytes as text, whatever they are encoded in.
//!
//! A byte order mark is believed, then UTF-8, then what the file says of itself,
//! then what the bytes look like. What is no text at all is refused: taken for
//! text it would only be noise in every search.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

/// Of so many bytes that are not UTF-8 at most one is a control character; there
/// are more of them in binary data.
const BYTES_PER_CONTROL: usize = 100;

/// Why bytes are no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// No text holds a NUL, unless it is UTF-16.
    #[error("byte {0} is NUL; if it is UTF-16, save it with a byte order mark")]
    Nul(usize),
    /// Most of it is UTF-8, so that all of it should be.
    #[error("it is damaged UTF-8, byte {0} does not belong; save it as UTF-8 first")]
    DamagedUtf8(usize),
    /// It has no meaning in any encoding.
    #[error("it is binary data, or in an unknown encoding; save it as UTF-8 first")]
    Unknown,
}

/// Reads `bytes` as text, without a byte order mark. `declared` is the encoding
/// that the file names itself.
pub(super) fn decode<'a>(
    bytes: &'a [u8],
    declared: Option<&str>,
) -> Result<Cow<'a, str>, EncodingError> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes)
        && encoding != encoding_rs::UTF_8
    {
        let text = encoding.decode_without_bom_handling(&bytes[mark..]).0;
        // A mark alone makes no text of what follows.
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
                .and_then(|encoding| decode_as(bytes, encoding))
                .or_else(|| decode_as(bytes, guess(bytes)))
                .ok_or(EncodingError::Unknown)
        }
    }
}

/// Whether more signs are well-formed UTF-8 than not; those of ASCII say nothing.
fn is_mostly_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|sign| !sign.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

fn decode_as<'a>(bytes: &'a [u8], encoding: &'static Encoding) -> Option<Cow<'a, str>> {
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let is_odd = |sign: &char| sign.is_control() && !matches!(sign, '\t' | '\n' | '\r' | '\u{c}');
    (text.chars().filter(is_odd).count() * BYTES_PER_CONTROL <= bytes.len()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_believed_and_left_out() {
        assert_eq!(decode("\u{feff}é\r\n".as_bytes(), None).unwrap(), "é\r\n");
        let utf_16: Vec<u8> =
            "\u{feff}Brötchen 🥐".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&utf_16, None).unwrap(), "Brötchen 🥐");
        let utf_16: Vec<u8> = "\u{feff}Brot".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode(&utf_16, Some("latin1")).unwrap(), "Brot");
    }

    #[test]
    fn older_encodings_are_told_by_their_bytes() {
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
            assert_eq!(decode(&bytes, None).unwrap(), text, "{}", encoding.name());
        }
    }

    #[test]
    fn what_a_file_says_of_itself_is_believed_if_it_may_be_so() {
        let bytes = b"\xe4\xf6\xfc";
        assert_eq!(decode(bytes, Some("iso-8859-5")).unwrap(), "\u{444}\u{456}\u{45c}");
        assert_eq!(decode("é".as_bytes(), Some("iso-8859-5")).unwrap(), "é");
        assert!(decode(bytes, Some("shift_jis")).is_ok(), "a wrong label is passed by");
        assert!(decode(bytes, Some("nonsense")).is_ok());
    }

    #[test]
    fn what_is_no_text_is_refused_with_the_reason() {
        assert_eq!(decode(b"ab\0cd", None), Err(EncodingError::Nul(2)));
        assert_eq!(decode(b"\xff\xfeab\0\0", None), Err(EncodingError::Nul(4)));
        let damaged = ["Brötchen und Käse".as_bytes(), b"\xff"].concat();
        assert_eq!(decode(&damaged, None), Err(EncodingError::DamagedUtf8(19)));
        let noise: Vec<u8> = (1..=255).collect();
        assert_eq!(decode(&noise, None), Err(EncodingError::Unknown));
    }

    #[test]
    fn bidirectional_controls_stay_where_they_are() {
        let text = "a\u{202e}b\u{2066}c\u{2069}";
        assert_eq!(decode(text.as_bytes(), None).unwrap(), text);
    }
}
