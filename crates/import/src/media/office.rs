//! Documents, slides and sheets of office programs, of today (.docx, .pptx,
//! .xlsx) and of before 2007 (.doc, .ppt, .xls).

use std::{io::Cursor, time::Duration};

use office_oxide::{
    Document, DocumentFormat,
    core::properties::CoreProperties,
    ir::Metadata,
    options::{Damage, OnIncomplete, ParseOptions},
};
use vademecum_kit::model::{MediaDraft, SourceName, Timestamp};

use super::{
    bounded,
    document::{titled, unreadable, whole},
    outlook::COMPOUND,
};
use crate::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile,
    archive::{self, Archive},
    keywords::{between_commas, distinct},
};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "office/1";

/// Longest time that a file is read.
const MAX_TIME: Duration = Duration::from_mins(2);

/// The part of a package that tells its format, the name that it gives to
/// files and to the kind of document, and what both were before 2007.
const FORMATS: [(&str, DocumentFormat, &str, &str, DocumentFormat); 3] = [
    ("word/document.xml", DocumentFormat::Docx, "docx", "doc", DocumentFormat::Doc),
    ("ppt/presentation.xml", DocumentFormat::Pptx, "pptx", "ppt", DocumentFormat::Ppt),
    ("xl/workbook.xml", DocumentFormat::Xlsx, "xlsx", "xls", DocumentFormat::Xls),
];

/// Reads what office programs write.
#[derive(Debug)]
pub(crate) struct Office;

/// What was read of a file.
struct Contents {
    text: String,
    metadata: Metadata,
    /// Whether it has a title among its properties.
    has_title: bool,
    losses: Vec<String>,
}

impl Importer for Office {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "office documents (.docx, .pptx, .xlsx, .doc, .ppt, .xls)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        let packed =
            FORMATS.iter().any(|(part, ..)| glance.entries().iter().any(|name| name == part));
        let extensions = FORMATS.map(|(_, _, new, old, _)| [new, old]);
        Fit::Content.when(packed).max(Fit::Name.when(glance.ends_in(extensions.as_flattened())))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let refused = |reason: String| unreadable(file, "an office document", &reason);
        let (format, kind) = format(file).ok_or_else(|| {
            refused("it is neither a package of Office nor a file of before 2007".to_owned())
        })?;
        let bytes = file.bytes.clone();
        let contents = bounded::one(MAX_TIME, move || contents(bytes, format))
            .map_err(|stopped| refused(stopped.to_string()))?
            .map_err(refused)?;
        let problems = contents.losses.into_iter().map(lost).collect();
        let metadata = contents.metadata;
        // Without a title of its own, a presentation is called after its first
        // slide; sheets and chapters say less than the name of the file.
        let is_named = format == DocumentFormat::Pptx || contents.has_title;
        let title = metadata.title.as_deref().filter(|_| is_named);
        let moment = |text: &Option<String>| Timestamp::parse(text.as_deref()?).ok();
        let keywords = metadata.keywords.iter().flat_map(|list| between_commas(list));
        let document = MediaDraft {
            title: titled(title, file),
            media_type: kind.to_owned(),
            author: metadata.author.filter(|author| !author.trim().is_empty()),
            tags: distinct(keywords),
            modified_at: moment(&metadata.modified).or(moment(&metadata.created)).or(file.modified),
            content: contents.text,
            ..MediaDraft::default()
        };
        whole(file, VERSION, document, problems)
    }
}

/// The format of a file, and what a document of it is called.
fn format(file: &SourceFile) -> Option<(DocumentFormat, &'static str)> {
    if file.bytes.starts_with(COMPOUND) {
        let named = |(_, _, new, old, _): &&(_, _, &str, &str, _)| file.ends_in(&[new, old]);
        return FORMATS.iter().find(named).map(|(_, _, _, kind, format)| (*format, *kind));
    }
    let names = archive::names(Cursor::new(&file.bytes)).ok()?;
    let packed = |(part, ..): &&(&str, _, _, _, _)| names.iter().any(|name| name == part);
    FORMATS.iter().find(packed).map(|(_, format, kind, ..)| (*format, *kind))
}

fn contents(bytes: Vec<u8>, format: DocumentFormat) -> Result<Contents, String> {
    let mut options = ParseOptions::strict();
    // What is missing is said beside what is there.
    options.on_incomplete = OnIncomplete::Report;
    let has_title = has_title(&bytes);
    let document = Document::from_reader_with(Cursor::new(bytes), format, &options)
        .map_err(|error| error.to_string())?;
    let losses = document.damage().into_iter().filter(Damage::is_loss);
    Ok(Contents {
        text: document.to_markdown(),
        has_title,
        losses: losses.map(|damage| damage.to_string()).collect(),
        metadata: document.to_ir().metadata,
    })
}

fn has_title(bytes: &[u8]) -> bool {
    if bytes.starts_with(COMPOUND) {
        return true;
    }
    let properties = Archive::open(bytes).and_then(|mut zip| zip.unpack("docProps/core.xml"));
    let properties = properties.ok().flatten().and_then(|xml| CoreProperties::parse(&xml).ok());
    let title = properties.and_then(|properties| properties.title);
    title.is_some_and(|title| !title.trim().is_empty())
}

