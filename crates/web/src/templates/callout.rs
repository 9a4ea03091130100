//! Callouts: quotations whose first line is `[!type] title`, as Obsidian and GitHub write them.

use std::ops::Range;

use maud::html;

use super::plain_text::plain_text;

/// Maximum length of the name of a type, in bytes.
const MAX_TYPE_BYTES: usize = 30;
/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// Maximum number of spaces before the sign of a quotation.
const MAX_INDENT: usize = 3;

/// A callout in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Callout {
    class: &'static str,
    title: String,
    fold: Fold,
    /// Position of the end of the first line, in bytes of the text.
    pub(super) head_end: usize,
}

/// Whether readers can fold a callout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fold {
    Never,
    Open,
    Closed,
}

impl Callout {
    /// Returns the callout that the quotation in this range of a text is, if it is one. The line is read only
    /// if it begins with one, so that quotations in quotations on one line cost no more than their signs.
    pub(super) fn find(text: &str, quote: &Range<usize>) -> Option<Self> {
        let inside = text.get(quote.clone())?;
        let indent = inside.bytes().take(MAX_INDENT).take_while(|byte| *byte == b' ').count();
        let head = inside.get(indent..)?.strip_prefix('>')?;
        let head = head.strip_prefix([' ', '\t']).unwrap_or(head).strip_prefix("[!")?;
        let kind = head.get(..head.bytes().take(MAX_TYPE_BYTES + 1).position(|it| it == b']')?)?;
        let is_part = |letter: char| letter.is_alphanumeric() || "-_ |".contains(letter);
        if kind.is_empty() || !kind.chars().all(is_part) {
            return None;
        }
        let line = head.split_inclusive('\n').next()?;
        let rest = line.get(kind.len() + 1..)?;
        let (fold, title) = match rest.as_bytes().first() {
            Some(b'-') => (Fold::Closed, rest.get(1..)?),
            Some(b'+') => (Fold::Open, rest.get(1..)?),
            _ => (Fold::Never, rest),
        };
        let kind = kind.split('|').next()?.trim();
        let title = title.trim();
        let shown = title.char_indices().nth(MAX_TITLE_CHARS).and_then(|(end, _)| title.get(..end));
        let title = match plain_text(shown.unwrap_or(title)).trim() {
            "" => capitalized(kind),
            title if shown.is_some() => format!("{title}…"),
            title => title.to_owned(),
        };
        let head_end = quote.start + (inside.len() - head.len()) + line.len();
        Some(Self { class: class_of(kind), title, fold, head_end })
    }

    /// Returns the HTML that opens the callout, with its heading. `is_open` opens one that is folded.
    pub(super) fn opening(&self, is_open: bool) -> String {
        let (class, title) = (self.class, html! { (self.title) }.into_string());
        let open = if is_open || self.fold == Fold::Open { " open" } else { "" };
        match self.fold {
            Fold::Never => {
                format!("<div class=\"callout {class}\"><p class=\"callout-title\">{title}</p>")
            }
            Fold::Open | Fold::Closed => {
                format!("<details class=\"callout {class}\"{open}><summary>{title}</summary>")
            }
        }
    }

    /// Returns the HTML that closes the callout.
    pub(super) fn closing(&self) -> &'static str {
        match self.fold {
            Fold::Never => "</div>",
            Fold::Open | Fold::Closed => "</details>",
        }
    }
}

/// Returns the class of a type: one of the four colours.
fn class_of(kind: &str) -> &'static str {
    match kind.to_lowercase().as_str() {
        "tip" | "hint" | "important" | "success" | "check" | "done" => "tip",
        "warning" | "caution" | "attention" | "question" | "help" | "faq" => "warning",
        "danger" | "error" | "bug" | "failure" | "fail" | "missing" => "danger",
        _ => "note",
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
