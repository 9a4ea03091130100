//! reStructuredText, as documentation is written in, as Markdown: its headings
//! are headings, its code is code, and what only a builder reads is left out.

use vademecum_kit::model::{MediaDraft, SourceName};

use super::document::{titled, whole};
use crate::{Fit, Glance, ImportError, Importer, Reading, SourceFile};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "rst/1";

/// Directives whose body is code.
const CODE: [&str; 5] = ["code-block", "code", "sourcecode", "parsed-literal", "literalinclude"];
/// Directives that say nothing to a reader.
const SILENT: [&str; 15] = [
    "toctree",
    "contents",
    "index",
    "meta",
    "raw",
    "include",
    "highlight",
    "module",
    "currentmodule",
    "sectnum",
    "default-role",
    "role",
    "image",
    "tabularcolumns",
    "sectionauthor",
];
/// How deep bodies of directives are read; what is deeper stays as it is.
const MAX_DEPTH: usize = 16;
/// An underline that is this long is one even if its title is longer.
const SURELY: usize = 4;
/// Levels of headings that Markdown has.
const LEVELS: usize = 6;

/// Reads reStructuredText.
#[derive(Debug)]
pub(crate) struct Rst;

impl Importer for Rst {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "reStructuredText (.rst, .rest)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        Fit::Name.when(glance.ends_in(&["rst", "rest"]))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let mut page = Page::default();
        page.read(&text.lines().collect::<Vec<_>>(), 0);
        let document = MediaDraft {
            title: titled(page.title.as_deref(), file),
            media_type: "rst".to_owned(),
            content: page.markdown.trim_matches('\n').to_owned(),
            modified_at: file.modified,
            ..MediaDraft::default()
        };
        whole(file, VERSION, document, Vec::new())
    }
}

/// A page that is being written as Markdown.
#[derive(Default)]
struct Page {
    markdown: String,
    /// The first heading.
    title: Option<String>,
    /// How headings are marked, outermost first: the sign, and whether there is one
    /// above as well.
    styles: Vec<(char, bool)>,
}

impl Page {
    /// Reads lines; `depth` says in how many bodies they are.
    fn read(&mut self, lines: &[&str], depth: usize) {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let rest = lines.get(at..).unwrap_or_default();
            let after_blank = at == 0 || lines.get(at - 1).is_none_or(|it| it.trim().is_empty());
            at += if let Some((style, title, count)) = heading(rest).filter(|_| after_blank) {
                self.heading(style, title);
                count
            } else if let Some(explicit) = explicit(line) {
                let body = block(lines, at + 1);
                self.explicit(explicit, body, depth);
                1 + body.len()
            } else if is_transition(line) && after_blank {
                1
            } else if let Some(said) = line.trim_end().strip_suffix("::") {
                let body = block(lines, at + 1);
                if !said.trim().is_empty() {
                    self.line(&inline(&format!("{said}:")));
                }
                self.code("", body);
                1 + body.len()
            } else {
                if line.trim().is_empty() {
                    self.blank();
                } else {
                    self.line(&inline(line));
                }
                1
            };
        }
    }

    fn line(&mut self, line: &str) {
        self.markdown.push_str(line.trim_end());
        self.markdown.push('\n');
    }

    /// An empty line, unless there is one already.
    fn blank(&mut self) {
        if !self.markdown.ends_with("\n\n") {
            self.markdown.push('\n');
        }
    }

    fn heading(&mut self, style: (char, bool), title: &str) {
        let known = self.styles.iter().position(|it| *it == style);
        let level = known.unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        let title = inline(title.trim());
        self.blank();
        self.line(&format!("{} {title}", "#".repeat((level + 1).min(LEVELS))));
        self.title.get_or_insert(title);
    }

    /// Writes what begins with two dots, and its body.
    fn explicit(&mut self, explicit: Explicit<'_>, body: &[&str], depth: usize) {
        match explicit {
            Explicit::Silent => {}
            Explicit::Note(text) => {
                self.line(&inline(text));
                self.body(body, depth);
            }
            Explicit::Directive(name, _) if SILENT.contains(&name) => {}
            Explicit::Directive(name, language) if CODE.contains(&name) => {
                let language = if name == "literalinclude" { "" } else { language };
                self.code(language, without_options(body));
            }
            Explicit::Directive("figure", _) => self.body(without_options(body), depth),
            Explicit::Directive(name, argument) => {
                self.line(&inline(format!("**{name}** {argument}").trim_end()));
                self.body(without_options(body), depth);
            }
        }
    }

    fn body(&mut self, lines: &[&str], depth: usize) {
        let lines = dedented(lines);
        if depth < MAX_DEPTH {
            self.read(&lines, depth + 1);
        } else {
            for line in lines {
                self.line(line);
            }
        }
    }

    fn code(&mut self, language: &str, lines: &[&str]) {
        let lines = dedented(lines);
        let said = lines.iter().position(|line| !line.is_empty());
        let Some(first) = said else { return };
        let last = lines.iter().rposition(|line| !line.is_empty()).unwrap_or(first);
        let lines = lines.get(first..=last).unwrap_or_default();
        let longest = lines.iter().map(|line| ticks(line)).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.blank();
        self.line(&format!("{fence}{}", language.trim()));
        for line in lines {
            self.line(line);
        }
        self.line(&fence);
        self.blank();
    }
}

