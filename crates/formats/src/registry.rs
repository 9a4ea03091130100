//! The list of all formats.

use crate::{Format, assistants, chats, memories, notes, organizers, posts, reading, texts};

/// All formats. Of two that detect the same file, the first reads it.
pub static ALL_FORMATS: &[&dyn Format] = &[
    &notes::Evernote,
    &notes::Joplin,
    &notes::TextBundle,
    &notes::Roam,
    &notes::Simplenote,
    &notes::StandardNotes,
    &notes::DayOne,
    &notes::Tomboy,
    &chats::WhatsApp,
    &chats::Telegram,
    &chats::TelegramPages,
    &chats::Slack,
    &chats::Discord,
    &chats::Messenger,
    &chats::GoogleChat,
    &chats::Signal,
    &reading::Kindle,
    &reading::CsvReadingList,
    &reading::Omnivore,
    &reading::Karakeep,
    &reading::Linkwarden,
    &reading::Hypothesis,
    &reading::BrowserBookmarks,
    &reading::BibTex,
    &reading::Ris,
    &reading::CslJson,
    &reading::Opml,
    &reading::PocketPage,
    &reading::Zotero,
    &reading::Kobo,
    &organizers::Calendar,
    &organizers::Contacts,
    &assistants::OpenWebUi,
    &assistants::LibreChat,
    &assistants::LmStudio,
    &assistants::Jan,
    &assistants::GeminiActivity,
    &assistants::Grok,
    &assistants::ClaudeProjects,
    &memories::MemoryServer,
    &memories::ClaudeMem,
    &memories::Engram,
    &memories::MemPalace,
    &memories::Mem0,
    &posts::Mastodon,
    &posts::XArchive,
    &texts::FictionBook,
    &texts::OpenDocument,
    &texts::RichText,
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vademecum_testing::seeds;

    use super::*;
    use crate::{FormatInput, FormatSample, archive::Archive};

    #[test]
    fn every_format_detects_and_reads_a_seed() {
        for format in ALL_FORMATS {
            let name = format.id();
            let reads = |seed: &Vec<u8>| {
                let entries = Archive::open(seed).map(|it| it.file_names()).unwrap_or_default();
                let path = Path::new("/nowhere/file");
                let head = str::from_utf8(seed).unwrap_or_default();
                let sample =
                    FormatSample { path, head, bytes: seed, tail: head, entries: &entries };
                let detecting = ALL_FORMATS.iter().find(|it| it.detect(&sample));
                let input = FormatInput { path, bytes: seed, modified: None, log: None };
                let parsed = format.parse(&input).map(|it| it.drafts.len());
                detecting.is_some_and(|it| it.name() == format.name())
                    && parsed.is_ok_and(|it| it > 0)
            };
            assert!(seeds(name).iter().any(reads), "{name} has no seed that is detected and read");
        }
    }
}
