//! Approximate extraction of text from HTML pages and Rust files.

/// Elements whose content is skipped.
const SKIPPED_ELEMENTS: [&str; 5] = ["script", "style", "nav", "svg", "head"];
/// Inline elements, which do not end a paragraph.
const INLINE_ELEMENTS: [&str; 12] =
    ["a", "b", "i", "em", "strong", "code", "span", "wbr", "kbd", "sup", "sub", "small"];
/// Supported character references.
const CHARACTER_REFERENCES: [(&str, &str); 7] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
];

/// Returns the text of an HTML page. Headings start with `#`.
pub(crate) fn html_to_text(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let Some((tag, after)) = after.split_once('>') else { return decode_references(&text) };
        rest = after;
        let closing = tag.starts_with('/');
        let name = tag.trim_start_matches('/');
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric());
        let name = name.get(..end.unwrap_or(name.len())).unwrap_or_default().to_ascii_lowercase();
        if !closing && SKIPPED_ELEMENTS.contains(&name.as_str()) {
            let end = format!("</{name}>");
            rest = rest.split_once(&end).map_or("", |(_, after)| after);
        } else if !INLINE_ELEMENTS.contains(&name.as_str()) {
            text.push_str("\n\n");
            if !closing && matches!(name.as_bytes(), [b'h', b'1'..=b'6']) {
                text.push_str("# ");
            }
        }
    }
    text.push_str(rest);
    decode_references(&text)
}

fn decode_references(text: &str) -> String {
    CHARACTER_REFERENCES
        .iter()
        .fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter))
}

/// Returns the doc comments of a Rust file. Code between them ends a paragraph.
pub(crate) fn rust_doc_text(code: &str) -> String {
    let mut text = String::new();
    for line in code.lines() {
        let line = line.trim_start();
        match line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            Some(comment) => text.push_str(comment.strip_prefix(' ').unwrap_or(comment)),
            None if text.ends_with("\n\n") => continue,
            None => {}
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_keeps_headings_without_tags_and_scripts() {
        let page = "<head><title>x</title></head><h1>Bread &amp; <em>rye</em></h1>\
                    <script>var a = 1 < 2;</script><p>Knead it.</p>";
        let lines: Vec<_> = html_to_text(page)
            .lines()
            .map(str::to_owned)
            .filter(|line| !line.trim().is_empty())
            .collect();
        assert_eq!(lines, ["# Bread & rye", "Knead it."]);
    }

    #[test]
    fn rust_text_is_doc_comments_only() {
        let code = "//! A room.\n\nuse a::b;\n\n/// Does it.\n/// Well.\nfn f() {}\nfn g() {}\n";
        assert_eq!(
            rust_doc_text(code),
            "A room.\n\n\nDoes it.\nWell.\n\n".replace("\n\n\n", "\n\n")
        );
    }
}
