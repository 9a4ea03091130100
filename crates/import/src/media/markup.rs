//! HTML as Markdown: headings, lists, tables and code stay what they are; links
//! and what only looks different become plain words.

use std::collections::HashMap;

use dom_smoothie::Readability;

/// Markup nested deeper than this is none that a browser would show, and
/// looking through it would take more stack than there is.
pub(super) const MAX_DEPTH: usize = 512;

/// The time to parse markup grows with the square of the elements that are open
/// at once. This is more than carelessness leaves open.
const MAX_OPEN_ELEMENTS: usize = 10_000;

/// Elements that end by themselves, so that nobody closes them.
const SELF_ENDING: [&str; 29] = [
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "source", "tbody",
    "td", "th", "thead", "tr", "track", "wbr",
];

/// What is never read aloud.
const NOT_TEXT: &str = "script, style, noscript, template, svg, iframe, object, head, img, rt, rp";

/// What makes words look different, or leads elsewhere.
const LOOKS: [&str; 9] = ["a", "b", "strong", "i", "em", "u", "s", "mark", "del"];

/// Elements are nested beyond reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it nests more than {MAX_DEPTH} elements in one another")]
pub(super) struct TooDeep;

/// Reads markup that is not nested beyond reason.
pub(super) fn parse(html: &str) -> Result<Readability, TooDeep> {
    if open_elements(html) > MAX_OPEN_ELEMENTS {
        return Err(TooDeep);
    }
    let page = Readability::from(html);
    if depth(&page) > MAX_DEPTH { Err(TooDeep) } else { Ok(page) }
}

/// All that is to be read in some markup, as Markdown.
pub(super) fn markdown(html: &str) -> Result<String, TooDeep> {
    Ok(body_markdown(&parse(html)?))
}

/// All that is to be read on a page, as Markdown.
pub(super) fn body_markdown(page: &Readability) -> String {
    page.doc.select(NOT_TEXT).remove();
    let body = page.doc.select("body");
    body.strip_elements(&LOOKS);
    let text: String =
        body.nodes().first().map(|body| body.md(None).to_string()).unwrap_or_default();
    plainly(text.trim())
}

/// Markdown without the backslashes that it does as well without. Those at the
/// beginning of a line stay: without them it would become a heading or a quotation.
fn plainly(markdown: &str) -> String {
    let mut plain = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some(at) = rest.find('\\') {
        let (before, found) = rest.split_at(at);
        plain.push_str(before);
        let next = found[1..].chars().next();
        let begins_line = plain.is_empty() || plain.ends_with('\n');
        match next {
            Some(sign @ ('_' | '[' | ']' | '~' | '<' | '!' | '.' | ')')) => plain.push(sign),
            Some(sign @ '*') if !begins_line => plain.push(sign),
            Some(sign) => plain.extend(['\\', sign]),
            None => plain.push('\\'),
        }
        rest = &found[1 + next.map_or(0, char::len_utf8)..];
    }
    plain + rest
}

/// The most elements that are open at once, at a guess, without parsing.
fn open_elements(text: &str) -> usize {
    let mut open = 0_usize;
    let mut most = 0;
    for tag in text.split('<').skip(1) {
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let end = tag.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let name = &tag[..end];
        if name.is_empty() || SELF_ENDING.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            continue;
        }
        open = if closes { open.saturating_sub(1) } else { open + 1 };
        most = most.max(open);
    }
    most
}

/// How many elements are inside of one another.
fn depth(page: &Readability) -> usize {
    let root = page.doc.root();
    let mut depths = HashMap::new();
    let mut deepest = 0;
    // A node comes after the one it is in.
    for node in root.descendants_it() {
        let outer = node.parent().and_then(|parent| depths.get(&parent.id).copied());
        let depth = outer.unwrap_or(0) + 1;
        depths.insert(node.id, depth);
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_stays_and_looks_go() {
        let html = "<h2>Rye</h2><p>Wait <b>a</b> <a href='/x'>day</a> for snake_case [1].</p>\
                    <ul><li>flour<li>water</ul><pre><code>a_b\n</code></pre>\
                    <table><tr><th>a<th>b<tr><td>1<td>2</table><p># no heading</p><script>x</script>";
        let text = markdown(html).unwrap();
        assert!(text.starts_with("## Rye\n\nWait a day for snake_case [1].\n\n"), "{text}");
        for part in ["- flour\n- water", "```\na_b\n```", "| 1 | 2 |", "\\# no heading"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('x'), "{text}");
    }

    #[test]
    fn markup_nested_beyond_reason_is_refused_before_it_is_read() {
        let nested = |depth| format!("{}words{}", "<div>".repeat(depth), "</div>".repeat(depth));
        assert_eq!(markdown(&nested(500)).unwrap(), "words");
        assert_eq!(markdown(&nested(2_000)), Err(TooDeep));
        // Even parsing this one would take minutes.
        assert_eq!(markdown(&nested(1_000_000)), Err(TooDeep));
        let lists = "<UL><li>one<li>two<br></ul><p>text<p>more <img src=x/>".repeat(20_000);
        assert_eq!(open_elements(&lists), 1);
    }
}
