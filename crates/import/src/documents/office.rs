//! Documents, slides and sheets of office programs, in current formats (.docx, .pptx, .xlsx) and
//! those from before 2007 (.doc, .ppt, .xls).

use std::io::Cursor;

use office_oxide::{
    Document, DocumentFormat,
    core::properties::CoreProperties,
    ir::Metadata,
    options::{Damage, OnIncomplete, ParseOptions},
};
use vademecum_model::{MediaDraft, SourceName, Timestamp};

use super::{
    document::{single_document, title_or_stem, unreadable_error},
    isolated_thread,
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    files::archive::{self, Archive},
    text::keywords::{distinct_keywords, split_commas},
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: &str = "office/1";

/// Signature of compound files.
pub(crate) const COMPOUND_SIGNATURE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Formats: the part that identifies a package, format and extension of the package, extension
/// (also the media type) and format from before 2007.
const OFFICE_FORMATS: [(&str, DocumentFormat, &str, &str, DocumentFormat); 3] = [
    ("word/document.xml", DocumentFormat::Docx, "docx", "doc", DocumentFormat::Doc),
    ("ppt/presentation.xml", DocumentFormat::Pptx, "pptx", "ppt", DocumentFormat::Ppt),
    ("xl/workbook.xml", DocumentFormat::Xlsx, "xlsx", "xls", DocumentFormat::Xls),
];

/// Importer of office documents.
#[derive(Debug)]
pub(crate) struct OfficeImporter;

/// The content read from a file.
struct OfficeContents {
    text: String,
    metadata: Metadata,
    /// `true` if the properties contain a title.
    has_title: bool,
    losses: Vec<String>,
}

impl Importer for OfficeImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "office documents (.docx, .pptx, .xlsx, .doc, .ppt, .xls)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let packed =
            OFFICE_FORMATS.iter().any(|(part, ..)| probe.entries().iter().any(|name| name == part));
        let extensions = OFFICE_FORMATS.map(|(_, _, new, old, _)| [new, old]);
        Confidence::ByContent
            .when(packed)
            .max(Confidence::ByName.when(probe.has_extension(extensions.as_flattened())))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let refused = |reason: String| unreadable_error(file, "an office document", &reason);
        let (format, kind) = detect_format(file).ok_or_else(|| {
            refused("it is neither a package of Office nor a file of before 2007".to_owned())
        })?;
        let bytes = file.bytes.clone();
        let contents =
            isolated_thread::run_single(file.parsing_time(), move || read_contents(bytes, format))
                .map_err(|stopped| stopped.into_error(file, "an office document"))?
                .map_err(refused)?;
        let problems = contents.losses.into_iter().map(loss_problem).collect();
        let metadata = contents.metadata;
        // Without a title in its properties, a presentation gets that of its first slide; names of
        // sheets and chapters are less useful than the file name.
        let is_named = format == DocumentFormat::Pptx || contents.has_title;
        let title = metadata.title.as_deref().filter(|_| is_named);
        let moment = |text: &Option<String>| Timestamp::parse(text.as_deref()?).ok();
        let keywords = metadata.keywords.iter().flat_map(|list| split_commas(list));
        let document = MediaDraft {
            title: title_or_stem(title, file),
            media_type: kind.to_owned(),
            author: metadata.author.filter(|author| !author.trim().is_empty()),
            tags: distinct_keywords(keywords),
            modified_at: moment(&metadata.modified).or(moment(&metadata.created)).or(file.modified),
            content: contents.text,
            ..MediaDraft::default()
        };
        single_document(file, VERSION, document, problems)
    }
}

/// Returns format and media type of a file; `None` if it is not an office document.
fn detect_format(file: &SourceFile) -> Option<(DocumentFormat, &'static str)> {
    if file.bytes.starts_with(COMPOUND_SIGNATURE) {
        let named = |(_, _, new, old, _): &&(_, _, &str, &str, _)| file.has_extension(&[new, old]);
        return OFFICE_FORMATS.iter().find(named).map(|(_, _, _, kind, format)| (*format, *kind));
    }
    let names = archive::read_file_names(Cursor::new(&file.bytes)).ok()?;
    let packed = |(part, ..): &&(&str, _, _, _, _)| names.iter().any(|name| name == part);
    OFFICE_FORMATS.iter().find(packed).map(|(_, format, kind, ..)| (*format, *kind))
}

