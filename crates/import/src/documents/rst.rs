//! Conversion of reStructuredText documentation to Markdown: headings and code are converted,
//! directives for the builder are removed.

use vademecum_model::{MediaDraft, SourceName};

use super::document::{single_document, title_or_stem};
use crate::{Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: &str = "rst/1";

/// Directives whose body is code.
const CODE_DIRECTIVES: [&str; 5] =
    ["code-block", "code", "sourcecode", "parsed-literal", "literalinclude"];
/// Directives without information for a reader.
const IGNORED_DIRECTIVES: [&str; 15] = [
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
/// Maximum nesting depth of directive bodies that are converted; deeper ones are copied unchanged.
const MAX_DIRECTIVE_DEPTH: usize = 16;
/// Minimum length of an underline that is accepted although its title is longer, and of a
/// transition.
const MIN_RULE_LENGTH: usize = 4;
/// Number of heading levels in Markdown.
const MAX_HEADING_LEVEL: usize = 6;

/// Importer of reStructuredText.
#[derive(Debug)]
pub(crate) struct RstImporter;

impl Importer for RstImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "reStructuredText (.rst, .rest)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        Confidence::ByName.when(probe.has_extension(&["rst", "rest"]))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let mut page = RstConverter::default();
        page.convert_lines(&text.lines().collect::<Vec<_>>(), 0);
        let document = MediaDraft {
            title: title_or_stem(page.title.as_deref(), file),
            media_type: "rst".to_owned(),
            content: page.markdown.trim_matches('\n').to_owned(),
            modified_at: file.modified,
            ..MediaDraft::default()
        };
        single_document(file, VERSION, document, Vec::new())
    }
}

/// A page under conversion to Markdown.
#[derive(Default)]
struct RstConverter {
    markdown: String,
    /// Text of the first heading.
    title: Option<String>,
    /// Heading styles, outermost first: the character, and `true` if there is an overline.
    heading_styles: Vec<(char, bool)>,
}

impl RstConverter {
    /// Converts lines; `depth` is the number of enclosing directive bodies.
    fn convert_lines(&mut self, lines: &[&str], depth: usize) {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let rest = lines.get(at..).unwrap_or_default();
            let after_blank = at == 0 || lines.get(at - 1).is_none_or(|it| it.trim().is_empty());
            at += if let Some((style, title, count)) = parse_heading(rest).filter(|_| after_blank) {
                self.push_heading(style, title);
                count
            } else if let Some(explicit) = parse_explicit(line) {
                let body = indented_block(lines, at + 1);
                self.push_explicit(explicit, body, depth);
                1 + body.len()
            } else if is_transition(line) && after_blank {
                1
            } else if let Some(introduction) = line.trim_end().strip_suffix("::") {
                let body = indented_block(lines, at + 1);
                if !introduction.trim().is_empty() {
                    self.push_line(&convert_inline(&format!("{introduction}:")));
                }
                self.push_code("", body);
                1 + body.len()
            } else {
                if line.trim().is_empty() {
                    self.push_blank();
                } else {
                    self.push_line(&convert_inline(line));
                }
                1
            };
        }
    }

    fn push_line(&mut self, line: &str) {
        self.markdown.push_str(line.trim_end());
        self.markdown.push('\n');
    }

    /// Adds an empty line, unless the text ends with one.
    fn push_blank(&mut self) {
        if !self.markdown.ends_with("\n\n") {
            self.markdown.push('\n');
        }
    }

    fn push_heading(&mut self, style: (char, bool), title: &str) {
        let known = self.heading_styles.iter().position(|it| *it == style);
        let level = known.unwrap_or_else(|| {
            self.heading_styles.push(style);
            self.heading_styles.len() - 1
        });
        let title = convert_inline(title.trim());
        self.push_blank();
        self.push_line(&format!("{} {title}", "#".repeat((level + 1).min(MAX_HEADING_LEVEL))));
        self.title.get_or_insert(title);
    }

    /// Adds an explicit markup block and its body.
    fn push_explicit(&mut self, explicit: ExplicitBlock<'_>, body: &[&str], depth: usize) {
        match explicit {
            ExplicitBlock::Ignored => {}
            ExplicitBlock::Note(text) => {
                self.push_line(&convert_inline(text));
                self.convert_body(body, depth);
            }
            ExplicitBlock::Directive(name, _) if IGNORED_DIRECTIVES.contains(&name) => {}
            ExplicitBlock::Directive(name, language) if CODE_DIRECTIVES.contains(&name) => {
                let language = if name == "literalinclude" { "" } else { language };
                self.push_code(language, skip_options(body));
            }
            ExplicitBlock::Directive("figure", _) => self.convert_body(skip_options(body), depth),
            ExplicitBlock::Directive(name, argument) => {
                self.push_line(&convert_inline(format!("**{name}** {argument}").trim_end()));
                self.convert_body(skip_options(body), depth);
            }
        }
    }

    fn convert_body(&mut self, lines: &[&str], depth: usize) {
        let lines = dedent(lines);
        if depth < MAX_DIRECTIVE_DEPTH {
            self.convert_lines(&lines, depth + 1);
        } else {
            for line in lines {
                self.push_line(line);
            }
        }
    }

    fn push_code(&mut self, language: &str, lines: &[&str]) {
        let lines = dedent(lines);
        let first_filled = lines.iter().position(|line| !line.is_empty());
        let Some(first) = first_filled else { return };
        let last = lines.iter().rposition(|line| !line.is_empty()).unwrap_or(first);
        let lines = lines.get(first..=last).unwrap_or_default();
        let longest = lines.iter().map(|line| longest_backtick_run(line)).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.push_blank();
        self.push_line(&format!("{fence}{}", language.trim()));
        for line in lines {
            self.push_line(line);
        }
        self.push_line(&fence);
        self.push_blank();
    }
}

