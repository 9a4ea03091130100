//! Web pages: the article in them as plain text, without what is around it.

use std::collections::HashMap;

use dom_smoothie::{Article, Config, Readability, TextMode};
use vademecum_kit::model::{MediaDraft, Timestamp};

use super::{
    ImportError, SourceFile,
    keywords::{between_commas, distinct},
};

/// An article shorter than this is most likely not all there is to read.
const SHORT_ARTICLE_CHARS: usize = 250;

/// A page with more elements than this is a table of data, not an article,
/// and looking for one would take minutes.
const MAX_ELEMENTS: usize = 200_000;

/// A page nested deeper than this is none that a browser would show, and
/// looking through it would take more stack than there is.
const MAX_DEPTH: usize = 512;

/// The time to parse a page grows with the square of the elements that are
/// open at once. This is more than carelessness leaves open.
const MAX_OPEN_ELEMENTS: usize = 10_000;

/// Elements that end by themselves, so that nobody closes them.
const SELF_ENDING: [&str; 29] = [
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "source", "tbody",
    "td", "th", "thead", "tr", "track", "wbr",
];

/// What is never read aloud.
const NOT_TEXT: &str = "script, style, noscript, template, svg, iframe, object, head";

/// Reads a page.
pub(super) fn document(file: &SourceFile) -> Result<MediaDraft, ImportError> {
    let text = file.text()?;
    let too_deep = || ImportError::TooDeep { path: file.path.clone(), max_depth: MAX_DEPTH };
    if open_elements(text) > MAX_OPEN_ELEMENTS {
        return Err(too_deep());
    }
    let page = Page::parse(text);
    if page.depth() > MAX_DEPTH {
        return Err(too_deep());
    }
    let mut draft = page.draft();
    let article = Page::parse(text).into_article();
    let main = article.as_ref().map(|article| article.text_content.trim()).unwrap_or_default();
    main.clone_into(&mut draft.content);
    if main.chars().count() < SHORT_ARTICLE_CHARS {
        let body = page.body_text();
        if body.len() > main.len() {
            draft.content = body;
        }
    }
    if let Some(article) = article {
        complete(&mut draft, article);
    }
    if draft.title.is_empty() {
        draft.title = file.stem();
    }
    draft.modified_at = draft.modified_at.or(file.modified);
    Ok(draft)
}

/// The most elements that are open at once, at a guess, without parsing.
fn open_elements(text: &str) -> usize {
    let mut open = 0_usize;
    let mut most = 0;
    for tag in text.split('<').skip(1) {
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let end = tag.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let name = &tag[..end];
        if name.is_empty() || SELF_ENDING.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            continue;
        }
        open = if closes { open.saturating_sub(1) } else { open + 1 };
        most = most.max(open);
    }
    most
}

/// Fills in what the head of the page does not say.
fn complete(draft: &mut MediaDraft, article: Article) {
    let moment = |text: Option<String>| text.and_then(|text| Timestamp::parse(&text).ok());
    if draft.title.is_empty() || !article.title.trim().is_empty() {
        article.title.trim().clone_into(&mut draft.title);
    }
    draft.author = article.byline.and_then(|name| a_name(&name)).or(draft.author.take());
    draft.url = draft.url.take().or(article.url.filter(|url| is_absolute(url)));
    draft.modified_at =
        moment(article.modified_time).or(moment(article.published_time)).or(draft.modified_at);
}

struct Page {
    readability: Readability,
}

impl Page {
    fn parse(text: &str) -> Self {
        let mut readability = Readability::from(text);
        readability.config = Config {
            text_mode: TextMode::Formatted,
            max_elements_to_parse: MAX_ELEMENTS,
            ..Config::default()
        };
        Self { readability }
    }

    /// How many elements are inside of one another.
    fn depth(&self) -> usize {
        let root = self.readability.doc.root();
        let mut depths = HashMap::new();
        let mut deepest = 0;
        // A node comes after the one it is in.
        for node in root.descendants_it() {
            let outer = node.parent().and_then(|parent| depths.get(&parent.id).copied());
            let depth = outer.unwrap_or(0) + 1;
            depths.insert(node.id, depth);
            deepest = deepest.max(depth);
        }
        deepest
    }

    fn into_article(mut self) -> Option<Article> {
        self.readability.parse().ok()
    }

