//! Links and pictures that lead to other computers, as plain text.
//!
//! A client that renders an answer as Markdown or HTML loads the pictures in it. A text that a stranger
//! wrote, or that a model was made to write, can so send what it has read to an address. Renderers differ
//! in what they accept, so everything is changed that some of them may take for a link or a picture;
//! only closed fenced code, which shows its text as it is, stays. The result has no construct that was
//! not in the text.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use vademecum_model::SourceName;

/// Maximum length of a tag or of the target of a link that is read, in bytes. A longer one is only broken.
const MAX_CONSTRUCT_BYTES: usize = 2_000;
/// Maximum number of times that a text is read.
const MAX_PASSES: usize = 8;
/// Maximum length of the host of a picture that is shown, in characters.
const MAX_HOST_CHARS: usize = 100;

/// Attributes of HTML whose value is an address.
const ADDRESS_ATTRIBUTES: [&str; 17] = [
    "src",
    "href",
    "xlink:href",
    "poster",
    "data",
    "action",
    "formaction",
    "background",
    "cite",
    "longdesc",
    "manifest",
    "codebase",
    "code",
    "archive",
    "lowsrc",
    "dynsrc",
    "profile",
];
/// Attributes of HTML whose value contains addresses or HTML.
const COMPOUND_ATTRIBUTES: [&str; 6] =
    ["srcset", "imagesrcset", "content", "ping", "style", "srcdoc"];
/// Elements of HTML that need no attribute to load something.
const ACTIVE_ELEMENTS: [&str; 2] = ["script", "style"];

/// A part of a text, in bytes, and what replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkEdit {
    /// The part; empty for an insertion.
    pub(crate) range: Range<usize>,
    /// The new text.
    pub(crate) text: String,
}

/// Returns the text without links and pictures that lead elsewhere: a picture becomes its alternative
/// text and its host in brackets, a link its text and its address in brackets.
pub(crate) fn without_remote_links(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    // The rest of one construct may be a part of another.
    for _ in 0..MAX_PASSES {
        let edits = remote_link_edits(&plain);
        if edits.is_empty() {
            break;
        }
        plain = Cow::Owned(apply_edits(&plain, &edits));
    }
    plain
}

fn apply_edits(text: &str, edits: &[LinkEdit]) -> String {
    let mut output = String::with_capacity(text.len());
    let mut copied = 0;
    for edit in edits {
        output.push_str(text.get(copied..edit.range.start).unwrap_or_default());
        output.push_str(&edit.text);
        copied = edit.range.end;
    }
    output.push_str(text.get(copied..).unwrap_or_default());
    output
}

/// Returns a new text of an item in which lines that are as they were shown are as they were stored:
/// an agent that writes a text back, which it was shown without links, does not take them away. `shown` is
/// the plain form of `stored`.
pub fn restore_lines<'a>(stored: &str, shown: &str, new: &'a str) -> Cow<'a, str> {
    if stored.split('\n').count() != shown.split('\n').count() {
        return Cow::Borrowed(new);
    }
    let pairs = shown.split('\n').zip(stored.split('\n'));
    let changed: HashMap<&str, &str> = pairs.filter(|(shown, stored)| shown != stored).collect();
    if !new.split('\n').any(|line| changed.contains_key(line)) {
        return Cow::Borrowed(new);
    }
    let lines = new.split('\n').map(|line| changed.get(line).copied().unwrap_or(line));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the edits that [`without_remote_links`] makes at first, in order and without overlaps.