/// An explicit markup block, which begins with two dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExplicitBlock<'a> {
    /// Comment, target or substitution.
    Ignored,
    /// Footnote or citation.
    Note(&'a str),
    /// Directive: name and argument.
    Directive(&'a str, &'a str),
}

fn parse_explicit(line: &str) -> Option<ExplicitBlock<'_>> {
    let rest = line.strip_prefix("..")?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim();
    if rest.starts_with('[') {
        return Some(ExplicitBlock::Note(rest));
    }
    let named = rest.split_once("::").filter(|(name, _)| {
        let allowed = |sign: char| sign.is_alphanumeric() || "-_:.+".contains(sign);
        !name.is_empty() && name.chars().all(allowed)
    });
    Some(named.map_or(ExplicitBlock::Ignored, |(name, argument)| {
        ExplicitBlock::Directive(name, argument.trim())
    }))
}

/// Parses a heading at the beginning of the lines: its style, its title, and its number of lines.
fn parse_heading<'a>(lines: &[&'a str]) -> Option<((char, bool), &'a str, usize)> {
    let of = |index: usize| lines.get(index).copied().unwrap_or_default();
    let (first, second) = (of(0), of(1));
    if let (Some((above, long)), false) = (parse_rule(first), second.trim().is_empty()) {
        let below = parse_rule(of(2)).filter(|below| *below == (above, long));
        return below.filter(|_| parse_rule(second).is_none()).map(|_| ((above, true), second, 3));
    }
    let (sign, long) = parse_rule(second)?;
    let title = first.trim_end();
    let is_title = !title.is_empty() && !title.starts_with([' ', '\t']);
    let underlined = long >= title.chars().count() || long >= MIN_RULE_LENGTH;
    (is_title && underlined).then_some(((sign, false), title, 2))
}

/// Returns the character that the whole line consists of, and its number; `None` for other lines.
fn parse_rule(line: &str) -> Option<(char, usize)> {
    let line = line.trim_end();
    let sign = line.chars().next().filter(char::is_ascii_punctuation)?;
    let is_rule =
        line.len() > 1 && line.chars().all(|it| it == sign) && line != "::" && line != "..";
    is_rule.then_some((sign, line.len()))
}

fn is_transition(line: &str) -> bool {
    parse_rule(line).is_some_and(|(_, long)| long >= MIN_RULE_LENGTH)
}

/// Returns the indented lines from an index on, including empty lines between them.
fn indented_block<'l, 'a>(lines: &'l [&'a str], from: usize) -> &'l [&'a str] {
    let rest = lines.get(from..).unwrap_or_default();
    let inside = |line: &&str| line.trim().is_empty() || line.starts_with([' ', '\t']);
    let end = rest.iter().position(|line| !inside(line)).unwrap_or(rest.len());
    let block = rest.get(..end).unwrap_or_default();
    let last = block.iter().rposition(|line| !line.trim().is_empty());
    block.get(..last.map_or(0, |last| last + 1)).unwrap_or_default()
}

/// Returns the lines after the options at the beginning of a body.
fn skip_options<'l, 'a>(lines: &'l [&'a str]) -> &'l [&'a str] {
    let is_option =
        |line: &&str| line.trim_start().strip_prefix(':').is_some_and(|rest| rest.contains(':'));
    let count = lines.iter().position(|line| !is_option(line)).unwrap_or(lines.len());
    lines.get(count..).unwrap_or_default()
}

