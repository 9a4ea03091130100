//! Fuzz functions of all file parsers, by the name used by the fuzz target.

use std::{path::Path, sync::Arc, time::Duration};

use vademecum_formats::{ALL_FORMATS, FormatInput};
use vademecum_model::SourceName;

use crate::{
    FileProbe, Importer, SourceFile, TimeLimit, archives, characters, chats, decode_text,
    detect_importer, documents, exported::ExportImporter, files::archive::Archive, mail, notes,
    prompts, reading_lists, registry, sessions, transcripts,
};

/// The code that receives the fuzz input.
enum FuzzedParser {
    /// Importers, each with a file name that it accepts.
    Importers(&'static [(&'static dyn Importer, &'static str)]),
    /// A function shared by importers.
    Function(fn(&[u8])),
}

use FuzzedParser::{Function, Importers};

const NOTION: notes::NotionImporter =
    notes::NotionImporter { parse_packed: registry::importers::parse_packed_file };

const ARCHIVE: archives::ArchiveImporter =
    archives::ArchiveImporter { parse_packed: registry::importers::parse_packed_file };
/// Names of files of sessions, each of another program or form.
const SESSION_FILES: &[(&dyn Importer, &str)] = &[
    (&sessions::AgentSessionImporter, "/a.jsonl"),
    (&sessions::AgentSessionImporter, "/rollout-a.jsonl.zst"),
    (&sessions::AgentSessionImporter, "/a.json"),
    (&sessions::AgentSessionImporter, "/chatSessions/a.json"),
    (&sessions::AgentSessionImporter, "/chatSessions/a.jsonl"),
    (&sessions::AgentSessionImporter, "/agent-transcripts/a.jsonl"),
    (&sessions::AgentSessionImporter, "/tasks/1/api_conversation_history.json"),
    (&sessions::AgentSessionImporter, "/T-a.json"),
    (&sessions::AgentSessionImporter, "/.aider.chat.history.md"),
    (&sessions::AgentSessionImporter, "/opencode.db"),
    (&sessions::AgentSessionImporter, "/state.vscdb"),
];

/// All parsers, by name.
static FUZZED_PARSERS: &[(&str, FuzzedParser)] = &[
    ("notes", Importers(&[(&notes::NoteImporter, "/a.md"), (&notes::NoteImporter, "/a.txt")])),
    (
        "notion",
        Importers(&[
            (&NOTION, "/Rye 0123456789abcdef0123456789abcdef.md"),
            (&NOTION, "/Rye 0123456789abcdef0123456789abcdef.html"),
        ]),
    ),
    ("archived", Importers(&[(&ARCHIVE, "/a.zip")])),
    ("logseq", Importers(&[(&notes::LogseqImporter, "/graph/pages/a___b%3A.md")])),
    ("org", Importers(&[(&notes::OrgImporter, "/a.org")])),
    ("keep", Importers(&[(&notes::KeepImporter, "/a.json")])),
    ("html_notes", Importers(&[(&notes::HtmlNoteImporter, "/a.html")])),
    (
        "text",
        Importers(&[(&documents::TextImporter, "/a.md"), (&documents::TextImporter, "/a.txt")]),
    ),
    ("rst", Importers(&[(&documents::RstImporter, "/a.rst")])),
    ("bookmarks", Importers(&[(&reading_lists::BookmarkImporter, "/a.html")])),
    ("html", Importers(&[(&documents::HtmlImporter, "/a.html")])),
    (
        "subtitles",
        Importers(&[
            (&transcripts::SubtitleImporter, "/a.srt"),
            (&transcripts::SubtitleImporter, "/a.vtt"),
        ]),
    ),
    ("podcast", Importers(&[(&transcripts::PodcastImporter, "/a.json")])),
    #[cfg(feature = "pdf")]
    ("pdf", Importers(&[(&documents::PdfImporter, "/a.pdf")])),
    ("epub", Importers(&[(&documents::EpubImporter, "/a.epub")])),
    #[cfg(feature = "office")]
    (
        "office",
        Importers(&[
            (&documents::OfficeImporter, "/a.docx"),
            (&documents::OfficeImporter, "/a.xls"),
        ]),
    ),
    ("table", Importers(&[(&documents::TableImporter, "/a.csv")])),
    ("notebook", Importers(&[(&documents::NotebookImporter, "/a.ipynb")])),
    ("email", Importers(&[(&mail::EmailImporter, "/a.eml")])),
    #[cfg(feature = "office")]
    ("outlook", Importers(&[(&mail::OutlookImporter, "/a.msg")])),
    ("feed", Importers(&[(&reading_lists::FeedImporter, "/a.xml")])),
    ("sessions", Importers(SESSION_FILES)),
    ("chats", Importers(&[(&chats::ChatExportImporter, "/conversations.json")])),
    ("silly_tavern", Importers(&[(&chats::SillyTavernImporter, "/a.jsonl")])),
    (
        "role_chats",
        Importers(&[(&chats::RoleChatImporter, "/a.jsonl"), (&chats::RoleChatImporter, "/a.json")]),
    ),
    ("card", Importers(&[(&characters::CharacterImporter, "/a.json")])),
    ("png", Importers(&[(&characters::PngCardImporter, "/a.png")])),
    ("charx", Importers(&[(&characters::CharxImporter, "/a.charx")])),
    ("prompts_csv", Importers(&[(&prompts::CsvPromptImporter, "/a.csv")])),
    (
        "prompts_json",
        Importers(&[
            (&prompts::JsonPromptImporter, "/a.json"),
            (&prompts::JsonPromptImporter, "/a.jsonl"),
        ]),
    ),
    ("patterns", Importers(&[(&prompts::PatternImporter, "/nowhere/a.md")])),
    (
        "exported",
        Importers(&[
            (&ExportImporter(SourceName::Notes), "/nowhere/a.md"),
            (&ExportImporter(SourceName::Media), "/nowhere/a.md"),
            (&ExportImporter(SourceName::Chats), "/nowhere/a.json"),
            (&ExportImporter(SourceName::Characters), "/nowhere/a.json"),
            (&ExportImporter(SourceName::Prompts), "/nowhere/a.json"),
        ]),
    ),
    ("archive", Function(fuzz_archive)),
    ("encoding", Function(fuzz_decoding)),
    ("recognise", Function(fuzz_detection)),
];

/// Runs the parser of this name on `bytes`. Returns `false` if there is none.
pub fn run_parser(name: &str, bytes: &[u8]) -> bool {
    match FUZZED_PARSERS.iter().find(|(it, _)| *it == name) {
        Some((_, Importers(importers))) => {
            for (importer, name) in *importers {
                let file = SourceFile {
                    path: name.into(),
                    root: None,
                    bytes: bytes.to_vec(),
                    modified: None,
                    time_limit: TimeLimit::elapsed(Duration::from_secs(10)),
                    read_pages: 0,
                    neighbours: Arc::default(),
                };
                importer.parse(&file).ok();
            }
        }
        Some((_, Function(parser))) => parser(bytes),
        None => {
            let Some(format) = ALL_FORMATS.iter().find(|it| it.id() == name) else { return false };
            let path = Path::new("/a");
            format.parse(&FormatInput { path, bytes, modified: None, log: None }).ok();
        }
    }
    true
}

/// Names of all parsers.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUZZED_PARSERS.iter().map(|(name, _)| *name).chain(ALL_FORMATS.iter().map(|it| it.id()))
}

