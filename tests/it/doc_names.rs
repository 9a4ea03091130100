//! Doc comments name what exists: a `snake_case` name in back-ticks is a name of the workspace.
//!
//! A name resolves if the documented item has it, in its signature or body; for a field or variant,
//! its type. Otherwise it must be a word of code, SQL or settings. For a function this is stricter:
//! no variable of another function counts, and a name must be one of its own crate, so that a
//! renamed parameter is found. The scan reads lines and words, no types.

use std::collections::HashSet;

use crate::support::{
    rust_words::{RustWords, WordKind, is_edge},
    workspace_files::{files, read},
};

/// Folders of code whose doc comments are checked.
const CODE_FOLDERS: [&str; 3] = ["crates", "sources", "src"];

/// Folders and extensions of files other than Rust whose words are names.
const OTHER_FILES: [(&str, &str); 7] = [
    ("crates", "css"),
    ("crates", "js"),
    ("crates", "sql"),
    ("crates", "toml"),
    ("schemas", "json"),
    ("schemas", "sql"),
    ("sources", "sql"),
];

/// Names of other programs and formats that no code contains.
const EXTERNAL_NAMES: [&str; 3] = ["ndcg_cut", "recip_rank", "trec_eval"];

/// A name in back-ticks in a doc comment.
#[derive(Debug)]
struct DocName<'a> {
    name: &'a str,
    /// Line of the comment, counted from 0.
    line: usize,
    /// First line of the documented item.
    item: usize,
}

/// A Rust file of a crate.
#[derive(Debug)]
struct SourceFile<'a> {
    path: &'a str,
    lines: Vec<&'a str>,
    code: RustWords<'a>,
}

/// Names to which a doc comment may refer.
#[derive(Debug)]
struct KnownNames<'a> {
    /// Words of Rust code and of its strings.
    words: HashSet<&'a str>,
    /// Crates and the names of their functions, types, modules, fields, constants and keys.
    crate_names: HashSet<(&'a str, &'a str)>,
    /// Names of SQL, settings and schemas, and those of [`EXTERNAL_NAMES`].
    other: HashSet<&'a str>,
}

#[test]
fn names_in_doc_comments_exist() {
    let code: Vec<_> = CODE_FOLDERS.iter().flat_map(|folder| files(folder, "rs")).collect();
    let other: Vec<_> = OTHER_FILES
        .iter()
        .flat_map(|(folder, extension)| files(folder, extension))
        .chain(["config.example.toml", "Cargo.toml"].map(|name| (name.to_owned(), read(name))))
        .collect();
    let sources: Vec<_> = code.iter().map(|(path, text)| SourceFile::scan(path, text)).collect();
    let known = KnownNames::collect(&sources, &other);
    let unresolved: Vec<_> =
        sources.iter().flat_map(|file| file.unresolved_names(&known)).collect();
    assert!(
        unresolved.is_empty(),
        "{} names in doc comments that do not exist:\n{}",
        unresolved.len(),
        unresolved.join("\n")
    );
}

#[test]
fn renamed_parameter_is_found_in_doc_comment() {
    let text = "/// Waits for `timeout` or `patience`; see `wait_again`.\n\
                fn wait(timeout: u64) {}\n\
                fn wait_again(patience: u64) {}\n";
    let file = SourceFile::scan("crates/core/src/wait.rs", text);
    let known = KnownNames::collect(std::slice::from_ref(&file), &[]);
    assert_eq!(file.unresolved_names(&known), ["crates/core/src/wait.rs:1: `patience`"]);
}

#[test]
fn doc_comment_of_field_may_name_other_fields() {
    let text = "struct Limits {\n    \
                    /// At least `low`, unlike `lowest`.\n    \
                    high: u64,\n    \
                    low: u64,\n\
                }\n";
    let file = SourceFile::scan("src/limits.rs", text);
    let known = KnownNames::collect(std::slice::from_ref(&file), &[]);
    assert_eq!(file.unresolved_names(&known), ["src/limits.rs:2: `lowest`"]);
}

impl<'a> KnownNames<'a> {
    /// Collects the names of the Rust files and of `other` files, which are paths with contents.
    fn collect(sources: &[SourceFile<'a>], other: &'a [(String, String)]) -> Self {
        let mut known = Self {
            words: HashSet::new(),
            crate_names: HashSet::new(),
            other: EXTERNAL_NAMES.into_iter().chain(["false", "null", "true"]).collect(),
        };
        for file in sources {
            for word in &file.code.words {
                known.words.insert(word.text);
                if matches!(word.kind, WordKind::Name | WordKind::Key) {
                    known.crate_names.insert((file.crate_folder(), word.text));
                }
            }
        }
        for (path, text) in other {
            // A statement has the name of its file.
            known.other.extend(path.split(['/', '.']));
            let is_comment = |line: &&str| line.starts_with("--") || line.starts_with("# ");
            let code = text.lines().filter(|line| !is_comment(line));
            known.other.extend(code.flat_map(|line| line.split(is_edge)));
        }
        known
    }
}

impl<'a> SourceFile<'a> {
    fn scan(path: &'a str, text: &'a str) -> Self {
        Self { path, lines: text.lines().collect(), code: RustWords::scan(text) }
    }

    /// The folder of the crate, such as `crates/core`; `src` for the package.
    fn crate_folder(&self) -> &'a str {
        let mut ends = self.path.match_indices('/').map(|(end, _)| end);
        let end = if self.path.starts_with("src/") { ends.next() } else { ends.nth(1) };
        &self.path[..end.unwrap_or_default()]
    }

