//! One pass over a text that finds its links.

use std::ops::Range;

use vademecum_model::SourceName;

use super::{
    Dialect, LinkKind,
    found_link::{FoundLink, ScannedText},
    front_matter::{target_link, uri_key},
    key::{address_key, decode_percent, trim_address},
};

/// Maximum length of a target, in bytes. Longer ones are text.
const MAX_TARGET_BYTES: usize = 1_024;
/// Number of labels in one another whose beginnings are remembered.
const MAX_OPEN_BRACKETS: usize = 128;
/// Characters that are never part of an address.
const ADDRESS_ENDS: [char; 8] = ['<', '>', '"', '`', '|', '[', ']', '\\'];

/// Finds the links of a text whose literal parts are masked.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    dialect: Dialect,
    /// Maximum number of web addresses, and of other links.
    max_links: usize,
    /// Number of other links and of web addresses that were found.
    kept: [usize; 2],
    at: usize,
    found: ScannedText,
    /// Start of each open bracket of the present line.
    brackets: Vec<usize>,
    /// Number of bytes that may still be searched for the ends of links, so that a flood of
    /// beginnings takes linear time.
    budget: usize,
    /// Range that has no `]]`, so that it is searched once.
    unclosed: Range<usize>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect, max_links: usize) -> Self {
        Self {
            text,
            dialect,
            max_links,
            kept: [0; 2],
            at: 0,
            found: ScannedText::default(),
            brackets: Vec::new(),
            budget: 64 * 1_024 + 8 * text.len(),
            unclosed: 0..0,
        }
    }

    /// Returns the links in the order in which they end.
    pub(super) fn scan(mut self) -> ScannedText {
        if self.dialect == Dialect::Plain {
            self.scan_addresses();
            return self.found;
        }
        let mut line_start = true;
        while self.at < self.text.len() {
            if line_start {
                self.brackets.clear();
                self.read_line_start();
            }
            let Some(skipped) = self.rest().bytes().position(is_special) else { break };
            self.at += skipped;
            let start = self.at;
            let Some(next) = self.rest().bytes().next() else { break };
            line_start = next == b'\n';
            match next {
                b'\\' => self.at += 1 + self.rest().chars().nth(1).map_or(0, char::len_utf8),
                b'[' => self.read_bracket(),
                b']' => self.read_label_end(),
                b'(' => self.read_block_link(),
                b'#' => self.read_tag(),
                b':' => self.read_address(),
                _ => {}
            }
            if self.at == start {
                self.at += self.rest().chars().next().map_or(1, char::len_utf8);
            }
        }
        self.found
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn before(&self) -> &'a str {
        self.text.get(..self.at).unwrap_or_default()
    }

    fn push(&mut self, link: FoundLink) {
        if link.target.len() > MAX_TARGET_BYTES || link.fragment.len() > MAX_TARGET_BYTES {
            return;
        }
        let is_address = link.kind == LinkKind::Address;
        let kept = &mut self.kept[usize::from(is_address)];
        if *kept < self.max_links {
            *kept += 1;
            self.found.links.push(link);
        } else {
            self.found.omitted += 1;
        }
    }

    /// Finds the addresses of a text without other links.
    fn scan_addresses(&mut self) {
        while let Some(next) = self.rest().find("://") {
            self.at += next;
            let start = self.at;
            self.read_address();
            self.at = self.at.max(start + 3);
        }
    }

    /// Reads the properties and block identifiers of the line that begins here.
    fn read_line_start(&mut self) {
        let line = self.rest().split('\n').next().unwrap_or_default();
        if let Some((before, id)) = line.trim_end().rsplit_once('^')
            && (before.ends_with(' ') || before.trim_start().is_empty())
            && is_identifier(id)
        {
            self.found.blocks.push(id.to_owned());
        }
        if self.dialect.is_org()
            && let Some((name, id)) =
                line.trim().strip_prefix(':').and_then(|it| it.split_once(':'))
            && name.eq_ignore_ascii_case("id")
        {
            self.found.blocks.push(id.trim().to_owned());
        }
        let bare = line.trim_start().trim_start_matches(['-', '*']).trim_start();
        let is_name = |next: char| next.is_alphanumeric() || matches!(next, '_' | '-');
        let value = bare.trim_start_matches(is_name);
        let Some(name) = bare.strip_suffix(value).filter(|name| !name.is_empty()) else { return };
        let Some(value) = value.strip_prefix("::") else { return };
        let at = self.at + (line.len() - value.len());
        match name.to_lowercase().as_str() {
            "id" => self.found.blocks.push(value.trim().to_owned()),
            "supersedes" | "replaces" => self.read_targets(LinkKind::Supersedes, at, value),
            "superseded_by" | "superseded-by" | "replaced-by" => {
                self.read_targets(LinkKind::SupersededBy, at, value);
            }
            "tags" if self.dialect.is_logseq() => self.read_plain_tags(at, value),
            _ => {}
        }
    }

    /// Reads the targets of a property, and continues after it.
    fn read_targets(&mut self, kind: LinkKind, at: usize, value: &str) {
        let mut start = 0;
        while let Some(rest) = value.get(start..).filter(|rest| !rest.trim().is_empty()) {
            let blank = rest.len() - rest.trim_start().len();
            let rest = rest.trim_start();
            let inside = if rest.starts_with("[[") { rest.find("]]").unwrap_or(0) } else { 0 };
            let end = rest.get(inside..).and_then(|tail| tail.find(','));
            let end = end.map_or(rest.len(), |end| inside + end);
            let link = target_link(kind, at + start + blank, rest.get(..end).unwrap_or_default());
            if let Some(link) = link {
                self.push(link);
            }
            start += blank + end + 1;
        }
        self.at = at + value.len();
    }

    /// Reads the tags of a property that are neither links nor begin with `#`.
    fn read_plain_tags(&mut self, at: usize, value: &str) {
        let mut start = at;
        for tag in value.split(',') {
            let name = tag.trim();
            if !name.is_empty() && !name.starts_with(['#', '[']) {
                self.push(FoundLink::new(LinkKind::Tag, start, name, ""));
            }
            start += tag.len() + 1;
        }
    }

    /// Reads `[[…]]`, or records the start of a label.
    fn read_bracket(&mut self) {
        let Some(after) = self.rest().strip_prefix("[[") else { return self.open_bracket() };
        let Some(end) = self.closing_brackets(self.at + 2) else { return self.open_bracket() };
        let mut inside = after.get(..end - self.at - 2).unwrap_or_default();
        if self.dialect.is_logseq() && inside.contains("[[") {
            // The name of a page may contain links. They are read next.
            let depth = inside.matches("[[").count();
            let mut last = Some(end);
            for _ in 0..depth.min(8) {
                last = last.and_then(|end| self.closing_brackets(end + 2));
            }
            if let Some(last) = last
                && let Some(whole) = self.text.get(self.at + 2..last)
                && !whole.contains('\n')
                && whole.len() <= MAX_TARGET_BYTES
            {
                self.push(FoundLink::new(LinkKind::Wikilink, self.at, whole, ""));
            }
            self.at += 2;
            return;
        }
        if let Some(inner) = inside.rfind("[[") {
            self.at += 2 + inner;
            inside = inside.get(inner + 2..).unwrap_or_default();
        }
        if inside.contains('\n') {
            return;
        }
        self.read_wikilink(inside);
        self.at = end + 2;
    }

    fn open_bracket(&mut self) {
        if self.brackets.len() >= 2 * MAX_OPEN_BRACKETS {
            self.brackets.drain(..MAX_OPEN_BRACKETS);
        }
        self.brackets.push(self.at);
    }

    /// Returns the position of the first `]]` from a position on, if it is near. What was searched
    /// before is not searched again.
    fn closing_brackets(&mut self, from: usize) -> Option<usize> {
        let end = self.text.floor_char_boundary(from + 2 * MAX_TARGET_BYTES);
        let is_known = self.unclosed.contains(&from);
        let start = if is_known { self.unclosed.end } else { from };
        let window = self.text.get(start..end)?;
        self.spend(1)?;
        let found = window.find("]]");
        // A bracket at the end of the window may be the first of two.
        let is_first = window.ends_with(']');
        let read = found.unwrap_or(window.len() - usize::from(is_first));
        self.unclosed = if is_known { self.unclosed.start } else { from }..start + read;
        self.spend(read)?;
        found.map(|found| start + found)
    }

    /// Takes a number of bytes out of the budget; `None` if it is used up.
    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.budget = self.budget.saturating_sub(bytes);
        (self.budget > 0).then_some(())
    }

    fn read_wikilink(&mut self, inside: &str) {
        let at = self.at;
        let before = self.before();
        let is_embed = before.ends_with('!') || before.ends_with("{{embed ");
        if self.dialect.is_org()
            && let Some(link) = org_link(at, inside)
        {
            return self.push(link);
        }
        let (target, fragment) = if self.dialect.is_logseq() {
            (inside, "")
        } else {
            let link = inside.split('|').next().unwrap_or(inside).trim_end_matches('\\');
            link.split_once('#').unwrap_or((link, ""))
        };
        let (target, fragment) = (target.trim(), fragment.trim());
        if target.is_empty() && fragment.is_empty() {
            return;
        }
        let is_tag = self.dialect.is_logseq() && before.ends_with('#');
        let kind = match () {
            () if is_embed => LinkKind::Embed,
            () if is_tag => LinkKind::Tag,
            () => LinkKind::Wikilink,
        };
        let mut link = FoundLink::new(kind, at, target, fragment);
        if let Some(key) = uri_key(target) {
            (link.kind, link.key) = (LinkKind::Uri, Some(key));
        } else if let Some(key) = address_key(target) {
            (link.kind, link.key) = (LinkKind::Address, Some(key));
        }
        self.push(link);
    }

    /// Reads the destination after a label.
    fn read_label_end(&mut self) {
        let Some(label) = self.brackets.pop() else { return };
        let Some(after) = self.rest().strip_prefix("](") else { return };
        // These are read as links of their own.
        if self.dialect.is_org() || after.starts_with("[[") || after.starts_with("((") {
            return;
        }
        let Some((destination, length)) = self.destination(after) else { return };
        let is_image = self.text.get(..label).is_some_and(|before| before.ends_with('!'));
        if let Some(link) = destination_link(label, &destination, is_image) {
            self.push(link);
        }
        self.at += 2 + length;
    }

    /// Returns the destination at the beginning of a text, and the length up to the closing
    /// parenthesis.
    fn destination(&mut self, text: &str) -> Option<(String, usize)> {
        if let Some(inside) = text.strip_prefix('<') {
            let window = inside.get(..inside.floor_char_boundary(MAX_TARGET_BYTES))?;
            let end = window.find('>').filter(|end| !window[..*end].contains('\n'))?;
            let rest = inside.get(end..)?;
            let rest = rest.get(..rest.floor_char_boundary(MAX_TARGET_BYTES))?;
            let close = rest.find(')');
            self.spend(end + close.unwrap_or(rest.len()))?;
            let close = close?;
            return Some((inside.get(..end)?.to_owned(), 1 + end + close + 1));
        }
        let mut depth = 0_usize;
        let mut end = None;
        for (at, next) in text.char_indices() {
            if at > MAX_TARGET_BYTES {
                return None;
            }
            self.spend(1)?;
            match next {
                '\n' => return None,
                '(' => depth += 1,
                ')' if depth == 0 => {
                    let destination = text.get(..end.unwrap_or(at))?;
                    return Some((destination.to_owned(), at + 1));
                }
                ')' => depth -= 1,
                ' ' | '\t' if end.is_none() && self.dialect != Dialect::Logseq => {
                    let title = text.get(at..)?.trim_start();
                    if !title.starts_with(['"', '\'', '(', ')']) {
                        return None;
                    }
                    end = Some(at);
                }
                _ => {}
            }
        }
        None
    }

    /// Reads `((id))`.
    fn read_block_link(&mut self) {
        let Some(after) = self.rest().strip_prefix("((") else { return };
        let length = after.bytes().take_while(|byte| is_identifier_byte(*byte)).take(65).count();
        let Some(id) = after.get(..length).filter(|id| is_identifier(id)) else { return };
        if !after.get(length..).is_some_and(|rest| rest.starts_with("))")) {
            return;
        }
        let is_embed = self.before().ends_with("{{embed ");
        let kind = if is_embed { LinkKind::Embed } else { LinkKind::Block };
        let mut link = FoundLink::new(kind, self.at, id, "");
        link.key = Some(super::key::block_key(id));
        self.push(link);
        self.at += length + 4;
    }

    /// Reads `#tag`, which is a page in Logseq.
    fn read_tag(&mut self) {
        let is_border = |it: char| it.is_whitespace() || matches!(it, '(' | ',' | '"');
        if !self.dialect.is_logseq() || self.before().ends_with(|it: char| !is_border(it)) {
            return;
        }
        let after = self.rest().get(1..).unwrap_or_default();
        let is_end = |next: char| {
            next.is_whitespace()
                || matches!(next, ',' | ';' | '!' | '?' | '"' | '\'' | '(' | ')' | '[' | ']')
                || matches!(next, '{' | '}' | '<' | '>' | '#' | '`' | '|' | '^' | '\\')
        };
        let tag = after.get(..after.find(is_end).unwrap_or(after.len())).unwrap_or_default();
        let tag = tag.trim_end_matches(['.', ':', '/']);
        if tag.is_empty() || tag.starts_with('+') {
            return;
        }
        self.push(FoundLink::new(LinkKind::Tag, self.at, tag, ""));
        self.at += 1 + tag.len();
    }

    /// Reads the address whose scheme ends here.
    fn read_address(&mut self) {
        let Some(after) = self.rest().strip_prefix("://") else { return };
        let before = self.before();
        let scheme =
            before.len() - before.trim_end_matches(|it: char| it.is_ascii_alphabetic()).len();
        let start = self.at - scheme;
        let name = before.get(start..).unwrap_or_default().to_ascii_lowercase();
        let is_web = matches!(name.as_str(), "http" | "https");
        if !is_web && !SourceName::ALL.iter().any(|source| source.as_str() == name) {
            return;
        }
        let is_end = |next: char| next.is_whitespace() || ADDRESS_ENDS.contains(&next);
        let window = after.get(..after.floor_char_boundary(MAX_TARGET_BYTES)).unwrap_or_default();
        let length = window.find(is_end).unwrap_or(window.len());
        let address = trim_address(window.get(..length).unwrap_or_default());
        let end = self.at + 3 + address.len();
        let Some(target) = self.text.get(start..end).filter(|_| !address.is_empty()) else {
            return;
        };
        let key = if is_web { address_key(target) } else { uri_key(target) };
        let kind = if is_web { LinkKind::Address } else { LinkKind::Uri };
        if key.is_some() {
            let mut link = FoundLink::new(kind, start, target, "");
            link.key = key;
            self.push(link);
        }
        self.at = end;
    }
}

