//! Documents of LibreOffice and others: OpenDocument text, tables and slides.

use vademecum_model::{MediaDraft, SourceName};

use super::markdown_writer::MarkdownWriter;
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{datetime, decode_text},
    xml::{XmlElement, XmlNode, for_each_element},
};

/// Elements that hold the content, for each type of document.
const BODIES: [&str; 3] = ["text", "spreadsheet", "presentation"];
/// Maximum number of repeated cells that are written, and of spaces.
const MAX_REPEATED: usize = 64;

/// A document of OpenDocument.
#[derive(Debug)]
pub(crate) struct OpenDocument;

impl Format for OpenDocument {
    fn id(&self) -> &'static str {
        "open_document"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "OpenDocument (.odt, .ods, .odp)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["odt", "ods", "odp"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        // A book of EPUB names its type too, but has its content elsewhere.
        let has = |name: &str| sample.entries.iter().any(|entry| entry == name);
        has("mimetype") && has("content.xml")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let files = input.unpack(|name| ["content.xml", "meta.xml"].contains(&name))?;
        let (mut writer, mut meta) = (MarkdownWriter::default(), XmlElement::default());
        for file in &files {
            let text = decode_text(&file.bytes, Some("utf-8"))
                .map_err(|_| FormatError::new("it is encrypted or damaged"))?;
            if file.name == "meta.xml" {
                for_each_element(&text, &["meta"], |element| meta = element).ok();
            } else {
                for_each_element(&text, &BODIES, |body| write_blocks(&mut writer, &body, 0))?;
            }
        }
        if writer.text.is_empty() {
            return Err(FormatError::new("it has no text, or is encrypted"));
        }
        let creators = ["initial-creator", "creator"].map(|name| meta.child_text(name));
        let author = creators.into_iter().find(|name| !name.trim().is_empty());
        let keywords = meta.children("keyword").map(XmlElement::text);
        let document = MediaDraft {
            title: meta.child_text("title"),
            content: writer.text,
            media_type: "document".to_owned(),
            author,
            tags: keywords.collect(),
            created_at: datetime::parse_document_date(&meta.child_text("creation-date")),
            modified_at: datetime::parse_document_date(&meta.child_text("date")).or(input.modified),
            headings: writer.headings,
            ..MediaDraft::default()
        };
        let mut parsed = ParsedFormat::default();
        parsed.add_document(input.origin(), document, &input.stem());
        Ok(parsed)
    }
}

/// Writes the blocks in an element. `indent` is the number of lists around them.
fn write_blocks(writer: &mut MarkdownWriter, parent: &XmlElement, indent: usize) {
    for element in parent.elements() {
        match element.name.as_str() {
            "h" => {
                let level = element.attribute("outline-level").parse().unwrap_or(1);
                writer.heading(level, &inline(element));
            }
            "p" => writer.block(&inline(element)),
            "list" => {
                let mut items = Vec::new();
                add_items(element, indent, &mut items);
                writer.block(&items.join("\n"));
            }
            "table" => {
                writer.heading(
                    2,
                    if parent.name == "spreadsheet" { element.attribute("name") } else { "" },
                );
                writer.block(&table(element));
            }
            // Changes that are not accepted, forms and settings.
            "tracked-changes" | "forms" | "sequence-decls" | "annotation" => {}
            _ => write_blocks(writer, element, indent),
        }
    }
}

/// Adds the items of a list, each on a line.
fn add_items(list: &XmlElement, indent: usize, items: &mut Vec<String>) {
    for item in list.elements() {
        for part in item.elements() {
            match part.name.as_str() {
                "list" => add_items(part, indent + 1, items),
                _ => items.push(format!("{}- {}", "  ".repeat(indent.min(16)), inline(part))),
            }
        }
    }
}

/// Returns a table of Markdown. Empty rows and cells at the end are left out.
fn table(table: &XmlElement) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    collect_rows(table, &mut rows);
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (number, mut row) in rows.into_iter().enumerate() {
        row.resize(width, String::new());
        lines.push(format!("| {} |", row.join(" | ")));
        if number == 0 {
            lines.push(format!("|{}", "---|".repeat(width)));
        }
    }
    lines.join("\n")
}

