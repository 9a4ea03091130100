//! Every importer, in one list.

use std::path::Path;

use vademecum_kit::model::SourceName;

use super::{
    ImportError, Importer, Reading, SourceFile, characters::Characters, chats::Chats, media::Media,
    notes::Notes, prompts::Prompts,
};

/// All of them, one for each source.
static IMPORTERS: [&dyn Importer; 5] = [&Notes, &Media, &Chats, &Characters, &Prompts];

/// The importers whose drafts go into `source`.
pub fn importers(source: SourceName) -> impl Iterator<Item = &'static dyn Importer> {
    IMPORTERS.into_iter().filter(move |importer| importer.source() == source)
}

/// Reads one file into `source`.
pub fn read(source: SourceName, path: &Path) -> Result<Reading, ImportError> {
    let file = SourceFile::open(path)?;
    let importer = importers(source).find(|importer| importer.accepts(path)).ok_or_else(|| {
        ImportError::UnknownFormat {
            path: path.to_owned(),
            source_name: source,
            formats: formats(source),
        }
    })?;
    importer.read(&file)
}

/// What can be read into `source`, in words.
pub(super) fn formats(source: SourceName) -> String {
    importers(source).map(Importer::format).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        let notes = read(SourceName::Notes, &path).unwrap();
        assert_eq!(notes.drafts[0].body.source(), SourceName::Notes);
        let media = read(SourceName::Media, &path).unwrap();
        assert_eq!(media.drafts[0].body.source(), SourceName::Media);
        let error = read(SourceName::Prompts, &path).unwrap_err().to_string();
        assert!(error.contains("cannot go into `prompts`"), "{error}");
    }
}
