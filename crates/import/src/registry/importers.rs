//! The list of all importers, detection of the right one, and reading of one file.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::Duration,
};

use vademecum_kit::model::SourceName;

use super::unsupported::{describe_one, unsupported_format};
use crate::{
    Confidence, FileEntry, FileProbe, FileStamp, ImportError, Importer, ParsedFile, Problem,
    SourceFile, characters, chats, digest, documents, exported, mail, notes, prompts,
    reading_lists, text::json, transcripts,
};

/// All importers. Of two with the same confidence, the first reads the file.
static ALL_IMPORTERS: &[&dyn Importer] = &[
    &notes::NoteImporter,
    &notes::NotionImporter,
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

/// Returns all importers of files of other programs.
pub(super) fn all_importers() -> impl Iterator<Item = &'static dyn Importer> {
    ALL_IMPORTERS.iter().copied()
}

/// Returns the importers whose drafts go into `source`.
pub fn importers_for(source: SourceName) -> impl Iterator<Item = &'static dyn Importer> {
    ALL_IMPORTERS.iter().copied().filter(move |importer| importer.source() == source)
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
    ALL_IMPORTERS
        .iter()
        .copied()
        .rev()
        .filter(|importer| source.is_none_or(|source| importer.source() == source))
        .map(|importer| (importer.detect(probe), importer))
        .filter(|(fit, _)| *fit >= least)
        .max_by_key(|(fit, _)| *fit)
        .map(|(_, importer)| importer)
}

/// The result of reading one file.
#[derive(Debug)]
pub struct ImportAttempt {
    /// The file.
    pub file: FileEntry,
    /// Size and modification time at the time of reading.
    pub stamp: FileStamp,
    /// Importer that reads the file, or `None` if no importer does.
    pub importer: Option<&'static dyn Importer>,
    /// Format of a file in a folder that no importer reads.
    pub unsupported: Option<String>,
    /// Digest of the file's content.
    pub digest: Option<String>,
    /// Drafts and problems of the file. For a file found in a folder that no importer reads, there
    /// are no drafts; if it is JSON, a problem gives the reason.
    pub result: Result<ParsedFile, ImportError>,
}

/// Reads one file in this process, into `source` if the user gave one. Importers that can return a
/// part of a file stop before `time_limit` ends.
pub(crate) fn read_file(
    source: Option<SourceName>,
    found: FileEntry,
    time_limit: Duration,
) -> ImportAttempt {
    let mut read = ImportAttempt::failed(found, Ok(ParsedFile::default()));
    // A panic in an importer fails this file only.
    let parsed = catch_unwind(AssertUnwindSafe(|| read.detect_and_parse(source, time_limit)));
    read.result = parsed
        .unwrap_or_else(|_| Err(ImportError::ImporterPanicked { path: read.file.path.clone() }));
    read
}

/// Returns the importer of a format into a source.
pub(crate) fn find_importer(source: SourceName, format: &str) -> Option<&'static dyn Importer> {
    ALL_IMPORTERS
        .iter()
        .copied()
        .chain(exported::importers())
        .find(|importer| importer.source() == source && importer.format_name() == format)
}

impl ImportAttempt {
    /// Returns an attempt that has not found an importer.
    pub(crate) fn failed(file: FileEntry, result: Result<ParsedFile, ImportError>) -> Self {
        let stamp = FileStamp::from_path(&file.path).unwrap_or_default();
        Self { file, stamp, importer: None, unsupported: None, digest: None, result }
    }

    fn detect_and_parse(
        &mut self,
        source: Option<SourceName>,
        time_limit: Duration,
    ) -> Result<ParsedFile, ImportError> {
        let (path, root) = (self.file.path.as_path(), self.file.root.as_deref());
        let probe = FileProbe::open(path, root)?;
        // Taken before reading, so that a file changed meanwhile is read again.
        self.stamp = probe.stamp();
        let Some(importer) = detect_importer(source, &probe) else {
            if root.is_none() {
                return Err(unread_file_error(source, probe, time_limit));
            }
            self.unsupported = Some(unread_format(source, &probe));
            return Ok(explain_unread_file(source, probe, time_limit));
        };
        self.importer = Some(importer);
        let file = probe.read_file(time_limit)?;
        self.digest = Some(digest("", [file.bytes.as_slice()]));
        let mut parsed = importer.parse(&file)?;
        if let Some(source) = source {
            // An archive may contain items of several sources.
            parsed.drafts.retain(|draft| draft.body.source() == source);
        }
        Ok(parsed)
    }
}

