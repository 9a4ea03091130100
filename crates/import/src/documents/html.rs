//! Web pages: the article as Markdown, without navigation and other surroundings.

use std::collections::VecDeque;

use dom_smoothie::{Article, Config, Readability};
use serde_json::Value;
use url::Url;
use vademecum_model::{MediaDraft, SourceName, Timestamp};

use super::{
    document::{ImporterVersion, single_document, title_or_stem},
    html_markdown::{MAX_DEPTH, body_markdown, html_to_markdown, parse_html},
};
use crate::{
    Confidence, FileProbe, ImportError, Importer, ParsedFile, SourceFile,
    text::{
        datetime::parse_document_date,
        keywords::{distinct_keywords, split_commas},
    },
};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: ImporterVersion = ImporterVersion { current: "html/3", former: Some("html/2") };

/// Length in characters below which an extracted article is probably incomplete.
const SHORT_ARTICLE_CHARS: usize = 250;

/// Maximum number of elements for article extraction. A larger page is a table of data, for which
/// extraction would take minutes.
const MAX_ELEMENTS: usize = 200_000;

/// Elements and attributes that state when a page was published, the most reliable first.
const PUBLICATION_DATES: [(&str, &str); 12] = [
    ("meta[itemprop='datePublished']", "content"),
    ("[itemprop='datePublished']", "datetime"),
    ("meta[name='citation_publication_date']", "content"),
    ("meta[name='dcterms.created']", "content"),
    ("meta[name='dc.date']", "content"),
    ("meta[name='DC.date']", "content"),
    ("meta[name='date']", "content"),
    ("meta[name='pubdate']", "content"),
    ("meta[name='parsely-pub-date']", "content"),
    ("article time[datetime]", "datetime"),
    ("time[pubdate]", "datetime"),
    ("time[datetime]", "datetime"),
];

/// Importer of web pages.
#[derive(Debug)]
pub(crate) struct HtmlImporter;

impl Importer for HtmlImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "web pages (.html, .htm, .xhtml)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        let opening: String = probe.head_text().chars().take(1_024).collect();
        let opening = opening.to_ascii_lowercase();
        let is_page = opening.starts_with("<!doctype html") || opening.starts_with("<html");
        let named = probe.has_extension(&["html", "htm", "xhtml"]);
        Confidence::ByContent.when(is_page).max(Confidence::ByName.when(named))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        single_document(file, VERSION, read_page(file)?, Vec::new())
    }
}

/// Reads a page. Fails if it is not text or nested too deeply.
pub(crate) fn read_page(file: &SourceFile) -> Result<MediaDraft, ImportError> {
    let text = &file.text_with_encoding(declared_charset(&file.bytes))?;
    let too_deep = |_| ImportError::TooDeep { path: file.path.clone(), max_depth: MAX_DEPTH };
    let page = parse_html(text).map_err(too_deep)?;
    let mut draft = head_metadata(&page);
    let article = extract_article(text);
    let base = base_address(&page, draft.url.as_deref());
    let to_markdown = |article: &Article| html_to_markdown(&article.content, base.as_ref());
    let main = article.as_ref().map(to_markdown).transpose();
    draft.content = main.map_err(too_deep)?.unwrap_or_default();
    if draft.content.chars().count() < SHORT_ARTICLE_CHARS {
        let body = body_markdown(&page, base.as_ref());
        if body.len() > draft.content.len() {
            draft.content = body;
        }
    }
    if let Some(article) = article {
        add_article_metadata(&mut draft, article);
    }
    draft.title = title_or_stem(Some(&draft.title), file);
    draft.modified_at = draft.modified_at.or(file.modified);
    draft.created_at = draft.created_at.or(file.modified);
    Ok(draft)
}

/// Returns the encoding declared in the first 1,024 bytes of a page.
fn declared_charset(bytes: &[u8]) -> Option<&str> {
    let opening = bytes.get(..1_024.min(bytes.len()))?;
    let opening = opening.utf8_chunks().next()?.valid();
    let at = opening.to_ascii_lowercase().find("charset=")?;
    let named = opening[at + "charset=".len()..].trim_start_matches(['"', '\'']);
    let end = named.find(|sign: char| !sign.is_ascii_alphanumeric() && !"-_:".contains(sign));
    end.and_then(|end| named.get(..end)).filter(|name| !name.is_empty())
}

/// Extracts the article of a page.
fn extract_article(text: &str) -> Option<Article> {
    let config = Config { max_elements_to_parse: MAX_ELEMENTS, ..Config::default() };
    Readability::new(text, None, Some(config)).ok()?.parse().ok()
}

