//! Exports of Notion as delivered: an archive of archives, read like the folder that they unpack to.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::page::{add_page, is_page_name};
use crate::{
    ImportError, ParsedFile, Problem, SourceFile,
    detection::unsupported::describe_counts,
    files::{
        archive::{Archive, ArchiveError, UnpackBudget, is_ignored},
        source_file::has_extension,
        time_limit::Countdown,
    },
    importer::{PackedContent, ParsePacked},
};

/// Maximum number of archives in one another. Notion nests two.
const MAX_DEPTH: usize = 4;

/// Reads the pages of an export as notes, and its other files by `parse_packed`. Fails if the archive
/// is damaged or exceeds a limit, or if there is nothing to read in it.
pub(super) fn read_export(
    file: &SourceFile,
    parse_packed: ParsePacked,
) -> Result<ParsedFile, ImportError> {
    let refused = |cause| ImportError::Archive { path: file.path.clone(), cause };
    let deadline = file.parsing_time().share(3, 4).start();
    let mut reader = ExportReader {
        file,
        parse_packed,
        deadline,
        pass: Pass::Pages,
        reading: ParsedFile::default(),
        unsupported: BTreeMap::new(),
        late: 0,
    };
    for pass in [Pass::Pages, Pass::OtherFiles] {
        reader.pass = pass;
        reader.add_archive(&file.bytes, "", MAX_DEPTH, UnpackBudget::default()).map_err(refused)?;
    }
    Ok(reader.finish())
}

/// Returns `true` if these names of files are those of an export.
pub(super) fn is_export<'n>(mut names: impl Iterator<Item = &'n str>) -> bool {
    names.any(|name| !is_ignored(name) && (is_page_name(name) || is_nested_archive(name)))
}

/// Files that are read in one pass over all archives. The pages come first, so that other files
/// cannot take their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    Pages,
    OtherFiles,
}

#[derive(Debug)]
struct ExportReader<'f> {
    file: &'f SourceFile,
    parse_packed: ParsePacked,
    /// Time until which other files than pages are read.
    deadline: Countdown,
    pass: Pass,
    reading: ParsedFile,
    /// Number of files of each format that is not supported.
    unsupported: BTreeMap<String, usize>,
    /// Number of files that were not read in time.
    late: usize,
}

