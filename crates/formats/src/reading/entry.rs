//! A book, page or paper with its highlights, and the document that it becomes.

use serde_json::json;
use vademecum_model::{GeneratedMediaData, Heading, MediaDraft, StoredChunk, Timestamp};

use crate::{format::ParsedFormat, text::keywords::distinct_keywords};

/// Maximum length of the text before the highlights that is one passage, in characters. A longer
/// text is divided by the library, together with its highlights.
const MAX_HEAD_CHARS: usize = 2_000;

/// A book, page or paper.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadingEntry {
    /// Identifier of the service: `raindrop:5`.
    pub(crate) origin: String,
    pub(crate) title: String,
    pub(crate) author: String,
    pub(crate) url: String,
    /// Type of the document: `book`, `article`, `bookmark`, `paper`.
    pub(crate) media_type: &'static str,
    /// Names of the folders, the outermost first.
    pub(crate) folders: Vec<String>,
    pub(crate) tags: Vec<String>,
    /// What the reader wrote about it.
    pub(crate) note: String,
    /// Its text, or an excerpt.
    pub(crate) text: String,
    /// Further fields: name and value.
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) modified_at: Option<Timestamp>,
    pub(crate) highlights: Vec<Highlight>,
}

/// A marked passage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Highlight {
    pub(crate) text: String,
    pub(crate) note: String,
    /// Place in the book: `Page 12`, `Location 120-122`.
    pub(crate) place: String,
    pub(crate) color: String,
    pub(crate) tags: Vec<String>,
    pub(crate) created_at: Option<Timestamp>,
}

impl Highlight {
    /// Returns the highlight as a quotation, with a line of its place, color, day and tags, and
    /// its note.
    fn to_markdown(&self) -> String {
        let quoted: Vec<String> = self
            .text
            .trim()
            .lines()
            .map(|line| format!("> {line}").trim_end().to_owned())
            .collect();
        let day = self.created_at.map(|it| it.to_string().chars().take(10).collect::<String>());
        let tags: Vec<String> = self.tags.iter().map(|tag| format!("#{tag}")).collect();
        let about =
            [self.place.clone(), self.color.clone(), day.unwrap_or_default(), tags.join(" ")];
        let about: Vec<String> = about.into_iter().filter(|it| !it.trim().is_empty()).collect();
        let note = Some(self.note.trim()).filter(|it| !it.is_empty());
        let note = note.map(|note| format!("Note: {note}")).unwrap_or_default();
        join_blocks([quoted.join("\n"), about.join(" · "), note])
    }
}

impl ParsedFormat {
    /// Adds the document of an entry. One with neither a title nor an address nor highlights becomes
    /// a problem.
    pub(crate) fn add_entry(&mut self, entry: ReadingEntry) {
        let is_empty = |text: &str| text.trim().is_empty();
        if is_empty(&entry.title) && is_empty(&entry.url) && entry.highlights.is_empty() {
            return self.add_problem(entry.origin, "it has neither a title nor an address");
        }
        let (origin, url) = (entry.origin.clone(), entry.url.clone());
        self.add_document(origin, entry.into_document(), &url);
    }
}

impl ReadingEntry {
    fn into_document(self) -> MediaDraft {
        let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let head = self.head();
        let (content, spans) = append_highlights(&head, &self.highlights);
        let is_short = head.chars().count() <= MAX_HEAD_CHARS;
        let has_highlights = !self.highlights.is_empty();
        let kept = (has_highlights && is_short).then(|| GeneratedMediaData {
            chunks: chunks(&content, &spans, &self.highlights),
            length: Some(content.chars().count()),
            ..GeneratedMediaData::default()
        });
        let headings = if has_highlights && !is_short { headings(&spans) } else { Vec::new() };
        let of_highlights = self.highlights.iter().flat_map(|it| it.tags.clone());
        MediaDraft {
            url: some(&self.url),
            author: some(&self.author),
            media_type: self.media_type.to_owned(),
            tags: distinct_keywords(self.tags.iter().cloned().chain(of_highlights)),
            created_at: self.created_at,
            modified_at: self.modified_at.or(self.created_at),
            title: self.title,
            content,
            kept,
            headings,
            ..MediaDraft::default()
        }
    }

    /// Returns the text before the highlights: note, text, and the fields by name.
    fn head(&self) -> String {
        let mut fields = Vec::new();
        let mut add = |name: &str, value: &str| {
            if !value.trim().is_empty() {
                fields.push(format!("{name}: {}", value.trim()));
            }
        };
        add("Address", &self.url);
        add("Folder", &self.folders.join(" / "));
        for (name, value) in &self.fields {
            add(name, value);
        }
        join_blocks([self.note.clone(), self.text.clone(), fields.join("\n")])
    }
}

/// Joins blocks of text by empty lines; blank ones are left out.
fn join_blocks(blocks: impl IntoIterator<Item = String>) -> String {
    let blocks: Vec<String> =
        blocks.into_iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect();
    blocks.join("\n\n")
}

