//! Links and pictures in serialized JSON, as plain text.

use std::borrow::Cow;

use super::plain_links::without_remote_links;

/// Returns serialized JSON whose texts have no links and pictures that lead elsewhere.
pub(crate) fn without_remote_links_in_json(json: &str) -> Cow<'_, str> {
    let may_have_links = |json: &str| {
        json.contains('<') || ["](", "]:", "![[", "\\u"].into_iter().any(|sign| json.contains(sign))
    };
    if !may_have_links(json) {
        return Cow::Borrowed(json);
    }
    let mut output = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('"')) {
        let start = at + found;
        at = end_of_literal(json, start);
        let literal = json.get(start..at).unwrap_or_default();
        if may_have_links(literal)
            && let Ok(text) = serde_json::from_str::<String>(literal)
            && let Cow::Owned(plain) = without_remote_links(&text)
        {
            output.push_str(json.get(copied..start).unwrap_or_default());
            output.push_str(&serde_json::Value::from(plain).to_string());
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    output.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(output)
}

/// Returns the end of the string literal that begins at a position, behind its quote.
fn end_of_literal(json: &str, start: usize) -> usize {
    let mut is_escaped = false;
    let inner = json.get(start + 1..).unwrap_or_default().bytes();
    let mut quotes = inner.enumerate().filter(|(_, byte)| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    quotes.next().map_or(json.len(), |(length, _)| start + 1 + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_json_are_plain_and_others_stay() {
        let json =
            r#"{"a":"![x](http://a.example/\"q\")","n":[1,"\u003cimg src=//b.example>"],"c":"]("}"#;
        let expected = r#"{"a":"x (a.example)","n":[1," (b.example)"],"c":"]("}"#;
        assert_eq!(without_remote_links_in_json(json), expected);
        let plain = r#"{"a":"\\","b":["x","]"],"c":{"d":"a < b"}}"#;
        assert!(matches!(without_remote_links_in_json(plain), Cow::Borrowed(_)));
    }
}
