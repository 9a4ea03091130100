//! Bibliographies of BibTeX and BibLaTeX: `.bib`.
//!
//! Entries are parsed one by one: a broken one becomes a problem, the others are kept.

use std::collections::HashMap;

use vademecum_model::SourceName;

use super::{latex::to_text, reference::Reference};
use crate::format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat};

/// Maximum number of braces in one another.
const MAX_DEPTH: usize = 100;

/// Fields that an entry takes from the one that its `crossref` names.
const INHERITED: [&str; 8] =
    ["booktitle", "year", "date", "publisher", "editor", "volume", "isbn", "series"];

/// Kinds of entries with which a file may begin, in lower case.
const KINDS: [&str; 19] = [
    "article",
    "book",
    "booklet",
    "collection",
    "comment",
    "conference",
    "inbook",
    "incollection",
    "inproceedings",
    "manual",
    "mastersthesis",
    "misc",
    "online",
    "phdthesis",
    "preamble",
    "proceedings",
    "string",
    "techreport",
    "unpublished",
];

/// Abbreviated months.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Bibliographies of BibTeX.
#[derive(Debug)]
pub(crate) struct BibTex;

impl Format for BibTex {
    fn id(&self) -> &'static str {
        "bibtex"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "bibliographies of BibTeX (.bib)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["bib"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        // Notes quote entries, and programs have lines that begin with `@` too.
        let is_comment = |line: &&str| line.trim().is_empty() || line.starts_with('%');
        let first = sample.head.lines().find(|line| !is_comment(line)).unwrap_or_default();
        let kind = first.strip_prefix('@').and_then(|line| line.split_once(['{', '(']));
        kind.is_some_and(|(kind, _)| KINDS.contains(&kind.trim().to_lowercase().as_str()))
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let mut strings: HashMap<String, String> = HashMap::new();
        for (number, month) in (1..).zip(MONTHS) {
            strings.insert(month.to_owned(), i32::to_string(&number));
        }
        let mut entries: Vec<BibEntry> = Vec::new();
        for (number, block) in (1..).zip(blocks(&text)) {
            match block.kind.as_str() {
                "comment" | "preamble" => {}
                "string" => {
                    strings.extend(fields(block.body, &strings).unwrap_or_default());
                }
                _ => match BibEntry::parse(&block, &strings) {
                    Ok(entry) => entries.push(entry),
                    Err(reason) => parsed.add_problem(format!("entry {number}"), reason),
                },
            }
        }
        let parents: HashMap<String, HashMap<String, String>> =
            entries.iter().map(|it| (it.key.to_lowercase(), it.fields.clone())).collect();
        for mut entry in entries {
            let crossref = entry.fields.get("crossref").map(|key| key.to_lowercase());
            if let Some(parent) = crossref.and_then(|key| parents.get(&key)) {
                entry.inherit(parent);
            }
            parsed.add_entry(entry.into_reference().into_entry(&input.origin()));
        }
        parsed.or_empty("it has no entries")
    }
}

/// `@kind{body}`.
#[derive(Debug)]
struct Block<'t> {
    /// In lower case.
    kind: String,
    body: &'t str,
}

/// Splits a text into its blocks. Text between them is a comment. A block that is not closed ends
/// before the next line that begins one.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('@') {
        rest = after;
        let Some(open) = after.find(['{', '(']) else { break };
        let kind = after[..open].trim();
        if kind.is_empty() || !kind.chars().all(|next| next.is_ascii_alphabetic()) {
            continue;
        }
        let inside = &after[open + 1..];
        let next = inside.find("\n@").unwrap_or(inside.len());
        let end = closing(inside).unwrap_or(next);
        blocks.push(Block { kind: kind.to_lowercase(), body: &inside[..end] });
        rest = &inside[end..];
    }
    blocks
}

/// Returns the position of the bracket that closes a text, which is already open.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut is_escaped) = (0_usize, false);
    for (at, next) in text.char_indices() {
        match next {
            _ if is_escaped => {}
            '{' => depth += 1,
            '}' | ')' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
        is_escaped = next == '\\' && !is_escaped;
        if depth > MAX_DEPTH {
            return None;
        }
    }
    None
}

