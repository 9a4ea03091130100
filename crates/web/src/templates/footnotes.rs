//! Numbers of the footnotes of a text, in the order in which they are first named.

use std::collections::{HashMap, HashSet};

/// The footnotes of a text.
#[derive(Debug)]
pub(super) struct Footnotes {
    numbers: HashMap<String, usize>,
    /// Numbers of the footnotes that have an anchor at their first reference.
    referenced: HashSet<usize>,
    has_anchors: bool,
}

impl Footnotes {
    /// Creates a list. With `has_anchors`, references and texts lead to each other.
    pub(super) fn new(has_anchors: bool) -> Self {
        Self { numbers: HashMap::new(), referenced: HashSet::new(), has_anchors }
    }

    /// Returns the HTML of a reference.
    pub(super) fn reference(&mut self, name: &str) -> String {
        let number = self.number(name);
        if !self.has_anchors {
            return format!("<sup>{number}</sup>");
        }
        let is_first = self.referenced.insert(number);
        let id = if is_first { format!(" id=\"reference-{number}\"") } else { String::new() };
        format!(
            "<sup><a href=\"#footnote-{number}\"{id} aria-label=\"Footnote {number}\">{number}</a></sup>"
        )
    }

    /// Returns the HTML that opens the text of a footnote.
    pub(super) fn opening(&mut self, name: &str) -> String {
        let number = self.number(name);
        match (self.has_anchors, self.referenced.contains(&number)) {
            (true, true) => format!(
                "<div class=\"footnote\" id=\"footnote-{number}\"><a href=\"#reference-{number}\" \
                 aria-label=\"Back to reference {number}\">{number}.</a>"
            ),
            (true, false) => {
                format!("<div class=\"footnote\" id=\"footnote-{number}\"><span>{number}.</span>")
            }
            (false, _) => format!("<div class=\"footnote\"><span>{number}.</span>"),
        }
    }

    fn number(&mut self, name: &str) -> usize {
        let next = self.numbers.len() + 1;
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }
}
