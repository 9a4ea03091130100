//! The one rule for front matter: the properties with which a Markdown text may begin.
//!
//! The first line, after an optional byte order mark, is `---` (YAML) or `+++` (TOML), and the block ends
//! before the next line that is the same or, for YAML, `...`. These lines may end with white space. The block
//! is empty or looks like a mapping, so prose between two rules is text. The values are not parsed.

/// Front matter with which a text begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontMatterBlock<'t> {
    /// Language of the properties.
    pub syntax: FrontMatterSyntax,
    /// Position of the properties in the text, in bytes.
    pub start: usize,
    /// The lines between the marks.
    pub matter: &'t str,
    /// Text after the closing mark.
    pub body: &'t str,
}

/// Language of front matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontMatterSyntax {
    /// Between `---` and `---` or `...`.
    Yaml,
    /// Between `+++` and `+++`.
    Toml,
}

impl<'t> FrontMatterBlock<'t> {
    /// Maximum length of properties that are read, in bytes. Parsing is much slower than reading text.
    pub const MAX_READ_BYTES: usize = 128 * 1_024;

    /// Returns the front matter of a text, if there is any.
    pub fn find(text: &'t str) -> Option<Self> {
        let mut lines = text.split_inclusive('\n');
        let opening = lines.next()?;
        let (syntax, closings): (_, &[&str]) =
            match opening.trim_start_matches('\u{feff}').trim_end() {
                "---" => (FrontMatterSyntax::Yaml, &["---", "..."]),
                "+++" => (FrontMatterSyntax::Toml, &["+++"]),
                _ => return None,
            };
        let (start, mut end) = (opening.len(), opening.len());
        let closing = lines.find(|line| {
            let is_closing = closings.contains(&line.trim_end());
            end += if is_closing { 0 } else { line.len() };
            is_closing
        })?;
        let (matter, body) = (text.get(start..end)?, text.get(end + closing.len()..)?);
        syntax.looks_like_mapping(matter).then_some(Self { syntax, start, matter, body })
    }