#[derive(Debug)]
struct BibEntry {
    kind: String,
    key: String,
    /// Values by names in lower case, as LaTeX.
    fields: HashMap<String, String>,
}

impl BibEntry {
    fn parse(block: &Block<'_>, strings: &HashMap<String, String>) -> Result<Self, String> {
        let (key, body) = block.body.split_once(',').unwrap_or((block.body, ""));
        if key.contains(['=', '\n']) && !key.trim().is_empty() && key.contains('=') {
            return Err("it has no key".to_owned());
        }
        let fields = fields(body, strings)?;
        Ok(Self { kind: block.kind.clone(), key: key.trim().to_owned(), fields })
    }

    fn inherit(&mut self, parent: &HashMap<String, String>) {
        for name in INHERITED {
            if let Some(value) = parent.get(name) {
                self.fields.entry(name.to_owned()).or_insert_with(|| value.clone());
            }
        }
        if let Some(title) = parent.get("title") {
            self.fields.entry("booktitle".to_owned()).or_insert_with(|| title.clone());
        }
    }

    fn into_reference(self) -> Reference {
        let raw = |name: &str| self.fields.get(name).map(String::as_str).unwrap_or_default();
        let first = |names: &[&str]| {
            let found = names.iter().map(|name| raw(name)).find(|value| !value.trim().is_empty());
            to_text(found.unwrap_or_default())
        };
        let people = [raw("author"), raw("editor")].into_iter().find(|it| !it.is_empty());
        let people = people.unwrap_or_default().replace('\n', " ");
        let subtitle = first(&["subtitle"]);
        let title = first(&["title"]);
        let keywords = first(&["keywords", "keyword"]);
        let keywords = keywords.split([',', ';']).map(|it| it.trim().to_owned());
        Reference {
            title: if subtitle.is_empty() { title } else { format!("{title}: {subtitle}") },
            authors: people.split(" and ").map(to_text).filter(|it| !it.is_empty()).collect(),
            date: date(&first(&["date", "year"]), &first(&["month"])),
            container: first(&["journal", "journaltitle", "booktitle", "series"]),
            publisher: first(&["publisher", "school", "institution", "organization"]),
            volume: first(&["volume"]),
            number: first(&["number", "issue"]),
            pages: first(&["pages"]),
            doi: raw("doi").replace(['{', '}', '\\'], ""),
            isbn: first(&["isbn", "issn"]),
            url: raw("url").replace(['{', '}', '\\'], ""),
            file: first(&["file"]),
            summary: first(&["abstract"]),
            note: first(&["note", "annote", "annotation"]),
            keywords: keywords.filter(|it| !it.is_empty()).collect(),
            kind: self.kind,
            key: self.key,
        }
    }
}

/// Returns `year-month` from separate fields; a complete date is unchanged.
fn date(year: &str, month: &str) -> String {
    let number = MONTHS.iter().position(|name| month.to_lowercase().starts_with(name));
    let number = number.map(|at| at + 1).or_else(|| month.parse().ok());
    match number.filter(|it| year.len() == 4 && (1..=12).contains(it)) {
        Some(number) => format!("{year}-{number:02}"),
        None => year.to_owned(),
    }
}

/// Parses `name = value, …`. A value is in braces or quotes, a number or the name of a string; several
/// are joined by `#`.
fn fields(
    body: &str,
    strings: &HashMap<String, String>,
) -> Result<HashMap<String, String>, String> {
    let mut found = HashMap::new();
    let mut rest = body;
    loop {
        rest = rest.trim_start_matches(|next: char| next.is_whitespace() || next == ',');
        if rest.is_empty() {
            return Ok(found);
        }
        let (name, after) = rest.split_once('=').ok_or_else(|| {
            let shown: String = rest.chars().take(30).collect();
            format!("`{shown}` is no field")
        })?;
        let (value, after) = value(after.trim_start(), strings)?;
        found.entry(name.trim().to_lowercase()).or_insert(value);
        rest = after;
    }
}