fn fuzz_archive(bytes: &[u8]) {
    let Ok(mut archive) = Archive::open(bytes) else { return };
    archive.check_unpacked_size().ok();
    for name in archive.file_names() {
        archive.unpack_file(&name).ok();
    }
}

fn fuzz_decoding(bytes: &[u8]) {
    // The first line is used as the declared encoding.
    let (label, rest) = bytes.split_at(bytes.iter().position(|it| *it == b'\n').unwrap_or(0));
    decode_text(bytes, None).ok();
    decode_text(rest, std::str::from_utf8(label).ok()).ok();
}

/// Detection needs a file on disk.
fn fuzz_detection(bytes: &[u8]) {
    const NAMES: [&str; 6] = ["a.json", "a.jsonl", "a.md", "a.png", "a.csv", "a.zip"];
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join(NAMES[bytes.len() % NAMES.len()]);
    if std::fs::write(&path, bytes).is_ok()
        && let Ok(probe) = FileProbe::open(&path, Some(folder.path()))
    {
        detect_importer(None, &probe);
        for source in SourceName::ALL {
            detect_importer(Some(source), &probe);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use vademecum_testing::{for_each_mutated_seed, seeds};

    use super::*;
    use crate::importers_for;

    #[test]
    fn every_importer_reads_a_seed() {
        // The seeds of the other formats have a test beside their list.
        let mut fed: BTreeSet<_> = ALL_FORMATS.iter().map(|it| it.name()).collect();
        for (name, parser) in FUZZED_PARSERS {
            let seeds = seeds(name);
            let Importers(importers) = parser else { continue };
            for (importer, path) in *importers {
                fed.insert(importer.format_name());
                // An accepted seed leads further into a parser than a rejected one.
                let read = |seed: &Vec<u8>| {
                    let file = SourceFile::in_memory(path, seed.as_slice());
                    importer.parse(&file).is_ok_and(|reading| !reading.drafts.is_empty())
                };
                // There is no seed for Outlook, because its binary format cannot be written by
                // hand.
                let is_read = *name == "outlook" || seeds.iter().any(read);
                assert!(is_read, "{name} has no seed that is read as {path}");
            }
        }
        for importer in SourceName::ALL.into_iter().flat_map(importers_for) {
            assert!(fed.contains(importer.format_name()), "{importer:?}");
        }
    }

    #[test]
    fn mutated_seeds_break_no_parser() {
        for name in names() {
            for_each_mutated_seed(name, |bytes| assert!(run_parser(name, bytes)));
        }
    }
}