pub(crate) fn remote_link_edits(text: &str) -> Vec<LinkEdit> {
    if !["<", "](", "]:", "![["].into_iter().any(|sign| text.contains(sign)) {
        return Vec::new();
    }
    let mut scan = Scan { text, edits: Vec::new(), brackets: Vec::new(), open_anchors: Vec::new() };
    let mut code = fenced_code(text).into_iter().peekable();
    let mut at = 0;
    while let Some(found) = text
        .as_bytes()
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| matches!(byte, b'[' | b']' | b'<')))
    {
        at += found;
        while code.next_if(|range| range.end <= at).is_some() {}
        if let Some(range) = code.peek()
            && range.contains(&at)
        {
            at = range.end;
            continue;
        }
        at = match text.as_bytes().get(at) {
            Some(b'[') => scan.read_embed(at).unwrap_or_else(|| {
                scan.brackets.push(at);
                at + 1
            }),
            Some(b']') => scan.close_bracket(at),
            _ => scan.read_tag(at),
        };
    }
    scan.edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut end = 0;
    scan.edits.retain(|edit| {
        let is_next = edit.range.start >= end;
        if is_next {
            end = edit.range.end;
        }
        is_next
    });
    scan.edits
}

/// Returns the parts of a text that are fenced code with both fences.
fn fenced_code(text: &str) -> Vec<Range<usize>> {
    if !text.contains("```") && !text.contains("~~~") {
        return Vec::new();
    }
    let parser = Parser::new_ext(text, Options::empty()).into_offset_iter();
    let blocks = parser.filter_map(|(event, range)| match event {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => Some(range),
        _ => None,
    });
    blocks.filter(|range| is_closed(text.get(range.clone()).unwrap_or_default())).collect()
}

/// Returns true if a fenced block ends with a fence like the one with which it begins, and begins a line:
/// a block within a list or a quotation may end earlier in some renderers.
fn is_closed(block: &str) -> bool {
    let Some(fence) = block.chars().next().filter(|fence| matches!(fence, '`' | '~')) else {
        return false;
    };
    let length = |line: &str| line.chars().take_while(|letter| *letter == fence).count();
    let mut lines = block.trim_end().lines();
    let opening = lines.next().map_or(0, length);
    lines.next_back().is_some_and(|last| {
        length(last) >= opening && last.trim_end().chars().all(|letter| letter == fence)
    })
}

/// Progress through a text.
struct Scan<'a> {
    text: &'a str,
    edits: Vec<LinkEdit>,
    /// Positions of the brackets that are open.
    brackets: Vec<usize>,
    /// Addresses of the HTML links that are open.
    open_anchors: Vec<String>,
}

/// The target of a link.
struct Target<'a> {
    address: &'a str,
    /// Position of the address, with angle brackets around it.
    range: Range<usize>,
    /// End of the target and its title behind the closing bracket; `None` if there is none.
    end: Option<usize>,
}

