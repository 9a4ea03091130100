//! Articles in Markdown or plain text.

use vademecum_model::{MediaDraft, SourceName};

use super::document::{ImporterVersion, single_document};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    text::{keywords::distinct_keywords, markdown::MarkdownDocument},
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: ImporterVersion = ImporterVersion { current: "media/3", former: Some("media/2") };

/// Importer of articles.
#[derive(Debug)]
pub(crate) struct TextImporter;

impl Importer for TextImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "Markdown and text (.md, .markdown, .txt)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        // Notes have the same extensions.
        Confidence::Possible.when(probe.has_extension(&["md", "markdown", "txt"]))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let article = if file.has_extension(&["txt"]) {
            plain_text_article(file)?
        } else {
            markdown_article(file)?
        };
        single_document(file, VERSION, article, Vec::new())
    }
}

fn plain_text_article(file: &SourceFile) -> Result<MediaDraft, ImportError> {
    Ok(MediaDraft {
        title: file.file_stem(),
        media_type: "txt".to_owned(),
        content: file.text()?.into_owned(),
        modified_at: file.modified,
        ..MediaDraft::default()
    })
}

fn markdown_article(file: &SourceFile) -> Result<MediaDraft, ImportError> {
    let text = file.text()?;
    let markdown = MarkdownDocument::parse(&text);
    let heading = markdown.first_heading().map(str::to_owned);
    let properties = markdown.properties;
    Ok(MediaDraft {
        title: properties.title.or(heading).unwrap_or_else(|| file.file_stem()),
        media_type: "markdown".to_owned(),
        url: properties.url,
        author: properties.author,
        content: markdown.body.trim_start_matches(['\r', '\n']).to_owned(),
        tags: distinct_keywords(properties.tags),
        created_at: properties.created,
        modified_at: properties.modified.or(properties.created).or(file.modified),
        ..MediaDraft::default()
    })
}

#[cfg(test)]
mod tests {
    use vademecum_model::Timestamp;

    use super::*;
    use crate::documents::document::tests::{read_document, read_error};

    #[test]
    fn article_text_excludes_front_matter() {
        let text = "+++\ntitle = \"Rust 1.88\"\nauthors = [\"Team\"]\ndate = 2025-06-26\n\
                    tags = [\"rust\"]\nurl = \"https://example.org/a\"\n+++\n\nThe text. #no\n";
        let article = read_document(&TextImporter, "/a.md", text);
        assert_eq!(article.title, "Rust 1.88");
        assert_eq!(article.media_type, "markdown");
        assert_eq!(article.content, "The text. #no\n");
        assert_eq!(article.author.as_deref(), Some("Team"));
        assert_eq!(article.url.as_deref(), Some("https://example.org/a"));
        assert_eq!(article.tags, ["rust"]);
        assert_eq!(article.created_at, Timestamp::parse("2025-06-26").ok());
        assert_eq!(article.modified_at, article.created_at);
    }

    #[test]
    fn article_title_falls_back_to_heading_or_file() {
        assert_eq!(read_document(&TextImporter, "/a.md", "Intro\n\n# Head\n").title, "Head");
        assert_eq!(read_document(&TextImporter, "/a.md", "Intro").title, "a");
        let plain = read_document(&TextImporter, "/b.txt", "# Plain");
        assert_eq!((plain.title.as_str(), plain.media_type.as_str()), ("b", "txt"));
    }

    #[test]
    fn empty_article_is_rejected() {
        for (path, text) in [("/a.txt", " \n"), ("/a.md", "---\ntitle: x\n---\n")] {
            assert!(read_error(&TextImporter, path, text).contains("holds no text"));
        }
    }
}