fn value<'t>(
    text: &'t str,
    strings: &HashMap<String, String>,
) -> Result<(String, &'t str), String> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let unclosed = || "a value is not closed".to_owned();
        if let Some(inside) = rest.strip_prefix('{') {
            let end = closing(inside).ok_or_else(unclosed)?;
            value.push_str(&inside[..end]);
            rest = inside[end..].strip_prefix(['}', ')']).unwrap_or_default();
        } else if let Some(inside) = rest.strip_prefix('"') {
            let mut depth = 0_usize;
            let end = inside.char_indices().find(|(_, next)| {
                match next {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                *next == '"' && depth == 0
            });
            let (end, _) = end.ok_or_else(unclosed)?;
            value.push_str(&inside[..end]);
            rest = &inside[end + 1..];
        } else {
            let end = rest.find(|next: char| next.is_whitespace() || matches!(next, ',' | '#'));
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            // An unknown name stands for itself.
            value.push_str(strings.get(&word.to_lowercase()).map_or(word, String::as_str));
            rest = after;
        }
        rest = rest.trim_start();
        match rest.strip_prefix('#') {
            Some(after) => rest = after.trim_start(),
            None => return Ok((value, rest)),
        }
        if rest.is_empty() {
            return Ok((value, rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    const BIB: &str = r#"A comment.
@string{jf = "Journal of " # {Flour}}
@article{ada2026,
  author = {Lovelace, Ada and G{\"o}del, Kurt},
  title = {{Rye} Bread -- a Study},
  journal = jf, year = 2026, month = feb, volume = 3, number = {2}, pages = "1--9",
  doi = {10.1/X_y}, keywords = {bread, slow; rye}, abstract = {It rises.},
  file = {rye.pdf:files/rye.pdf:application/pdf}, note = "Read."
}
@inproceedings{ben, title = {Oats}, crossref = {conf}, url = {https://example.org/a\_b} }
@comment{@article{no, title = {x}}}
@proceedings{conf, title = {Grain Days}, date = {2025-03-04}, publisher = {Mill}}
@article{torn, title = {Open
@book{last, title = "Wheat {"}quoted{"}", year = {n.d.}}
"#;

    #[test]
    fn entry_keeps_all_fields() {
        assert!(detects(&BibTex, "/a.txt", &BIB["A comment.".len()..]));
        let parsed = parse(&BibTex, "/a.bib", BIB);
        let found = documents(&parsed);
        assert_eq!(parsed.drafts[0].origin, "doi:10.1/x_y");
        assert_eq!(found[0].title, "Rye Bread – a Study");
        assert_eq!(found[0].author.as_deref(), Some("Lovelace, Ada; Gödel, Kurt"));
        assert_eq!(found[0].tags, ["bread", "slow", "rye"]);
        assert_eq!(found[0].url.as_deref(), Some("https://doi.org/10.1/X_y"));
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-02-01T00:00:00.000Z");
        for part in [
            "Read.\n\nIt rises.\n\n",
            "In: Journal of Flour",
            "Volume: 3",
            "Number: 2",
            "Pages: 1–9",
            "Key: ada2026",
            "File: rye.pdf:files",
            "Type: article",
            "Published: 2026-02",
        ] {
            assert!(found[0].content.contains(part), "{part}: {}", found[0].content);
        }
        assert_eq!(parsed.drafts[1].origin, "file:/a.bib#ben");
        assert_eq!(found[1].url.as_deref(), Some("https://example.org/a_b"));
        assert!(
            found[1].content.contains("In: Grain Days\nPublisher: Mill"),
            "{}",
            found[1].content
        );
        assert_eq!(found[1].created_at.unwrap().to_string(), "2025-03-04T00:00:00.000Z");
        assert!(found.iter().any(|it| it.title == "Wheat \"quoted\""), "{found:?}");
        assert_eq!(parsed.problems.len(), 1, "{:?}", parsed.problems);
    }

    #[test]
    fn deep_or_empty_bibliography_is_rejected() {
        assert!(try_parse(&BibTex, "/a.bib", "Text").is_err());
        let deep = format!("@a{{k, t = {}", "{".repeat(100_000));
        assert!(parse(&BibTex, "/a.bib", deep).drafts.is_empty());
        for text in ["@ada: see {this}", "@Query(value = x)", "See:\n@article{a, title = {x}}"] {
            assert!(!detects(&BibTex, "/a.md", text), "{text}");
        }
    }
}