/// Returns whether a byte may begin a link or ends a line.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\\' | b'[' | b']' | b'(' | b'#' | b':')
}

/// Returns the link of a Markdown destination; `None` for addresses of other programs.
fn destination_link(at: usize, destination: &str, is_image: bool) -> Option<FoundLink> {
    let destination = destination.trim();
    let kind = if is_image { LinkKind::Image } else { LinkKind::Markdown };
    if let Some(key) = uri_key(destination) {
        let mut link = FoundLink::new(LinkKind::Uri, at, destination, "");
        link.key = Some(key);
        return Some(link);
    }
    if let Some(query) = destination.strip_prefix("obsidian://open?") {
        let file = query.split('&').find_map(|it| it.strip_prefix("file="))?;
        let file = decode_percent(file);
        let (target, fragment) = file.split_once('#').unwrap_or((&file, ""));
        return Some(FoundLink::new(kind, at, target, fragment));
    }
    if let Some((scheme, _)) = destination.split_once(':')
        && scheme.len() > 1
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-'))
        && !scheme.eq_ignore_ascii_case("file")
    {
        let mut link = FoundLink::new(LinkKind::Address, at, destination, "");
        link.key = Some(address_key(destination)?);
        return Some(link);
    }
    let (target, fragment) = destination.split_once('#').unwrap_or((destination, ""));
    let (target, fragment) = (decode_percent(target), decode_percent(fragment));
    let target = target.trim_start_matches("file://").trim_start_matches("file:");
    let is_empty = target.trim().is_empty() && fragment.trim().is_empty();
    (!is_empty).then(|| FoundLink::new(kind, at, target.trim(), fragment.trim()))
}

