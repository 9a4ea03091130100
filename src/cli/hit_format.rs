//! Search hits as text for people: plain lines, and on a terminal with colours and as wide as it is.

use console::{Style, measure_text_width, truncate_str};
use serde_json::Value;
use vademecum_services::text::sanitize;

use super::{
    output::terminal_width,
    search::{single_line, str_or_empty},
};

/// Minimum width of a line, in columns.
const MIN_WIDTH: usize = 24;
/// Indentation of the snippet, below the title.
const INDENT: &str = "      ";

/// Output for which hits are formatted.
#[derive(Clone, Copy, Debug)]
pub(super) struct HitFormat {
    /// Width of the terminal, in columns; `None` if the output is no terminal.
    width: Option<usize>,
    has_colours: bool,
}

impl HitFormat {
    /// Returns the format for standard output. The variable `NO_COLOR` disables colours.
    pub(super) fn detect() -> Self {
        let width = terminal_width();
        Self { width, has_colours: width.is_some() && console::colors_enabled() }
    }

    /// Returns whether matching words are shown, for which hits must have `highlights`.
    pub(super) fn shows_matches(self) -> bool {
        self.has_colours
    }

    /// Returns the lines of a hit. They have no characters that control a terminal but colours.
    pub(super) fn format_hit(self, hit: &Value) -> Vec<String> {
        let score = hit["score"].as_f64().unwrap_or_default();
        let title = sanitize(&single_line(hit["title"].as_str().unwrap_or("(no title)")));
        let uri = sanitize(str_or_empty(&hit["uri"]));
        let (score, address) = (format!("{score:.2}"), format!("[{uri}]"));
        let Some(width) = self.width else {
            let snippet = sanitize(&single_line(str_or_empty(&hit["snippet"])));
            return vec![format!("{score}  {title}  {address}"), format!("{INDENT}{snippet}")];
        };
        let (bold, dim) = (self.style().bold(), self.style().dim());
        let width = width.max(MIN_WIDTH);
        let title = truncate_str(&title, width - INDENT.len(), "…");
        let mut lines = vec![format!("{}  {}", dim.apply_to(score), bold.apply_to(&title))];
        // An address must stay whole, to be copied.
        if INDENT.len() + measure_text_width(&title) + 2 + measure_text_width(&address) <= width {
            lines = vec![format!("{}  {}", lines.concat(), dim.apply_to(&address))];
        } else {
            lines.push(format!("{INDENT}{}", dim.apply_to(&address)));
        }
        lines.extend(self.wrap_snippet(hit, width - INDENT.len()));
        lines
    }

    /// Returns a style that is applied only if there are colours.
    fn style(self) -> Style {
        Style::new().force_styling(self.has_colours)
    }

    /// Breaks a snippet between words into lines of at most `width` columns, with the matching
    /// words in colour. A longer word has a line of its own.
    fn wrap_snippet(self, hit: &Value, width: usize) -> Vec<String> {
        let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
        for (word, columns) in self.style_words(hit) {
            if used > 0 && used + 1 + columns > width {
                lines.push(format!("{INDENT}{}", std::mem::take(&mut line)));
                used = 0;
            }
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(&word);
            used += columns;
        }
        lines.extend((used > 0).then(|| format!("{INDENT}{line}")));
        lines
    }

    /// Returns the words of the snippet, each with its width in columns.
    fn style_words(self, hit: &Value) -> Vec<(String, usize)> {
        let ranges: Vec<(u64, u64)> = hit["highlights"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|range| Some((range["start"].as_u64()?, range["end"].as_u64()?)))
            .collect();
        let is_match = |at: u64| ranges.iter().any(|(start, end)| (*start..*end).contains(&at));
        let matching = self.style().yellow().bold();
        let mut words = Vec::new();
        let letters: Vec<(char, bool)> = str_or_empty(&hit["snippet"])
            .chars()
            .zip(0..)
            .map(|(letter, at)| (letter, is_match(at)))
            .collect();
        for word in letters.split(|(letter, _)| letter.is_whitespace()) {
            let parts = word.chunk_by(|one, other| one.1 == other.1).map(|part| {
                let text: String = part.iter().map(|(letter, _)| letter).collect();
                (sanitize(&text), part.first().is_some_and(|(_, is_match)| *is_match))
            });
            let (mut styled, mut columns) = (String::new(), 0);
            for (text, is_match) in parts {
                columns += measure_text_width(&text);
                if is_match {
                    styled.push_str(&matching.apply_to(&text).to_string());
                } else {
                    styled.push_str(&text);
                }
            }
            words.extend((columns > 0).then_some((styled, columns)));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hit() -> Value {
        json!({
            "score": 1.0, "title": "Rye\nbread", "uri": "notes://12345678901234567890",
            "snippet": "Knead the\u{1b}[2J rye  dough\nand let it rise",
            "highlights": [{ "start": 14, "end": 17 }]
        })
    }

    #[test]
    fn hit_in_pipe_is_two_plain_lines() {
        let plain = HitFormat { width: None, has_colours: false };
        assert_eq!(
            plain.format_hit(&hit()),
            [
                "1.00  Rye bread  [notes://12345678901234567890]",
                "      Knead the\u{fffd}[2J rye dough and let it rise"
            ]
        );
    }

    #[test]
    fn hit_on_terminal_has_colours_and_fits() {
        let terminal = HitFormat { width: Some(30), has_colours: true };
        let lines = terminal.format_hit(&hit());
        let plain: Vec<_> = lines.iter().map(|line| console::strip_ansi_codes(line)).collect();
        assert_eq!(
            plain,
            [
                "1.00  Rye bread",
                "      [notes://12345678901234567890]",
                "      Knead the\u{fffd}[2J rye dough",
                "      and let it rise"
            ]
        );
        assert_eq!(lines[2].matches("\u{1b}[33m").count(), 1, "{lines:?}");
        let colourless = HitFormat { has_colours: false, ..terminal };
        assert_eq!(colourless.format_hit(&hit()), plain);
    }
}