/// Removes the common indentation of the lines.
fn dedent<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let common = filled.map(|line| line.len() - line.trim_start_matches([' ', '\t']).len()).min();
    lines.iter().map(|line| line.get(common.unwrap_or(0)..).unwrap_or_default()).collect()
}

/// Returns the length of the longest run of backticks.
fn longest_backtick_run(line: &str) -> usize {
    line.split(|sign| sign != '`').map(str::len).max().unwrap_or(0)
}

/// Converts roles and links in a line to plain text or Markdown links.
fn convert_inline(line: &str) -> String {
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
        let Some((content, after)) =
            after.split_once('`').filter(|(content, _)| !content.is_empty())
        else {
            written.push('`');
            rest = after;
            continue;
        };
        let target = content.strip_suffix('>').and_then(|content| content.rsplit_once('<'));
        let (text, target) = target.map_or((content, None), |(text, to)| (text.trim(), Some(to)));
        let text = if text.is_empty() { target.unwrap_or(content) } else { text };
        let link = after.strip_prefix("__").or_else(|| after.strip_prefix('_'));
        rest = link.unwrap_or(after);
        match (trailing_role_start(&written), link, target) {
            (Some(start), ..) => {
                written.truncate(start);
                written.push_str(text.trim_start_matches(['~', '!']));
            }
            (None, Some(_), Some(url)) if url.contains(':') => {
                written.extend(["[", text, "](", url, ")"]);
            }
            (None, Some(_), _) => written.push_str(text),
            (None, None, _) => written.extend(["`", content, "`"]),
        }
    }
    written.push_str(rest);
    written
}

/// Returns the start of the role, such as `:ref:`, at the end of a text.
fn trailing_role_start(text: &str) -> Option<usize> {
    let before = text.strip_suffix(':')?;
    let allowed = |sign: char| sign.is_alphanumeric() || "-_:.+".contains(sign);
    let name = before.trim_end_matches(allowed).len();
    let start = name + before.get(name..)?.find(':')?;
    (start + 1 < before.len()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::document::tests::{read_document, read_error};

    fn markdown(text: &str) -> String {
        read_document(&RstImporter, "/a.rst", text).content
    }

    #[test]
    fn heading_levels_follow_order_of_styles() {
        let text = "====\nBread\n====\n\nAbout.\n\nFlour\n=====\n\nRye & *oat*\n-----------\n\nDark.\n\n\
                    Ovens\n=====\nHot.\n\n----\n\nEnd.\n";
        let article = read_document(&RstImporter, "/a.rst", text);
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
        assert_eq!(
            read_document(&RstImporter, "/notes.rst", "No heading\n-\n\ntext").title,
            "notes"
        );
    }

    #[test]
    fn code_directives_become_fenced_blocks() {
        let text = "Run::\n\n    make\n      all\n\n.. code-block:: python\n   :linenos:\n\n   x = 1\n\n   y = '```'\n\nDone.\n";
        assert_eq!(
            markdown(text),
            "Run:\n\n```\nmake\n  all\n```\n\n````python\nx = 1\n\ny = '```'\n````\n\nDone."
        );
        assert_eq!(markdown("A\n\n::\n\n  b\n\nc"), "A\n\n```\nb\n```\n\nc");
    }

    #[test]
    fn builder_directives_are_removed() {
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
    fn roles_and_links_are_converted() {
        for (line, written) in [
            ("See :ref:`the oven <oven-label>`.", "See the oven."),
            (":class:`~json.Decoder` and :py:func:`dumps`", "json.Decoder and dumps"),
            ("`SQLite <https://sqlite.org>`_, `here`_", "[SQLite](https://sqlite.org), here"),
            ("``a `b` c`` and `x`", "``a `b` c`` and `x`"),
            ("one ` tick, `` two", "one ` tick, `` two"),
            ("größer:`京`", "größer:`京`"),
        ] {
            assert_eq!(convert_inline(line), written, "{line}");
        }
    }

    #[test]
    fn empty_page_is_rejected_and_deep_one_terminates() {
        assert!(
            read_error(&RstImporter, "/a.rst", ".. _a:\n\n.. toctree::\n   x\n")
                .contains("no text")
        );
        let deep: String = (0..200).map(|depth| "  ".repeat(depth) + ".. note::\n\n").collect();
        assert!(markdown(&(deep + &"  ".repeat(200) + "bottom")).contains("bottom"));
    }
}
