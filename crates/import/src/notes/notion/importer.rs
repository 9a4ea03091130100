//! Pages exported by Notion: Markdown or HTML files named after title and identifier of the page, in
//! a folder or an archive.

use vademecum_model::SourceName;

use super::{
    export,
    page::{add_page, is_page_name},
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile, importer::ParsePacked,
};

/// Importer of Notion pages.
#[derive(Debug)]
pub(crate) struct NotionImporter {
    /// Parser of the other files of an export.
    pub(crate) parse_packed: ParsePacked,
}

impl Importer for NotionImporter {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format_name(&self) -> &'static str {
        "pages of Notion (.md, .html, the export's .zip)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let name = probe.path().file_name().and_then(|name| name.to_str());
        let names = || probe.entries().iter().map(String::as_str);
        Confidence::ByContent.when(name.is_some_and(is_page_name) || export::is_export(names()))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        if file.bytes.starts_with(b"PK\x03\x04") {
            return export::read_export(file, self.parse_packed);
        }
        let mut reading = ParsedFile::default();
        add_page(&mut reading, file)?;
        Ok(reading)
    }
}