/// What begins with two dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Explicit<'a> {
    /// A comment, a target, a substitution.
    Silent,
    /// A footnote or citation.
    Note(&'a str),
    /// A directive, and what follows its name.
    Directive(&'a str, &'a str),
}

fn explicit(line: &str) -> Option<Explicit<'_>> {
    let rest = line.strip_prefix("..")?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim();
    if rest.starts_with('[') {
        return Some(Explicit::Note(rest));
    }
    let named = rest.split_once("::").filter(|(name, _)| {
        let allowed = |sign: char| sign.is_alphanumeric() || "-_:.+".contains(sign);
        !name.is_empty() && name.chars().all(allowed)
    });
    Some(named.map_or(Explicit::Silent, |(name, said)| Explicit::Directive(name, said.trim())))
}

/// The heading that lines begin with: how it is marked, its title, how many
/// lines it takes.
fn heading<'a>(lines: &[&'a str]) -> Option<((char, bool), &'a str, usize)> {
    let of = |index: usize| lines.get(index).copied().unwrap_or_default();
    let (first, second) = (of(0), of(1));
    if let (Some((above, long)), false) = (rule(first), second.trim().is_empty()) {
        let below = rule(of(2)).filter(|below| *below == (above, long));
        return below.filter(|_| rule(second).is_none()).map(|_| ((above, true), second, 3));
    }
    let (sign, long) = rule(second)?;
    let title = first.trim_end();
    let is_title = !title.is_empty() && !title.starts_with([' ', '\t']);
    let underlined = long >= title.chars().count() || long >= SURELY;
    (is_title && underlined).then_some(((sign, false), title, 2))
}

/// The sign that all of a line is made of, and how often it is there.
fn rule(line: &str) -> Option<(char, usize)> {
    let line = line.trim_end();
    let sign = line.chars().next().filter(char::is_ascii_punctuation)?;
    let is_rule =
        line.len() > 1 && line.chars().all(|it| it == sign) && line != "::" && line != "..";
    is_rule.then_some((sign, line.len()))
}

fn is_transition(line: &str) -> bool {
    rule(line).is_some_and(|(_, long)| long >= SURELY)
}

/// The lines from a place on that are indented, with the empty ones among them.
fn block<'l, 'a>(lines: &'l [&'a str], from: usize) -> &'l [&'a str] {
    let rest = lines.get(from..).unwrap_or_default();
    let inside = |line: &&str| line.trim().is_empty() || line.starts_with([' ', '\t']);
    let end = rest.iter().position(|line| !inside(line)).unwrap_or(rest.len());
    let said = rest.get(..end).unwrap_or_default();
    let last = said.iter().rposition(|line| !line.trim().is_empty());
    said.get(..last.map_or(0, |last| last + 1)).unwrap_or_default()
}

/// A body without the options that it begins with.
fn without_options<'l, 'a>(lines: &'l [&'a str]) -> &'l [&'a str] {
    let is_option =
        |line: &&str| line.trim_start().strip_prefix(':').is_some_and(|rest| rest.contains(':'));
    let count = lines.iter().position(|line| !is_option(line)).unwrap_or(lines.len());
    lines.get(count..).unwrap_or_default()
}

/// Lines without the indentation that all of them have.
fn dedented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let said = lines.iter().filter(|line| !line.trim().is_empty());
    let common = said.map(|line| line.len() - line.trim_start_matches([' ', '\t']).len()).min();
    lines.iter().map(|line| line.get(common.unwrap_or(0)..).unwrap_or_default()).collect()
}

/// The longest run of backticks.
fn ticks(line: &str) -> usize {
    line.split(|sign| sign != '`').map(str::len).max().unwrap_or(0)
}

