//! Conversion of HTML to Markdown: headings, lists, tables, code and the targets of links are kept;
//! styled text becomes plain text.

use dom_smoothie::Readability;
use url::Url;

/// Maximum nesting depth. No browser shows more, and traversing it would overflow the stack.
pub const MAX_DEPTH: usize = 512;

/// Maximum number of elements open at once. Parsing time grows with its square; careless pages stay
/// below it.
const MAX_OPEN_ELEMENTS: usize = 10_000;

/// Elements whose end tag is optional or absent.
const OPTIONAL_END_TAGS: [&str; 29] = [
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "source", "tbody",
    "td", "th", "thead", "tr", "track", "wbr",
];

/// Selector of elements without readable text.
const NON_TEXT_SELECTOR: &str =
    "script, style, noscript, template, svg, iframe, object, head, img, rt, rp";

/// Selector of the article that [`Readability::parse`] leaves in a page.
const ARTICLE_SELECTOR: &str = "#readability-page-1";

/// Elements that only style text.
const INLINE_STYLE_TAGS: [&str; 8] = ["b", "strong", "i", "em", "u", "s", "mark", "del"];

/// Stands for `&` in addresses, which the serializer would escape. It is no character of any text.
const AMPERSAND: &str = "\u{fdd0}";

/// Schemes of addresses that are kept as targets of links.
const LINK_SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Error of a page whose elements are nested too deeply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it nests more than {MAX_DEPTH} elements in one another")]
pub struct NestingTooDeep;

/// Parses HTML. Fails if it is nested too deeply.
pub fn parse_html(html: &str) -> Result<Readability, NestingTooDeep> {
    if estimate_open_elements(html) > MAX_OPEN_ELEMENTS {
        return Err(NestingTooDeep);
    }
    let page = Readability::from(html);
    if nesting_depth(&page) > MAX_DEPTH { Err(NestingTooDeep) } else { Ok(page) }
}

/// Converts HTML to Markdown. Relative targets of links are resolved against `base`. Fails if it is
/// nested too deeply.
pub fn html_to_markdown(html: &str, base: Option<&Url>) -> Result<String, NestingTooDeep> {
    Ok(body_markdown(&parse_html(html)?, base))
}

/// Converts the body of a page to Markdown. Relative targets of links are resolved against `base`.
pub fn body_markdown(page: &Readability, base: Option<&Url>) -> String {
    element_markdown(page, "body", base)
}

/// Converts the article of a page to Markdown, after [`Readability::parse`] has found it. Relative targets of
/// links are resolved against `base`.
pub fn article_markdown(page: &Readability, base: Option<&Url>) -> String {
    element_markdown(page, ARTICLE_SELECTOR, base)
}

/// Converts the first element of a selector to Markdown.
fn element_markdown(page: &Readability, selector: &str, base: Option<&Url>) -> String {
    let element = page.doc.select_single(selector);
    element.select(NON_TEXT_SELECTOR).remove();
    for link in element.select("a[href]").nodes() {
        let target = link.attr("href").and_then(|href| link_target(&href, base));
        link.remove_attrs(&["href", "title"]);
        if let Some(target) = target {
            link.set_attr("href", &target.replace('&', AMPERSAND));
        }
    }
    element.strip_elements(&INLINE_STYLE_TAGS);
    let text: String =
        element.nodes().first().map(|element| element.md(None).to_string()).unwrap_or_default();
    remove_needless_escapes(text.trim()).replace(AMPERSAND, "&")
}

/// Returns the absolute address of a link; `None` if it is a place in the same page, relative to an
/// unknown page, or not an address to read or write to, such as a script.
fn link_target(href: &str, base: Option<&Url>) -> Option<String> {
    let href = href.trim();
    if href.is_empty() || href.starts_with('#') {
        return None;
    }
    let address = match Url::parse(href) {
        Ok(address) => address,
        Err(url::ParseError::RelativeUrlWithoutBase) => base?.join(href).ok()?,
        Err(_) => return None,
    };
    // In Markdown, these end the address.
    let escaped = || address.as_str().replace('(', "%28").replace(')', "%29").replace(' ', "%20");
    LINK_SCHEMES.contains(&address.scheme()).then(escaped)
}

