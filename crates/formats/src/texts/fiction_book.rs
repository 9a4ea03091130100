//! Books of FictionBook 2, also in a ZIP archive (`.fb2.zip`). Pictures are left out.

use vademecum_model::{MediaDraft, SourceName};

use super::markdown_writer::MarkdownWriter;
use crate::{
    archive::has_extension,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{datetime, decode_text, keywords::distinct_keywords},
    xml::{XmlElement, for_each_element_to_damage},
};

/// A book of FictionBook 2.
#[derive(Debug)]
pub(crate) struct FictionBook;

impl Format for FictionBook {
    fn id(&self) -> &'static str {
        "fiction_book"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "books of FictionBook (.fb2)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["fb2"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.head.contains("<FictionBook") || sample.packs(".fb2")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let mut parsed = ParsedFormat::default();
        if input.is_zip() {
            for file in input.unpack(|name| has_extension(name, &["fb2"]))? {
                let origin = format!("{}#{}", input.origin(), file.name);
                let read = add_book(&mut parsed, origin, &file.bytes, &input.stem());
                if let Err(error) = read {
                    parsed.add_problem(file.name, error.to_string());
                }
            }
        } else {
            add_book(&mut parsed, input.origin(), input.bytes, &input.stem())?;
        }
        parsed.or_empty("it has no text")
    }
}

fn add_book(
    parsed: &mut ParsedFormat,
    origin: String,
    bytes: &[u8],
    stem: &str,
) -> Result<(), FormatError> {
    let text = decode_text(bytes, declared_encoding(bytes).as_deref())?;
    let mut writer = MarkdownWriter::default();
    let mut about = XmlElement::default();
    let read = for_each_element_to_damage(&text, &["title-info", "body"], |element| {
        if element.name == "body" {
            write_section(&mut writer, &element, 1);
        } else if about.name.is_empty() {
            about = element;
        }
    });
    if writer.text.is_empty() {
        read?;
        return Err(FormatError::new("it has no text"));
    }
    if let Err(error) = read {
        parsed.add_problem("", format!("it is damaged {error}; the text before is kept"));
    }
    let authors: Vec<String> = about.children("author").map(person).collect();
    let genres = about.children("genre").map(|genre| genre.text().trim().to_owned());
    let document = MediaDraft {
        title: about.child_text("book-title"),
        content: writer.text,
        media_type: "book".to_owned(),
        author: Some(authors.join(", ")).filter(|author| !author.is_empty()),
        tags: distinct_keywords(genres.filter(|genre| !genre.is_empty())),
        created_at: datetime::parse_document_date(about.child_text("date").trim()),
        headings: writer.headings,
        ..MediaDraft::default()
    };
    parsed.add_document(origin, document, stem);
    Ok(())
}

/// Returns the encoding that the first line of an XML file names.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(bytes.get(..200).unwrap_or(bytes));
    let (_, rest) = head.split_once("encoding=")?;
    let quote = rest.chars().next().filter(|it| ['"', '\''].contains(it))?;
    rest.get(1..)?.split(quote).next().map(str::to_owned)
}

fn person(author: &XmlElement) -> String {
    let parts = ["first-name", "middle-name", "last-name"].map(|name| author.child_text(name));
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim()).filter(|it| !it.is_empty()).collect();
    if parts.is_empty() { author.child_text("nickname").trim().to_owned() } else { parts.join(" ") }
}

/// Writes a section with the sections in it. The depth of the elements is bounded.
fn write_section(writer: &mut MarkdownWriter, section: &XmlElement, level: usize) {
    for element in section.elements() {
        match element.name.as_str() {
            "title" => writer.heading(level, &lines(element).join(" ")),
            "subtitle" => writer.heading(level + 1, &element.text()),
            "section" => write_section(writer, element, level + 1),
            "empty-line" | "image" | "binary" => {}
            "epigraph" | "cite" | "poem" | "stanza" | "annotation" => {
                let quoted: Vec<String> =
                    lines(element).iter().map(|line| format!("> {line}")).collect();
                writer.block(&quoted.join("\n"));
            }
            _ => writer.block(&element.text()),
        }
    }
}

/// Returns the texts of the paragraphs of an element, or its text if it has none.
fn lines(element: &XmlElement) -> Vec<String> {
    let mut found = Vec::new();
    for part in element.elements() {
        match part.name.as_str() {
            "stanza" | "poem" => found.extend(lines(part)),
            _ => found.push(part.text().trim().to_owned()),
        }
    }
    if found.is_empty() {
        found.push(element.text().trim().to_owned());
    }
    found.retain(|line| !line.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    const BOOK: &str = r#"<?xml version="1.0" encoding="UTF-8"?><FictionBook><description><title-info>
        <genre>food</genre><author><first-name>Ada</first-name><last-name>Miller</last-name></author>
        <book-title>Grain</book-title></title-info></description><body><title><p>Grain</p></title>
        <section><title><p>Rye</p></title><epigraph><p>Slow.</p></epigraph><p>It <b>rises</b>.</p></section>
        </body><binary id="x">AAAA</binary></FictionBook>"#;

    #[test]
    fn book_keeps_author_and_chapters() {
        let zip = zip_archive(&[("grain.fb2", BOOK.as_bytes())]);
        for bytes in [BOOK.as_bytes(), &zip] {
            assert!(detects(&FictionBook, "/grain.fb2", bytes));
            let parsed = parse(&FictionBook, "/grain.fb2", bytes);
            let book = documents(&parsed)[0];
            assert_eq!(
                (book.title.as_str(), book.author.as_deref()),
                ("Grain", Some("Ada Miller"))
            );
            assert_eq!(book.content, "# Grain\n\n## Rye\n\n> Slow.\n\nIt rises.");
            assert_eq!((book.tags.join(","), book.headings.len()), ("food".to_owned(), 2));
        }
    }

    #[test]
    fn damaged_and_deep_books_are_reported() {
        let cut = BOOK.replace("</body>", "</body><").replace("</FictionBook>", "");
        assert_eq!(documents(&parse(&FictionBook, "/a.fb2", cut)).len(), 1);
        for ending in ["", "<", "<!--"] {
            let (begin, _) = BOOK.split_once("</b>").unwrap();
            let parsed = parse(&FictionBook, "/a.fb2", format!("{begin}{ending}"));
            let book = documents(&parsed)[0];
            assert_eq!(book.content, "# Grain\n\n## Rye\n\n> Slow.\n\nIt rises");
            assert!(parsed.problems[0].reason.contains("the text before is kept"), "{parsed:?}");
        }
        let deep = format!("<FictionBook><body>{}", "<section>".repeat(10_000));
        assert!(try_parse(&FictionBook, "/a.fb2", deep).is_err());
        assert!(try_parse(&FictionBook, "/a.fb2", "<FictionBook/>").is_err());
    }
}