fn collect_rows(parent: &XmlElement, rows: &mut Vec<Vec<String>>) {
    for element in parent.elements() {
        if element.name != "table-row" {
            collect_rows(element, rows);
            continue;
        }
        let mut row = Vec::new();
        for cell in element.elements().filter(|it| it.name == "table-cell") {
            let count = cell.attribute("number-columns-repeated").parse().unwrap_or(1_usize);
            let texts: Vec<String> = cell.children("p").map(inline).collect();
            let text = texts.join(" ").replace('|', "\\|").replace('\n', " ");
            row.extend(std::iter::repeat_n(text, count.min(MAX_REPEATED)));
        }
        while row.last().is_some_and(String::is_empty) {
            row.pop();
        }
        rows.push(row);
    }
}

/// Returns the text of a paragraph, with the targets of its links.
fn inline(element: &XmlElement) -> String {
    let mut text = String::new();
    push_inline(element, &mut text);
    text.trim().to_owned()
}

fn push_inline(element: &XmlElement, text: &mut String) {
    for node in &element.nodes {
        match node {
            XmlNode::Text(part) => text.push_str(&part.replace('\n', " ")),
            XmlNode::Element(part) => match part.name.as_str() {
                "s" => {
                    let count = part.attribute("c").parse().unwrap_or(1_usize);
                    text.push_str(&" ".repeat(count.min(MAX_REPEATED)));
                }
                "tab" => text.push(' '),
                "line-break" => text.push('\n'),
                "annotation" => {}
                "a" => {
                    let target = part.attribute("href");
                    let is_web = target.starts_with("http") || target.starts_with("mailto:");
                    let shown = inline(part);
                    if is_web && shown != target {
                        text.extend(["[", &shown, "](", target, ")"]);
                    } else {
                        text.push_str(&shown);
                    }
                }
                _ => push_inline(part, text),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    fn archive(content: &str) -> Vec<u8> {
        let meta = "<office:document-meta><office:meta><dc:title>Rye</dc:title>\
            <meta:initial-creator>Ada</meta:initial-creator><meta:keyword>bread</meta:keyword>\
            <meta:creation-date>2026-01-05T10:00:00</meta:creation-date></office:meta></office:document-meta>";
        zip_archive(&[
            ("mimetype", b"application/vnd.oasis.opendocument.text"),
            ("content.xml", content.as_bytes()),
            ("meta.xml", meta.as_bytes()),
        ])
    }

    #[test]
    fn text_keeps_headings_lists_tables_and_links() {
        let content = "<office:document-content><office:body><office:text>\
            <text:h text:outline-level=\"2\">Dough</text:h>\
            <text:p>Knead<text:s text:c=\"2\"/><text:span>well</text:span>, see \
            <text:a xlink:href=\"https://example.org\">here</text:a>.</text:p>\
            <text:list><text:list-item><text:p>rye</text:p><text:list><text:list-item><text:p>dark</text:p>\
            </text:list-item></text:list></text:list-item></text:list>\
            <table:table><table:table-row><table:table-cell><text:p>a|b</text:p></table:table-cell>\
            <table:table-cell table:number-columns-repeated=\"1000\"/></table:table-row></table:table>\
            </office:text></office:body></office:document-content>";
        let bytes = archive(content);
        assert!(detects(&OpenDocument, "/a.odt", &bytes));
        let parsed = parse(&OpenDocument, "/a.odt", &bytes);
        let found = documents(&parsed)[0];
        assert_eq!(
            found.content,
            "## Dough\n\nKnead  well, see [here](https://example.org).\n\n- rye\n  - dark\n\n| a\\|b |\n|---|"
        );
        assert_eq!((found.title.as_str(), found.author.as_deref()), ("Rye", Some("Ada")));
        assert_eq!(found.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
    }

    #[test]
    fn empty_encrypted_and_deep_documents_fail() {
        for content in ["<office:text/>", "\u{1}", ""] {
            assert!(try_parse(&OpenDocument, "/a.odt", archive(content)).is_err());
        }
        let deep = format!("<office:text>{}", "<text:section>".repeat(10_000));
        assert!(try_parse(&OpenDocument, "/a.odt", archive(&deep)).is_err());
    }
}