/// Removes unnecessary backslashes from Markdown. One at the beginning of a line stays where the
/// line would otherwise become a heading or a quotation.
fn remove_needless_escapes(markdown: &str) -> String {
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

/// Estimates the maximum number of elements open at once, without parsing.
fn estimate_open_elements(text: &str) -> usize {
    let mut open = 0_usize;
    let mut most = 0;
    for tag in text.split('<').skip(1) {
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let end = tag.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let name = &tag[..end];
        if name.is_empty() || OPTIONAL_END_TAGS.iter().any(|known| known.eq_ignore_ascii_case(name))
        {
            continue;
        }
        open = if closes { open.saturating_sub(1) } else { open + 1 };
        most = most.max(open);
    }
    most
}

/// Returns the nesting depth of a page.
fn nesting_depth(page: &Readability) -> usize {
    let root = page.doc.root();
    let (mut depth, mut deepest) = (0, 0);
    let mut node = root;
    loop {
        if let Some(child) = node.first_child() {
            node = child;
            depth += 1;
            deepest = deepest.max(depth);
            continue;
        }
        while node.next_sibling().is_none() && depth > 1 {
            let Some(parent) = node.parent() else { return deepest };
            node = parent;
            depth -= 1;
        }
        match node.next_sibling() {
            Some(next) if depth > 0 => node = next,
            _ => return deepest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_is_kept_and_styling_removed() {
        let html = "<h2>Rye</h2><p>Wait <b>a</b> <a href='/x'>day</a> for snake_case [1].</p>\
                    <ul><li>flour<li>water</ul><pre><code>a_b\n</code></pre>\
                    <table><tr><th>a<th>b<tr><td>1<td>2</table><p># no heading</p><script>x</script>";
        let text = html_to_markdown(html, None).unwrap();
        assert!(text.starts_with("## Rye\n\nWait a day for snake_case [1].\n\n"), "{text}");
        for part in ["- flour\n- water", "```\na_b\n```", "| 1 | 2 |", "\\# no heading"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('x'), "{text}");
    }

    #[test]
    fn deeply_nested_html_is_rejected_before_parsing() {
        let nested = |depth| format!("{}words{}", "<div>".repeat(depth), "</div>".repeat(depth));
        assert_eq!(html_to_markdown(&nested(500), None).unwrap(), "words");
        assert_eq!(html_to_markdown(&nested(2_000), None), Err(NestingTooDeep));
        // Parsing alone would take minutes.
        assert_eq!(html_to_markdown(&nested(1_000_000), None), Err(NestingTooDeep));
        let lists = "<UL><li>one<li>two<br></ul><p>text<p>more <img src=x/>".repeat(20_000);
        assert_eq!(estimate_open_elements(&lists), 1);
    }

    #[test]
    fn link_keeps_absolute_target() {
        let base = Url::parse("https://example.org/a/b?c").unwrap();
        let link = |href: &str, base| {
            html_to_markdown(&format!("<p>See <a href='{href}' title=t><b>it</b></a>."), base)
                .unwrap()
        };
        for (href, target) in [
            (
                "https://example.com/x_y(z)?a=1&amp;b=[2]",
                "https://example.com/x_y%28z%29?a=1&b=[2]",
            ),
            (" /rye ", "https://example.org/rye"),
            ("rye.html#dough", "https://example.org/a/rye.html#dough"),
            ("//example.com/x y", "https://example.com/x%20y"),
            ("MAILTO:ada@example.org", "mailto:ada@example.org"),
        ] {
            assert_eq!(link(href, Some(&base)), format!("See [it]({target})."), "{href}");
        }
        for href in
            ["#top", "", "javascript:alert(1)", "java\nscript:x()", "data:text/html,x", "ftp:x"]
        {
            assert_eq!(link(href, Some(&base)), "See it.", "{href}");
        }
        assert_eq!(link("/rye", None), "See it.");
    }
}
