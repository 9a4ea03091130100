//! Front matter and headings of Markdown notes and articles.
//!
//! Invalid front matter is ignored or treated as text; the text is never lost.

use std::collections::BTreeMap;

use serde_json::Value;
use vademecum_model::{FrontMatterBlock, FrontMatterSyntax, Timestamp};

/// A Markdown text split into front matter and body.
#[derive(Debug, Default)]
pub struct MarkdownDocument<'a> {
    /// Parsed front matter.
    pub properties: FrontMatter,
    /// Text after the front matter.
    pub body: &'a str,
    /// `true` if the front matter was too long to be parsed.
    pub is_front_matter_too_long: bool,
}

/// Known fields of front matter.
#[derive(Debug, Default, PartialEq)]
pub struct FrontMatter {
    /// Title.
    pub title: Option<String>,
    /// Other names of the note.
    pub aliases: Vec<String>,
    /// Keywords, without `#`.
    pub tags: Vec<String>,
    /// Creation time.
    pub created: Option<Timestamp>,
    /// Modification time.
    pub modified: Option<Timestamp>,
    /// Address of publication.
    pub url: Option<String>,
    /// Author or authors, separated by commas.
    pub author: Option<String>,
}

/// Front matter with which a text begins, as it is read. What is not read as properties is never
/// edited as such.
#[derive(Debug)]
pub enum ReadFrontMatter<'a> {
    /// The text begins with none.
    None,
    /// The text begins like front matter, but its properties cannot be read, so that it is text.
    Unreadable,
    /// Properties that are too long to be read.
    TooLong(FrontMatterBlock<'a>),
    /// Properties, by their names as they are written.
    Properties(FrontMatterBlock<'a>, BTreeMap<String, Value>),
}

impl<'a> ReadFrontMatter<'a> {
    /// Reads the front matter of `text`.
    pub fn of(text: &'a str) -> Self {
        match FrontMatterBlock::find(text) {
            None => Self::None,
            Some(block) if block.matter.len() > FrontMatterBlock::MAX_READ_BYTES => {
                Self::TooLong(block)
            }
            Some(block) => match property_values(&block) {
                Some(values) => Self::Properties(block, values),
                None => Self::Unreadable,
            },
        }
    }
}

impl<'a> MarkdownDocument<'a> {
    /// Splits and parses `text`.
    pub fn parse(text: &'a str) -> Self {
        let plain = Self { body: text, ..Self::default() };
        match ReadFrontMatter::of(text) {
            ReadFrontMatter::None | ReadFrontMatter::Unreadable => plain,
            ReadFrontMatter::TooLong(block) => {
                Self { body: block.body, is_front_matter_too_long: true, ..plain }
            }
            ReadFrontMatter::Properties(block, values) => {
                let properties = FrontMatter::from_values(&values);
                Self { properties, body: block.body, ..plain }
            }
        }
    }

    /// Returns the first non-blank line, if it is a heading of level one.
    pub fn opening_heading(&self) -> Option<&'a str> {
        level_one_heading(self.body.lines().find(|line| !line.trim().is_empty())?)
    }

    /// Returns the first heading of level one.
    pub fn first_heading(&self) -> Option<&'a str> {
        lines_outside_code(self.body).find_map(level_one_heading)
    }
}

/// Returns the lines outside of fenced code blocks.
pub fn lines_outside_code(body: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    body.lines().filter(move |line| {
        let marks = code_fence(line);
        match (fence, marks) {
            (None, Some(_)) => fence = marks,
            (None, None) => return true,
            // The closing fence has the same character, at least the same length and no text.
            (Some(open), Some(close)) => {
                if close.starts_with(open) && line.trim().len() == close.len() {
                    fence = None;
                }
            }
            (Some(_), None) => {}
        }
        false
    })
}

/// Returns the fence characters with which a line opens or closes a code block.
fn code_fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let marks = &line[..line.len() - rest.len()];
    // Code between fences on one line is inline code, not a block.
    (marks.len() >= 3 && !(mark == '`' && rest.contains('`'))).then_some(marks)
}

fn level_one_heading(line: &str) -> Option<&str> {
    let title = line.strip_prefix("# ")?.trim();
    let bare = title.trim_end_matches('#');
    let closed = bare.is_empty() || bare.ends_with(char::is_whitespace);
    Some(if closed { bare.trim_end() } else { title }).filter(|title| !title.is_empty())
}

type FrontMatterFields = BTreeMap<String, Vec<String>>;

