//! ZIP and TAR archives, read like the folder that they unpack to.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use vademecum_formats::archive::{
    PackedFile, UnpackBudget, has_extension, is_ignored, is_tar, visit_files,
};
use vademecum_model::SourceName;

use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile,
    detection::unsupported::describe_counts,
    files::time_limit::Countdown,
    importer::{PackedContent, ParsePacked},
};

/// Extensions of archives that may have files of any kind.
const ARCHIVE_EXTENSIONS: [&str; 4] = ["zip", "tar", "tgz", "gz"];

/// Extensions of which one file makes an archive worth reading.
const DOCUMENT_EXTENSIONS: [&str; 22] = [
    "md", "markdown", "txt", "org", "rst", "html", "htm", "json", "jsonl", "csv", "pdf", "docx",
    "pptx", "xlsx", "epub", "eml", "mbox", "srt", "vtt", "opml", "bib", "enex",
];

/// Extensions of pictures, sounds and films, which are counted without unpacking them.
const MEDIA_EXTENSIONS: [&str; 16] = [
    "jpg", "jpeg", "png", "gif", "webp", "heic", "svg", "mp3", "m4a", "ogg", "opus", "wav", "mp4",
    "mov", "mkv", "webm",
];

/// Folder of the files in an archive of Takeout.
const TAKEOUT: &str = "Takeout/";

/// Importer of archives.
#[derive(Debug)]
pub(crate) struct ArchiveImporter {
    /// Parser of the files in it.
    pub(crate) parse_packed: ParsePacked,
}

impl Importer for ArchiveImporter {
    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn format_name(&self) -> &'static str {
        "archives of notes and documents (.zip, .tar, .tgz)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        // An archive in an archive is left alone: each would add its own limits.
        if probe.is_packed() || !probe.has_extension(&ARCHIVE_EXTENSIONS) {
            return Confidence::NoMatch;
        }
        let names = probe.entries();
        let is_document =
            |name: &String| !is_ignored(name) && has_extension(name, &DOCUMENT_EXTENSIONS);
        let is_archive = names.iter().any(is_document) || is_tar(probe.head());
        // A Takeout of several products has notes of Keep among others.
        let is_other = |name: &String| name.starts_with(TAKEOUT) && !name.contains("/Keep/");
        let is_takeout = names.iter().any(|name| is_other(name) && is_document(name));
        Confidence::ByContent.when(is_takeout).max(Confidence::ByName.when(is_archive))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
        let mut names = HashSet::new();
        let budget = UnpackBudget::default();
        visit_files(
            &file.bytes,
            budget,
            |name| {
                names.insert(name.to_owned());
                false
            },
            |_| {},
        )
        .map_err(refused)?;
        let mut reader = ArchiveReader {
            file,
            parse_packed: self.parse_packed,
            deadline: file.parsing_time().share(3, 4).start(),
            reading: ParsedFile::default(),
            unsupported: BTreeMap::new(),
            late: 0,
        };
        let media = names.iter().filter(|name| has_extension(name, &MEDIA_EXTENSIONS)).count();
        let is_wanted = |name: &str| {
            // Google Keep writes each note as HTML and as JSON.
            let twin = name.strip_suffix(".html").map(|stem| format!("{stem}.json"));
            !has_extension(name, &MEDIA_EXTENSIONS)
                && twin.is_none_or(|twin| !names.contains(&twin))
        };
        visit_files(&file.bytes, budget, is_wanted, |packed| reader.add(packed))
            .map_err(refused)?;
        let reading = reader.finish(media);
        if reading.drafts.is_empty() && reading.problems.is_empty() {
            return Err(ImportError::NoText { path: file.path.clone() });
        }
        Ok(reading)
    }
}

#[derive(Debug)]
struct ArchiveReader<'f> {
    file: &'f SourceFile,
    parse_packed: ParsePacked,
    /// Time until which files are read.
    deadline: Countdown,
    reading: ParsedFile,
    /// Number of files of each format that is not supported.
    unsupported: BTreeMap<String, usize>,
    /// Number of files that were not read in time.
    late: usize,
}

impl ArchiveReader<'_> {
    fn add(&mut self, PackedFile { name, bytes, modified }: PackedFile) {
        let time_limit = self.deadline.left();
        if time_limit.time().is_zero() {
            self.late += 1;
            return;
        }
        let packed = SourceFile {
            path: self.file.path.join(&name),
            root: Some(self.file.path.clone()),
            bytes,
            modified,
            time_limit,
            read_pages: 0,
            neighbours: Arc::default(),
        };
        match (self.parse_packed)(packed, &self.file.path) {
            PackedContent::Parsed(parsed) => {
                let unread = parsed.unread_pages();
                self.reading.is_cut |= parsed.is_cut;
                self.reading.drafts.extend(parsed.drafts);
                for Problem { place, reason } in unread.into_iter().chain(parsed.problems) {
                    let comma = if place.is_empty() { "" } else { ", " };
                    self.add_problem(format!("{name}{comma}{place}"), reason);
                }
            }
            PackedContent::Failed(reason) => self.add_problem(name, reason),
            PackedContent::Unsupported(format) => {
                *self.unsupported.entry(format).or_default() += 1;
            }
        }
    }

    fn add_problem(&mut self, place: String, reason: String) {
        self.reading.problems.push(Problem { place, reason });
    }

    fn finish(mut self, media: usize) -> ParsedFile {
        let place = "other files in it".to_owned();
        if media > 0 {
            let ending = if media == 1 { "" } else { "s" };
            let reason = format!("not read: {media} picture{ending}, sounds or films");
            self.add_problem(place.clone(), reason);
        }
        if !self.unsupported.is_empty() {
            let reason = format!("not read: {}", describe_counts(&self.unsupported));
            self.add_problem(place.clone(), reason);
        }
        if self.late > 0 {
            self.reading.is_cut = true;
            let reason = format!(
                "there was no time left for {} of them; to allow more, set import.file_seconds",
                self.late
            );
            self.add_problem(place, reason);
        }
        self.reading
    }
}