/// A line whose roles and links are what they say.
fn inline(line: &str) -> String {
    let mut written = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('`') {
        written.push_str(before);
        let literal = after.strip_prefix('`').and_then(|after| after.split_once("``"));
        if let Some((code, after)) = literal {
            written.extend(["``", code, "``"]);
            rest = after;
            continue;
        }
        let Some((said, after)) = after.split_once('`').filter(|(said, _)| !said.is_empty()) else {
            written.push('`');
            rest = after;
            continue;
        };
        let target = said.strip_suffix('>').and_then(|said| said.rsplit_once('<'));
        let (text, target) = target.map_or((said, None), |(text, to)| (text.trim(), Some(to)));
        let text = if text.is_empty() { target.unwrap_or(said) } else { text };
        let link = after.strip_prefix("__").or_else(|| after.strip_prefix('_'));
        rest = link.unwrap_or(after);
        match (role(&written), link, target) {
            (Some(start), ..) => {
                written.truncate(start);
                written.push_str(text.trim_start_matches(['~', '!']));
            }
            (None, Some(_), Some(url)) if url.contains(':') => {
                written.extend(["[", text, "](", url, ")"]);
            }
            (None, Some(_), _) => written.push_str(text),
            (None, None, _) => written.extend(["`", said, "`"]),
        }
    }
    written.push_str(rest);
    written
}

/// Where the role begins that a text ends with, as `:ref:` does.
fn role(text: &str) -> Option<usize> {
    let before = text.strip_suffix(':')?;
    let allowed = |sign: char| sign.is_alphanumeric() || "-_:.+".contains(sign);
    let name = before.trim_end_matches(allowed).len();
    let start = name + before.get(name..)?.find(':')?;
    (start + 1 < before.len()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::document::tests::{read, refused};

    fn markdown(text: &str) -> String {
        read(&Rst, "/a.rst", text).content
    }

    #[test]
    fn headings_are_as_deep_as_their_marks_come() {
        let text = "====\nBread\n====\n\nAbout.\n\nFlour\n=====\n\nRye & *oat*\n-----------\n\nDark.\n\n\
                    Ovens\n=====\nHot.\n\n----\n\nEnd.\n";
        let article = read(&Rst, "/a.rst", text);
        assert_eq!(article.title, "Bread");
        assert_eq!(
            article.content.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
            [
                "# Bread",
                "About.",
                "## Flour",
                "### Rye & *oat*",
                "Dark.",
                "## Ovens",
                "Hot.",
                "End."
            ]
        );
        assert_eq!(read(&Rst, "/notes.rst", "No heading\n-\n\ntext").title, "notes");
    }

    #[test]
    fn code_is_code() {
        let text = "Run::\n\n    make\n      all\n\n.. code-block:: python\n   :linenos:\n\n   x = 1\n\n   y = '```'\n\nDone.\n";
        assert_eq!(
            markdown(text),
            "Run:\n\n```\nmake\n  all\n```\n\n````python\nx = 1\n\ny = '```'\n````\n\nDone."
        );
        assert_eq!(markdown("A\n\n::\n\n  b\n\nc"), "A\n\n```\nb\n```\n\nc");
    }

    #[test]
    fn what_only_a_builder_reads_is_left_out() {
        let text = ".. _start:\n\n.. toctree::\n   :maxdepth: 2\n\n   one\n   two\n\n.. a comment\n   of two lines\n\n\
                    Text.\n\n.. note:: Mind\n   the gap.\n\n.. versionadded:: 3.5\n.. [1] A foot.\n\
                    .. |x| replace:: y\n";
        let lines: Vec<String> =
            markdown(text).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        assert_eq!(
            lines,
            ["Text.", "**note** Mind", "the gap.", "**versionadded** 3.5", "[1] A foot."]
        );
    }

    #[test]
    fn roles_and_links_are_what_they_say() {
        for (line, written) in [
            ("See :ref:`the oven <oven-label>`.", "See the oven."),
            (":class:`~json.Decoder` and :py:func:`dumps`", "json.Decoder and dumps"),
            ("`SQLite <https://sqlite.org>`_, `here`_", "[SQLite](https://sqlite.org), here"),
            ("``a `b` c`` and `x`", "``a `b` c`` and `x`"),
            ("one ` tick, `` two", "one ` tick, `` two"),
            ("größer:`京`", "größer:`京`"),
        ] {
            assert_eq!(inline(line), written, "{line}");
        }
    }

    #[test]
    fn a_page_without_a_word_is_refused_and_a_deep_one_ends() {
        assert!(refused(&Rst, "/a.rst", ".. _a:\n\n.. toctree::\n   x\n").contains("no text"));
        let deep: String = (0..200).map(|depth| "  ".repeat(depth) + ".. note::\n\n").collect();
        assert!(markdown(&(deep + &"  ".repeat(200) + "bottom")).contains("bottom"));
    }
}