/// The content of a file that was unpacked from an archive.
#[derive(Debug)]
pub(crate) enum PackedContent {
    /// Drafts and problems. The origins are parts of the archive.
    Parsed(ParsedFile),
    /// The file could not be read, for this reason.
    Failed(String),
    /// No importer reads this format.
    Unsupported(String),
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

/// Returns the format of a file that no importer of `source` reads: that of another source, or an
/// unsupported one.
fn unread_format(source: Option<SourceName>, probe: &FileProbe) -> String {
    let other = source.and_then(|_| detect_importer(None, probe));
    other.map_or_else(|| unsupported_format(probe), |other| other.format_name().to_owned())
}

/// Returns the error of a named file that no importer reads.
fn unread_file_error(
    source: Option<SourceName>,
    probe: FileProbe,
    time_limit: Duration,
) -> ImportError {
    let path = probe.path().to_owned();
    let format = unread_format(source, &probe);
    if let Some(source) = source {
        let other = detect_importer(None, &probe).map(Importer::source);
        return ImportError::UnknownFormat {
            advice: other.map_or_else(String::new, |other| {
                let command = import_command("", &path);
                format!("; to import it as {other}, run {command}")
            }),
            path,
            source_name: source,
            formats: format_list(source),
        };
    }
    if format == JSON_FORMAT {
        return ImportError::UnrecognisedJson {
            path,
            reason: explain_json(None, probe, time_limit),
        };
    }
    ImportError::Unsupported { path, description: describe_one(&format) }
}

/// Format of JSON files that no importer reads. The name of such a file does not show whether it is
/// supported, so that the reason is given for each.
const JSON_FORMAT: &str = "JSON files";

/// Returns the result for a file in a folder that no importer reads. It is empty except for JSON.
fn explain_unread_file(
    source: Option<SourceName>,
    probe: FileProbe,
    time_limit: Duration,
) -> ParsedFile {
    let is_known = unsupported_format(&probe) != JSON_FORMAT;
    if !probe.has_extension(&["json"])
        || exported::is_exported_file(&probe)
        || source.is_none() && is_known && probe.stamp().size > 0
    {
        return ParsedFile::default();
    }
    let reason = explain_json(source, probe, time_limit);
    let problems = vec![Problem { place: String::new(), reason }];
    ParsedFile { problems, ..ParsedFile::default() }
}

/// Returns the reason why a JSON file is not read, with the commands that would read it.
fn explain_json(source: Option<SourceName>, probe: FileProbe, time_limit: Duration) -> String {
    let forced: Vec<_> = SourceName::ALL
        .into_iter()
        .filter_map(|source| Some((source, detect_importer(Some(source), &probe)?)))
        .collect();
    let file = match probe.read_file(time_limit) {
        Ok(file) => file,
        Err(error) => return format!("not valid JSON: {error}"),
    };
    let flaw = match file.text() {
        Ok(text) => json::find_syntax_error(&text),
        Err(error) => Some(error.to_string()),
    };
    if let Some(flaw) = flaw {
        return format!("not valid JSON: {flaw}");
    }
    if let Some(source) = source {
        return format!("this JSON format cannot be imported into {source}");
    }
    // Only what works is advised.
    let reads = |importer: &dyn Importer| {
        importer.parse(&file).is_ok_and(|parsed| !parsed.drafts.is_empty())
    };
    let commands = forced.into_iter().filter(|(_, importer)| reads(*importer));
    let commands: Vec<_> =
        commands.map(|(source, _)| import_command(source.as_str(), &file.path)).collect();
    let advice = match commands.as_slice() {
        [] => String::new(),
        commands => format!("; to force a type, run {}", commands.join(" or ")),
    };
    format!("unrecognised JSON format{advice}")
}

/// Returns the command that imports a file, as one that can be pasted into a shell.
fn import_command(kind: &str, path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |next: char| next.is_alphanumeric() || "/._-+:@%,\\".contains(next);
    let path = if path.chars().all(is_plain) {
        path
    } else if cfg!(windows) {
        format!("\"{path}\"")
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    };
    let space = if kind.is_empty() { "" } else { " " };
    format!("`vademecum import {kind}{space}{path}`")
}

/// Returns the names of the formats that can be read into `source`, separated by commas.
pub(super) fn format_list(source: SourceName) -> String {
    importers_for(source).map(Importer::format_name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::detection::file_probe::tests::probe_file;

    fn read(source: Option<SourceName>, found: FileEntry) -> ImportAttempt {
        read_file(source, found, Duration::from_secs(30))
    }

    #[test]
    fn importer_is_found_by_source_and_format() {
        for importer in ALL_IMPORTERS.iter().copied().chain(exported::importers()) {
            let (source, format) = (importer.source(), importer.format_name());
            let found = find_importer(source, format).unwrap();
            assert_eq!(format!("{found:?}"), format!("{importer:?}"));
        }
    }

    #[test]
    fn every_source_has_an_importer() {
        for source in SourceName::ALL {
            assert!(importers_for(source).next().is_some(), "{source}");
        }
    }

    #[test]
    fn file_is_read_by_importer_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bread.md");
        fs::write(&path, "# Bread\nKnead.").unwrap();
        for source in [SourceName::Notes, SourceName::Media] {
            let read = read(Some(source), FileEntry { path: path.clone(), root: None });
            assert_eq!(read.result.unwrap().drafts[0].body.source(), source);
            assert!(read.importer.is_some() && read.digest.is_some() && read.stamp.size == 14);
        }
    }

    #[cfg(unix)]
    #[test]
    fn file_swapped_for_link_is_not_read() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = folder.path().join("bread.md");
        fs::write(&path, "Knead.").unwrap();
        fs::write(outside.path().join("secret.md"), "Secret.").unwrap();
        let listing = crate::walk_files(&[folder.path().to_owned()]);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), &path).unwrap();
        let read = read(Some(SourceName::Notes), listing.files[0].clone());
        let error = read.result.unwrap_err().to_string();
        assert!(error.ends_with("links are not followed"), "{error}");
    }

    #[test]
    fn unknown_file_fails_only_if_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program.exe");
        fs::write(&path, "MZ").unwrap();
        let named = FileEntry { path: path.clone(), root: None };
        let error = read(Some(SourceName::Prompts), named.clone()).result.unwrap_err().to_string();
        assert!(error.contains("cannot be imported into `prompts`"), "{error}");
        let error = read(None, named).result.unwrap_err().to_string();
        assert!(error.ends_with("cannot be imported: program: not read"), "{error}");
        let found = read(None, FileEntry { path, root: Some(folder.path().to_owned()) });
        assert!(found.importer.is_none() && found.unsupported.as_deref() == Some("programs"));
        let reading = found.result.unwrap();
        assert!(reading.drafts.is_empty() && reading.problems.is_empty());
    }

    #[test]
    fn unread_json_has_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let why = |source, text: &[u8]| {
            fs::write(&path, text).unwrap();
            let found = FileEntry { path: path.clone(), root: Some(folder.path().to_owned()) };
            let read = read(source, found);
            assert!(read.importer.is_none());
            let [problem] = read.result.unwrap().problems.try_into().unwrap();
            problem.reason
        };
        assert!(why(None, b"{\"a\": 1}").contains("unrecognised JSON format"));
        assert!(why(Some(SourceName::Notes), b"[1]").ends_with("into notes"));
        let reason = why(None, b"{\n  \"a\" 1}");
        assert!(
            reason.contains("not valid JSON") && reason.contains("line 2 column 7"),
            "{reason}"
        );
        assert!(why(None, b"\0\0").contains("not valid JSON"));
        assert!(why(None, b"").contains("not valid JSON"));
        assert!(why(None, "[".repeat(100_000).as_bytes()).contains("not valid JSON"));
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
