//! The list of all importers, and the choice of the right one.

use std::{path::Path, sync::LazyLock};

use serde::{Deserialize, Serialize};
use vademecum_formats::ALL_FORMATS;
use vademecum_model::SourceName;

use super::format_importer::FormatImporter;
use crate::{
    Confidence, FileProbe, Importer, SourceFile, UnsupportedFiles, archives, characters, chats,
    detection::unsupported::{describe_format, unsupported_format},
    documents, exported,
    importer::PackedContent,
    mail, notes, prompts, reading_lists, sessions, transcripts,
};

/// Importers that need more than the bytes of a file, and those of its own kind of text.
static OWN_IMPORTERS: &[&dyn Importer] = &[
    &notes::NoteImporter,
    &notes::NotionImporter { parse_packed: parse_packed_file },
    &archives::ArchiveImporter { parse_packed: parse_packed_file },
    &notes::LogseqImporter,
    &notes::OrgImporter,
    &notes::KeepImporter,
    &notes::HtmlNoteImporter,
    &documents::TextImporter,
    &reading_lists::BookmarkImporter,
    &documents::HtmlImporter,
    &documents::RstImporter,
    &transcripts::SubtitleImporter,
    &transcripts::PodcastImporter,
    #[cfg(feature = "pdf")]
    &documents::PdfImporter,
    &documents::EpubImporter,
    #[cfg(feature = "office")]
    &documents::OfficeImporter,
    &documents::TableImporter,
    &documents::NotebookImporter,
    &mail::EmailImporter,
    #[cfg(feature = "office")]
    &mail::OutlookImporter,
    &reading_lists::FeedImporter,
    &sessions::AgentSessionImporter,
    &chats::ChatExportImporter,
    &chats::SillyTavernImporter,
    &chats::RoleChatImporter,
    &characters::CharacterImporter,
    &characters::PngCardImporter,
    &characters::CharxImporter,
    &prompts::CsvPromptImporter,
    &prompts::JsonPromptImporter,
    &prompts::PatternImporter,
];

/// Importers of the formats of other crates.
static FORMAT_IMPORTERS: LazyLock<Vec<FormatImporter>> =
    LazyLock::new(|| ALL_FORMATS.iter().map(|format| FormatImporter(*format)).collect());

/// Returns all importers. Of two with the same confidence, the first reads the file.
fn all_importers() -> impl DoubleEndedIterator<Item = &'static dyn Importer> {
    let formats = FORMAT_IMPORTERS.iter().map(|importer| -> &dyn Importer { importer });
    formats.chain(OWN_IMPORTERS.iter().copied())
}

/// Returns the importers whose drafts go into `source`.
pub fn importers_for(source: SourceName) -> impl Iterator<Item = &'static dyn Importer> {
    all_importers().filter(move |importer| importer.source() == source)
}

/// Returns the importer with the highest confidence, or `None` if there is none.
///
/// With a `source`, only its importers are considered, and an ambiguous extension is enough.
/// Without one, the name or the content must identify the format.
pub fn detect_importer(
    source: Option<SourceName>,
    probe: &FileProbe,
) -> Option<&'static dyn Importer> {
    if exported::is_exported_file(probe) {
        // A file that names its own format is never read as another one.
        return exported::find_importer(source, probe);
    }
    let least = if source.is_some() { Confidence::Possible } else { Confidence::ByName };
    all_importers()
        .rev()
        .filter(|importer| source.is_none_or(|source| importer.source() == source))
        .map(|importer| (importer.detect(probe), importer))
        .filter(|(fit, _)| *fit >= least)
        .max_by_key(|(fit, _)| *fit)
        .map(|(_, importer)| importer)
}

/// An importer that could read a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Source that would receive the items.
    pub source: SourceName,
    /// Name of the format.
    pub format: String,
    /// Confidence of the importer.
    pub confidence: Confidence,
}

