//! Callouts: quotations whose first line is `[!type] title`, as Obsidian and GitHub write them.

use std::ops::Range;

use maud::html;

use super::plain_text::plain_text;

/// Maximum length of the name of a type, in bytes.
const MAX_TYPE_BYTES: usize = 30;

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
    /// Returns the callout that the quotation in this range of a text is, if it is one.
    pub(super) fn find(text: &str, quote: &Range<usize>) -> Option<Self> {
        let inside = text.get(quote.clone())?;
        let line = inside.split_inclusive('\n').next()?;
        let head = line.trim_start_matches(['>', ' ', '\t']).strip_prefix("[!")?;
        let (kind, rest) = head.split_once(']')?;
        let is_kind = (1..=MAX_TYPE_BYTES).contains(&kind.len())
            && kind.chars().all(|letter| letter.is_alphanumeric() || "-_ |".contains(letter));
        if !is_kind {
            return None;
        }
        let (fold, title) = match rest.as_bytes().first() {
            Some(b'-') => (Fold::Closed, rest.get(1..)?),
            Some(b'+') => (Fold::Open, rest.get(1..)?),
            _ => (Fold::Never, rest),
        };
        let kind = kind.split('|').next()?.trim();
        let title = match plain_text(title).trim() {
            "" => capitalized(kind),
            title => title.to_owned(),
        };
        Some(Self { class: class_of(kind), title, fold, head_end: quote.start + line.len() })
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
