//! Books (.epub): chapters in reading order, each below its title.

use std::{collections::HashMap, io::Cursor};

use rbook::Epub as Book;
use vademecum_model::{MediaDraft, SourceName, Timestamp};

use super::{
    document::{ImporterVersion, single_document, title_or_stem, unreadable_error},
    html_markdown::html_to_markdown,
    isolated_thread,
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    files::archive::Archive,
    text::{keywords::distinct_keywords, markdown::MarkdownDocument},
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: ImporterVersion = ImporterVersion { current: "epub/2", former: Some("epub/1") };

/// Importer of books.
#[derive(Debug)]
pub(crate) struct EpubImporter;

impl Importer for EpubImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "books (.epub)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let is_book = probe.entries().iter().any(|name| name == "META-INF/container.xml");
        Confidence::ByContent
            .when(is_book)
            .max(Confidence::ByName.when(probe.has_extension(&["epub"])))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let refused = |reason: String| unreadable_error(file, "a book", &reason);
        let bytes = file.bytes.clone();
        let (mut document, problems) =
            isolated_thread::run_single(file.parsing_time(), move || read_book(bytes))
                .map_err(|stopped| stopped.into_error(file, "a book"))?
                .map_err(refused)?;
        document.title = title_or_stem(Some(&document.title), file);
        document.modified_at = document.modified_at.or(file.modified);
        single_document(file, VERSION, document, problems)
    }
}

fn read_book(bytes: Vec<u8>) -> Result<(MediaDraft, Vec<Problem>), String> {
    // The EPUB library does not limit the unpacked size.
    let mut archive = Archive::open(&bytes).map_err(|error| error.to_string())?;
    archive.check_unpacked_size().map_err(|error| error.to_string())?;
    if archive.file_names().iter().any(|name| name == "META-INF/encryption.xml")
        && is_text_encrypted(&mut archive)
    {
        return Err("it is protected by DRM; only its own reader can open it".to_owned());
    }
    let book = Book::read(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let (content, problems) = chapters_markdown(&book);
    let about = book.metadata();
    let authors: Vec<&str> = about.creators().map(|creator| creator.value().trim()).collect();
    let dates = [about.modified_entry(), about.published_entry()];
    Ok((
        MediaDraft {
            title: about.title().map(|title| title.value().trim().to_owned()).unwrap_or_default(),
            media_type: "epub".to_owned(),
            author: Some(authors.join(", ")).filter(|authors| !authors.is_empty()),
            tags: distinct_keywords(about.tags().map(|tag| tag.value().trim().to_owned())),
            modified_at: dates
                .into_iter()
                .rev()
                .flatten()
                .find_map(|date| Timestamp::parse(date.value().trim()).ok()),
            content,
            ..MediaDraft::default()
        },
        problems,
    ))
}

/// Returns `true` if text, not only fonts, is encrypted.
fn is_text_encrypted(archive: &mut Archive<'_>) -> bool {
    let list = archive.unpack_file("META-INF/encryption.xml").ok().flatten().unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    [".xhtml\"", ".html\"", ".htm\"", ".xml\""].into_iter().any(|ending| list.contains(ending))
}

/// Returns the chapters as Markdown, and the problems of unreadable ones.
fn chapters_markdown(book: &Book) -> (String, Vec<Problem>) {
    let titles = toc_titles(book);
    let mut content = String::new();
    let mut problems = Vec::new();
    for chapter in book.reader() {
        let chapter = match chapter {
            Ok(chapter) => chapter,
            Err(error) => {
                let place = "a chapter".to_owned();
                problems.push(Problem { place, reason: error.to_string() });
                continue;
            }
        };
        let entry = chapter.manifest_entry();
        // The table of contents repeats the titles of the chapters.
        if entry.properties().has_property("nav") {
            continue;
        }
        let place = entry.href().path().to_string();
        match html_to_markdown(chapter.content(), None) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => {
                if let Some(title) = titles.get(&place)
                    && !has_heading(&text)
                {
                    content.extend(["# ", title, "\n\n"]);
                }
                content.extend([&text, "\n\n"]);
            }
            Err(error) => problems.push(Problem { place, reason: error.to_string() }),
        }
    }
    (content, problems)
}

/// Returns the titles of the files of a book, from its table of contents.
fn toc_titles(book: &Book) -> HashMap<String, String> {
    let mut titles = HashMap::new();
    let Some(contents) = book.toc().contents() else { return titles };
    for entry in contents.flatten() {
        let words: Vec<&str> = entry.label().split_whitespace().collect();
        if let Some(file) = entry.manifest_entry()
            && !words.is_empty()
        {
            titles.entry(file.href().path().to_string()).or_insert_with(|| words.join(" "));
        }
    }
    titles
}

