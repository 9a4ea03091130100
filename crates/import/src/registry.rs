//! Every importer, in one list.

use std::panic::{AssertUnwindSafe, catch_unwind};

use vademecum_kit::model::SourceName;

use super::{
    Fit, Found, Glance, ImportError, Importer, Problem, Reading, SourceFile, State,
    characters::Characters, charx::Charx, chats::Chats, digest::digest, exported,
    html_notes::HtmlNotes, json, keep::Keep, logseq::Logseq, media, notes::Notes, notion::Notion,
    org::Org, patterns::Patterns, picture::Pictures, prompts::Prompts, prompts_json::JsonPrompts,
    role_chats::RoleChats, silly_tavern::SillyTavern,
};

/// All of them. Of two that fit equally well, the first reads the file.
static IMPORTERS: [&dyn Importer; 28] = [
    &Notes,
    &Notion,
    &Logseq,
    &Org,
    &Keep,
    &HtmlNotes,
    &media::Text,
    &media::Html,
    &media::Rst,
    &media::Subtitles,
    &media::Podcast,
    &media::Pdf,
    &media::Epub,
    &media::Office,
    &media::Table,
    &media::Notebook,
    &media::Email,
    &media::Outlook,
    &media::Feeds,
    &Chats,
    &SillyTavern,
    &RoleChats,
    &Characters,
    &Pictures,
    &Charx,
    &Prompts,
    &JsonPrompts,
    &Patterns,
];

/// The importers whose drafts go into `source`.
pub fn importers(source: SourceName) -> impl Iterator<Item = &'static dyn Importer> {
    IMPORTERS.into_iter().filter(move |importer| importer.source() == source)
}

/// The importer that a file fits best: of those of `source`, if the user says
/// what it is to become; else of those that can tell what it is.
pub fn recognise(source: Option<SourceName>, glance: &Glance) -> Option<&'static dyn Importer> {
    if exported::is_ours(glance) {
        // A file that says what it is becomes nothing else.
        return exported::importer(source, glance);
    }
    let least = if source.is_some() { Fit::Maybe } else { Fit::Name };
    IMPORTERS
        .into_iter()
        .rev()
        .filter(|importer| source.is_none_or(|source| importer.source() == source))
        .map(|importer| (importer.recognise(glance), importer))
        .filter(|(fit, _)| *fit >= least)
        .max_by_key(|(fit, _)| *fit)
        .map(|(_, importer)| importer)
}

/// What was read of one file.
#[derive(Debug)]
pub struct Read {
    /// Which file.
    pub found: Found,
    /// How it was when it was read.
    pub state: State,
    /// Who reads it; nobody, if it is nothing for this program.
    pub importer: Option<&'static dyn Importer>,
    /// Fingerprint of what is in it.
    pub digest: Option<String>,
    /// What it holds. A file among others in a folder that is nothing for this
    /// program holds nothing; if it is JSON, its problem says why.
    pub reading: Result<Reading, ImportError>,
}

/// Reads one file, into `source` if the user says what it is to become.
pub fn read(source: Option<SourceName>, found: Found) -> Read {
    // The state before: a file that is changed meanwhile will be read again.
    let state = State::of(&found.path).unwrap_or_default();
    let mut read =
        Read { found, state, importer: None, digest: None, reading: Ok(Reading::default()) };
    // A defect of a reader costs this file only.
    read.reading = catch_unwind(AssertUnwindSafe(|| read.attempt(source)))
        .unwrap_or_else(|_| Err(ImportError::Defect { path: read.found.path.clone() }));
    read
}

impl Read {
    fn attempt(&mut self, source: Option<SourceName>) -> Result<Reading, ImportError> {
        let (path, root) = (self.found.path.as_path(), self.found.root.as_deref());
        let glance = Glance::take(path, root)?;
        let Some(importer) = recognise(source, &glance) else {
            return match (root, source) {
                (Some(_), _) => Ok(passed(source, &glance)),
                (None, Some(source)) => Err(ImportError::UnknownFormat {
                    path: path.to_owned(),
                    source_name: source,
                    formats: formats(source),
                }),
                (None, None) => Err(ImportError::Unrecognised { path: path.to_owned() }),
            };
        };
        self.importer = Some(importer);
        let file = SourceFile::open(path, root)?;
        self.digest = Some(digest("", [file.bytes.as_slice()]));
        importer.read(&file)
    }
}

/// What is said of a file in a folder that nobody reads. Of most that is nothing;
/// but whether JSON is for this program does not show in its name.
fn passed(source: Option<SourceName>, glance: &Glance) -> Reading {
    if !glance.ends_in(&["json"]) || exported::is_ours(glance) {
        return Reading::default();
    }
    let flaw = match SourceFile::open(glance.path(), glance.root()) {
        Ok(file) => file.text().map_or_else(|error| Some(error.to_string()), |it| json::flaw(&it)),
        Err(error) => Some(error.to_string()),
    };
    let reason = match (flaw, source) {
        (Some(flaw), _) => format!("it is not valid JSON: {flaw}"),
        (None, Some(source)) => format!("it is JSON of no kind that becomes {source}"),
        (None, None) => "it is JSON of no kind that is known by its content; name a KIND if it \
                         is to become that"
            .to_owned(),
    };
    Reading { drafts: Vec::new(), problems: vec![Problem { place: String::new(), reason }] }
}

/// What can be read into `source`, in words.
pub(super) fn formats(source: SourceName) -> String {
    importers(source).map(Importer::format).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::glance::tests::glance;

    #[test]
    fn every_source_has_an_importer() {
        for source in SourceName::ALL {
            assert!(importers(source).next().is_some(), "{source}");
        }
    }

    #[test]
    fn a_file_is_read_by_the_importer_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bread.md");
        fs::write(&path, "# Bread\nKnead.").unwrap();
        for source in [SourceName::Notes, SourceName::Media] {
            let read = read(Some(source), Found { path: path.clone(), root: None });
            assert_eq!(read.reading.unwrap().drafts[0].body.source(), source);
            assert!(read.importer.is_some() && read.digest.is_some() && read.state.size == 14);
        }
    }

    #[test]
    fn what_nobody_reads_is_refused_if_it_was_named_and_passed_by_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program.exe");
        fs::write(&path, "MZ").unwrap();
        let named = Found { path: path.clone(), root: None };
        let error = read(Some(SourceName::Prompts), named.clone()).reading.unwrap_err().to_string();
        assert!(error.contains("cannot go into `prompts`"), "{error}");
        let error = read(None, named).reading.unwrap_err().to_string();
        assert!(error.contains("vademecum import notes"), "{error}");
        let found = read(None, Found { path, root: Some(folder.path().to_owned()) });
        assert!(found.importer.is_none());
        let reading = found.reading.unwrap();
        assert!(reading.drafts.is_empty() && reading.problems.is_empty());
    }

    #[test]
    fn json_that_is_passed_by_has_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let why = |source, text: &[u8]| {
            fs::write(&path, text).unwrap();
            let found = Found { path: path.clone(), root: Some(folder.path().to_owned()) };
            let read = read(source, found);
            assert!(read.importer.is_none());
            let [problem] = read.reading.unwrap().problems.try_into().unwrap();
            problem.reason
        };
        assert!(why(None, b"{\"a\": 1}").contains("of no kind that is known"));
        assert!(why(Some(SourceName::Notes), b"[1]").ends_with("becomes notes"));
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
    fn what_a_file_is_shows_in_it() {
        let becomes =
            |name: &str, text: &str| recognise(None, &glance(name, text)).map(Importer::source);
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