/// Adds the metadata of the article that the head of the page lacks.
fn add_article_metadata(draft: &mut MediaDraft, article: Article) {
    let moment = |text: Option<String>| text.and_then(|text| parse_document_date(&text));
    if draft.title.is_empty() || !article.title.trim().is_empty() {
        article.title.trim().clone_into(&mut draft.title);
    }
    draft.author = article.byline.and_then(|name| author_name(&name)).or(draft.author.take());
    draft.url = draft.url.take().or(article.url.filter(|url| is_absolute_url(url)));
    draft.created_at = draft.created_at.or(moment(article.published_time));
    draft.modified_at = moment(article.modified_time).or(draft.modified_at).or(draft.created_at);
}

/// Returns a document with the metadata in the head of a page.
fn head_metadata(page: &Readability) -> MediaDraft {
    let urls = [("link[rel='canonical']", "href"), ("meta[property='og:url']", "content")];
    let keywords = ["meta[name='keywords']", "meta[property='article:tag']"];
    let all = |(query, name): &(&str, &str)| attribute_values(page, query, name);
    MediaDraft {
        title: page.doc.select_single("title").text().trim().to_owned(),
        media_type: "html".to_owned(),
        url: urls.iter().flat_map(all).find(|url| is_absolute_url(url)),
        author: attribute_values(page, "meta[name='author']", "content")
            .find_map(|name| author_name(&name)),
        tags: distinct_keywords(
            keywords
                .iter()
                .flat_map(|query| attribute_values(page, query, "content"))
                .flat_map(|list| split_commas(&list).collect::<Vec<_>>()),
        ),
        created_at: published_at(page),
        modified_at: attribute_values(page, "meta[property='article:modified_time']", "content")
            .find_map(|text| parse_document_date(&text)),
        ..MediaDraft::default()
    }
}

/// Returns the date of publication that a page states.
fn published_at(page: &Readability) -> Option<Timestamp> {
    let first = |selectors: &[(&str, &str)]| {
        let values = selectors.iter().flat_map(|(query, name)| attribute_values(page, query, name));
        values.into_iter().find_map(|text| parse_document_date(&text))
    };
    first(&[("meta[property='article:published_time']", "content")])
        .or_else(|| parse_document_date(&json_ld_date(page)?))
        .or_else(|| first(&PUBLICATION_DATES))
}

