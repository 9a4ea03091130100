//! The markup of Evernote's notes, rewritten as HTML that other programs understand.

use std::collections::HashMap;

use crate::{html_markdown::html_to_markdown, xml::resolve_references};

/// A note as Markdown.
#[derive(Debug, Default)]
pub(super) struct EnmlText {
    pub(super) markdown: String,
    /// Number of encrypted parts, whose text is missing.
    pub(super) encrypted: usize,
}

/// Converts a note. `files` are the names of its files by the MD5 of their content. Fails if it is
/// nested too deeply.
pub(super) fn to_markdown(enml: &str, files: &HashMap<String, String>) -> Result<EnmlText, String> {
    let mut rewriter = Rewriter { files, html: String::new(), encrypted: 0, is_note_link: false };
    rewriter.rewrite(enml);
    let markdown = html_to_markdown(&rewriter.html, None).map_err(|error| error.to_string())?;
    Ok(EnmlText { markdown, encrypted: rewriter.encrypted })
}

#[derive(Debug)]
struct Rewriter<'f> {
    files: &'f HashMap<String, String>,
    html: String,
    encrypted: usize,
    /// Whether the open link leads to a note.
    is_note_link: bool,
}

impl Rewriter<'_> {
    fn rewrite(&mut self, enml: &str) {
        let mut rest = enml;
        while let Some((before, after)) = rest.split_once('<') {
            self.html.push_str(before);
            let end = tag_end(after);
            let (tag, next) = after.split_at(end);
            let next = next.get(1..).unwrap_or_default();
            rest = self.rewrite_tag(tag, next);
        }
        self.html.push_str(rest);
    }

    /// Adds a tag, and returns what follows: less than `next` if the content was read too.
    fn rewrite_tag<'t>(&mut self, tag: &str, next: &'t str) -> &'t str {
        let name = tag.split(|it: char| it.is_whitespace()).next().unwrap_or_default();
        let checked = |is_checked: bool| if is_checked { "[x] " } else { "[ ] " };
        match name.trim_end_matches('/') {
            "en-todo" => self.html.push_str(checked(attribute(tag, "checked") == "true")),
            "/en-todo" | "/en-media" | "en-note" | "/en-note" | "!DOCTYPE" | "?xml" => {}
            "en-media" => {
                let hash = attribute(tag, "hash");
                let name = self.files.get(&hash).filter(|name| !name.is_empty());
                let name = name.cloned().unwrap_or_else(|| attribute(tag, "type"));
                self.html.extend(["[file: ", &escape(&name), "]"]);
            }
            "en-crypt" => {
                self.encrypted += 1;
                self.html.push_str("[encrypted text]");
                return next.split_once("</en-crypt>").map_or("", |(_, after)| after);
            }
            "li" if tag.contains("--en-checked:") => {
                self.html.push_str("<li>");
                self.html.push_str(checked(tag.contains("--en-checked:true")));
            }
            "div" if tag.contains("-en-codeblock:true") && !tag.ends_with('/') => {
                let (code, after) = code_block(next);
                self.html.extend(["<pre><code>", &escape(&code), "\n</code></pre>"]);
                return after;
            }
            "a" if attribute(tag, "href").starts_with("evernote:") => {
                self.is_note_link = true;
                self.html.push_str("[[");
            }
            "/a" if std::mem::take(&mut self.is_note_link) => self.html.push_str("]]"),
            _ => self.html.extend(["<", tag, ">"]),
        }
        next
    }
}

/// Returns the length of a tag without its `>`. One in a quoted value is part of the tag.
fn tag_end(rest: &str) -> usize {
    let mut quote = None;
    for (at, next) in rest.char_indices() {
        match (quote, next) {
            (None, '>') => return at,
            (None, '"' | '\'') => quote = Some(next),
            (Some(open), _) if open == next => quote = None,
            _ => {}
        }
    }
    rest.len()
}

