//! Books (.epub): their chapters in reading order, each under its title.

use std::{collections::HashMap, io::Cursor, time::Duration};

use rbook::Epub as Book;
use vademecum_kit::model::{MediaDraft, SourceName, Timestamp};

use super::{
    bounded,
    document::{titled, unreadable, whole},
    markup::markdown,
};
use crate::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile, archive::Archive,
    keywords::distinct, markdown::Markdown,
};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "epub/1";

/// Longest time that a book is read.
const MAX_TIME: Duration = Duration::from_mins(2);

/// Reads books.
#[derive(Debug)]
pub(crate) struct Epub;

impl Importer for Epub {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "books (.epub)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let is_book = glance.entries().iter().any(|name| name == "META-INF/container.xml");
        Fit::Content.when(is_book).max(Fit::Name.when(glance.ends_in(&["epub"])))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let refused = |reason: String| unreadable(file, "a book", &reason);
        let bytes = file.bytes.clone();
        let (mut document, problems) = bounded::one(MAX_TIME, move || book(bytes))
            .map_err(|stopped| refused(stopped.to_string()))?
            .map_err(refused)?;
        document.title = titled(Some(&document.title), file);
        document.modified_at = document.modified_at.or(file.modified);
        whole(file, VERSION, document, problems)
    }
}

fn book(bytes: Vec<u8>) -> Result<(MediaDraft, Vec<Problem>), String> {
    // What reads the book does not count what it unpacks.
    let mut archive = Archive::open(&bytes).map_err(|error| error.to_string())?;
    archive.check().map_err(|error| error.to_string())?;
    if archive.names().iter().any(|name| name == "META-INF/encryption.xml")
        && is_locked(&mut archive)
    {
        return Err(
            "it is protected against copying, and only its own reader can open it".to_owned()
        );
    }
    let book = Book::read(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let (content, problems) = chapters(&book);
    let about = book.metadata();
    let authors: Vec<&str> = about.creators().map(|creator| creator.value().trim()).collect();
    let dates = [about.modified_entry(), about.published_entry()];
    Ok((
        MediaDraft {
            title: about.title().map(|title| title.value().trim().to_owned()).unwrap_or_default(),
            media_type: "epub".to_owned(),
            author: Some(authors.join(", ")).filter(|authors| !authors.is_empty()),
            tags: distinct(about.tags().map(|tag| tag.value().trim().to_owned())),
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

/// Whether more than fonts is encrypted.
fn is_locked(archive: &mut Archive<'_>) -> bool {
    let list = archive.unpack("META-INF/encryption.xml").ok().flatten().unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    [".xhtml\"", ".html\"", ".htm\"", ".xml\""].into_iter().any(|ending| list.contains(ending))
}

/// What the chapters say, one after the other.
fn chapters(book: &Book) -> (String, Vec<Problem>) {
    let titles = titles(book);
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
        // The table of contents says nothing that the chapters do not.
        if entry.properties().has_property("nav") {
            continue;
        }
        let place = entry.href().path().to_string();
        match markdown(chapter.content()) {
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

/// What the table of contents calls the files of a book.
fn titles(book: &Book) -> HashMap<String, String> {
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
    Markdown::parse(markdown).first_heading().is_some() || markdown.lines().any(is_heading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        glance::tests::{glance, packed},
        media::document::tests::{read, refused},
    };

    fn bound(chapters: &[(&str, &str)], more: &[(&str, &[u8])]) -> Vec<u8> {
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
        packed(&files)
    }

    #[test]
    fn a_book_is_its_chapters_each_under_its_title() {
        let chapters = [
            ("a.xhtml", "<html><body><h2>One</h2><p>Knead.</p></body></html>"),
            ("b.xhtml", "<html><body><p>Rest.</p></body></html>"),
        ];
        let bytes = bound(&chapters, &[]);
        assert_eq!(Epub.recognise(&glance("a.bin", &bytes)), Fit::Content);
        let book = read(&Epub, "/a.epub", bytes);
        assert_eq!(book.content, "## One\n\nKnead.\n\n# The second\n\nRest.\n\n");
        assert_eq!((book.title.as_str(), book.media_type.as_str()), ("Rye", "epub"));
        assert_eq!(
            (book.author.as_deref(), book.tags),
            (Some("Ada, Bob"), vec!["bread".to_owned()])
        );
        assert_eq!(book.modified_at, Timestamp::parse("2024-05-03").ok());
    }

    #[test]
    fn a_chapter_that_cannot_be_read_is_named_and_the_rest_goes_in() {
        let deep = "<div>".repeat(2_000) + "x";
        let bytes = bound(&[("a.xhtml", &deep), ("c.xhtml", "<p>Rest.</p>")], &[]);
        let reading = Epub.read(&SourceFile::example("/a.epub", bytes)).unwrap();
        assert_eq!(reading.drafts.len(), 1);
        assert!(reading.problems[0].place.ends_with("a.xhtml"), "{:?}", reading.problems);
        assert!(reading.problems[0].reason.contains("nests"), "{:?}", reading.problems);
    }

    #[test]
    fn what_is_no_book_or_is_locked_is_refused() {
        assert!(refused(&Epub, "/a.epub", "words").contains("as a book"));
        assert!(refused(&Epub, "/a.epub", packed(&[("x", b"y")])).contains("as a book"));
        let lock = b"<CipherReference URI=\"a.xhtml\"/>".as_slice();
        let locked = bound(&[("a.xhtml", "<p>x</p>")], &[("META-INF/encryption.xml", lock)]);
        assert!(refused(&Epub, "/a.epub", locked).contains("protected"));
    }

    #[test]
    fn a_bomb_is_stopped_before_it_is_unpacked() {
        let zeros = vec![b' '; 100 * 1_024 * 1_024];
        let names = ["1", "2", "3", "4", "5", "6"];
        let bombs: Vec<(&str, &[u8])> =
            names.iter().map(|name| (*name, zeros.as_slice())).collect();
        let error = refused(&Epub, "/a.epub", bound(&[("a.xhtml", "<p>x</p>")], &bombs));
        assert!(error.contains("unpacks to more than"), "{error}");
    }
}
