//! Fields of a note that the library has no column for, as front matter of its text.

/// Returns `text` with the fields that are not blank before it, as YAML.
pub(super) fn with_fields(text: &str, fields: &[(&str, &str)]) -> String {
    let lines = fields.iter().filter(|(_, value)| !value.trim().is_empty()).map(|(name, value)| {
        // A JSON text is a YAML text.
        let value = serde_json::Value::from(value.trim());
        format!("{name}: {value}\n")
    });
    let lines: String = lines.collect();
    if lines.is_empty() { text.to_owned() } else { format!("---\n{lines}---\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::markdown::MarkdownDocument;

    #[test]
    fn fields_are_front_matter() {
        let fields =
            [("source", "https://example.org/#a"), ("author", "Ada \"x\": y"), ("todo", " ")];
        let text = with_fields("Rye.", &fields);
        let expected =
            "---\nsource: \"https://example.org/#a\"\nauthor: \"Ada \\\"x\\\": y\"\n---\nRye.";
        assert_eq!(text, expected);
        let read = MarkdownDocument::parse(&text).properties;
        assert_eq!(read.url.as_deref(), Some("https://example.org/#a"));
        assert_eq!(read.author.as_deref(), Some("Ada \"x\": y"));
        assert_eq!(with_fields("Rye.", &[("author", "")]), "Rye.");
    }
}
