//! What notes and articles in Markdown have in common: front matter and
//! headings.
//!
//! Front matter that cannot be read costs its properties, never the text.

use std::collections::BTreeMap;

use serde_json::Value;
use vademecum_kit::model::Timestamp;

/// Longest front matter that is read, in bytes: it takes far longer to read than
/// text.
const MAX_MATTER_BYTES: usize = 128 * 1_024;

/// A Markdown text, taken apart.
#[derive(Debug, Default)]
pub(super) struct Markdown<'a> {
    /// What the front matter says.
    pub properties: Properties,
    /// The text after the front matter.
    pub body: &'a str,
    /// Whether there is front matter that is too long to be read.
    pub is_front_too_long: bool,
}

/// What front matter says about a text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Properties {
    /// Its title.
    pub title: Option<String>,
    /// Its keywords, without `#`.
    pub tags: Vec<String>,
    /// When it was written.
    pub created: Option<Timestamp>,
    /// When it was last changed.
    pub modified: Option<Timestamp>,
    /// Where it was published.
    pub url: Option<String>,
    /// Who wrote it, one or more.
    pub author: Option<String>,
}

impl<'a> Markdown<'a> {
    /// Takes `text` apart.
    pub(super) fn parse(text: &'a str) -> Self {
        let plain = Self { body: text, ..Self::default() };
        let Some((syntax, matter, body)) = split(text) else { return plain };
        if matter.len() > MAX_MATTER_BYTES {
            return Self { body, is_front_too_long: true, ..plain };
        }
        match syntax.read(matter) {
            Some(fields) => Self { properties: Properties::from(fields), body, ..plain },
            None => plain,
        }
    }

    /// The first line that is not blank, if it is a heading of level one.
    pub(super) fn opening_heading(&self) -> Option<&'a str> {
        heading(self.body.lines().find(|line| !line.trim().is_empty())?)
    }

    /// The first heading of level one.
    pub(super) fn first_heading(&self) -> Option<&'a str> {
        lines_outside_code(self.body).find_map(heading)
    }
}