fn read_contents(bytes: Vec<u8>, format: DocumentFormat) -> Result<OfficeContents, String> {
    let mut options = ParseOptions::strict();
    // Missing parts are reported as problems; the rest is kept.
    options.on_incomplete = OnIncomplete::Report;
    let has_title = has_title_property(&bytes);
    let document = Document::from_reader_with(Cursor::new(bytes), format, &options)
        .map_err(|error| error.to_string())?;
    let losses = document.damage().into_iter().filter(Damage::is_loss);
    Ok(OfficeContents {
        text: document.to_markdown(),
        has_title,
        losses: losses.map(|damage| damage.to_string()).collect(),
        metadata: document.to_ir().metadata,
    })
}

fn has_title_property(bytes: &[u8]) -> bool {
    if bytes.starts_with(COMPOUND_SIGNATURE) {
        return true;
    }
    let properties = Archive::open(bytes).and_then(|mut zip| zip.unpack_file("docProps/core.xml"));
    let properties = properties.ok().flatten().and_then(|xml| CoreProperties::parse(&xml).ok());
    let title = properties.and_then(|properties| properties.title);
    title.is_some_and(|title| !title.trim().is_empty())
}

fn loss_problem(what: String) -> Problem {
    Problem { place: "part of the document".to_owned(), reason: what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        detection::file_probe::tests::{probe_file, zip_archive},
        documents::document::tests::{read_document, read_error},
    };

    const WORD: &str = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    const SHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";

    /// Returns a package with this main part, its relationship, and other parts.
    fn build_package(main: &str, content: &str, parts: &[(&str, &str)]) -> Vec<u8> {
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
        zip_archive(&files)
    }

    fn build_document(paragraphs: &str) -> Vec<u8> {
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
        build_package(
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
    fn document_keeps_headings_and_properties() {
        let bytes = build_document(
            "<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:r><w:t>Dough</w:t></w:r></w:p>\
             <w:p><w:r><w:t>Let it rest.</w:t></w:r></w:p>",
        );
        assert_eq!(OfficeImporter.detect(&probe_file("a.bin", &bytes)), Confidence::ByContent);
        let found = read_document(&OfficeImporter, "/a.docx", bytes);
        assert_eq!(found.content.trim(), "# Dough\n\nLet it rest.");
        assert_eq!((found.title.as_str(), found.media_type.as_str()), ("Rye", "docx"));
        assert_eq!(
            (found.author.as_deref(), found.tags),
            (Some("Ada"), vec!["bread".to_owned(), "rye".to_owned()])
        );
        assert_eq!(found.modified_at, Timestamp::parse("2024-05-03T08:00:00Z").ok());
    }

    #[test]
    fn sheets_become_named_tables() {
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
        let found = read_document(
            &OfficeImporter,
            "/flours.xlsx",
            build_package("xl/workbook.xml", &book, &parts),
        );
        assert!(found.content.contains("## Flours"), "{}", found.content);
        assert!(found.content.contains("| rye | 1150 |"), "{}", found.content);
        assert_eq!((found.title.as_str(), found.media_type.as_str()), ("flours", "xlsx"));
    }

    #[test]
    fn invalid_document_is_rejected_with_reason() {
        assert!(read_error(&OfficeImporter, "/a.docx", "words").contains("neither a package"));
        assert!(
            read_error(&OfficeImporter, "/a.docx", zip_archive(&[("x", b"y")]))
                .contains("neither a package")
        );
        assert!(
            read_error(&OfficeImporter, "/a.doc", COMPOUND_SIGNATURE)
                .contains("as an office document")
        );
        assert!(
            read_error(&OfficeImporter, "/a.docx", build_document("")).contains("holds no text")
        );
    }

    #[test]
    fn zip_bomb_and_deep_nesting_are_rejected() {
        let deep = build_document(&("<w:p>".repeat(100_000) + "x"));
        OfficeImporter.parse(&SourceFile::in_memory("/a.docx", deep)).unwrap_err();
        let zeros = vec![b' '; 80 * 1_024 * 1_024];
        let bomb = zip_archive(&[("[Content_Types].xml", &zeros), ("word/document.xml", b"<x/>")]);
        OfficeImporter.parse(&SourceFile::in_memory("/a.docx", bomb)).unwrap_err();
    }
}
