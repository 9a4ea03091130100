//! Media: articles in Markdown, HTML or plain text, and subtitles.
//!
//! The extension says which kind a file is; each kind has its own reader.

use std::path::Path;

use vademecum_kit::model::{Body, Draft, MediaDraft, SourceName};

use super::{
    Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile, digest::digest,
    file::ends_in, html, keywords::distinct, markdown::Markdown, subtitles,
};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "media/1";

/// Reads media.
#[derive(Debug)]
pub(super) struct Media;

impl Importer for Media {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "Markdown, text, HTML and subtitles (.md, .markdown, .txt, .html, .htm, .xhtml, .srt, .vtt)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        match Kind::of(glance.path()) {
            // Notes are kept in such files, too.
            Some(Kind::Markdown | Kind::Text) => Fit::Maybe,
            Some(Kind::Html | Kind::Subtitles) => Fit::Name,
            None => Fit::No,
        }
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let (document, problems) = match Kind::of(&file.path) {
            Some(Kind::Markdown) => (markdown(file)?, Vec::new()),
            Some(Kind::Html) => (html::document(file)?, Vec::new()),
            Some(Kind::Subtitles) => subtitles::document(file)?,
            Some(Kind::Text) | None => (plain(file)?, Vec::new()),
        };
        kept(file, document, problems)
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Markdown,
    Html,
    Subtitles,
    Text,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let kinds: [(Self, &[&str]); 4] = [
            (Self::Markdown, &["md", "markdown"]),
            (Self::Html, &["html", "htm", "xhtml"]),
            (Self::Subtitles, &["srt", "vtt"]),
            (Self::Text, &["txt"]),
        ];
        kinds.into_iter().find(|(_, extensions)| ends_in(path, extensions)).map(|(kind, _)| kind)
    }
}

/// A document without a word in it is of no use.
fn kept(
    file: &SourceFile,
    document: MediaDraft,
    problems: Vec<Problem>,
) -> Result<Reading, ImportError> {
    if document.content.trim().is_empty() {
        return Err(ImportError::Empty { path: file.path.clone() });
    }
    let draft = Draft {
        origin: file.origin(),
        digest: digest(VERSION, [file.bytes.as_slice()]),
        id: None,
        body: Body::Media(document),
    };
    Ok(Reading { drafts: vec![draft], problems })
}

fn plain(file: &SourceFile) -> Result<MediaDraft, ImportError> {
    Ok(MediaDraft {
        title: file.stem(),
        media_type: "txt".to_owned(),
        content: file.text()?.to_owned(),
        modified_at: file.modified,
        ..MediaDraft::default()
    })
}

fn markdown(file: &SourceFile) -> Result<MediaDraft, ImportError> {
    let markdown = Markdown::parse(file.text()?);
    let heading = markdown.first_heading().map(str::to_owned);
    let properties = markdown.properties;
    Ok(MediaDraft {
        title: properties.title.or(heading).unwrap_or_else(|| file.stem()),
        media_type: "markdown".to_owned(),
        url: properties.url,
        author: properties.author,
        content: markdown.body.trim_start_matches(['\r', '\n']).to_owned(),
        tags: distinct(properties.tags),
        modified_at: properties.modified.or(properties.created).or(file.modified),
        ..MediaDraft::default()
    })
}

#[cfg(test)]
mod tests {
    use vademecum_kit::model::Timestamp;

    use super::*;
    use crate::import::glance::tests::glance;

    fn read(path: &str, text: &str) -> MediaDraft {
        let draft = Media.read(&SourceFile::example(path, text)).unwrap().drafts.remove(0);
        let Body::Media(document) = draft.body else { panic!("not a document") };
        document
    }

    #[test]
    fn an_article_is_what_follows_its_front_matter() {
        let text = "+++\ntitle = \"Rust 1.88\"\nauthors = [\"Team\"]\ndate = 2025-06-26\n\
                    tags = [\"rust\"]\nurl = \"https://example.org/a\"\n+++\n\nThe text. #no\n";
        let article = read("/a.md", text);
        assert_eq!(article.title, "Rust 1.88");
        assert_eq!(article.media_type, "markdown");
        assert_eq!(article.content, "The text. #no\n");
        assert_eq!(article.author.as_deref(), Some("Team"));
        assert_eq!(article.url.as_deref(), Some("https://example.org/a"));
        assert_eq!(article.tags, ["rust"]);
        assert_eq!(article.modified_at, Timestamp::parse("2025-06-26").ok());
    }

    #[test]
    fn an_article_without_a_title_has_that_of_its_heading_or_file() {
        assert_eq!(read("/a.md", "Intro\n\n# Head\n").title, "Head");
        assert_eq!(read("/a.md", "Intro").title, "a");
        assert_eq!(read("/b.txt", "# Plain").title, "b");
    }

    #[test]
    fn each_kind_is_read_by_its_reader() {
        assert_eq!(read("/a.txt", "Text").media_type, "txt");
        assert_eq!(read("/a.HTML", "<p>Text").media_type, "html");
        assert_eq!(read("/a.srt", "1\n00:01 --> 00:02\nText").media_type, "audio");
        assert_eq!(Media.recognise(&glance("a.exe", "MZ")), Fit::No);
    }

    #[test]
    fn a_document_without_a_word_is_refused() {
        for (path, text) in
            [("/a.txt", " \n"), ("/a.md", "---\ntitle: x\n---\n"), ("/a.html", "<p>")]
        {
            let error = Media.read(&SourceFile::example(path, text)).unwrap_err();
            assert!(matches!(error, ImportError::Empty { .. }), "{error}");
        }
    }
}