/// Returns the text with its highlights, and the start of each of them in bytes.
fn append_highlights(head: &str, highlights: &[Highlight]) -> (String, Vec<usize>) {
    let mut content = head.to_owned();
    let mut spans = Vec::with_capacity(highlights.len());
    for highlight in highlights {
        if !content.is_empty() {
            content.push_str("\n\n");
        }
        spans.push(content.len());
        content.push_str(&highlight.to_markdown());
    }
    (content, spans)
}

/// Returns a chunk for the text before the highlights, and one for each highlight.
fn chunks(content: &str, spans: &[usize], highlights: &[Highlight]) -> Vec<StoredChunk> {
    let starts =
        Some(0).filter(|_| spans.first() != Some(&0)).into_iter().chain(spans.iter().copied());
    let starts: Vec<usize> = starts.collect();
    let ends = starts.iter().skip(1).copied().chain([content.len()]);
    let about_head = (starts.len() > spans.len()).then_some(None);
    let about = about_head.into_iter().chain(highlights.iter().map(Some));
    let mut position = 0_usize;
    starts
        .iter()
        .zip(ends)
        .zip(about)
        .map(|((start, end), highlight)| {
            let begin = position;
            position += content.get(*start..end).unwrap_or_default().chars().count();
            let place = highlight.map(|it| it.place.as_str()).filter(|it| !it.is_empty());
            let metadata =
                place.map(|it| json!({ "ancestry_titles": [it], "section_path": it }).to_string());
            StoredChunk {
                text: String::new(),
                start: i64::try_from(begin).ok(),
                end: i64::try_from(position).ok(),
                kind: Some(if highlight.is_some() { "highlight" } else { "text" }.to_owned()),
                metadata,
            }
        })
        .collect()
}

/// Returns a heading for all highlights, for a long text before them.
fn headings(spans: &[usize]) -> Vec<Heading> {
    let first = spans.first().copied();
    first.map(|at| Heading { at, level: 1, title: "Highlights".to_owned() }).into_iter().collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn entry(text: &str) -> ReadingEntry {
        let highlight = |text: &str, place: &str| Highlight {
            text: text.to_owned(),
            place: place.to_owned(),
            ..Highlight::default()
        };
        let second = Highlight {
            note: "Why?".to_owned(),
            color: "yellow".to_owned(),
            tags: vec!["b".to_owned()],
            created_at: Timestamp::parse("2026-01-05T10:00:00Z").ok(),
            ..highlight("Oats\n\nrest.", "Page 2")
        };
        ReadingEntry {
            origin: "x:1".to_owned(),
            title: "Grain".to_owned(),
            url: "https://example.org".to_owned(),
            folders: vec!["Food".to_owned(), "Bread".to_owned()],
            tags: vec!["a".to_owned()],
            text: text.to_owned(),
            highlights: vec![highlight("Rye é rises.", "Page 1"), second],
            ..ReadingEntry::default()
        }
    }

    #[test]
    fn each_highlight_is_a_passage() {
        let document = entry("About é.").into_document();
        assert_eq!(
            document.content,
            "About é.\n\nAddress: https://example.org\nFolder: Food / Bread\n\n> Rye é rises.\n\nPage 1\n\n\
             > Oats\n>\n> rest.\n\nPage 2 · yellow · 2026-01-05 · #b\n\nNote: Why?"
        );
        assert_eq!(document.tags, ["a", "b"]);
        let kept = document.kept.unwrap();
        let text: Vec<char> = document.content.chars().collect();
        let slice = |it: &StoredChunk| -> String {
            let place = |at: Option<i64>| usize::try_from(at.unwrap()).unwrap();
            text[place(it.start)..place(it.end)].iter().collect()
        };
        let texts: Vec<String> = kept.chunks.iter().map(slice).collect();
        assert_eq!(texts.concat(), document.content);
        assert!(texts[1].starts_with("> Rye") && texts[2].starts_with("> Oats"), "{texts:?}");
        assert!(kept.chunks[2].metadata.as_ref().unwrap().contains("Page 2"));
        assert_eq!((kept.length, kept.chunks.len()), (Some(text.len()), 3));
    }

    #[test]
    fn long_text_is_divided_by_library() {
        let document = entry(&"Rye. ".repeat(1_000)).into_document();
        assert!(document.kept.is_none());
        assert_eq!(document.headings[0].title, "Highlights");
        assert!(document.content[document.headings[0].at..].starts_with("> Rye é"));
    }

    #[test]
    fn entry_without_title_and_address_is_problem() {
        let mut parsed = ParsedFormat::default();
        parsed.add_entry(ReadingEntry { origin: "x:1".to_owned(), ..ReadingEntry::default() });
        assert!(parsed.drafts.is_empty() && parsed.problems[0].place == "x:1");
    }
}