impl ExportReader<'_> {
    /// Adds the files of an archive whose names begin with `place`. Returns what may still be
    /// unpacked. An archive in it that is damaged is a problem; one that exceeds a limit is an
    /// error.
    fn add_archive(
        &mut self,
        bytes: &[u8],
        place: &str,
        depth: usize,
        budget: UnpackBudget,
    ) -> Result<UnpackBudget, ArchiveError> {
        let mut archive = Archive::open_within(bytes, budget)?;
        for name in archive.file_names() {
            let inner = format!("{place}{name}");
            if is_ignored(&name) || !self.must_unpack(&name) {
                continue;
            }
            let modified = archive.modified(&name);
            let unpacked = match archive.unpack_file(&name) {
                Ok(unpacked) => unpacked.unwrap_or_default(),
                Err(error) if error.is_limit() => return Err(error),
                Err(error) => {
                    self.add_problem(inner, error.to_string());
                    continue;
                }
            };
            if is_archive(&name) && holds_export(&unpacked) {
                let budget = archive.budget();
                archive.set_budget(self.add_nested_archive(&unpacked, inner, depth - 1, budget)?);
                continue;
            }
            let packed = SourceFile {
                path: self.file.path.join(&inner),
                root: Some(self.file.path.clone()),
                bytes: unpacked,
                modified,
                time_limit: self.deadline.left(),
                read_pages: 0,
                neighbours: Arc::default(),
            };
            match self.pass {
                Pass::Pages if is_page_name(&name) => self.add_page(&packed, inner),
                Pass::OtherFiles if !is_page_name(&name) => self.add_other_file(packed, inner),
                Pass::Pages | Pass::OtherFiles => {}
            }
        }
        Ok(archive.budget())
    }

    /// Returns `true` if a file must be unpacked in this pass.
    fn must_unpack(&self, name: &str) -> bool {
        is_archive(name) || is_page_name(name) == (self.pass == Pass::Pages)
    }

    fn add_nested_archive(
        &mut self,
        bytes: &[u8],
        place: String,
        depth: usize,
        budget: UnpackBudget,
    ) -> Result<UnpackBudget, ArchiveError> {
        if depth == 0 {
            let reason = format!("it is the archive number {} in one another", MAX_DEPTH + 1);
            self.add_problem(place, reason);
            return Ok(budget);
        }
        match self.add_archive(bytes, &format!("{place}/"), depth, budget) {
            Err(error) if !error.is_limit() => {
                self.add_problem(place, error.to_string());
                Ok(budget)
            }
            done => done,
        }
    }

    fn add_page(&mut self, page: &SourceFile, place: String) {
        if let Err(error) = add_page(&mut self.reading, page) {
            let reason = error.to_string();
            let path = format!("{} ", page.path.display());
            self.add_problem(place, reason.strip_prefix(&path).unwrap_or(&reason).to_owned());
        }
    }

    /// Adds a file that is no page: a table, an attachment.
    fn add_other_file(&mut self, file: SourceFile, place: String) {
        if file.time_limit.time().is_zero() {
            self.late += 1;
            return;
        }
        match (self.parse_packed)(file, &self.file.path) {
            PackedContent::Parsed(parsed) => {
                let unread = parsed.unread_pages();
                self.reading.is_cut |= parsed.is_cut;
                self.reading.drafts.extend(parsed.drafts);
                for Problem { place: part, reason } in unread.into_iter().chain(parsed.problems) {
                    let comma = if part.is_empty() { "" } else { ", " };
                    self.add_problem(format!("{place}{comma}{part}"), reason);
                }
            }
            PackedContent::Failed(reason) => self.add_problem(place, reason),
            // Pages show pictures; no importer reads one that is not a character card.
            PackedContent::Unsupported(format) if format == "pictures" => {}
            PackedContent::Unsupported(format) => {
                *self.unsupported.entry(format).or_default() += 1;
            }
        }
    }

    fn add_problem(&mut self, place: String, reason: String) {
        // Both passes open the archives.
        let problem = Problem { place, reason };
        if !self.reading.problems.contains(&problem) {
            self.reading.problems.push(problem);
        }
    }

    fn finish(mut self) -> ParsedFile {
        if !self.unsupported.is_empty() {
            let place = "other files in it".to_owned();
            let reason = format!("not read: {}", describe_counts(&self.unsupported));
            self.reading.problems.push(Problem { place, reason });
        }
        if self.late > 0 {
            self.reading.is_cut = true;
            let place = "other files in it".to_owned();
            let reason = format!(
                "there was no time left for {} of them; to allow more, set import.file_seconds",
                self.late
            );
            self.reading.problems.push(Problem { place, reason });
        }
        self.reading
    }
}

fn is_archive(name: &str) -> bool {
    has_extension(Path::new(name), &["zip"])
}

/// Returns `true` for the name of an archive in an export: `Export-….zip`, `ExportBlock-….zip` or
/// `…-Part-1.zip`.
fn is_nested_archive(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_part = |(_, number): (&str, &str)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_named = stem.starts_with("Export-") || stem.starts_with("ExportBlock-");
    is_archive(name) && (is_named || stem.rsplit_once("-Part-").is_some_and(is_part))
}