/// Returns the first `datePublished` in the JSON-LD of a page.
fn json_ld_date(page: &Readability) -> Option<String> {
    let scripts = page.doc.select("script[type='application/ld+json']");
    let texts: Vec<_> = scripts.iter().map(|script| script.text()).collect();
    let values = texts.iter().filter_map(|text| serde_json::from_str::<Value>(text.trim()).ok());
    let mut open: VecDeque<Value> = values.collect();
    while let Some(value) = open.pop_front() {
        match value {
            Value::Object(mut fields) => {
                if let Some(Value::String(date)) = fields.remove("datePublished") {
                    return Some(date);
                }
                open.extend(fields.into_iter().map(|(_, value)| value));
            }
            Value::Array(values) => open.extend(values),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    None
}

/// Returns the address that the relative links of a page are relative to. `url` is the page's own.
fn base_address(page: &Readability, url: Option<&str>) -> Option<Url> {
    let url = url.and_then(|url| Url::parse(url).ok());
    let base = attribute_values(page, "base[href]", "href").next();
    let base = base.and_then(|base| match &url {
        Some(url) => url.join(&base).ok(),
        None => Url::parse(&base).ok(),
    });
    base.or(url)
}

fn attribute_values(
    page: &Readability,
    query: &str,
    name: &str,
) -> impl Iterator<Item = String> + use<> {
    let found: Vec<_> = page.doc.select(query).iter().collect();
    let values: Vec<_> = found
        .iter()
        .filter_map(|node| node.attr(name))
        .map(|value| value.trim().to_owned())
        .collect();
    values.into_iter()
}

fn is_absolute_url(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

/// Returns the name of the author, unless it is the address of a profile.
fn author_name(text: &str) -> Option<String> {
    let name = text.trim();
    (!name.is_empty() && !name.contains("://")).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::document::tests::{read_document, read_error};

    const ARTICLE: &str = "<!doctype html><html lang=en><head><title>Rye bread | Baker</title>
        <link rel=canonical href='https://example.org/rye'>
        <meta name=author content='Ada Lovelace'>
        <meta name=keywords content='bread, rye'>
        <meta property='article:published_time' content='2024-05-01T08:00:00Z'>
        <style>p { color: red }</style><script>var secret = 1;</script></head>
        <body><nav><a href=/>Home</a> <a href=/shop>Shop</a></nav><article><h1>Rye bread</h1>";

    fn page(text: &str) -> MediaDraft {
        read_document(&HtmlImporter, "/pages/rye.html", text)
    }

    fn article() -> String {
        let paragraph = "Rye flour takes up more water than wheat, and so the dough is sticky, \
                         heavy, and slow to rise, which is why one waits &amp; waits.";
        let paragraphs =
            (0..8).map(|n| format!("<p>{n}. {paragraph}</p>")).collect::<Vec<_>>().concat();
        format!("{ARTICLE}{paragraphs}<script>track()</script></article><footer>Imprint</footer>")
    }

    #[test]
    fn article_excludes_surroundings() {
        let page = page(&article());
        assert!(page.content.contains("0. Rye flour"), "{}", page.content);
        assert!(page.content.contains("waits & waits.\n\n1. Rye"), "{}", page.content);
        for around in ["secret", "color: red", "track()", "Shop", "Imprint", "<p>"] {
            assert!(!page.content.contains(around), "{around}: {}", page.content);
        }
    }

    #[test]
    fn metadata_is_read_from_head() {
        let page = page(&article());
        assert!(page.title.starts_with("Rye bread"), "{}", page.title);
        assert_eq!(page.author.as_deref(), Some("Ada Lovelace"));
        assert_eq!(page.url.as_deref(), Some("https://example.org/rye"));
        assert_eq!(page.tags, ["bread", "rye"]);
        assert_eq!(page.modified_at, Timestamp::parse("2024-05-01T08:00:00Z").ok());
        assert_eq!(page.created_at, page.modified_at);
        assert_eq!(page.media_type, "html");
    }

    #[test]
    fn short_page_is_read_completely() {
        let page =
            page("<body><style>p{}</style><h1>Note</h1><p>Buy rye.<p>Soon.<script>x</script>");
        assert_eq!(page.title, "rye");
        assert!(page.content.starts_with("## Note"), "{}", page.content);
        assert!(page.content.contains("Buy rye.\n\nSoon."), "{}", page.content);
        assert!(!page.content.contains('x') && !page.content.contains("p{}"));
    }

    #[test]
    fn deeply_nested_page_is_rejected() {
        let nested = "<div>".repeat(2_000) + "words";
        assert!(read_error(&HtmlImporter, "/a.html", nested).contains("nests more than 512"));
    }

    #[test]
    fn page_is_decoded_in_declared_encoding() {
        let text = b"<html><head><meta charset='koi8-r'></head><body><p>\xf2\xd6\xc1\xce\xcf\xca";
        assert_eq!(read_document(&HtmlImporter, "/a.html", text.as_slice()).content, "Ржаной");
    }

    #[test]
    fn publication_date_is_read_from_many_places() {
        let created = |inside: &str| {
            let file = SourceFile {
                modified: Timestamp::parse("2020-02-02").ok(),
                ..SourceFile::in_memory("/a.html", format!("<html><body>{inside}<p>Rye bread."))
            };
            read_page(&file).unwrap().created_at.unwrap().to_string()
        };
        let list =
            r#"[{"@graph": [{"@type": "Person"}, {"datePublished": "2024-05-03T10:00+02:00"}]}]"#;
        let json_ld = |text: &str| format!("<script type='application/ld+json'>{text}</script>");
        for (inside, date) in [
            (
                "<meta property='article:published_time' content='2024-05-03T10:00:00+0200'>",
                "08:00",
            ),
            (json_ld(list).as_str(), "08:00"),
            ("<time datetime='2024-05-03 10:00'>3 May</time>", "10:00"),
            ("<span itemprop=datePublished datetime='3 May 2024 10:00 EST'></span>", "15:00"),
        ] {
            assert_eq!(created(inside), format!("2024-05-03T{date}:00.000Z"), "{inside}");
        }
        for inside in [
            "",
            "<meta property='article:published_time' content='0001-01-01T00:00:00'>",
            "<time datetime='2024-02-31'>x</time>",
            json_ld("{\"datePublished\": [}").as_str(),
        ] {
            assert_eq!(created(inside), "2020-02-02T00:00:00.000Z", "{inside}");
        }
    }

    #[test]
    fn relative_links_are_resolved_against_page() {
        let link = "<p>Flour from <a href='mill'>the mill</a>.";
        let content = |head: &str| page(&format!("<html><head>{head}</head><body>{link}")).content;
        let canonical = "<link rel=canonical href='https://example.org/a/b'>";
        assert!(content(canonical).contains("[the mill](https://example.org/a/mill)"));
        let base = format!("{canonical}<base href='/c/'>");
        assert!(content(&base).contains("[the mill](https://example.org/c/mill)"));
        assert!(content("").contains("Flour from the mill."));
        let long = article().replace("<h1>Rye", &format!("{link}<h1>Rye"));
        let long = page(&long).content;
        assert!(long.contains("[the mill](https://example.org/mill)"), "{long}");
    }
}
