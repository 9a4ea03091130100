//! Parsing of the text of a cue: speakers, without tags and entities.

/// Maximum length of a tag, in bytes; longer text is not a tag.
const MAX_TAG_BYTES: usize = 256;

/// The text of one speaker in a cue.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SpeakerText {
    /// Speaker named by a tag `<v Name>`, if any.
    pub speaker: Option<String>,
    /// Text; lines are kept.
    pub text: String,
}

/// Splits the text of a cue by speaker. Tags are removed and entities decoded.
pub(super) fn split_speakers(markup: &str) -> Vec<SpeakerText> {
    let mut voices = vec![SpeakerText::default()];
    let mut raw = String::new();
    let mut rest = markup;
    while let Some(next) = rest.chars().next() {
        if let Some(tag) = leading_tag(rest) {
            if let TagKind::Speaker(speaker) = classify_tag(tag) {
                finish_speaker_text(&mut voices, &mut raw);
                voices.push(SpeakerText { speaker, text: String::new() });
            }
            rest = &rest[tag.len()..];
        } else {
            raw.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    finish_speaker_text(&mut voices, &mut raw);
    voices.retain(|voice| !voice.text.is_empty());
    voices
}

fn finish_speaker_text(voices: &mut [SpeakerText], raw: &mut String) {
    if let Some(voice) = voices.last_mut() {
        let text = decode_entities(raw);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).filter(|line| !line.is_empty()).collect();
        voice.text = lines.join("\n");
        raw.clear();
    }
}

/// Returns the tag at the beginning of `text`: `<i>`, `</c>`, `<00:01.000>`, `{\an8}`.
fn leading_tag(text: &str) -> Option<&str> {
    let close = match text.as_bytes() {
        [b'<', b'/' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z', ..] => '>',
        [b'{', b'\\', ..] => '}',
        _ => return None,
    };
    let end = text.bytes().take(MAX_TAG_BYTES).position(|byte| char::from(byte) == close)?;
    Some(&text[..=end])
}

/// Meaning of a tag.
enum TagKind {
    /// Change of the speaker: `<v Name>` sets it, `</v>` clears it.
    Speaker(Option<String>),
    /// Styling, which is ignored.
    Style,
}

fn classify_tag(tag: &str) -> TagKind {
    if tag == "</v>" {
        return TagKind::Speaker(None);
    }
    let inside = tag.strip_prefix("<v").and_then(|rest| rest.strip_suffix('>'));
    match inside {
        Some(inside) if inside.is_empty() || inside.starts_with(['.', ' ', '\t']) => {
            let name = inside.split_once([' ', '\t']).map(|(_, name)| decode_entities(name.trim()));
            TagKind::Speaker(name.filter(|name| !name.is_empty()))
        }
        Some(_) | None => TagKind::Style,
    }
}

/// Returns the text with its entities decoded.
fn decode_entities(text: &str) -> String {
    let mut decoded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest entity, `&#x10FFFF;`, has ten characters.
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((decode_entity(&rest[1..end])?, end + 1)));
        let (sign, length) = found.unwrap_or(('&', 1));
        decoded.push(sign);
        rest = &rest[length..];
    }
    decoded + rest
}

fn decode_entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        "lrm" => Some('\u{200e}'),
        "rlm" => Some('\u{200f}'),
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => digits.parse(),
            };
            char::from_u32(code.ok()?).filter(|sign| *sign != '\0')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined_text(markup: &str) -> String {
        let voices = split_speakers(markup);
        voices.into_iter().map(|voice| voice.text).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn tags_are_removed_and_lookalikes_kept() {
        assert_eq!(joined_text("<c.red>Red</c> <00:01.000><b>bold</b> {\\an8}up"), "Red bold up");
        assert_eq!(joined_text("a < b > c, i <3 you, {curly}"), "a < b > c, i <3 you, {curly}");
        assert_eq!(joined_text("<ruby>漢<rt>kan</rt></ruby>"), "漢kan");
        assert_eq!(joined_text("<video> on"), "on");
    }

    #[test]
    fn lines_are_kept_separate() {
        assert_eq!(joined_text("One  \n\n <i> two</i> three"), "One\ntwo three");
    }

    #[test]
    fn entities_are_decoded_once() {
        assert_eq!(
            joined_text("Q&amp;A &#39;x&#x27; &amp;lt; &nope; R&D&"),
            "Q&A 'x' &lt; &nope; R&D&"
        );
        assert_eq!(joined_text("a&nbsp;b &lt;i&gt;"), "a b <i>");
        assert_eq!(joined_text("&äöü€漢字;"), "&äöü€漢字;");
    }

    #[test]
    fn speakers_are_separated() {
        let found = split_speakers("<v Ada &amp; Bob>Hi.</v> All: <v.x Eve>Yo");
        let speakers: Vec<_> = found.iter().map(|voice| voice.speaker.as_deref()).collect();
        assert_eq!(speakers, [Some("Ada & Bob"), None, Some("Eve")]);
        assert_eq!(found[1].text, "All:");
        assert!(split_speakers("<v Ada></v>").is_empty());
    }
}