fn lost(what: String) -> Problem {
    Problem { place: "part of the document".to_owned(), reason: what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        glance::tests::{glance, packed},
        media::document::tests::{read, refused},
    };

    const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    const SHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";

    /// A package: its main part, how that is related to it, and other parts.
    fn package(main: &str, content: &str, parts: &[(&str, &str)]) -> Vec<u8> {
        let types = format!(
            "<Types xmlns='{PACKAGE}/content-types'><Default Extension='xml' \
             ContentType='application/xml'/><Default Extension='rels' ContentType=\
             'application/vnd.openxmlformats-package.relationships+xml'/></Types>"
        );
        let related = format!(
            "<Relationships xmlns='{PACKAGE}/relationships'>\
             <Relationship Id='r1' Type='{OFFICE}/officeDocument' Target='{main}'/>\
             <Relationship Id='r2' Type='{PACKAGE}/relationships/metadata/core-properties' \
             Target='docProps/core.xml'/></Relationships>"
        );
        let mut files = vec![
            ("[Content_Types].xml", types.as_bytes()),
            ("_rels/.rels", related.as_bytes()),
            (main, content.as_bytes()),
        ];
        files.extend(parts.iter().map(|(name, content)| (*name, content.as_bytes())));
        packed(&files)
    }

    fn document(paragraphs: &str) -> Vec<u8> {
        let core = format!(
            "<cp:coreProperties xmlns:cp='{PACKAGE}/metadata/core-properties' \
             xmlns:dc='http://purl.org/dc/elements/1.1/' xmlns:dcterms='http://purl.org/dc/terms/'>\
             <dc:title>Rye</dc:title><dc:creator>Ada</dc:creator><cp:keywords>bread, rye\
             </cp:keywords><dcterms:modified>2024-05-03T08:00:00Z</dcterms:modified>\
             </cp:coreProperties>"
        );
        let main =
            format!("<w:document xmlns:w='{WORD}'><w:body>{paragraphs}</w:body></w:document>");
        let styles = format!(
            "<w:styles xmlns:w='{WORD}'><w:style w:type='paragraph' w:styleId='Heading1'>\
             <w:name w:val='heading 1'/><w:pPr><w:outlineLvl w:val='0'/></w:pPr></w:style></w:styles>"
        );
        let related = format!(
            "<Relationships xmlns='{PACKAGE}/relationships'><Relationship Id='s' \
             Type='{OFFICE}/styles' Target='styles.xml'/></Relationships>"
        );
        package(
            "word/document.xml",
            &main,
            &[
                ("docProps/core.xml", &core),
                ("word/styles.xml", &styles),
                ("word/_rels/document.xml.rels", &related),
            ],
        )
    }

    #[test]
    fn a_document_keeps_its_headings_and_what_it_says_of_itself() {
        let bytes = document(
            "<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:r><w:t>Dough</w:t></w:r></w:p>\
             <w:p><w:r><w:t>Let it rest.</w:t></w:r></w:p>",
        );
        assert_eq!(Office.recognise(&glance("a.bin", &bytes)), Fit::Content);
        let found = read(&Office, "/a.docx", bytes);
        assert_eq!(found.content.trim(), "# Dough\n\nLet it rest.");
        assert_eq!((found.title.as_str(), found.media_type.as_str()), ("Rye", "docx"));
        assert_eq!(
            (found.author.as_deref(), found.tags),
            (Some("Ada"), vec!["bread".to_owned(), "rye".to_owned()])
        );
        assert_eq!(found.modified_at, Timestamp::parse("2024-05-03T08:00:00Z").ok());
    }

    #[test]
    fn sheets_are_tables_under_their_names() {
        let book = format!(
            "<workbook xmlns='{SHEET}' xmlns:r='{OFFICE}'><sheets>\
             <sheet name='Flours' sheetId='1' r:id='r1'/></sheets></workbook>"
        );
        let related = format!(
            "<Relationships xmlns='{PACKAGE}/relationships'><Relationship Id='r1' \
             Type='{OFFICE}/worksheet' Target='worksheets/sheet1.xml'/></Relationships>"
        );
        let sheet = format!(
            "<worksheet xmlns='{SHEET}'><sheetData><row r='1'>\
             <c r='A1' t='inlineStr'><is><t>rye</t></is></c><c r='B1'><v>1150</v></c></row>\
             </sheetData></worksheet>"
        );
        let parts = [
            ("xl/_rels/workbook.xml.rels", related.as_str()),
            ("xl/worksheets/sheet1.xml", &sheet),
        ];
        let found = read(&Office, "/flours.xlsx", package("xl/workbook.xml", &book, &parts));
        assert!(found.content.contains("## Flours"), "{}", found.content);
        assert!(found.content.contains("| rye | 1150 |"), "{}", found.content);
        assert_eq!((found.title.as_str(), found.media_type.as_str()), ("flours", "xlsx"));
    }

    #[test]
    fn what_is_none_is_refused_with_the_reason() {
        assert!(refused(&Office, "/a.docx", "words").contains("neither a package"));
        assert!(refused(&Office, "/a.docx", packed(&[("x", b"y")])).contains("neither a package"));
        assert!(refused(&Office, "/a.doc", COMPOUND).contains("as an office document"));
        assert!(refused(&Office, "/a.docx", document("")).contains("holds no text"));
    }

    #[test]
    fn a_bomb_and_nesting_without_end_are_stopped() {
        let deep = document(&("<w:p>".repeat(100_000) + "x"));
        Office.read(&SourceFile::example("/a.docx", deep)).unwrap_err();
        let zeros = vec![b' '; 80 * 1_024 * 1_024];
        let bomb = packed(&[("[Content_Types].xml", &zeros), ("word/document.xml", b"<x/>")]);
        Office.read(&SourceFile::example("/a.docx", bomb)).unwrap_err();
    }
}