    /// Returns the text after the front matter, or all of it if it has none.
    pub fn body_of(text: &'t str) -> &'t str {
        Self::find(text).map_or(text, |block| block.body)
    }
}

impl FrontMatterSyntax {
    /// Returns `true` if the lines are blank or those of a mapping. In YAML, each line that is neither
    /// indented nor a comment has a key, or continues a value: `- item`, or a line between brackets.
    fn looks_like_mapping(self, matter: &str) -> bool {
        let is_comment = |line: &&str| line.trim_start().starts_with('#');
        let lines = matter.lines().map(str::trim_end).filter(|line| !line.is_empty());
        let mut lines = lines.skip_while(is_comment).peekable();
        let Some(first) = lines.peek() else { return matter.trim().is_empty() };
        if self == Self::Toml {
            return first.contains('=') || first.starts_with('[');
        }
        let is_first = has_yaml_key(first.trim_start());
        let mut open_brackets = 0_isize;
        let is_part = |line: &str| {
            let is_inside = open_brackets > 0 || line.starts_with([' ', '\t', '-', '#']);
            open_brackets += line.matches(['[', '{']).count().cast_signed();
            open_brackets -= line.matches([']', '}']).count().cast_signed();
            is_inside || has_yaml_key(line)
        };
        is_first && lines.all(is_part)
    }
}

/// Returns `true` for `key:` and `key: value`, and for the beginning of `{key: value}`.
fn has_yaml_key(line: &str) -> bool {
    let mut separators = [": ", ":\t"].into_iter();
    let before = separators.find_map(|separator| Some(line.split_once(separator)?.0));
    let key = before.or_else(|| line.strip_suffix(':')).unwrap_or_default();
    let is_key = !key.starts_with(['-', '*', '>', '|', '`', '@', '%', '!', '&', '[', ',']);
    line.starts_with('{') || (is_key && !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(&str, &str)> {
        let block = FrontMatterBlock::find(text)?;
        assert!(text[block.start..].starts_with(block.matter));
        Some((block.matter, block.body))
    }

    #[test]
    fn front_matter_ends_at_its_mark() {
        for (text, matter, body) in [
            ("---\na: 1\n---\nText", "a: 1\n", "Text"),
            ("\u{feff}---\na: 1\n---\nText", "a: 1\n", "Text"),
            ("---\r\na: 1\r\n---\r\n\r\nText", "a: 1\r\n", "\r\nText"),
            ("--- \t\na: 1\n---  \nText", "a: 1\n", "Text"),
            ("---\na: 1\n...\nText\n---\n", "a: 1\n", "Text\n---\n"),
            ("---\na: 1\n---", "a: 1\n", ""),
            ("---\n---\nText", "", "Text"),
            ("---\n\n \n---\nText", "\n \n", "Text"),
            ("---\na: |\n  ---\n  ...\nb: 2\n---\nText", "a: |\n  ---\n  ...\nb: 2\n", "Text"),
            ("---\na: ----\n----: b\n---\n", "a: ----\n----: b\n", ""),
            ("+++\na = 1\n---\n+++\nText", "a = 1\n---\n", "Text"),
        ] {
            assert_eq!(parts(text), Some((matter, body)), "{text:?}");
        }
    }

    #[test]
    fn mapping_has_keys_in_any_style() {
        for matter in [
            "# Comment\n\na:\n- 1\n-\n",
            "a: [x,\n  y\n]\nb: >\n  Text.\n\n  More: text.\n# End\n",
            "two words:\t1\n\"b: c\": 2\n2024: x\n",
            "  a: 1\n  b: 2\n",
            "{a: 1,\n \"b\": 2}\n",
            "{\n  \"a\": 1\n}\n",
            "a: [\n\"x\",\n\"y: z\"\n]\nb: 1\n",
            "created: {{date}}: x\n",
            "Größe\u{a0}: 1\n",
        ] {
            assert_eq!(parts(&format!("---\n{matter}---\nText")), Some((matter, "Text")));
        }
        for matter in ["# Comment\n[a]\nb = 1\n", "tags = [\n\"a\",\n]\n", ""] {
            assert_eq!(parts(&format!("+++\n{matter}+++\nText")), Some((matter, "Text")));
        }
    }

    #[test]
    fn other_texts_have_no_front_matter() {
        for text in [
            "",
            "---",
            "---\n",
            "---\na: 1\n",
            "---\na: 1\n----\n",
            "---\na: 1\n ---\n",
            "----------\na: 1\n---\n",
            "--- Anna: hello\na: 1\n---\n",
            "---Anna: hello\n---\n",
            " ---\na: 1\n---\n",
            "\n---\na: 1\n---\n",
            "+++\na = 1\n---\n",
            "+++\nProse.\n+++\n",
            "...\na: 1\n---\n",
        ] {
            assert_eq!(parts(text), None, "{text:?}");
        }
    }

    #[test]
    fn prose_between_rules_is_text() {
        for prose in [
            "Prose.",
            "# A heading",
            "- item: one",
            "**Note**: remember",
            "> quote: one",
            "[[Anna]]: hello",
            "See https://example.org/",
            "At 10:30 we met.",
            "Note to self: buy milk.\nThen bake.",
            "a: 1\n\nProse.",
            "a: [1]\nProse.",
            ": nothing before",
        ] {
            assert_eq!(parts(&format!("---\n{prose}\n---\nText")), None, "{prose:?}");
        }
    }

    #[test]
    fn body_follows_front_matter() {
        assert_eq!(FrontMatterBlock::body_of("---\na: 1\n---\nText"), "Text");
        assert_eq!(FrontMatterBlock::body_of("---\nText\n---\n"), "---\nText\n---\n");
    }
}