/// Returns the values of the properties; `None` if they cannot be parsed.
pub fn property_values(block: &FrontMatterBlock<'_>) -> Option<BTreeMap<String, Value>> {
    match block.syntax {
        _ if block.matter.trim().is_empty() => Some(BTreeMap::new()),
        FrontMatterSyntax::Yaml => {
            let options = serde_saphyr::options! {
                duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
            };
            serde_saphyr::from_str_with_options(block.matter, options).ok()
        }
        FrontMatterSyntax::Toml => {
            let table: toml::Table = block.matter.parse().ok()?;
            Some(table.into_iter().map(|(key, value)| (key, toml_to_json(value))).collect())
        }
    }
}

fn toml_to_json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Datetime(moment) => Value::String(moment.to_string()),
        toml::Value::Boolean(is_true) => is_true.into(),
        toml::Value::Array(values) => values.into_iter().map(toml_to_json).collect(),
        toml::Value::Table(fields) => {
            fields.into_iter().map(|(key, value)| (key, toml_to_json(value))).collect()
        }
    }
}

/// Returns the texts of a value: a single one, those of a list, or the `name` of an object.
pub fn json_texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.trim().to_owned()],
        Value::Number(number) => vec![number.to_string()],
        Value::Array(values) => values.iter().flat_map(json_texts).collect(),
        Value::Object(fields) => fields.get("name").map(json_texts).unwrap_or_default(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

impl FrontMatter {
    /// Returns the known fields of properties.
    pub fn from_values(values: &BTreeMap<String, Value>) -> Self {
        let texts = |(key, value): (&String, _)| (key.to_lowercase(), json_texts(value));
        let fields: FrontMatterFields = values.iter().map(texts).collect();
        // A list of one text is not divided.
        let is_list: BTreeMap<String, bool> =
            values.iter().map(|(key, value)| (key.to_lowercase(), value.is_array())).collect();
        let under = |keys: &'static [&str]| {
            keys.iter().filter_map(|key| fields.get(*key)).flatten().filter(|text| !text.is_empty())
        };
        let moment =
            |keys| under(keys).find_map(|text| Timestamp::parse(unwrap_wiki_link(text)).ok());
        let authors: Vec<_> =
            under(&["author", "authors"]).map(|text| unwrap_wiki_link(text)).collect();
        Self {
            title: under(&["title"]).next().cloned(),
            aliases: under(&["aliases", "alias"]).cloned().collect(),
            tags: ["tags", "tag", "keywords"]
                .into_iter()
                .filter_map(|key| Some((fields.get(key)?, *is_list.get(key)?)))
                .flat_map(|(texts, is_list)| split_keywords(texts, is_list))
                .collect(),
            created: moment(&["created", "date", "created_at"])
                .or_else(|| under(&["path"]).find_map(|path| date_from_path(path))),
            modified: moment(&["updated", "modified", "last_modified"]),
            url: under(&["url", "link", "source"]).find(|text| is_url(text)).cloned(),
            author: Some(authors.join(", ")).filter(|author| !author.is_empty()),
        }
    }
}

/// Returns the date in an address such as `2026/06/30/title`, used for a page without a date.
fn date_from_path(path: &str) -> Option<Timestamp> {
    let mut parts = path.trim_start_matches('/').splitn(4, '/');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    Timestamp::parse(&format!("{year}-{month}-{day}")).ok()
}

/// Returns the keywords of a list, or of a text, which is split at commas or, without commas, at spaces.
fn split_keywords(texts: &[String], is_list: bool) -> Vec<String> {
    let split: Vec<&str> = match texts {
        [text] if !is_list && text.contains(',') => text.split(',').collect(),
        [text] if !is_list => text.split_whitespace().collect(),
        texts => texts.iter().map(String::as_str).collect(),
    };
    let bare = split
        .into_iter()
        .map(|tag| unwrap_wiki_link(tag.trim()).trim_start_matches('#').to_owned());
    bare.filter(|tag| !tag.is_empty()).collect()
}

/// Returns the displayed text of `[[page|shown]]`; other text is returned unchanged.
pub fn unwrap_wiki_link(text: &str) -> &str {
    let inside = text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]"));
    inside.map_or(text, |link| link.rsplit('|').next().unwrap_or(link))
}

