//! Hiding of the parts of a text that contain no links: code, comments and formulas.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::Dialect;

/// Minimum number of spaces that indent code.
const INDENT_OF_CODE: u32 = 4;

/// Returns the text with blanks, byte by byte, in place of the parts that contain no links.
pub(super) fn mask_literal_parts(text: &str, dialect: Dialect) -> Cow<'_, str> {
    match dialect {
        Dialect::Plain => text.into(),
        Dialect::Org | Dialect::LogseqOrg => blank(text.into(), org_blocks(text)),
        Dialect::Markdown => {
            let masked = blank(text.into(), markdown_literals(text, dialect));
            // The marks of comments count only outside of code.
            let comments = comments(&masked);
            blank(masked, comments)
        }
        Dialect::Logseq => {
            let masked = blank(text.into(), markdown_literals(text, dialect));
            blank(masked, org_blocks(text))
        }
    }
}

/// Replaces ranges, which must be those of whole characters, with blanks.
fn blank(text: Cow<'_, str>, ranges: Vec<Range<usize>>) -> Cow<'_, str> {
    if ranges.is_empty() {
        return text;
    }
    let mut masked = text.into_owned().into_bytes();
    for range in ranges {
        for byte in masked.get_mut(range).into_iter().flatten().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
    }
    String::from_utf8_lossy(&masked).into_owned().into()
}

/// Returns the code, the formulas and the HTML comments of a Markdown text. Logseq has neither
/// indented code nor formulas with single signs.
fn markdown_literals(text: &str, dialect: Dialect) -> Vec<Range<usize>> {
    let is_logseq = dialect == Dialect::Logseq;
    let mut found = Vec::new();
    if !may_have_literals(text) {
        return found;
    }
    let options = if is_logseq { Options::empty() } else { Options::ENABLE_MATH };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) if is_logseq => {}
            Event::Start(Tag::CodeBlock(_))
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => found.push(range),
            Event::Start(Tag::HtmlBlock) => {
                let comment = text.get(range.clone()).unwrap_or_default().trim_start();
                if comment.starts_with("<!--") {
                    found.push(range);
                }
            }
            Event::InlineHtml(html) if html.starts_with("<!--") => found.push(range),
            _ => {}
        }
    }
    found
}

/// Returns whether a Markdown text may contain code, a formula or an HTML comment.
fn may_have_literals(text: &str) -> bool {
    let mut blanks = 0;
    text.bytes().any(|byte| {
        blanks = if byte == b' ' { blanks + 1 } else { 0 };
        blanks == INDENT_OF_CODE || matches!(byte, b'`' | b'~' | b'$' | b'<' | b'\t')
    })
}

/// Returns the comments between `%%` marks. An opening mark at the beginning of a line without a
/// closing one begins a comment up to the end; another one is text.
fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // A search for one sign is several times as fast.
    let mut at = text.find('%').unwrap_or(text.len());
    while let Some(start) = text.get(at..).and_then(|rest| rest.find("%%")).map(|it| it + at) {
        let after = start + 2;
        let Some(rest) = text.get(after..) else { break };
        if let Some(length) = rest.find("%%") {
            found.push(start..after + length + 2);
            at = after + length + 2;
            continue;
        }
        let line = text.get(..start).unwrap_or_default().rsplit('\n').next();
        if line.is_some_and(|line| line.trim().is_empty()) {
            found.push(start..text.len());
        }
        break;
    }
    found
}

/// Returns the blocks of Org mode whose text is no markup.
fn org_blocks(text: &str) -> Vec<Range<usize>> {
    const LITERAL: [&str; 5] = ["src", "example", "export", "comment", "query"];
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start().trim_start_matches("- ").trim_start();
        if bare.starts_with("#+") {
            let word = bare.get(2..).unwrap_or_default().to_lowercase();
            let word = word.split_whitespace().next().unwrap_or_default();
            if let Some(name) = word.strip_prefix("begin_").filter(|it| LITERAL.contains(it)) {
                open.get_or_insert_with(|| (at, name.to_owned()));
            } else if let Some(name) = word.strip_prefix("end_")
                && let Some((start, _)) = open.take_if(|(_, begun)| begun == name)
            {
                found.push(start..at + line.len());
            }
        }
        at += line.len();
    }
    found.extend(open.map(|(start, _)| start..text.len()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str, dialect: Dialect) -> String {
        let masked = mask_literal_parts(text, dialect);
        assert_eq!(masked.len(), text.len());
        masked.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn code_comments_and_formulas_are_hidden() {
        for (text, kept) in [
            ("a `b` c", "a c"),
            ("a ``b ` c`` d", "a d"),
            ("a\n```\nb\n```\nc", "a c"),
            ("a\n~~~ x\nb", "a"),
            ("- a\n\n      b\n", "- a"),
            ("- a\n    - b\n", "- a - b"),
            ("> ```\n> b\n> ```\nc", "> c"),
            ("a %%b%% c %% d", "a c %% d"),
            ("a\n%%\nb\n%%\nc", "a c"),
            ("a\n%%\nb", "a"),
            ("`%%` a `%%`", "a"),
            ("a <!-- b --> c", "a c"),
            ("<!-- b\n\nb -->\n\nc", "c"),
            ("a $b$ $$c$$ d $5", "a d $5"),
            ("é `ü` ß", "é ß"),
        ] {
            assert_eq!(left(text, Dialect::Markdown), kept, "{text}");
        }
    }

    #[test]
    fn logseq_has_neither_indented_code_nor_comments() {
        assert_eq!(left("- a\n\n\t\t\t\tb %%c%% $d$", Dialect::Logseq), "- a b %%c%% $d$");
        assert_eq!(left("- #+BEGIN_QUERY\n  b\n  #+END_QUERY\n- c", Dialect::Logseq), "- c");
        assert_eq!(left("#+begin_src x\nb\n#+end_src\n`c`", Dialect::Org), "`c`");
        assert_eq!(
            left("#+begin_quote\nb\n#+end_quote", Dialect::Org),
            "#+begin_quote b #+end_quote"
        );
    }
}