impl<'a> Scan<'a> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn edit(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.edits.push(LinkEdit { range, text: text.into() });
    }

    /// Reads an embedded picture of a note-taking program, such as `![[http://a.example/p.png|text]]`, and
    /// returns where to go on; `None` if there is none.
    fn read_embed(&mut self, at: usize) -> Option<usize> {
        let is_embed = at > 0 && self.byte(at - 1) == Some(b'!') && self.byte(at + 1) == Some(b'[');
        let inner = if is_embed { self.window(at + 2) } else { return None };
        let length = inner.find("]]");
        let inner = inner.get(..length.unwrap_or(inner.len())).unwrap_or_default();
        let (address, shown) = inner.split_once('|').unwrap_or((inner, ""));
        // A name may have a colon; a scheme has no space before its own.
        let has_scheme = !address.trim().split(':').next().unwrap_or_default().contains(' ');
        if !has_scheme || !is_remote(address.trim()) {
            return None;
        }
        let Some(length) = length else {
            self.edit(at + 1..at + 1, " ");
            return Some(at + 2);
        };
        let end = at + 2 + length + 2;
        self.edit(at - 1..end, format!("{shown} ({})", host(address.trim())));
        Some(end)
    }

    /// Reads what follows the text of a link, and returns where to go on.
    fn close_bracket(&mut self, at: usize) -> usize {
        let opening = self.brackets.pop();
        match self.byte(at + 1) {
            Some(b'(') => {
                let Some(target) = self.read_target(at + 2) else { return at + 1 };
                let picture = opening.filter(|open| *open > 0 && self.byte(open - 1) == Some(b'!'));
                match (picture, target.end) {
                    (Some(open), Some(end)) => {
                        self.edit(open - 1..open + 1, "");
                        self.edit(at..end, format!(" ({})", host(target.address)));
                        end
                    }
                    (_, Some(_)) => {
                        let range = target.range;
                        if let Some(open) = opening {
                            let first = if picture.is_some() { open - 1 } else { open };
                            self.edit(first..open + 1, "");
                        }
                        self.edit(at..range.start, " (");
                        if self.byte(range.start) == Some(b'<') {
                            self.edit(range.start..range.start + 1, "");
                            self.edit(range.end - 1..range.end, "");
                        }
                        range.start + 1
                    }
                    (_, None) => {
                        // No link in most renderers: it is broken, and stays as it is.
                        self.edit(at + 1..at + 1, " ");
                        at + 2
                    }
                }
            }
            Some(b':') => {
                let is_note = opening.is_some_and(|open| self.byte(open + 1) == Some(b'^'));
                if let Some(target) = self.read_target(at + 2).filter(|_| !is_note) {
                    self.edit(at + 1..at + 2, "");
                    return target.range.start;
                }
                at + 1
            }
            _ => at + 1,
        }
    }

    /// Reads the target of a link at a position, if it leads elsewhere.
    fn read_target(&self, from: usize) -> Option<Target<'a>> {
        let window = self.window(from);
        let trimmed = window.trim_start();
        let start = from + (window.len() - trimmed.len());
        let (address, range) = if let Some(inner) = trimmed.strip_prefix('<') {
            let length = inner.find(['>', '\n']).unwrap_or(inner.len());
            let end = start + 1 + length + usize::from(inner[length..].starts_with('>'));
            (&inner[..length], start..end)
        } else {
            let mut depth = 0_usize;
            let length = trimmed.find(|letter: char| {
                match letter {
                    '(' => depth += 1,
                    ')' if depth == 0 => return true,
                    ')' => depth -= 1,
                    _ => {}
                }
                letter.is_whitespace()
            });
            let length = length.unwrap_or(trimmed.len());
            (&trimmed[..length], start..start + length)
        };
        is_remote(address).then(|| Target { address, end: self.end_of_target(range.end), range })
    }

    /// Returns the end of a link behind its address: after an optional title and a closing bracket.
    fn end_of_target(&self, from: usize) -> Option<usize> {
        let window = self.window(from);
        let rest = window.trim_start();
        let at = from + (window.len() - rest.len());
        if rest.starts_with(')') {
            return Some(at + 1);
        }
        let closing = match rest.chars().next()? {
            quote @ ('"' | '\'') => quote,
            '(' => ')',
            _ => return None,
        };
        let mut is_escaped = false;
        let title = rest[1..].find(|letter: char| {
            let ends = letter == closing && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        })?;
        let after = &rest[1 + title + closing.len_utf8()..];
        let end = after.trim_start();
        let at = at + rest.len() - end.len();
        end.starts_with(')').then_some(at + 1)
    }

    /// Reads an automatic link or a tag of HTML, and returns where to go on.
    fn read_tag(&mut self, at: usize) -> usize {
        let window = self.window(at + 1);
        let is_name = |letter: char| letter.is_ascii_alphabetic();
        if window.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("/a"))
            && let Some(end) = window.find('>')
            && window[2..end].trim().is_empty()
        {
            if let Some(address) = self.open_anchors.pop() {
                self.edit(at..at + 1 + end + 1, format!(" ({address})"));
            }
            return at + 1 + end + 1;
        }
        if !window.starts_with(is_name) {
            return at + 1;
        }
        let link = window.find(['>', '<']).map(|end| &window[..end]);
        if let Some(link) = link
            && window[link.len()..].starts_with('>')
            && !link.contains(char::is_whitespace)
            && runs_something(link)
        {
            let link = link.to_owned();
            let end = at + 1 + link.len() + 1;
            self.edit(at..end, link);
            return end;
        }
        let Some(tag) = HtmlTag::read(window) else {
            // Without an end in sight, a space makes it text.
            let may_load = |value: &str| value.contains("//") || value.contains([':', '\\', '&']);
            if window.split_once('=').is_some_and(|(_, value)| may_load(value)) {
                self.edit(at + 1..at + 1, " ");
            }
            return at + 1;
        };
        let Some(address) = tag.remote_address() else { return at + 1 };
        let end = at + 1 + tag.length;
        match tag.name.as_str() {
            "img" => {
                let alternative = tag.attribute("alt").unwrap_or_default().to_owned();
                // The text is not read again, so nothing in it may be a construct.
                let alternative = alternative.replace(['<', '[', ']'], " ");
                self.edit(at..end, format!("{alternative} ({})", host(&address)));
            }
            "a" => {
                self.open_anchors.push(address.replace(['<', '[', ']'], " "));
                self.edit(at..end, "");
            }
            _ => {
                self.edit(at + 1..at + 1, " ");
                return at + 1;
            }
        }
        end
    }

    /// Returns a bounded part of the text from a position on.
    fn window(&self, from: usize) -> &'a str {
        let rest = self.text.get(from..).unwrap_or_default();
        &rest[..rest.floor_char_boundary(MAX_CONSTRUCT_BYTES)]
    }
}