fn attribute(tag: &str, name: &str) -> String {
    let found = tag.split_once(&format!(" {name}=")).map(|(_, value)| value).unwrap_or_default();
    let quote = found.chars().next().filter(|it| matches!(it, '"' | '\''));
    let value = quote.and_then(|quote| found[1..].split_once(quote)).map(|(value, _)| value);
    resolve_references(value.unwrap_or_default())
}

/// Returns the lines of a code block, and what follows it. Its lines are `div` elements, or are
/// parted by `br`.
fn code_block(content: &str) -> (String, &str) {
    let (mut code, mut depth, mut rest) = (String::new(), 1, content);
    let mut is_line_open = false;
    while let Some((before, after)) = rest.split_once('<') {
        code.push_str(&resolve_references(before));
        is_line_open |= !before.is_empty();
        let end = tag_end(after);
        let (tag, next) = after.split_at(end);
        rest = next.get(1..).unwrap_or_default();
        let name = tag.split(|it: char| it.is_whitespace() || it == '/').next().unwrap_or_default();
        if tag.starts_with("/div") {
            depth -= 1;
            if depth == 0 {
                return (code.trim_end().replace('\u{a0}', " "), rest);
            }
            code.push('\n');
            is_line_open = false;
        } else if name == "div" {
            depth += usize::from(!tag.ends_with('/'));
            if is_line_open {
                code.push('\n');
            }
        } else if name == "br" && is_line_open {
            code.push('\n');
            is_line_open = false;
        }
    }
    code.push_str(&resolve_references(rest));
    (code, "")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(enml: &str) -> String {
        let files = HashMap::from([("0a".to_owned(), "loaf.pdf".to_owned())]);
        to_markdown(enml, &files).unwrap().markdown
    }

    #[test]
    fn checklists_files_and_links_are_kept() {
        let enml = "<?xml version=\"1.0\"?><!DOCTYPE en-note SYSTEM \"x\"><en-note>\
            <div><en-todo checked=\"true\"/>Knead</div><ul style=\"--en-todo:true;\">\
            <li style=\"--en-checked:false;\">Wait</li><li style=\"--en-checked:true;\">Fold</li></ul>\
            <div>See <a href=\"evernote:///view/1/s1/a/b/\">Oat bread</a> and \
            <a href=\"https://example.org/?a=1&amp;b=2\">this</a>.</div>\
            <en-media hash=\"0a\" type=\"application/pdf\"/><en-media hash=\"0b\" type=\"image/png\"></en-media>\
            <table><tr><td>a</td><td>b</td></tr></table></en-note>";
        let text = markdown(enml);
        for part in [
            "[x] Knead",
            "- [ ] Wait",
            "- [x] Fold",
            "[[Oat bread]]",
            "[this](https://example.org/?a=1&b=2)",
            "[file: loaf.pdf]",
            "[file: image/png]",
            "| a | b |",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn code_keeps_lines_and_indentation() {
        let enml = "<en-note><div style=\"box-sizing: x; -en-codeblock: true; -en-codeblock:true;\">\
            <div>fn main() {</div><div>\u{a0}\u{a0}a &lt; b</div><div><br/></div><div>}</div></div><div>After</div></en-note>";
        let text = markdown(enml);
        assert!(text.contains("```\nfn main() {\n  a < b\n\n}\n```"), "{text}");
        assert!(text.ends_with("After"), "{text}");
    }

    #[test]
    fn encrypted_and_torn_parts_end_nowhere_else() {
        let files = HashMap::new();
        let note =
            to_markdown("<en-note>a<en-crypt hint=\"x>\">c2VjcmV0</en-crypt>b</en-note>", &files);
        let note = note.unwrap();
        assert_eq!((note.markdown.as_str(), note.encrypted), ("a[encrypted text]b", 1));
        for torn in [
            "<",
            "<en-crypt",
            "<div style=\"-en-codeblock:true",
            "<div style='-en-codeblock:true'>a<",
            "<a href='",
        ] {
            assert!(to_markdown(torn, &files).is_ok(), "{torn}");
        }
        assert!(to_markdown(&"<div>".repeat(20_000), &files).is_err());
    }
}