/// Returns `true` if an unpacked file is an archive with pages, or with archives of pages.
fn holds_export(bytes: &[u8]) -> bool {
    let names = Archive::open(bytes).map(|archive| archive.file_names());
    // One that is damaged or has too many files is reported when it is read.
    names.is_ok_and(|names| is_export(names.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use vademecum_model::{Draft, SourceName};

    use super::*;
    use crate::{
        Importer, detection::file_probe::tests::zip_archive, notes::NotionImporter,
        registry::importers::parse_packed_file,
    };

    const NUMBER: &str = "0123456789abcdef0123456789abcdef";
    const TEXT: &[u8] = b"# Rye bread\n\nKnead.\n";

    fn read_zip(zip: &[u8]) -> Result<ParsedFile, ImportError> {
        NotionImporter { parse_packed: parse_packed_file }
            .parse(&SourceFile::in_memory("/export.zip", zip))
    }

    fn sources(reading: &ParsedFile) -> Vec<(SourceName, &str)> {
        let about = |draft: &'_ Draft| draft.body.source();
        reading.drafts.iter().map(|draft| (about(draft), draft.origin.as_str())).collect()
    }

    #[test]
    fn export_is_read_from_parts_and_folders() {
        let page = format!("Export/Rye {NUMBER}.md");
        let first = zip_archive(&[
            (page.as_str(), TEXT),
            ("Export/tasks.csv", b"name,done\nKnead,yes\n"),
            ("Export/a.png", b"\x89PNG"),
            ("Export/b.jpg", b"x"),
            ("Export/c.xyz", b"x"),
            ("__MACOSX/Export/._a.png", b"x"),
        ]);
        let other = page.replace("Rye", "Oat").replace('0', "1");
        let second = zip_archive(&[(other.as_str(), TEXT)]);
        let outer = zip_archive(&[
            ("Export-9-Part-1.zip", &first),
            ("deep/er/Export-9-Part-2.zip", &second),
        ]);
        let reading = read_zip(&outer).unwrap();
        let page = |number: &str| format!("notion:{number}");
        assert_eq!(
            sources(&reading),
            [
                (SourceName::Notes, page(NUMBER).as_str()),
                (SourceName::Notes, page(&NUMBER.replace('0', "1")).as_str()),
                (SourceName::Media, "file:/export.zip#Export-9-Part-1.zip/Export/tasks.csv"),
            ]
        );
        assert_eq!(reading.problems.len(), 1, "{:?}", reading.problems);
        let reason = &reading.problems[0].reason;
        assert_eq!(reason, "not read: 1 `.xyz` file");
    }

    #[test]
    fn archives_nest_to_a_bounded_depth() {
        let page = format!("Rye {NUMBER}.md");
        let mut zip = zip_archive(&[(page.as_str(), TEXT)]);
        for _ in 0..MAX_DEPTH - 1 {
            zip = zip_archive(&[("Export-9-Part-1.zip", &zip)]);
        }
        assert_eq!(read_zip(&zip).unwrap().drafts.len(), 1);
        let reading = read_zip(&zip_archive(&[("Export-9-Part-1.zip", &zip)])).unwrap();
        assert!(reading.drafts.is_empty());
        assert!(reading.problems[0].reason.contains("in one another"), "{reading:?}");
    }

    #[test]
    fn export_beyond_limit_is_refused_entirely() {
        let page = format!("Rye {NUMBER}.md");
        let zeros = vec![0; 128 * 1_024 * 1_024];
        let bomb = zip_archive(&[(format!("Zeros {NUMBER}.md").as_str(), &zeros)]);
        let parts: Vec<_> = (0..5).map(|part| format!("Export-9-Part-{part}.zip")).collect();
        let mut files: Vec<(&str, &[u8])> = vec![(page.as_str(), TEXT)];
        files.extend(parts.iter().map(|name| (name.as_str(), bomb.as_slice())));
        let error = read_zip(&zip_archive(&files)).unwrap_err().to_string();
        assert!(error.contains("unpacks to more than"), "{error}");
    }

    #[test]
    fn damaged_part_is_reported_others_read() {
        let page = format!("Rye {NUMBER}.md");
        let part = zip_archive(&[(page.as_str(), TEXT), (&page.replace('0', "2"), b"a\xff\0b")]);
        let zip = zip_archive(&[
            ("Export-9-Part-1.zip", &part),
            ("Export-9-Part-2.zip", &part[..part.len() / 2]),
        ]);
        let reading = read_zip(&zip).unwrap();
        assert_eq!(reading.drafts.len(), 1);
        let found_places: Vec<_> = reading.problems.iter().map(|it| it.place.as_str()).collect();
        assert!(found_places[0].starts_with("Export-9-Part-1.zip/Rye 2123"), "{found_places:?}");
        assert!(
            found_places
                .iter()
                .any(|place| place.contains("Part-2") || *place == "other files in it")
        );
        assert!(read_zip(b"PK\x03\x04").is_err());
    }

    #[test]
    fn archive_of_other_program_is_no_export() {
        assert!(is_export(["Export-9-Part-1.zip"].into_iter()));
        assert!(is_export(["x/ExportBlock-1.zip"].into_iter()));
        let page = format!("x/Rye {NUMBER}.html");
        assert!(is_export([page.as_str()].into_iter()));
        for name in ["a.zip", "Part-1.zip", "a-Part-x.zip", "Export-1.md", "__MACOSX/Export-1.zip"]
        {
            assert!(!is_export([name].into_iter()), "{name}");
        }
    }
}