fn is_url(text: &str) -> bool {
    text.contains("://") && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_front_matter_is_read_under_all_names() {
        let text = "---\nTitle: \"Bread: a book\"\ntags:\n  - '#baking'\n  - rye flour\ndate: 2024-05-01\n\
                    updated: 2024-05-02 10:00\nsource: https://example.org/bread\n\
                    authors: ['[[Ada|Ada L.]]', {name: Bob}]\n1: x\n---\nBody\n";
        let read = MarkdownDocument::parse(text);
        assert_eq!(read.body, "Body\n");
        let properties = read.properties;
        assert_eq!(properties.title.unwrap(), "Bread: a book");
        assert_eq!(properties.tags, ["baking", "rye flour"]);
        assert_eq!(properties.created, Timestamp::parse("2024-05-01").ok());
        assert_eq!(properties.modified, Timestamp::parse("2024-05-02T10:00").ok());
        assert_eq!(properties.url.unwrap(), "https://example.org/bread");
        assert_eq!(properties.author.unwrap(), "Ada L., Bob");
    }

    #[test]
    fn toml_front_matter_is_read() {
        let text = "+++\r\ntitle = \"Rust\"\r\ndate = 2025-06-26\r\nauthors = [\"A\", \"B\"]\r\n\
                    tags = \"one, two words\"\r\n[extra]\r\nrelease = true\r\n+++\r\n\r\nBody";
        let read = MarkdownDocument::parse(text);
        assert_eq!(read.body, "\r\nBody");
        assert_eq!(read.properties.title.as_deref(), Some("Rust"));
        assert_eq!(read.properties.created, Timestamp::parse("2025-06-26").ok());
        assert_eq!(read.properties.author.as_deref(), Some("A, B"));
        assert_eq!(read.properties.tags, ["one", "two words"]);
    }

    #[test]
    fn invalid_front_matter_stays_text() {
        for text in [
            "---\na: b: c\n---\nBody",
            "+++\nx\n+++\nBody",
            "---\nnever closed",
            "---\nwords\n---\n",
        ] {
            let read = MarkdownDocument::parse(text);
            assert_eq!((read.body, read.properties), (text, FrontMatter::default()));
        }
        assert_eq!(MarkdownDocument::parse("---\n---\nBody").body, "Body");
    }

    #[test]
    fn heading_between_rules_is_body() {
        let text = "---\n# Rye\n---\nBody";
        let read = MarkdownDocument::parse(text);
        assert_eq!((read.body, read.first_heading()), (text, Some("Rye")));
    }

    #[test]
    fn front_matter_follows_byte_order_mark() {
        let read = MarkdownDocument::parse("\u{feff}---\ntitle: Rye\n---\nBody");
        assert_eq!((read.body, read.properties.title.as_deref()), ("Body", Some("Rye")));
    }

    #[test]
    fn page_without_date_gets_date_of_path() {
        let created =
            |line: &str| MarkdownDocument::parse(&format!("+++\n{line}\n+++\n")).properties.created;
        assert_eq!(
            created("path = \"2026/06/30/Rust-1.96.1\""),
            Timestamp::parse("2026-06-30").ok()
        );
        assert_eq!(created("path = \"a/b/c/d\""), None);
    }

    #[test]
    fn values_of_unexpected_type_are_ignored() {
        let text =
            "---\ntitle: [A, B]\ntags: true\ndate: yesterday\nurl: '[[Book]]'\nauthor:\n---\n";
        let properties = MarkdownDocument::parse(text).properties;
        assert_eq!(properties, FrontMatter { title: Some("A".into()), ..FrontMatter::default() });
    }

    #[test]
    fn single_line_of_tags_is_split() {
        let tags =
            |line: &str| MarkdownDocument::parse(&format!("---\n{line}\n---\n")).properties.tags;
        assert_eq!(tags("tags: a b"), ["a", "b"]);
        assert_eq!(tags("tags: machine learning, rust"), ["machine learning", "rust"]);
        assert_eq!(tags("tag: 2024"), ["2024"]);
        assert_eq!(tags("categories: [x]"), [""; 0]);
    }

    #[test]
    fn alias_bomb_is_not_front_matter() {
        let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            text.extend(["a", &level.to_string(), ": &a", &level.to_string(), " [", &below, "]\n"]);
        }
        text += "---\nBody";
        assert_eq!(MarkdownDocument::parse(&text).body, text);
    }

    #[test]
    fn excessive_nesting_is_not_front_matter() {
        for (fence, key) in [("---", "a: "), ("+++", "a = ")] {
            let open = "[".repeat(100_000);
            let text = format!("{fence}\n{key}{open}\n{fence}\nBody");
            assert_eq!(MarkdownDocument::parse(&text).body, text);
        }
    }

    #[test]
    fn unclosed_front_matter_is_not_read() {
        let text = format!(
            "---\ntitle: Rye\nx: {}\n---\nBody",
            "y".repeat(FrontMatterBlock::MAX_READ_BYTES)
        );
        let read = MarkdownDocument::parse(&text);
        assert_eq!((read.body, read.is_front_matter_too_long), ("Body", true));
        assert_eq!(read.properties, FrontMatter::default());
    }

    #[test]
    fn headings_in_code_are_ignored() {
        let read = MarkdownDocument::parse("---\n---\n\n# Rye bread ##\n");
        assert_eq!(read.opening_heading(), Some("Rye bread"));
        let read = MarkdownDocument::parse(
            "Text\n```sh\n# not this\n~~~\n```\n## Nor this\n# Learning C#\n",
        );
        assert_eq!(read.opening_heading(), None);
        assert_eq!(read.first_heading(), Some("Learning C#"));
    }
}
