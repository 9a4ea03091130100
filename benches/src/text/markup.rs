//! Taking the text out of HTML and of Rust, roughly.

/// Elements whose text nobody reads.
const UNREAD: [&str; 5] = ["script", "style", "nav", "svg", "head"];
/// Elements that stand in the middle of a line.
const INLINE: [&str; 12] =
    ["a", "b", "i", "em", "strong", "code", "span", "wbr", "kbd", "sup", "sub", "small"];
/// Characters that HTML writes with a name.
const NAMED: [(&str, &str); 7] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
];

/// The text of a page; headings begin with `#`.
pub(crate) fn of_html(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let Some((tag, after)) = after.split_once('>') else { return named(&text) };
        rest = after;
        let closing = tag.starts_with('/');
        let name = tag.trim_start_matches('/');
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric());
        let name = name.get(..end.unwrap_or(name.len())).unwrap_or_default().to_ascii_lowercase();
        if !closing && UNREAD.contains(&name.as_str()) {
            let end = format!("</{name}>");
            rest = rest.split_once(&end).map_or("", |(_, after)| after);
        } else if !INLINE.contains(&name.as_str()) {
            text.push_str("\n\n");
            if !closing && matches!(name.as_bytes(), [b'h', b'1'..=b'6']) {
                text.push_str("# ");
            }
        }
    }
    text.push_str(rest);
    named(&text)
}

fn named(text: &str) -> String {
    NAMED.iter().fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter))
}

/// The doc comments of a Rust file; code between them ends a paragraph.
pub(crate) fn of_rust(code: &str) -> String {
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
    fn tags_scripts_and_names_are_gone_and_headings_stay() {
        let page = "<head><title>x</title></head><h1>Bread &amp; <em>rye</em></h1>\
                    <script>var a = 1 < 2;</script><p>Knead it.</p>";
        let lines: Vec<_> = of_html(page)
            .lines()
            .map(str::to_owned)
            .filter(|line| !line.trim().is_empty())
            .collect();
        assert_eq!(lines, ["# Bread & rye", "Knead it."]);
    }

    #[test]
    fn only_doc_comments_are_text() {
        let code = "//! A room.\n\nuse a::b;\n\n/// Does it.\n/// Well.\nfn f() {}\nfn g() {}\n";
        assert_eq!(of_rust(code), "A room.\n\n\nDoes it.\nWell.\n\n".replace("\n\n\n", "\n\n"));
    }
}