/// A start tag of HTML.
struct HtmlTag<'a> {
    name: String,
    attributes: Vec<(String, &'a str)>,
    /// Length behind `<`, with `>`.
    length: usize,
}

impl<'a> HtmlTag<'a> {
    /// Reads a tag, whose text begins behind `<`; `None` without an end.
    fn read(text: &'a str) -> Option<Self> {
        let is_space =
            |letter: char| letter.is_whitespace() || letter == '/' || letter.is_control();
        let name = text.find(|letter: char| is_space(letter) || letter == '>')?;
        let mut attributes = Vec::new();
        let mut rest = &text[name..];
        loop {
            rest = rest.trim_start_matches(is_space);
            if let Some(after) = rest.strip_prefix('>') {
                let name = text[..name].to_ascii_lowercase();
                return Some(Self { name, attributes, length: text.len() - after.len() });
            }
            // A sign of equality at the beginning is part of a name.
            let first = rest.chars().next()?.len_utf8();
            let length = rest[first..]
                .find(|letter: char| is_space(letter) || matches!(letter, '=' | '>'))?;
            let attribute = rest[..first + length].to_ascii_lowercase();
            rest = rest[first + length..].trim_start();
            let Some(value) = rest.strip_prefix('=') else {
                attributes.push((attribute, ""));
                continue;
            };
            let value = value.trim_start();
            let (value, after) = match value.chars().next()? {
                quote @ ('"' | '\'') => value[1..].split_once(quote)?,
                _ => value
                    .split_at(value.find(|letter: char| letter.is_whitespace() || letter == '>')?),
            };
            attributes.push((attribute, value));
            rest = after;
        }
    }

    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Returns an address that the element loads or leads to; the name of an element or an attribute
    /// that runs code.
    fn remote_address(&self) -> Option<String> {
        if ACTIVE_ELEMENTS.contains(&self.name.as_str()) {
            return Some(self.name.clone());
        }
        self.attributes.iter().find_map(|(name, value)| {
            let is_address = ADDRESS_ATTRIBUTES.contains(&name.as_str()) && is_remote(value);
            let is_compound = COMPOUND_ATTRIBUTES.contains(&name.as_str())
                && value.contains(['/', '(', '\\', '&', '<', ':']);
            let is_handler = name.starts_with("on");
            (is_address || is_compound || is_handler).then(|| (*value).to_owned())
        })
    }
}