/// Returns the link of Org mode with this text between the brackets; `None` for a plain name.
fn org_link(at: usize, inside: &str) -> Option<FoundLink> {
    let target = inside.split("][").next().unwrap_or(inside).trim();
    if let Some(id) = target.strip_prefix("id:") {
        return Some(FoundLink::new(LinkKind::Block, at, id, ""));
    }
    if target.starts_with(['*', '#']) {
        let heading = target.trim_start_matches(['*', '#']);
        return Some(FoundLink::new(LinkKind::Wikilink, at, "", heading.trim()));
    }
    let path = target.strip_prefix("file:");
    if path.is_some() || target.starts_with(['.', '/', '~']) {
        let (path, fragment) =
            path.unwrap_or(target).split_once("::").unwrap_or((path.unwrap_or(target), ""));
        let fragment = fragment.trim_start_matches(['*', '#']);
        return Some(FoundLink::new(LinkKind::Markdown, at, path, fragment));
    }
    let name = target.strip_prefix("roam:").unwrap_or(target);
    let named = address_key(name).is_none() && uri_key(name).is_none() && target != inside;
    (named && !name.is_empty()).then(|| FoundLink::new(LinkKind::Wikilink, at, name, "")).or_else(
        || {
            let mut link = FoundLink::new(LinkKind::Address, at, name, "");
            link.key = Some(address_key(name)?);
            Some(link)
        },
    )
}

