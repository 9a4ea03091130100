//! Lines of iCalendar (RFC 5545) and vCard (RFC 6350): a name, parameters and a value.

use std::borrow::Cow;

use crate::text::decode_text;

/// Maximum number of lines of a file.
const MAX_LINES: usize = 5_000_000;

/// A line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ContentLine {
    /// Name in capitals, without a group.
    pub(super) name: String,
    /// Parameters as they are written; names in capitals.
    pub(super) parameters: Vec<(String, String)>,
    /// Value as it is written.
    pub(super) value: String,
}

impl ContentLine {
    /// Parses a line; `None` if it has no name.
    fn parse(line: &str) -> Option<Self> {
        let mut quoted = false;
        let is_end = |next: char| {
            quoted ^= next == '"';
            next == ':' && !quoted
        };
        let end = line.find(is_end)?;
        let (head, value) = line.split_at(end);
        let mut parts = head.split(';');
        let name = parts.next()?.trim();
        let name = name.rsplit('.').next().unwrap_or(name).to_ascii_uppercase();
        let parameters = parts.map(|part| {
            // vCard 2.1 has types without a name.
            let (name, value) = part.split_once('=').unwrap_or(("TYPE", part));
            (name.trim().to_ascii_uppercase(), value.trim().trim_matches('"').to_owned())
        });
        let value = value.get(1..).unwrap_or_default().to_owned();
        (!name.is_empty()).then(|| Self { name, parameters: parameters.collect(), value })
    }

    /// Returns the value of a parameter; empty without one.
    pub(super) fn parameter(&self, name: &str) -> &str {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Returns the value as text: `\n` is a line break, and other escaped characters are themselves.
    pub(super) fn text(&self) -> String {
        let value = self.decoded();
        let mut text = String::with_capacity(value.len());
        let mut characters = value.chars();
        while let Some(next) = characters.next() {
            match next {
                '\\' => match characters.next() {
                    Some('n' | 'N') => text.push('\n'),
                    Some(other) => text.push(other),
                    None => {}
                },
                other => text.push(other),
            }
        }
        text.trim().to_owned()
    }

    /// Returns the parts of a value that are separated by semicolons, without empty ones.
    pub(super) fn parts(&self) -> Vec<String> {
        let value = self.decoded().replace("\\;", "\u{0}");
        let parts = value.split(';').map(|part| {
            let value = part.replace('\u{0}', ";");
            Self { value, ..Self::default() }.text()
        });
        parts.filter(|part| !part.is_empty()).collect()
    }

    /// Returns the value without the transfer encoding of vCard 2.1.
    fn decoded(&self) -> Cow<'_, str> {
        let is_encoded = self.parameters.iter().any(|(name, value)| {
            ["ENCODING", "TYPE"].contains(&name.as_str())
                && value.eq_ignore_ascii_case("QUOTED-PRINTABLE")
        });
        if !is_encoded {
            return Cow::Borrowed(&self.value);
        }
        let mut bytes = Vec::with_capacity(self.value.len());
        let mut rest = self.value.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            let hex = after.get(..2).and_then(|hex| str::from_utf8(hex).ok());
            let code =
                hex.filter(|_| *first == b'=').and_then(|it| u8::from_str_radix(it, 16).ok());
            bytes.push(code.unwrap_or(*first));
            rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
        }
        let label = Some(self.parameter("CHARSET")).filter(|it| !it.is_empty());
        let text = decode_text(&bytes, label).map(Cow::into_owned);
        text.map_or(Cow::Borrowed(self.value.as_str()), Cow::Owned)
    }
}

/// Returns whether the parameters of a line name the transfer encoding of vCard 2.1.
fn is_quoted_printable(line: &str) -> bool {
    let head = line.split(':').next().unwrap_or_default();
    head.to_ascii_uppercase().contains("QUOTED-PRINTABLE")
}

/// Splits a text into its lines; a line that begins with white space continues the one before.
pub(super) fn content_lines(text: &str) -> Vec<ContentLine> {
    let mut joined: Vec<String> = Vec::new();
    for line in text.lines().take(MAX_LINES) {
        match (line.strip_prefix([' ', '\t']), joined.last_mut()) {
            // White space after a soft line break is part of the value.
            (_, Some(last)) if last.ends_with('=') && is_quoted_printable(last) => {
                last.pop();
                last.push_str(line);
            }
            (Some(rest), Some(last)) => last.push_str(rest),
            _ => joined.push(line.to_owned()),
        }
    }
    joined.iter().filter_map(|line| ContentLine::parse(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_decoded() {
        let text = "item1.ORG;type=\"a:b\":One\\, two\r\n  three;Four\\;five\nNOTE;QUOTED-PRINTABLE:caf=C3=\n=A9\nno name\n:x";
        let lines = content_lines(text);
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0].name.as_str(), lines[0].parameter("TYPE")), ("ORG", "a:b"));
        assert_eq!(lines[0].parts(), ["One, two three", "Four;five"]);
        assert_eq!(lines[1].text(), "café");
        let soft = "NOTE;CHARSET=UTF-8;ENCODING=quoted-printable:One=\r\n two=\r\n=C3=A9\r\nTEL:1";
        let lines = content_lines(soft);
        assert_eq!((lines.len(), lines[0].text().as_str()), (2, "One twoé"));
    }
}