/// Returns true if an address may lead to another computer, or run something: it has a scheme other than
/// those of the library, or a host, or signs that a renderer may read as one of them.
fn is_remote(address: &str) -> bool {
    let plain: String =
        address.chars().filter(|it| !it.is_control() && !it.is_whitespace()).take(100).collect();
    let mut signs = plain.chars();
    let (first, second) = (signs.next(), signs.next());
    if first == Some('\\') || first == Some('/') && matches!(second, Some('/' | '\\' | '&')) {
        return true;
    }
    let head = plain.split(['/', '?', '#']).next().unwrap_or_default();
    match head.split_once(':') {
        Some((scheme, _)) => scheme.parse::<SourceName>().is_err(),
        None => head.contains(['&', '\\']),
    }
}

/// Returns true if an address is code or contents. Other addresses may stand between angle brackets:
/// nothing is loaded from them, and they are seen as they are.
fn runs_something(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| matches!(scheme.as_str(), "javascript" | "vbscript" | "data"))
}

/// Returns the host of an address, or its scheme.
fn host(address: &str) -> String {
    let address = address.trim();
    let after = address.find("//").map(|at| &address[at + 2..]);
    let host = match after {
        Some(after) => after.split(['/', '?', '#', '\\', '"', '\'']).next().unwrap_or_default(),
        None => address.split(':').next().unwrap_or_default(),
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    let is_plain = |letter: &char| letter.is_alphanumeric() || ".-:_".contains(*letter);
    let host: String = host.chars().filter(is_plain).take(MAX_HOST_CHARS).collect();
    if host.is_empty() { "elsewhere".to_owned() } else { host }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulldown_cmark::{CowStr, LinkType};

    #[test]
    fn picture_becomes_text_and_host() {
        for (text, expected) in [
            ("![alt](http://evil.example/p.png)", "alt (evil.example)"),
            ("![alt](<http://evil.example/a b> \"title\")", "alt (evil.example)"),
            ("![[http://evil.example/p.png]]", " (evil.example)"),
            ("![[ https://evil.example/p.png | a dog]]", " a dog (evil.example)"),
            ("![[//evil.example/p|![[http://b.example/]]", "![ [http://b.example/ (evil.example)"),
            ("![](//evil.example/p?q=secret)", " (evil.example)"),
            ("![a](data:image/png;base64,AAAA)", "a (data)"),
            ("a <IMG alt='x' src='https://evil.example/1'/> b", "a x (evil.example) b"),
            ("<img src=https://u:p@evil.example>", " (evil.example)"),
            (
                "[![a](http://one.example/)](http://two.example/)",
                "a (one.example) (http://two.example/)",
            ),
        ] {
            assert_eq!(without_remote_links(text), expected, "{text}");
        }
    }

    #[test]
    fn link_keeps_text_and_address() {
        for (text, expected) in [
            ("[text](https://a.example/p?q=1)", "text (https://a.example/p?q=1)"),
            ("[text](<https://a.example/> 'title')", "text (https://a.example/ 'title')"),
            ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
            ("<javascript:alert(1)>", "javascript:alert(1)"),
            ("<a href=\"https://a.example/\">the page</a>!", "the page (https://a.example/)!"),
            (
                "![a][ref]\n\n[ref]: https://a.example/p.png",
                "![a][ref]\n\n[ref] https://a.example/p.png",
            ),
            ("[x](&#104;ttp&colon;//a.example)", "x (&#104;ttp&colon;//a.example)"),
            ("<iframe src=//a.example></iframe>", "< iframe src=//a.example></iframe>"),
            ("<svg onload=alert(1)>", "< svg onload=alert(1)>"),
            ("<script>alert(1)</script>", "< script>alert(1)</script>"),
        ] {
            assert_eq!(without_remote_links(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_written_back_keep_their_links() {
        let stored = "# Links\n[one](http://a.example/)\n\n![two](http://b.example/)";
        let shown = without_remote_links(stored);
        let new = shown.replace("# Links", "# More links") + "\nThree";
        let restored = stored.replace("# Links", "# More links") + "\nThree";
        assert_eq!(restore_lines(stored, &shown, &new), restored);
        assert!(matches!(restore_lines(stored, &shown, "Other"), Cow::Borrowed("Other")));
    }

    #[test]
    fn local_links_and_plain_text_stay() {
        for text in [
            "https://a.example/ and a < b, c > d, x<y",
            "[note](other.md), [part](#part), ![](pictures/a.png), [[wiki]], ![[a.png]], ![[a b: c|300]]",
            "[item](notes://5f0e), [1]: first, [^1]: https://a.example/",
            "`a[0](x)` vec![1, 2](3)",
            "<https://a.example/> vector<std::string>",
            "<b>bold</b> <br/> <img src=\"a.png\"> <details open>",
            "```html\n<img src=\"https://a.example/\">\n```\nand ~~~\n",
            "~~~\n![](https://a.example/)\n~~~",
        ] {
            assert!(matches!(without_remote_links(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn code_without_closing_fence_is_no_code() {
        for text in [
            "```\n![](https://a.example/)",
            "``` a`\n![](https://a.example/)\n```",
            "> ```\n![](https://a.example/)\n```",
            "<div>\n```\n<img src=https://a.example/>\n```\n",
            "- ```\n![](https://a.example/)\n  ```",
        ] {
            let plain = without_remote_links(text);
            assert!(!plain.contains("](https") && !plain.contains("<img"), "{text}: {plain}");
        }
    }

    /// Returns what Markdown would load or lead to.
    fn remote_targets(text: &str) -> Vec<String> {
        let options = Options::all().difference(Options::ENABLE_WIKILINKS);
        let events = Parser::new_ext(text, options);
        let target = |kind: LinkType, url: CowStr<'_>| {
            // Some renderers make links of plain addresses, which are seen as they are.
            let is_plain = matches!(kind, LinkType::Autolink | LinkType::Email);
            (!is_plain && is_remote(&url)).then(|| url.to_string())
        };
        let targets = events.filter_map(|event| match event {
            Event::Start(Tag::Link { link_type, dest_url, .. }) => target(link_type, dest_url),
            Event::Start(Tag::Image { dest_url, .. }) => target(LinkType::Inline, dest_url),
            Event::Html(html) | Event::InlineHtml(html) => {
                let is_tag = |it: &&str| it.starts_with(|it: char| it.is_ascii_alphabetic());
                let tags = html.split('<').skip(1).filter(is_tag);
                let mut tags = tags.filter_map(HtmlTag::read);
                tags.find_map(|tag| tag.remote_address())
            }
            _ => None,
        });
        targets.collect()
    }

    #[test]
    fn no_arrangement_of_signs_leaves_a_target() {
        let parts = [
            "[",
            "]",
            "(",
            ")",
            "!",
            "<",
            ">",
            "\"",
            "'",
            "\\",
            " ",
            "\n",
            "```",
            "~~~",
            "a",
            "img src=",
            "http://e.example/",
            "//e.example",
            "javascript:x",
            "]: ",
            "](",
            "![",
            "<a href=",
            "</a>",
            "&",
            "> ",
            "- ",
            "`",
            "<!--",
            "-->",
            "<pre>",
            "[a]",
            ":",
        ];
        // A simple generator: the same arrangements in each run.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |most: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % most as u64).unwrap()
        };
        let mut changed = 0;
        for _ in 0..20_000 {
            let text: String = (0..=next(14)).map(|_| parts[next(parts.len())]).collect();
            let plain = without_remote_links(&text);
            changed += usize::from(plain != text);
            let left = remote_targets(&plain);
            assert!(left.is_empty(), "{text:?} became {plain:?}: {left:?}");
        }
        assert!(changed > 1_000, "{changed}");
    }

    #[test]
    fn hostile_text_is_read_in_bounded_time() {
        for part in ["](a:", "<a ", "[", "![", "<a href=\"", "](<a:", "[a]: b:", "```\n"] {
            let text = part.repeat(100_000 / part.len());
            assert!(without_remote_links(&text).len() <= 2 * text.len());
        }
    }
}
