//! Every importer, in one list.

use std::path::Path;

use vademecum_kit::model::SourceName;

use super::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, characters::Characters, chats::Chats,
    media, notes::Notes, prompts::Prompts,
};

/// All of them. Of two that fit equally well, the first reads the file.
static IMPORTERS: [&dyn Importer; 16] = [
    &Notes,
    &media::Text,
    &media::Html,
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
    &Characters,
    &Prompts,
];

/// The importers whose drafts go into `source`.
pub fn importers(source: SourceName) -> impl Iterator<Item = &'static dyn Importer> {
    IMPORTERS.into_iter().filter(move |importer| importer.source() == source)
}

/// The importer that a file fits best: of those of `source`, if the user says
/// what it is to become; else of those that can tell what it is.
pub fn recognise(source: Option<SourceName>, glance: &Glance) -> Option<&'static dyn Importer> {
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

/// Reads one file into `source`. `root` is the folder that the user named, for a
/// file that was found in one.
pub fn read(source: SourceName, path: &Path, root: Option<&Path>) -> Result<Reading, ImportError> {
    let glance = Glance::take(path, root)?;
    let importer = recognise(Some(source), &glance).ok_or_else(|| ImportError::UnknownFormat {
        path: path.to_owned(),
        source_name: source,
        formats: formats(source),
    })?;
    importer.read(&SourceFile::open(path, root)?)
}

/// What can be read into `source`, in words.
pub(super) fn formats(source: SourceName) -> String {
    importers(source).map(Importer::format).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::import::glance::tests::glance;

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
        let notes = read(SourceName::Notes, &path, None).unwrap();
        assert_eq!(notes.drafts[0].body.source(), SourceName::Notes);
        let media = read(SourceName::Media, &path, None).unwrap();
        assert_eq!(media.drafts[0].body.source(), SourceName::Media);
        let error = read(SourceName::Prompts, &path, None).unwrap_err().to_string();
        assert!(error.contains("cannot go into `prompts`"), "{error}");
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