/// The lines that are not in a fenced block of code.
pub(super) fn lines_outside_code(body: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    body.lines().filter(move |line| {
        let marks = fence_of(line);
        match (fence, marks) {
            (None, Some(_)) => fence = marks,
            (None, None) => return true,
            // A fence is closed by one like it, at least as long, and bare.
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

/// The marks that a line opens or closes a fenced block with.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let marks = &line[..line.len() - rest.len()];
    // ```code``` on one line is code in a text, not a block.
    (marks.len() >= 3 && !(mark == '`' && rest.contains('`'))).then_some(marks)
}

fn heading(line: &str) -> Option<&str> {
    let title = line.strip_prefix("# ")?.trim();
    let bare = title.trim_end_matches('#');
    let closed = bare.is_empty() || bare.ends_with(char::is_whitespace);
    Some(if closed { bare.trim_end() } else { title }).filter(|title| !title.is_empty())
}

#[derive(Clone, Copy, Debug)]
enum Syntax {
    Yaml,
    Toml,
}

type Fields = BTreeMap<String, Vec<String>>;

impl Syntax {
    fn read(self, matter: &str) -> Option<Fields> {
        match self {
            _ if matter.trim().is_empty() => Some(Fields::new()),
            Self::Yaml => {
                let options = serde_saphyr::options! {
                    duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
                };
                let fields: BTreeMap<String, Value> =
                    serde_saphyr::from_str_with_options(matter, options).ok()?;
                Some(fields.iter().map(|(key, value)| (key.to_lowercase(), texts(value))).collect())
            }
            Self::Toml => {
                let fields: toml::Table = matter.parse().ok()?;
                let texts = |value: &_| toml_texts(value);
                Some(fields.iter().map(|(key, value)| (key.to_lowercase(), texts(value))).collect())
            }
        }
    }
}

/// Splits a text that opens with front matter into syntax, matter and body.
fn split(text: &str) -> Option<(Syntax, &str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let opening = lines.next()?;
    let (syntax, closings): (_, &[&str]) = match opening.trim_end() {
        "---" => (Syntax::Yaml, &["---", "..."]),
        "+++" => (Syntax::Toml, &["+++"]),
        _ => return None,
    };
    let mut end = opening.len();
    for line in lines {
        if closings.contains(&line.trim_end()) {
            return Some((syntax, &text[opening.len()..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

/// The texts that a value holds: one, those of a list, the name of a person.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.trim().to_owned()],
        Value::Number(number) => vec![number.to_string()],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.get("name").map(texts).unwrap_or_default(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

fn toml_texts(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::String(text) => vec![text.trim().to_owned()],
        toml::Value::Integer(number) => vec![number.to_string()],
        toml::Value::Float(number) => vec![number.to_string()],
        toml::Value::Datetime(moment) => vec![moment.to_string()],
        toml::Value::Array(values) => values.iter().flat_map(toml_texts).collect(),
        toml::Value::Table(fields) => fields.get("name").map(toml_texts).unwrap_or_default(),
        toml::Value::Boolean(_) => Vec::new(),
    }
}

impl From<Fields> for Properties {
    fn from(fields: Fields) -> Self {
        let under = |keys: &'static [&str]| {
            keys.iter().filter_map(|key| fields.get(*key)).flatten().filter(|text| !text.is_empty())
        };
        let moment = |keys| under(keys).find_map(|text| Timestamp::parse(unlink(text)).ok());
        let authors: Vec<_> = under(&["author", "authors"]).map(|text| unlink(text)).collect();
        Self {
            title: under(&["title"]).next().cloned(),
            tags: ["tags", "tag", "keywords"]
                .into_iter()
                .filter_map(|key| fields.get(key))
                .flat_map(|texts| keywords(texts))
                .collect(),
            created: moment(&["created", "date", "created_at"])
                .or_else(|| under(&["path"]).find_map(|path| day_in(path))),
            modified: moment(&["updated", "modified", "last_modified"]),
            url: under(&["url", "link", "source"]).find(|text| is_url(text)).cloned(),
            author: Some(authors.join(", ")).filter(|author| !author.is_empty()),
        }
    }
}

/// The day in an address such as `2026/06/30/title`, where a page has no date.
fn day_in(path: &str) -> Option<Timestamp> {
    let mut parts = path.trim_start_matches('/').splitn(4, '/');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    Timestamp::parse(&format!("{year}-{month}-{day}")).ok()
}

/// A list is taken as it is; a single text is split at its commas or, having
/// none, at its spaces.
fn keywords(texts: &[String]) -> Vec<String> {
    let split: Vec<&str> = match texts {
        [text] if text.contains(',') => text.split(',').collect(),
        [text] => text.split_whitespace().collect(),
        texts => texts.iter().map(String::as_str).collect(),
    };
    let bare = split.into_iter().map(|tag| unlink(tag.trim()).trim_start_matches('#').to_owned());
    bare.filter(|tag| !tag.is_empty()).collect()
}

/// `[[page|shown]]` without its brackets: what is shown.
pub(super) fn unlink(text: &str) -> &str {
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
    fn yaml_front_matter_is_read_under_its_many_names() {
        let text = "---\nTitle: \"Bread: a book\"\ntags:\n  - '#baking'\n  - rye flour\ndate: 2024-05-01\n\
                    updated: 2024-05-02 10:00\nsource: https://example.org/bread\n\
                    authors: ['[[Ada|Ada L.]]', {name: Bob}]\n1: x\n---\nBody\n";
        let read = Markdown::parse(text);
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
    fn toml_front_matter_is_read_as_well() {
        let text = "+++\r\ntitle = \"Rust\"\r\ndate = 2025-06-26\r\nauthors = [\"A\", \"B\"]\r\n\
                    tags = \"one, two words\"\r\n[extra]\r\nrelease = true\r\n+++\r\n\r\nBody";
        let read = Markdown::parse(text);
        assert_eq!(read.body, "\r\nBody");
        assert_eq!(read.properties.title.as_deref(), Some("Rust"));
        assert_eq!(read.properties.created, Timestamp::parse("2025-06-26").ok());
        assert_eq!(read.properties.author.as_deref(), Some("A, B"));
        assert_eq!(read.properties.tags, ["one", "two words"]);
    }

    #[test]
    fn front_matter_that_cannot_be_read_stays_text() {
        for text in [
            "---\na: b: c\n---\nBody",
            "+++\nx\n+++\nBody",
            "---\nnever closed",
            "---\nwords\n---\n",
        ] {
            let read = Markdown::parse(text);
            assert_eq!((read.body, read.properties), (text, Properties::default()));
        }
        assert_eq!(Markdown::parse("---\n---\nBody").body, "Body");
    }

    #[test]
    fn a_page_without_a_date_is_dated_by_its_address() {
        let created =
            |line: &str| Markdown::parse(&format!("+++\n{line}\n+++\n")).properties.created;
        assert_eq!(
            created("path = \"2026/06/30/Rust-1.96.1\""),
            Timestamp::parse("2026-06-30").ok()
        );
        assert_eq!(created("path = \"a/b/c/d\""), None);
    }

    #[test]
    fn values_of_another_kind_are_passed_by() {
        let text =
            "---\ntitle: [A, B]\ntags: true\ndate: yesterday\nurl: '[[Book]]'\nauthor:\n---\n";
        let properties = Markdown::parse(text).properties;
        assert_eq!(properties, Properties { title: Some("A".into()), ..Properties::default() });
    }

    #[test]
    fn tags_in_one_line_are_split() {
        let tags = |line: &str| Markdown::parse(&format!("---\n{line}\n---\n")).properties.tags;
        assert_eq!(tags("tags: a b"), ["a", "b"]);
        assert_eq!(tags("tags: machine learning, rust"), ["machine learning", "rust"]);
        assert_eq!(tags("tag: 2024"), ["2024"]);
        assert_eq!(tags("categories: [x]"), [""; 0]);
    }

    #[test]
    fn a_bomb_of_aliases_is_no_front_matter() {
        let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            text.extend(["a", &level.to_string(), ": &a", &level.to_string(), " [", &below, "]\n"]);
        }
        text += "---\nBody";
        assert_eq!(Markdown::parse(&text).body, text);
    }

    #[test]
    fn nesting_without_end_is_no_front_matter() {
        for (fence, key) in [("---", "a: "), ("+++", "a = ")] {
            let open = "[".repeat(100_000);
            let text = format!("{fence}\n{key}{open}\n{fence}\nBody");
            assert_eq!(Markdown::parse(&text).body, text);
        }
    }

    #[test]
    fn front_matter_without_end_is_not_read() {
        let text = format!("---\ntitle: Rye\nx: {}\n---\nBody", "y".repeat(MAX_MATTER_BYTES));
        let read = Markdown::parse(&text);
        assert_eq!((read.body, read.is_front_too_long), ("Body", true));
        assert_eq!(read.properties, Properties::default());
    }

    #[test]
    fn headings_are_found_outside_of_code() {
        let read = Markdown::parse("---\n---\n\n# Rye bread ##\n");
        assert_eq!(read.opening_heading(), Some("Rye bread"));
        let read =
            Markdown::parse("Text\n```sh\n# not this\n~~~\n```\n## Nor this\n# Learning C#\n");
        assert_eq!(read.opening_heading(), None);
        assert_eq!(read.first_heading(), Some("Learning C#"));
    }
}