    /// What the head of the page says.
    fn draft(&self) -> MediaDraft {
        let urls = [("link[rel='canonical']", "href"), ("meta[property='og:url']", "content")];
        let keywords = ["meta[name='keywords']", "meta[property='article:tag']"];
        let dates = ["meta[property='article:modified_time']", "meta[name='date']"];
        MediaDraft {
            title: self.readability.doc.select_single("title").text().trim().to_owned(),
            media_type: "html".to_owned(),
            url: urls
                .iter()
                .flat_map(|(query, name)| self.values(query, name))
                .find(|url| is_absolute(url)),
            author: self.values("meta[name='author']", "content").find_map(|name| a_name(&name)),
            tags: distinct(
                keywords
                    .iter()
                    .flat_map(|query| self.values(query, "content"))
                    .flat_map(|list| between_commas(&list).collect::<Vec<_>>()),
            ),
            modified_at: dates
                .iter()
                .flat_map(|query| self.values(query, "content"))
                .find_map(|text| Timestamp::parse(&text).ok()),
            ..MediaDraft::default()
        }
    }

    fn values(&self, query: &str, name: &str) -> impl Iterator<Item = String> {
        let found: Vec<_> = self.readability.doc.select(query).iter().collect();
        let values: Vec<_> = found
            .iter()
            .filter_map(|node| node.attr(name))
            .map(|value| value.trim().to_owned())
            .collect();
        values.into_iter()
    }

    /// All that is to be read on the page.
    fn body_text(&self) -> String {
        self.readability.doc.select(NOT_TEXT).remove();
        self.readability.doc.formatted_text().trim().to_owned()
    }
}

fn is_absolute(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

/// The name, unless it is the address of a profile.
fn a_name(text: &str) -> Option<String> {
    let name = text.trim();
    (!name.is_empty() && !name.contains("://")).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARTICLE: &str = "<!doctype html><html lang=en><head><title>Rye bread | Baker</title>
        <link rel=canonical href='https://example.org/rye'>
        <meta name=author content='Ada Lovelace'>
        <meta name=keywords content='bread, rye'>
        <meta property='article:published_time' content='2024-05-01T08:00:00Z'>
        <style>p { color: red }</style><script>var secret = 1;</script></head>
        <body><nav><a href=/>Home</a> <a href=/shop>Shop</a></nav><article><h1>Rye bread</h1>";

    fn page(text: &str) -> MediaDraft {
        document(&SourceFile::example("/pages/rye.html", text)).unwrap()
    }

    fn article() -> String {
        let paragraph = "Rye flour takes up more water than wheat, and so the dough is sticky, \
                         heavy, and slow to rise, which is why one waits &amp; waits.";
        let paragraphs =
            (0..8).map(|n| format!("<p>{n}. {paragraph}</p>")).collect::<Vec<_>>().concat();
        format!("{ARTICLE}{paragraphs}<script>track()</script></article><footer>Imprint</footer>")
    }

    #[test]
    fn an_article_is_its_paragraphs_and_nothing_around_them() {
        let page = page(&article());
        assert!(page.content.contains("0. Rye flour"), "{}", page.content);
        assert!(page.content.contains("waits & waits.\n\n1. Rye"), "{}", page.content);
        for around in ["secret", "color: red", "track()", "Shop", "Imprint", "<p>"] {
            assert!(!page.content.contains(around), "{around}: {}", page.content);
        }
    }

    #[test]
    fn the_head_says_who_wrote_what_when_and_where() {
        let page = page(&article());
        assert!(page.title.starts_with("Rye bread"), "{}", page.title);
        assert_eq!(page.author.as_deref(), Some("Ada Lovelace"));
        assert_eq!(page.url.as_deref(), Some("https://example.org/rye"));
        assert_eq!(page.tags, ["bread", "rye"]);
        assert_eq!(page.modified_at, Timestamp::parse("2024-05-01T08:00:00Z").ok());
        assert_eq!(page.media_type, "html");
    }

    #[test]
    fn a_short_page_is_read_whole() {
        let page =
            page("<body><style>p{}</style><h1>Note</h1><p>Buy rye.<p>Soon.<script>x</script>");
        assert_eq!(page.title, "rye");
        assert!(page.content.starts_with("Note"), "{}", page.content);
        assert!(page.content.contains("Buy rye.\n\nSoon."), "{}", page.content);
        assert!(!page.content.contains('x') && !page.content.contains("p{}"));
    }

    #[test]
    fn a_page_nested_beyond_reason_is_refused_before_it_is_read() {
        let nested = |depth| format!("{}words{}", "<div>".repeat(depth), "</div>".repeat(depth));
        assert_eq!(page(&nested(500)).content, "words");
        let error = document(&SourceFile::example("/a.html", nested(2_000))).unwrap_err();
        assert!(matches!(error, ImportError::TooDeep { .. }), "{error}");
        // Even parsing this one would take minutes.
        let error = document(&SourceFile::example("/a.html", nested(1_000_000))).unwrap_err();
        assert!(matches!(error, ImportError::TooDeep { .. }), "{error}");
        let lists = "<UL><li>one<li>two<br></ul><p>text<p>more <img src=x/>".repeat(20_000);
        assert_eq!(open_elements(&lists), 1);
    }
}
