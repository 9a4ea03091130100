//! Articles in Markdown or plain text.

use vademecum_kit::model::{MediaDraft, SourceName};

use super::document::whole;
use crate::{
    Fit, Glance, ImportError, Importer, Reading, SourceFile, keywords::distinct, markdown::Markdown,
};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "media/2";

/// Reads articles.
#[derive(Debug)]
pub(crate) struct Text;

impl Importer for Text {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "Markdown and text (.md, .markdown, .txt)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        // Notes are kept in such files, too.
        Fit::Maybe.when(glance.ends_in(&["md", "markdown", "txt"]))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let article = if file.ends_in(&["txt"]) { plain(file)? } else { markdown(file)? };
        whole(file, VERSION, article, Vec::new())
    }
}

fn plain(file: &SourceFile) -> Result<MediaDraft, ImportError> {
    Ok(MediaDraft {
        title: file.stem(),
        media_type: "txt".to_owned(),
        content: file.text()?.into_owned(),
        modified_at: file.modified,
        ..MediaDraft::default()
    })
}

fn markdown(file: &SourceFile) -> Result<MediaDraft, ImportError> {
    let text = file.text()?;
    let markdown = Markdown::parse(&text);
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
    use crate::media::document::tests::{read, refused};

    #[test]
    fn an_article_is_what_follows_its_front_matter() {
        let text = "+++\ntitle = \"Rust 1.88\"\nauthors = [\"Team\"]\ndate = 2025-06-26\n\
                    tags = [\"rust\"]\nurl = \"https://example.org/a\"\n+++\n\nThe text. #no\n";
        let article = read(&Text, "/a.md", text);
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
        assert_eq!(read(&Text, "/a.md", "Intro\n\n# Head\n").title, "Head");
        assert_eq!(read(&Text, "/a.md", "Intro").title, "a");
        let plain = read(&Text, "/b.txt", "# Plain");
        assert_eq!((plain.title.as_str(), plain.media_type.as_str()), ("b", "txt"));
    }

    #[test]
    fn an_article_without_a_word_is_refused() {
        for (path, text) in [("/a.txt", " \n"), ("/a.md", "---\ntitle: x\n---\n")] {
            assert!(refused(&Text, path, text).contains("holds no text"));
        }
    }
}