fn has_heading(markdown: &str) -> bool {
    let is_heading =
        |line: &str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    MarkdownDocument::parse(markdown).first_heading().is_some() || markdown.lines().any(is_heading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        detection::file_probe::tests::{probe_file, zip_archive},
        documents::document::tests::{read_document, read_error},
    };

    fn build_epub(chapters: &[(&str, &str)], more: &[(&str, &[u8])]) -> Vec<u8> {
        let items: Vec<String> = chapters
            .iter()
            .map(|(name, _)| {
                format!("<item id='{name}' href='{name}' media-type='application/xhtml+xml'/>")
            })
            .collect();
        let order: Vec<String> =
            chapters.iter().map(|(name, _)| format!("<itemref idref='{name}'/>")).collect();
        let package = format!(
            "<package xmlns='http://www.idpf.org/2007/opf' version='3.0' unique-identifier='i'>\
             <metadata xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:identifier id='i'>1\
             </dc:identifier><dc:title>Rye</dc:title><dc:language>en</dc:language>\
             <dc:creator>Ada</dc:creator><dc:creator>Bob</dc:creator><dc:subject>bread</dc:subject>\
             <dc:date>2024-05-03</dc:date></metadata><manifest>{}\
             <item id='n' href='nav.xhtml' properties='nav' media-type='application/xhtml+xml'/>\
             </manifest><spine><itemref idref='n'/>{}</spine></package>",
            items.concat(),
            order.concat()
        );
        let container = "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container' \
            version='1.0'><rootfiles><rootfile full-path='book.opf' \
            media-type='application/oebps-package+xml'/></rootfiles></container>";
        let nav = "<html xmlns:epub='http://www.idpf.org/2007/ops'><body><nav epub:type='toc'><ol>\
            <li><a href='b.xhtml'>The second</a></li></ol></nav></body></html>";
        let mut files: Vec<(&str, &[u8])> = vec![
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", container.as_bytes()),
            ("book.opf", package.as_bytes()),
            ("nav.xhtml", nav.as_bytes()),
        ];
        files.extend(chapters.iter().map(|(name, text)| (*name, text.as_bytes())));
        files.extend(more);
        zip_archive(&files)
    }

    #[test]
    fn book_consists_of_titled_chapters() {
        let chapters = [
            ("a.xhtml", "<html><body><h2>One</h2><p>Knead.</p></body></html>"),
            ("b.xhtml", "<html><body><p>Rest.</p></body></html>"),
        ];
        let bytes = build_epub(&chapters, &[]);
        assert_eq!(EpubImporter.detect(&probe_file("a.bin", &bytes)), Confidence::ByContent);
        let book = read_document(&EpubImporter, "/a.epub", bytes);
        assert_eq!(book.content, "## One\n\nKnead.\n\n# The second\n\nRest.\n\n");
        assert_eq!((book.title.as_str(), book.media_type.as_str()), ("Rye", "epub"));
        assert_eq!(
            (book.author.as_deref(), book.tags),
            (Some("Ada, Bob"), vec!["bread".to_owned()])
        );
        assert_eq!(book.modified_at, Timestamp::parse("2024-05-03").ok());
    }

    #[test]
    fn unreadable_chapter_is_reported_others_kept() {
        let deep = "<div>".repeat(2_000) + "x";
        let bytes = build_epub(&[("a.xhtml", &deep), ("c.xhtml", "<p>Rest.</p>")], &[]);
        let reading = EpubImporter.parse(&SourceFile::in_memory("/a.epub", bytes)).unwrap();
        assert_eq!(reading.drafts.len(), 1);
        assert!(reading.problems[0].place.ends_with("a.xhtml"), "{:?}", reading.problems);
        assert!(reading.problems[0].reason.contains("nests"), "{:?}", reading.problems);
    }

    #[test]
    fn invalid_or_encrypted_book_is_rejected() {
        assert!(read_error(&EpubImporter, "/a.epub", "words").contains("as a book"));
        assert!(
            read_error(&EpubImporter, "/a.epub", zip_archive(&[("x", b"y")])).contains("as a book")
        );
        let lock = b"<CipherReference URI=\"a.xhtml\"/>".as_slice();
        let locked = build_epub(&[("a.xhtml", "<p>x</p>")], &[("META-INF/encryption.xml", lock)]);
        assert!(read_error(&EpubImporter, "/a.epub", locked).contains("protected"));
    }

    #[test]
    fn zip_bomb_is_rejected_before_parsing() {
        let zeros = vec![b' '; 100 * 1_024 * 1_024];
        let names = ["1", "2", "3", "4", "5", "6"];
        let bombs: Vec<(&str, &[u8])> =
            names.iter().map(|name| (*name, zeros.as_slice())).collect();
        let error =
            read_error(&EpubImporter, "/a.epub", build_epub(&[("a.xhtml", "<p>x</p>")], &bombs));
        assert!(error.contains("unpacks to more than"), "{error}");
    }
}
