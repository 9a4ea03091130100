//! Every parser of files, by the name that the fuzz target knows it by, and what feeds it.

use vademecum_kit::model::SourceName;

use super::{
    Glance, Importer, SourceFile, archive::Archive, characters::Characters, charx::Charx,
    chats::Chats, encoding::decode, exported::Exported, html_notes::HtmlNotes, keep::Keep,
    logseq::Logseq, media, notes::Notes, notion::Notion, org::Org, patterns::Patterns,
    picture::Pictures, prompts::Prompts, prompts_json::JsonPrompts, recognise,
    role_chats::RoleChats, silly_tavern::SillyTavern,
};

/// What bytes are fed to.
enum Parser {
    /// Each reader of a format, and the name of a file that it takes.
    Importers(&'static [(&'static dyn Importer, &'static str)]),
    /// What all of them stand on.
    Foundation(fn(&[u8])),
}

use Parser::{Foundation, Importers};

/// The parsers, by their names.
static PARSERS: [(&str, Parser); 32] = [
    ("notes", Importers(&[(&Notes, "/a.md"), (&Notes, "/a.txt")])),
    ("notion", Importers(&[(&Notion, "/Rye 0123456789abcdef0123456789abcdef.md")])),
    ("logseq", Importers(&[(&Logseq, "/graph/pages/a___b%3A.md")])),
    ("org", Importers(&[(&Org, "/a.org")])),
    ("keep", Importers(&[(&Keep, "/a.json")])),
    ("html_notes", Importers(&[(&HtmlNotes, "/a.html")])),
    ("text", Importers(&[(&media::Text, "/a.md"), (&media::Text, "/a.txt")])),
    ("rst", Importers(&[(&media::Rst, "/a.rst")])),
    ("html", Importers(&[(&media::Html, "/a.html")])),
    ("subtitles", Importers(&[(&media::Subtitles, "/a.srt"), (&media::Subtitles, "/a.vtt")])),
    ("podcast", Importers(&[(&media::Podcast, "/a.json")])),
    ("pdf", Importers(&[(&media::Pdf, "/a.pdf")])),
    ("epub", Importers(&[(&media::Epub, "/a.epub")])),
    ("office", Importers(&[(&media::Office, "/a.docx"), (&media::Office, "/a.xls")])),
    ("table", Importers(&[(&media::Table, "/a.csv")])),
    ("notebook", Importers(&[(&media::Notebook, "/a.ipynb")])),
    ("email", Importers(&[(&media::Email, "/a.eml")])),
    ("outlook", Importers(&[(&media::Outlook, "/a.msg")])),
    ("feed", Importers(&[(&media::Feeds, "/a.xml")])),
    ("chats", Importers(&[(&Chats, "/conversations.json")])),
    ("silly_tavern", Importers(&[(&SillyTavern, "/a.jsonl")])),
    ("role_chats", Importers(&[(&RoleChats, "/a.jsonl"), (&RoleChats, "/a.json")])),
    ("card", Importers(&[(&Characters, "/a.json")])),
    ("png", Importers(&[(&Pictures, "/a.png")])),
    ("charx", Importers(&[(&Charx, "/a.charx")])),
    ("prompts_csv", Importers(&[(&Prompts, "/a.csv")])),
    ("prompts_json", Importers(&[(&JsonPrompts, "/a.json"), (&JsonPrompts, "/a.jsonl")])),
    ("patterns", Importers(&[(&Patterns, "/nowhere/a.md")])),
    (
        "exported",
        Importers(&[
            (&Exported(SourceName::Notes), "/nowhere/a.md"),
            (&Exported(SourceName::Media), "/nowhere/a.md"),
            (&Exported(SourceName::Chats), "/nowhere/a.json"),
            (&Exported(SourceName::Characters), "/nowhere/a.json"),
            (&Exported(SourceName::Prompts), "/nowhere/a.json"),
        ]),
    ),
    ("archive", Foundation(unpacked)),
    ("encoding", Foundation(decoded)),
    ("recognise", Foundation(recognised)),
];

/// Feeds `bytes` to the parser of this name; whether there is one.
pub fn parse(name: &str, bytes: &[u8]) -> bool {
    match PARSERS.iter().find(|(it, _)| *it == name) {
        Some((_, Importers(importers))) => {
            for (importer, name) in *importers {
                let file = SourceFile {
                    path: name.into(),
                    root: None,
                    bytes: bytes.to_vec(),
                    modified: None,
                };
                importer.read(&file).ok();
            }
        }
        Some((_, Foundation(parser))) => parser(bytes),
        None => return false,
    }
    true
}

/// Names of all parsers.
pub fn names() -> impl Iterator<Item = &'static str> {
    PARSERS.iter().map(|(name, _)| *name)
}

fn unpacked(bytes: &[u8]) {
    let Ok(mut archive) = Archive::open(bytes) else { return };
    archive.check().ok();
    for name in archive.names() {
        archive.unpack(&name).ok();
    }
}

fn decoded(bytes: &[u8]) {
    // What a file says of its encoding stands in its first line.
    let (label, rest) = bytes.split_at(bytes.iter().position(|it| *it == b'\n').unwrap_or(0));
    decode(bytes, None).ok();
    decode(rest, std::str::from_utf8(label).ok()).ok();
}

/// Which importer a file is for is seen on a disk only.
fn recognised(bytes: &[u8]) {
    const NAMES: [&str; 6] = ["a.json", "a.jsonl", "a.md", "a.png", "a.csv", "a.zip"];
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join(NAMES[bytes.len() % NAMES.len()]);
    if std::fs::write(&path, bytes).is_ok()
        && let Ok(glance) = Glance::take(&path, Some(folder.path()))
    {
        recognise(None, &glance);
        for source in SourceName::ALL {
            recognise(Some(source), &glance);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use vademecum_testing::{for_each_mutated_seed, seeds};

    use super::*;
    use crate::importers;

    #[test]
    fn every_importer_is_fed_and_reads_a_seed() {
        let mut fed = BTreeSet::new();
        for (name, parser) in &PARSERS {
            let seeds = seeds(name);
            let Importers(importers) = parser else { continue };
            for (importer, path) in *importers {
                fed.insert(importer.format());
                // A seed that is read leads further into a parser than one that is refused.
                let read = |seed: &Vec<u8>| {
                    let file = SourceFile::example(path, seed.as_slice());
                    importer.read(&file).is_ok_and(|reading| !reading.drafts.is_empty())
                };
                // Nobody writes a message of Outlook by hand.
                let is_read = *name == "outlook" || seeds.iter().any(read);
                assert!(is_read, "{name} has no seed that is read as {path}");
            }
        }
        for importer in SourceName::ALL.into_iter().flat_map(importers) {
            assert!(fed.contains(importer.format()), "{importer:?}");
        }
    }

    #[test]
    fn whatever_is_changed_in_a_seed_breaks_no_parser() {
        for name in names() {
            for_each_mutated_seed(name, |bytes| assert!(parse(name, bytes)));
        }
    }
}