/// Returns `true` for identifiers of blocks: 4 to 64 letters, digits, `-` and `_`.
fn is_identifier(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(is_identifier_byte)
}

fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flood_of_beginnings_is_searched_once() {
        for unit in ["[", "[[", "[[a ", "](", "[](", "[a](<b>", "[a](b ", "[]", "((", "[[]", "]"] {
            for dialect in [Dialect::Markdown, Dialect::Logseq] {
                let text = unit.repeat(200_000 / unit.len()) + "\n[[Rye]]";
                let mut scanner = Scanner::new(&text, dialect, 10);
                let budget = scanner.budget;
                while scanner.at < text.len() {
                    let before = scanner.at;
                    scanner.read_bracket();
                    scanner.at = scanner.at.max(before + 1);
                    assert!(scanner.brackets.len() <= 2 * MAX_OPEN_BRACKETS);
                }
                let spent = budget - scanner.budget;
                // Names in Logseq may contain links, whose ends are looked for, too.
                let factor = if dialect.is_logseq() { 8 } else { 2 };
                assert!(spent <= factor * text.len(), "{unit} {dialect:?}: {spent}");
                // A flood of destinations uses the budget up.
                let found = Scanner::new(&text, dialect, 1_000_000).scan().links;
                let is_kept = !unit.contains("](");
                assert!(
                    !is_kept || found.iter().any(|link| link.target == "Rye"),
                    "{unit} {dialect:?}"
                );
            }
        }
    }

    #[test]
    fn closing_brackets_are_found_again() {
        let text = format!("[[a{}]] [[b]]", " x".repeat(600));
        let mut scanner = Scanner::new(&text, Dialect::Markdown, 10);
        let first = text.find("]]");
        for from in [2, 3, 900, 2] {
            assert_eq!(scanner.closing_brackets(from), first, "{from}");
        }
        let last = text.rfind("]]").unwrap();
        assert_eq!(scanner.closing_brackets(last - 1), Some(last));
        assert_eq!(scanner.closing_brackets(last + 1), None);
        assert_eq!(scanner.closing_brackets(2), first);
    }
}