#[cfg(test)]
mod tests {
    use vademecum_model::{DraftBody, NoteDraft};
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::{
        detect_importer, detection::file_probe::tests::probe_file,
        registry::importers::parse_packed_file,
    };

    const IMPORTER: ArchiveImporter = ArchiveImporter { parse_packed: parse_packed_file };

    fn read(path: &str, bytes: &[u8]) -> ParsedFile {
        IMPORTER.parse(&SourceFile::in_memory(path, bytes)).unwrap()
    }

    fn note(reading: &ParsedFile, at: usize) -> &NoteDraft {
        let DraftBody::Note(note) = &reading.drafts[at].body else { panic!("{reading:?}") };
        note
    }

    fn vault() -> Vec<(&'static str, &'static [u8])> {
        vec![
            (".obsidian/app.json", b"{}"),
            ("Food/Rye.md", b"---\ntags: [bread]\n---\nKnead [[Oats]]."),
            ("Food/loaf.png", b"\x89PNG"),
            ("a.xyz", b"x"),
            ("chat.txt", b"05/01/26, 10:00 - Ada: Rye?\n20/01/26, 10:01 - Ben: Yes.\n"),
            ("inner.zip", b"PK\x03\x04"),
        ]
    }

    #[test]
    fn vault_in_zip_is_read_like_folder() {
        let zip = zip_archive(&vault());
        let probe = probe_file("vault.zip", &zip);
        assert_eq!(IMPORTER.detect(&probe), Confidence::ByName);
        let reading = read("/vault.zip", &zip);
        assert_eq!(reading.drafts[0].origin, "file:/vault.zip#Food/Rye.md");
        assert_eq!(
            (note(&reading, 0).title.as_str(), note(&reading, 0).folders.join("/")),
            ("Rye", "Food".to_owned())
        );
        assert_eq!(note(&reading, 0).tags, ["bread"]);
        assert_eq!(reading.drafts[1].body.source(), SourceName::Chats);
        let reasons: Vec<_> = reading.problems.iter().map(|it| it.reason.as_str()).collect();
        assert_eq!(reasons[0], "not read: 1 picture, sounds or films");
        assert!(
            reasons[1].contains("1 `.xyz` file") && reasons[1].contains("1 archive"),
            "{reasons:?}"
        );
    }

    #[test]
    fn compressed_tar_is_read() {
        let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
            Vec::new(),
            flate2::Compression::fast(),
        ));
        for (name, bytes) in vault() {
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mtime(1_767_607_200);
            header.set_cksum();
            archive.append_data(&mut header, name, bytes).unwrap();
        }
        let tgz = archive.into_inner().unwrap().finish().unwrap();
        assert_eq!(IMPORTER.detect(&probe_file("vault.tgz", &tgz)), Confidence::ByName);
        let reading = read("/vault.tgz", &tgz);
        assert_eq!(reading.drafts[0].origin, "file:/vault.tgz#Food/Rye.md");
        let modified = note(&reading, 0).modified_at.unwrap().to_string();
        assert_eq!(modified, "2026-01-05T10:00:00.000Z");
        assert!(IMPORTER.parse(&SourceFile::in_memory("/a.tgz", &tgz[..20])).is_err());
    }

    #[test]
    fn takeout_has_notes_once_and_other_products() {
        let keep = br#"{"isTrashed": false, "userEditedTimestampUsec": 1767607200000000,
            "title": "Rye", "textContent": "Knead."}"#;
        let mail = b"Subject: Oats\nFrom: ada@example.org\n\nRest.\n";
        let zip = zip_archive(&[
            ("Takeout/Keep/Rye.json", keep),
            ("Takeout/Keep/Rye.html", b"<p>Knead."),
            ("Takeout/Mail/a.eml", mail),
        ]);
        let probe = probe_file("takeout-001.zip", &zip);
        let importer = detect_importer(None, &probe).unwrap();
        assert_eq!(importer.format_name(), IMPORTER.format_name());
        let reading = read("/takeout-001.zip", &zip);
        let sources: Vec<_> = reading.drafts.iter().map(|it| it.body.source()).collect();
        assert_eq!(sources, [SourceName::Notes, SourceName::Media]);
        assert!(reading.drafts[0].origin.starts_with("google-keep:"));
        let keep_only = zip_archive(&[("Takeout/Keep/Rye.json", keep)]);
        assert_ne!(IMPORTER.detect(&probe_file("a.zip", keep_only)), Confidence::ByContent);
    }

    #[test]
    fn bomb_and_archive_of_programs_are_not_read() {
        let zeros = vec![0; 600 * 1_024 * 1_024];
        let bomb = zip_archive(&[("a.md", &zeros)]);
        let error = IMPORTER.parse(&SourceFile::in_memory("/a.zip", bomb)).unwrap_err();
        assert!(error.to_string().contains("unpacks to more than"), "{error}");
        let programs = zip_archive(&[("a.exe", b"MZ"), ("../b.md", b"x")]);
        assert_eq!(IMPORTER.detect(&probe_file("a.zip", programs)), Confidence::NoMatch);
    }
}
