//! Importers of the formats of `vademecum-formats`, whose parsers see the bytes of one file only.

use vademecum_formats::{FormatInput, FormatSample};
use vademecum_model::SourceName;

use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile, files::database_log,
};

/// Importer of one of [`ALL_FORMATS`](vademecum_formats::ALL_FORMATS).
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatImporter(pub(crate) &'static dyn vademecum_formats::Format);

impl Importer for FormatImporter {
    fn source(&self) -> SourceName {
        self.0.source()
    }

    fn format_name(&self) -> &'static str {
        self.0.name()
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let sample = FormatSample {
            path: probe.path(),
            head: probe.head_text(),
            bytes: probe.head(),
            tail: if probe.has_extension(&["md"]) { probe.tail_text() } else { "" },
            entries: probe.entries(),
        };
        let is_named = probe.has_extension(self.0.own_extensions());
        Confidence::ByContent.when(self.0.detect(&sample)).max(Confidence::ByName.when(is_named))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let SourceFile { path, bytes, modified, .. } = file;
        let log = database_log(path).and_then(|log| file.read_neighbour(&log));
        let log = log.and_then(Result::ok).map(|log| log.bytes);
        let input = FormatInput { path, bytes, modified: *modified, log: log.as_deref() };
        let parsed = self.0.parse(&input);
        let parsed = parsed.map_err(|cause| ImportError::Unreadable {
            path: path.clone(),
            format: self.0.name(),
            reason: cause.to_string(),
        })?;
        let (drafts, problems) = (parsed.drafts, parsed.problems);
        Ok(ParsedFile { drafts, problems, ..ParsedFile::default() })
    }
}
