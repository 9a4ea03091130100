//! Text that is written block by block, with the places of its headings.

use vademecum_model::Heading;

/// Maximum level of a heading.
const MAX_LEVEL: usize = 6;

/// A text of Markdown.
#[derive(Debug, Default)]
pub(super) struct MarkdownWriter {
    pub(super) text: String,
    pub(super) headings: Vec<Heading>,
}

impl MarkdownWriter {
    /// Adds a block after an empty line. A blank one is left out.
    pub(super) fn block(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            if !self.text.is_empty() {
                self.text.push_str("\n\n");
            }
            self.text.push_str(text);
        }
    }

    /// Adds a heading on one line.
    pub(super) fn heading(&mut self, level: usize, title: &str) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return;
        }
        let level = level.clamp(1, MAX_LEVEL);
        let at = if self.text.is_empty() { 0 } else { self.text.len() + 2 };
        self.block(&format!("{} {title}", "#".repeat(level)));
        self.headings.push(Heading { at, level: u8::try_from(level).unwrap_or(1), title });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_their_places() {
        let mut writer = MarkdownWriter::default();
        writer.heading(1, " One\ntwo ");
        writer.block("é");
        writer.heading(9, "Three");
        assert_eq!(writer.text, "# One two\n\né\n\n###### Three");
        let found: Vec<_> = writer.headings.iter().map(|it| &writer.text[it.at..]).collect();
        assert_eq!(found, [writer.text.as_str(), "###### Three"]);
    }
}