/// Returns all importers that could read a file, the best first. The first one reads it, unless its
/// format is only possible.
pub(super) fn find_claims(probe: &FileProbe) -> Vec<Claim> {
    let exported = exported::is_exported_file(probe);
    let claim = |importer: &dyn Importer, confidence| Claim {
        source: importer.source(),
        format: importer.format_name().to_owned(),
        confidence,
    };
    if exported {
        let importer = exported::find_importer(None, probe);
        return importer.map(|it| claim(it, Confidence::ByContent)).into_iter().collect();
    }
    let claims = all_importers().map(|importer| claim(importer, importer.detect(probe)));
    let mut claims: Vec<_> = claims.filter(|it| it.confidence > Confidence::NoMatch).collect();
    claims.sort_by_key(|claim| std::cmp::Reverse(claim.confidence));
    claims
}

/// Returns the importer of a format into a source.
pub(crate) fn find_importer(source: SourceName, format: &str) -> Option<&'static dyn Importer> {
    all_importers()
        .chain(exported::importers())
        .find(|importer| importer.source() == source && importer.format_name() == format)
}

/// Parses a file that was unpacked from `archive`, whose path is the beginning of its own.
pub(crate) fn parse_packed_file(file: SourceFile, archive: &Path) -> PackedContent {
    let probe = FileProbe::packed(file);
    let Some(importer) = detect_importer(None, &probe) else {
        return PackedContent::Unsupported(unsupported_format(&probe));
    };
    let path = format!("{} ", probe.path().display());
    let time_limit = probe.packed_time_limit();
    match probe.read_file(time_limit).and_then(|file| importer.parse(&file)) {
        Ok(mut parsed) => {
            let below = format!("file:{}/", archive.display());
            for draft in &mut parsed.drafts {
                if let Some(rest) = draft.origin.strip_prefix(&below) {
                    draft.origin = format!("file:{}#{rest}", archive.display());
                }
            }
            PackedContent::Parsed(parsed)
        }
        Err(error) => {
            let reason = error.to_string();
            PackedContent::Failed(reason.strip_prefix(&path).unwrap_or(&reason).to_owned())
        }
    }
}

/// Returns the description of `files` files of a format that was not read: an unsupported one, or
/// that of an importer for another source.
pub fn describe_unsupported(format: &str, files: usize) -> UnsupportedFiles {
    let importer = all_importers().find(|importer| importer.format_name() == format);
    let Some(importer) = importer else { return describe_format(format, files) };
    let ending = if files == 1 { "" } else { "s" };
    UnsupportedFiles {
        format: format.to_owned(),
        files,
        label: format!("{files} file{ending}: {format}"),
        reason: format!(
            "not of the type that you named; without a type, `vademecum import PATH` imports them as {}",
            importer.source()
        ),
    }
}

/// Returns the names of the formats that can be read into `source`, separated by commas.
pub(super) fn format_list(source: SourceName) -> String {
    importers_for(source).map(Importer::format_name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detection::file_probe::tests::probe_file;

    #[test]
    fn importer_is_found_by_source_and_format() {
        for importer in all_importers().chain(exported::importers()) {
            let (source, format) = (importer.source(), importer.format_name());
            let found = find_importer(source, format).unwrap();
            assert_eq!(format!("{found:?}"), format!("{importer:?}"));
        }
    }

    #[test]
    fn importer_has_no_name_of_unsupported_format() {
        for importer in all_importers() {
            assert_eq!(describe_format(importer.format_name(), 1).reason, "unknown format");
        }
    }

    #[test]
    fn every_source_has_an_importer() {
        for source in SourceName::ALL {
            assert!(importers_for(source).next().is_some(), "{source}");
        }
    }

    #[test]
    fn content_determines_the_importer() {
        let becomes = |name: &str, text: &str| {
            detect_importer(None, &probe_file(name, text)).map(Importer::source)
        };
        for (name, text, source) in [
            ("a.md", "# Bread", SourceName::Notes),
            ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nHello", SourceName::Media),
            ("a.json", r#"[{"title": "x", "mapping": {}}]"#, SourceName::Chats),
            ("a.json", r#"{"spec": "chara_card_v2", "data": {}}"#, SourceName::Characters),
            ("a.csv", "act,prompt\nBaker,Bake!", SourceName::Prompts),
        ] {
            assert_eq!(becomes(name, text), Some(source), "{name} {text}");
        }
        for (name, text) in [("a.json", "{}"), ("a.exe", "MZ"), ("a.png", "\u{89}PNG")] {
            assert_eq!(becomes(name, text), None, "{name}");
        }
    }
}
