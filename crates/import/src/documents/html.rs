//! Web pages: the article as Markdown, without navigation and other surroundings.

use std::collections::VecDeque;

use dom_smoothie::{Article, Readability, ReadabilityError};
use serde_json::Value;
use url::Url;
use vademecum_model::{MediaDraft, SourceName, Timestamp};

use super::{
    document::{ImporterVersion, single_document, title_or_stem},
    html_markdown::{MAX_DEPTH, article_markdown, body_markdown, parse_html},
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

/// Selector of the elements that state something about a page. It is read in one pass, because each selector is
/// compared with all elements.
const STATING_SELECTOR: &str = "title, meta, link[rel], base[href], time, script[type='application/ld+json'], [itemprop='datePublished']";

/// Where a page states a value.
#[derive(Clone, Copy, Debug)]
struct Statement {
    /// Tag of the element; empty for any.
    tag: &'static str,
    /// Attribute that the element has, with this value unless it is empty.
    having: (&'static str, &'static str),
    /// Attribute with the value.
    value: &'static str,
}

const CANONICAL_URL: Statement =
    Statement { tag: "link", having: ("rel", "canonical"), value: "href" };
const BASE_URL: Statement = Statement { tag: "base", having: ("href", ""), value: "href" };
const AUTHOR: Statement = meta("name", "author");
const MODIFIED_AT: Statement = meta("property", "article:modified_time");
const KEYWORDS: [Statement; 2] = [meta("name", "keywords"), meta("property", "article:tag")];
const PUBLISHED_AT: Statement = meta("property", "article:published_time");

/// Statements of the date of publication other than `PUBLISHED_AT` and JSON-LD, the most reliable first.
const PUBLICATION_DATES: [Statement; 12] = [
    meta("itemprop", "datePublished"),
    Statement { tag: "", having: ("itemprop", "datePublished"), value: "datetime" },
    meta("name", "citation_publication_date"),
    meta("name", "dcterms.created"),
    meta("name", "dc.date"),
    meta("name", "DC.date"),
    meta("name", "date"),
    meta("name", "pubdate"),
    meta("name", "parsely-pub-date"),
    Statement { tag: TIME_IN_ARTICLE, having: ("datetime", ""), value: "datetime" },
    Statement { tag: "time", having: ("pubdate", ""), value: "datetime" },
    Statement { tag: "time", having: ("datetime", ""), value: "datetime" },
];

/// Stands for the tag of a `time` in an article.
const TIME_IN_ARTICLE: &str = "article time";

const fn meta(attribute: &'static str, named: &'static str) -> Statement {
    Statement { tag: "meta", having: (attribute, named), value: "content" }
}

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
    let mut page = parse_html(text).map_err(too_deep)?;
    let stated = StatingElements::of(&page);
    let mut draft = stated_metadata(&stated);
    let base = base_address(&stated, draft.url.as_deref());
    page.config.max_elements_to_parse = MAX_ELEMENTS;
    // This leaves the article in the page. A large page is not changed.
    let article = page.parse();
    if article.is_ok() {
        draft.content = article_markdown(&page, base.as_ref());
    }
    if draft.content.chars().take(SHORT_ARTICLE_CHARS).count() < SHORT_ARTICLE_CHARS {
        if !matches!(article, Err(ReadabilityError::TooManyElements(..))) {
            page = parse_html(text).map_err(too_deep)?;
        }
        let body = body_markdown(&page, base.as_ref());
        if body.len() > draft.content.len() {
            draft.content = body;
        }
    }
    if let Ok(article) = article {
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

/// An element that states something about a page.
#[derive(Debug)]
struct StatingElement {
    tag: String,
    attributes: Vec<(String, String)>,
    /// Text of a title or script.
    text: String,
    is_in_article: bool,
}

impl StatingElement {
    /// Returns the value of an attribute without white space around it.
    fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.trim())
    }

    /// Returns the value of a statement, if this element makes it.
    fn value_of(&self, statement: &Statement) -> Option<&str> {
        let Statement { tag, having: (name, named), value } = *statement;
        let is_tag = match tag {
            "" => true,
            TIME_IN_ARTICLE => self.tag == "time" && self.is_in_article,
            tag => self.tag == tag,
        };
        let known = self.attributes.iter().find(|(it, _)| it == name);
        let has_value = known.is_some_and(|(_, it)| named.is_empty() || it == named);
        if is_tag && has_value { self.attribute(value) } else { None }
    }
}

/// Elements that state something about a page, in their order.
#[derive(Debug)]
struct StatingElements(Vec<StatingElement>);

impl StatingElements {
    fn of(page: &Readability) -> Self {
        let found = page.doc.select(STATING_SELECTOR);
        let elements = found.nodes().iter().map(|node| {
            let tag = node.node_name().map(|name| name.to_string()).unwrap_or_default();
            let attributes = node.attrs().into_iter();
            let has_text = tag == "title" || tag == "script";
            StatingElement {
                attributes: attributes
                    .map(|it| (it.name.local.to_string(), it.value.to_string()))
                    .collect(),
                text: if has_text { node.text().to_string() } else { String::new() },
                is_in_article: tag == "time"
                    && node.ancestors_it(None).any(|outer| outer.has_name("article")),
                tag,
            }
        });
        Self(elements.collect())
    }

    /// Returns the values of a statement.
    fn values<'e>(&'e self, statement: &'e Statement) -> impl Iterator<Item = &'e str> {
        self.0.iter().filter_map(move |element| element.value_of(statement))
    }

    /// Returns the texts of the elements with this tag.
    fn texts<'e>(&'e self, tag: &'e str) -> impl Iterator<Item = &'e str> {
        self.0.iter().filter(move |element| element.tag == tag).map(|it| it.text.trim())
    }
}

/// Returns a document with the metadata that the elements of a page state.
fn stated_metadata(stated: &StatingElements) -> MediaDraft {
    let urls = [CANONICAL_URL, meta("property", "og:url")];
    MediaDraft {
        title: stated.texts("title").next().unwrap_or_default().to_owned(),
        media_type: "html".to_owned(),
        url: urls
            .iter()
            .flat_map(|url| stated.values(url))
            .find(|url| is_absolute_url(url))
            .map(str::to_owned),
        author: stated.values(&AUTHOR).find_map(author_name),
        tags: distinct_keywords(
            KEYWORDS.iter().flat_map(|list| stated.values(list)).flat_map(split_commas),
        ),
        created_at: published_at(stated),
        modified_at: stated.values(&MODIFIED_AT).find_map(parse_document_date),
        ..MediaDraft::default()
    }
}

/// Returns the date of publication that a page states.
fn published_at(stated: &StatingElements) -> Option<Timestamp> {
    let first = |statements: &[Statement]| {
        let mut dates =
            statements.iter().filter_map(|it| stated.values(it).find_map(parse_document_date));
        dates.next()
    };
    first(&[PUBLISHED_AT])
        .or_else(|| parse_document_date(&json_ld_date(stated)?))
        .or_else(|| first(&PUBLICATION_DATES))
}

/// Returns the first `datePublished` in the JSON-LD of a page.
fn json_ld_date(stated: &StatingElements) -> Option<String> {
    let texts = stated.texts("script");
    let values = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
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
fn base_address(stated: &StatingElements, url: Option<&str>) -> Option<Url> {
    let url = url.and_then(|url| Url::parse(url).ok());
    let base = stated.values(&BASE_URL).next();
    let base = base.and_then(|base| match &url {
        Some(url) => url.join(base).ok(),
        None => Url::parse(base).ok(),
    });
    base.or(url)
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
