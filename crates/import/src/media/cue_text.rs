//! The text of a cue: who says what, without tags and entities.

/// A tag longer than this is none, and is not searched for its end.
const MAX_TAG_BYTES: usize = 256;

/// What one speaker says in a cue.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Voice {
    /// Who says it, if `<v Name>` does.
    pub speaker: Option<String>,
    /// What is said, with its lines as they were.
    pub text: String,
}

/// Takes the text of a cue apart, voice by voice.
pub(super) fn voices(markup: &str) -> Vec<Voice> {
    let mut voices = vec![Voice::default()];
    let mut raw = String::new();
    let mut rest = markup;
    while let Some(next) = rest.chars().next() {
        if let Some(tag) = tag(rest) {
            if let Mark::Voice(speaker) = mark(tag) {
                close(&mut voices, &mut raw);
                voices.push(Voice { speaker, text: String::new() });
            }
            rest = &rest[tag.len()..];
        } else {
            raw.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    close(&mut voices, &mut raw);
    voices.retain(|voice| !voice.text.is_empty());
    voices
}

fn close(voices: &mut [Voice], raw: &mut String) {
    if let Some(voice) = voices.last_mut() {
        let text = decoded(raw);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).filter(|line| !line.is_empty()).collect();
        voice.text = lines.join("\n");
        raw.clear();
    }
}

/// The tag that `text` opens with: `<i>`, `</c>`, `<00:01.000>`, `{\an8}`.
fn tag(text: &str) -> Option<&str> {
    let close = match text.as_bytes() {
        [b'<', b'/' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z', ..] => '>',
        [b'{', b'\\', ..] => '}',
        _ => return None,
    };
    let end = text.bytes().take(MAX_TAG_BYTES).position(|byte| char::from(byte) == close)?;
    Some(&text[..=end])
}

/// What a tag means.
enum Mark {
    /// From here on somebody speaks, `<v Name>`, or nobody known, `</v>`.
    Voice(Option<String>),
    /// How the text looks.
    Look,
}

fn mark(tag: &str) -> Mark {
    if tag == "</v>" {
        return Mark::Voice(None);
    }
    let inside = tag.strip_prefix("<v").and_then(|rest| rest.strip_suffix('>'));
    match inside {
        Some(inside) if inside.is_empty() || inside.starts_with(['.', ' ', '\t']) => {
            let name = inside.split_once([' ', '\t']).map(|(_, name)| decoded(name.trim()));
            Mark::Voice(name.filter(|name| !name.is_empty()))
        }
        Some(_) | None => Mark::Look,
    }
}

/// The text with its entities replaced by what they stand for.
fn decoded(text: &str) -> String {
    let mut decoded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest entity, `&#x10FFFF;`, has ten signs.
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        let (sign, length) = found.unwrap_or(('&', 1));
        decoded.push(sign);
        rest = &rest[length..];
    }
    decoded + rest
}

fn entity(name: &str) -> Option<char> {
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

    fn text(markup: &str) -> String {
        let voices = voices(markup);
        voices.into_iter().map(|voice| voice.text).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn tags_are_left_out_and_what_only_looks_like_one_is_kept() {
        assert_eq!(text("<c.red>Red</c> <00:01.000><b>bold</b> {\\an8}up"), "Red bold up");
        assert_eq!(text("a < b > c, i <3 you, {curly}"), "a < b > c, i <3 you, {curly}");
        assert_eq!(text("<ruby>漢<rt>kan</rt></ruby>"), "漢kan");
        assert_eq!(text("<video> on"), "on");
    }

    #[test]
    fn lines_stay_apart() {
        assert_eq!(text("One  \n\n <i> two</i> three"), "One\ntwo three");
    }

    #[test]
    fn entities_are_read_once() {
        assert_eq!(text("Q&amp;A &#39;x&#x27; &amp;lt; &nope; R&D&"), "Q&A 'x' &lt; &nope; R&D&");
        assert_eq!(text("a&nbsp;b &lt;i&gt;"), "a b <i>");
        assert_eq!(text("&äöü€漢字;"), "&äöü€漢字;");
    }

    #[test]
    fn every_voice_is_apart() {
        let found = voices("<v Ada &amp; Bob>Hi.</v> All: <v.x Eve>Yo");
        let speakers: Vec<_> = found.iter().map(|voice| voice.speaker.as_deref()).collect();
        assert_eq!(speakers, [Some("Ada & Bob"), None, Some("Eve")]);
        assert_eq!(found[1].text, "All:");
        assert!(voices("<v Ada></v>").is_empty());
    }
}