    /// Names that do not resolve, each as text with the path and the line.
    fn unresolved_names(&self, known: &KnownNames<'_>) -> Vec<String> {
        let names = self.doc_names().into_iter();
        let unresolved = names.filter(|name| !self.resolves(name, known));
        unresolved.map(|it| format!("{}:{}: `{}`", self.path, it.line + 1, it.name)).collect()
    }

    fn resolves(&self, DocName { name, item, .. }: &DocName<'_>, known: &KnownNames<'_>) -> bool {
        let is_known = if self.item_keyword(*item) == Some("fn") {
            known.crate_names.contains(&(self.crate_folder(), *name))
        } else {
            known.words.contains(name)
        };
        is_known || known.other.contains(name) || self.item_contains(*item, name)
    }

    /// Checks whether an item contains a word; for a field or variant, whether its type does.
    fn item_contains(&self, item: usize, name: &str) -> bool {
        let is_part = self.item_keyword(item).is_none();
        let start = is_part.then(|| self.enclosing_type(item)).flatten().unwrap_or(item);
        let end = self.item_end(start);
        let words = &self.code.words;
        let first = words.partition_point(|word| word.line < start);
        words[first..].iter().take_while(|word| word.line < end).any(|word| word.text == name)
    }

    /// Names in back-ticks in the `///` comments.
    fn doc_names(&self) -> Vec<DocName<'a>> {
        let mut found = Vec::new();
        let mut line = 0;
        while line < self.lines.len() {
            let start = line;
            let mut docs = Vec::new();
            while let Some(text) = self.doc_text(line) {
                docs.push(text);
                line += 1;
            }
            if !docs.is_empty() {
                let item = self.item_after(line);
                let names = back_ticked_names(&docs).into_iter();
                found.extend(names.map(|(row, name)| DocName { name, line: start + row, item }));
            }
            line += 1;
        }
        found
    }

    fn doc_text(&self, line: usize) -> Option<&'a str> {
        let text = self.lines.get(line)?.trim_start().strip_prefix("///")?;
        (!self.code.begins_in_string[line]).then_some(text)
    }

    /// First line from `line` that belongs to no comment and no attribute.
    fn item_after(&self, mut line: usize) -> usize {
        let mut open = 0;
        while let Some(text) = self.lines.get(line).map(|text| text.trim_start()) {
            if open == 0 && !text.starts_with("#[") && !text.starts_with("//") {
                break;
            }
            open = (open + text.matches('[').count()).saturating_sub(text.matches(']').count());
            line += 1;
        }
        line
    }

    /// The keyword with which the item at `line` begins; `None` for a field or variant.
    fn item_keyword(&self, line: usize) -> Option<&'a str> {
        let words = self.lines.get(line)?.split(is_edge).filter(|word| !word.is_empty());
        let is_prefix = |word: &&str| {
            matches!(*word, "pub" | "crate" | "super" | "in" | "async" | "unsafe" | "extern" | "C")
        };
        let mut words = words.skip_while(is_prefix);
        match (words.next()?, words.next()?) {
            ("const", "fn" | "unsafe" | "async") => Some("fn"),
            (
                word @ ("fn" | "struct" | "enum" | "union" | "trait" | "type" | "mod" | "const"
                | "static" | "use" | "impl" | "macro_rules"),
                _,
            ) => Some(word),
            _ => None,
        }
    }

    /// First line of the type to which the field or variant at `line` belongs.
    fn enclosing_type(&self, line: usize) -> Option<usize> {
        let mut indent = self.indent(line)?;
        for above in (0..line).rev() {
            let Some(outer) = self.indent(above).filter(|outer| *outer < indent) else { continue };
            indent = outer;
            if let Some(keyword) = self.item_keyword(above) {
                return matches!(keyword, "struct" | "enum" | "union").then_some(above);
            }
        }
        None
    }

    /// Line after the item that begins at `start`, judged by the indentation of `rustfmt`.
    fn item_end(&self, start: usize) -> usize {
        let own = self.indent(start).unwrap_or_default();
        let begins_another = |line: &usize| {
            let text = self.lines[*line].trim_start();
            let is_continued =
                text.starts_with(['{', '}', ')', ']', '>', '-']) || text.starts_with("where");
            self.indent(*line).is_some_and(|indent| indent < own || indent == own && !is_continued)
        };
        (start + 1..self.lines.len()).find(begins_another).unwrap_or(self.lines.len())
    }

    /// Number of spaces before a line of code; `None` for empty lines and those within a string.
    fn indent(&self, line: usize) -> Option<usize> {
        let text = self.lines.get(line)?;
        let code = text.trim_start();
        let is_code = !code.is_empty() && !self.code.begins_in_string[line];
        is_code.then_some(text.len() - code.len())
    }
}

/// Names in back-ticks in the lines of a doc comment, each with the number of its line. Code blocks
/// are left out.
fn back_ticked_names<'a>(docs: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let (mut is_block, mut is_open) = (false, false);
    for (row, text) in docs.iter().enumerate() {
        if text.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if !is_block {
            let mut parts = text.split('`').peekable();
            while let Some(part) = parts.next() {
                if parts.peek().is_none() {
                    break;
                }
                if is_open && is_snake_case(part) {
                    found.push((row, part));
                }
                is_open = !is_open;
            }
        }
    }
    found
}

fn is_snake_case(name: &str) -> bool {
    let is_inner = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_inner)
}
