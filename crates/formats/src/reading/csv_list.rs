//! Lists of saved pages and highlights as CSV: Readwise and its Reader, Raindrop, Instapaper, Pocket.

use std::collections::HashMap;

use vademecum_model::SourceName;

use super::{
    csv_rows::{CsvRow, for_each_row},
    entry::{Highlight, ReadingEntry},
};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{datetime, keywords::split_commas},
};

/// Lists of Readwise, Raindrop, Instapaper and Pocket.
#[derive(Debug)]
pub(crate) struct CsvReadingList;

/// The service that wrote a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    Readwise,
    Reader,
    Raindrop,
    Instapaper,
    Pocket,
}

/// Beginnings of the first line of each list, in lower case.
const HEADERS: [(&str, Service); 5] = [
    ("highlight,book title,book author,", Service::Readwise),
    ("title,url,id,document tags,saved date,", Service::Reader),
    ("id,title,note,excerpt,url,folder,tags,created", Service::Raindrop),
    ("url,title,selection,folder,timestamp", Service::Instapaper),
    ("title,url,time_added,", Service::Pocket),
];

impl Format for CsvReadingList {
    fn id(&self) -> &'static str {
        "csv_reading_list"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "reading lists of Readwise, Raindrop, Instapaper and Pocket (.csv)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        service(sample.head).is_some()
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let service = service(&text);
        let service = service.ok_or_else(|| FormatError::new("its columns are unknown"))?;
        let mut parsed = ParsedFormat::default();
        let mut books: Vec<ReadingEntry> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for_each_row(&text, &mut parsed, |_, row| {
            let entry = match service {
                Service::Readwise => readwise_book(row),
                Service::Reader => reader_document(row),
                Service::Raindrop => raindrop_bookmark(row),
                Service::Instapaper => instapaper_page(row),
                Service::Pocket => pocket_page(row),
            };
            let at = *known.entry(entry.origin.clone()).or_insert_with(|| {
                books.push(ReadingEntry { highlights: Vec::new(), ..entry.clone() });
                books.len() - 1
            });
            if let Some(book) = books.get_mut(at) {
                let is_new = |it: &Highlight| !book.highlights.contains(it);
                let new: Vec<Highlight> = entry.highlights.into_iter().filter(is_new).collect();
                book.highlights.extend(new);
                book.modified_at = book.modified_at.max(entry.modified_at);
                book.created_at = match (book.created_at, entry.created_at) {
                    (Some(known), Some(other)) => Some(known.min(other)),
                    (known, other) => known.or(other),
                };
            }
        });
        for book in books {
            parsed.add_entry(book);
        }
        parsed.or_empty("it has no entries")
    }
}

fn service(text: &str) -> Option<Service> {
    let line = text.lines().next()?.replace('"', "").to_lowercase();
    HEADERS.iter().find(|(header, _)| line.starts_with(header)).map(|(_, service)| *service)
}

/// A row is a highlight; the rows of one title and author are one book.
fn readwise_book(row: &CsvRow<'_>) -> ReadingEntry {
    let (title, author) = (row.cell("book title"), row.cell("book author"));
    let time = datetime::parse_text(row.cell("highlighted at"));
    // Notes may begin with tags such as `.baking`.
    let note = row.cell("note");
    let inline = note.split_whitespace().take_while(|word| is_inline_tag(word));
    let inline: Vec<String> = inline.map(|word| word[1..].to_owned()).collect();
    let rest: Vec<&str> = note.splitn(inline.len() + 1, char::is_whitespace).collect();
    let note = if inline.is_empty() { note } else { rest.get(inline.len()).copied().unwrap_or("") };
    let kind = row.cell("location type");
    let place = row.cell("location");
    let kind = if kind.is_empty() { "location" } else { kind };
    let place =
        if place.is_empty() { String::new() } else { format!("{} {place}", capitalized(kind)) };
    let highlight = Highlight {
        text: row.cell("highlight").to_owned(),
        note: note.to_owned(),
        color: row.cell("color").to_owned(),
        tags: split_commas(row.cell("tags")).chain(inline).collect(),
        created_at: time,
        place,
    };
    ReadingEntry {
        origin: format!("readwise:{title}|{author}"),
        title: title.to_owned(),
        author: author.to_owned(),
        media_type: "book",
        tags: split_commas(row.cell("document tags")).collect(),
        highlights: vec![highlight],
        created_at: time,
        modified_at: time,
        ..ReadingEntry::default()
    }
}

fn is_inline_tag(word: &str) -> bool {
    let name = word.strip_prefix('.').unwrap_or_default();
    name.starts_with(char::is_alphabetic) && !name.contains('.')
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn reader_document(row: &CsvRow<'_>) -> ReadingEntry {
    let location = row.cell("location");
    ReadingEntry {
        fields: vec![("Location", location.to_owned())],
        // The tags are a list such as `['a', 'b']`.
        tags: list_items(row.cell("document tags")),
        ..saved_page("readwise-reader", row.cell("id"), row, row.cell("saved date"))
    }
}

fn raindrop_bookmark(row: &CsvRow<'_>) -> ReadingEntry {
    let folders = row.cell("folder").split('/').map(|it| it.trim().to_owned());
    ReadingEntry {
        note: row.cell("note").to_owned(),
        text: row.cell("excerpt").to_owned(),
        folders: folders.filter(|it| !it.is_empty()).collect(),
        tags: split_commas(row.cell("tags")).collect(),
        highlights: raindrop_highlights(row.cell("highlights")),
        fields: vec![("Favorite", is_true(row.cell("favorite")))],
        ..saved_page("raindrop", row.cell("id"), row, row.cell("created"))
    }
}

fn is_true(cell: &str) -> String {
    if cell == "true" { "yes".to_owned() } else { String::new() }
}

/// Reads the cell of all highlights: lines that begin with `Highlight:`, `Color:` and `Note:`.
fn raindrop_highlights(cell: &str) -> Vec<Highlight> {
    let mut highlights: Vec<Highlight> = Vec::new();
    let mut is_note = false;
    for line in cell.lines() {
        if let Some(text) = line.strip_prefix("Highlight:") {
            let text = text.trim().to_owned();
            highlights.push(Highlight { text, ..Highlight::default() });
            is_note = false;
            continue;
        }
        let Some(last) = highlights.last_mut() else { continue };
        if let Some(color) = line.strip_prefix("Color:") {
            color.trim().clone_into(&mut last.color);
        } else if let Some(note) = line.strip_prefix("Note:") {
            note.trim().clone_into(&mut last.note);
            is_note = true;
        } else {
            let text = if is_note { &mut last.note } else { &mut last.text };
            text.extend(["\n", line]);
        }
    }
    highlights
}

fn instapaper_page(row: &CsvRow<'_>) -> ReadingEntry {
    let text = row.cell("selection").to_owned();
    let selection = (!text.is_empty()).then(|| Highlight { text, ..Highlight::default() });
    ReadingEntry {
        folders: vec![row.cell("folder").to_owned()],
        tags: list_items(row.cell("tags")),
        highlights: selection.into_iter().collect(),
        ..saved_page("instapaper", row.cell("url"), row, row.cell("timestamp"))
    }
}

fn pocket_page(row: &CsvRow<'_>) -> ReadingEntry {
    let tags = row.cell("tags").split('|').map(|tag| tag.trim().to_owned());
    ReadingEntry {
        tags: tags.filter(|tag| !tag.is_empty()).collect(),
        fields: vec![("Status", row.cell("status").to_owned())],
        ..saved_page("pocket", row.cell("url"), row, row.cell("time_added"))
    }
}

/// Returns the fields that all lists of pages have.
fn saved_page(service: &str, id: &str, row: &CsvRow<'_>, time: &str) -> ReadingEntry {
    ReadingEntry {
        origin: format!("{service}:{id}"),
        title: row.cell("title").to_owned(),
        url: row.cell("url").to_owned(),
        media_type: "bookmark",
        created_at: datetime::parse_text(time),
        ..ReadingEntry::default()
    }
}

/// Returns the items of a list such as `["a", "b"]` or `['a', 'b']`.
fn list_items(cell: &str) -> Vec<String> {
    let inside = cell.trim_start_matches('[').trim_end_matches(']');
    let items = inside.split(',').map(|item| item.trim().trim_matches(['"', '\'']).to_owned());
    items.filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use vademecum_model::MediaDraft;

    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    fn read(text: &str) -> Vec<(String, MediaDraft)> {
        assert!(detects(&CsvReadingList, "/list.csv", text), "{text}");
        let parsed = parse(&CsvReadingList, "/list.csv", text);
        assert_eq!(parsed.problems, []);
        let origins = parsed.drafts.iter().map(|it| it.origin.clone());
        origins.zip(documents(&parsed).into_iter().cloned()).collect()
    }

    #[test]
    fn readwise_book_has_its_highlights() {
        let found = read(
            "\u{feff}Highlight,Book Title,Book Author,Amazon Book ID,Note,Color,Tags,Location Type,Location,Highlighted at,Document tags\n\
             \"Rye, rises.\",Grain,Ada,B0,.baking .slow Why?,yellow,\"a,b\",page,12,2026-01-05 10:00:00+00:00,food\n\
             Oats rest.,Grain,Ada,B0,,,,location,7,2026-01-04 10:00:00+00:00,food\n\
             Other.,Grain,Ben,,,,,,,,\n",
        );
        assert_eq!(found[0].0, "readwise:Grain|Ada");
        let book = &found[0].1;
        assert_eq!((book.title.as_str(), book.author.as_deref()), ("Grain", Some("Ada")));
        assert_eq!(
            book.content,
            "> Rye, rises.\n\nPage 12 · yellow · 2026-01-05 · #a #b #baking #slow\n\nNote: Why?\n\n\
             > Oats rest.\n\nLocation 7 · 2026-01-04"
        );
        assert_eq!(book.tags, ["food", "a", "b", "baking", "slow"]);
        assert_eq!(book.created_at.unwrap().to_string(), "2026-01-04T10:00:00.000Z");
        assert_eq!(book.kept.as_ref().unwrap().chunks.len(), 2);
        assert_eq!(found[1].1.author.as_deref(), Some("Ben"));
    }

    #[test]
    fn reader_document_has_address_and_tags() {
        let found = read(
            "Title,URL,ID,Document tags,Saved date,Reading progress,Location,Seen\n\
             Rye,https://example.org,01a,\"['a', 'b']\",2026-01-05 10:00:00+00:00,0.5,archive,True\n",
        );
        assert_eq!(found[0].0, "readwise-reader:01a");
        assert_eq!(found[0].1.tags, ["a", "b"]);
        assert_eq!(found[0].1.url.as_deref(), Some("https://example.org"));
        assert!(found[0].1.content.ends_with("Location: archive"));
    }

    #[test]
    fn raindrop_bookmark_has_folder_and_highlights() {
        let found = read(
            "id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite\n\
             5,Rye,Mine,About rye,https://example.org,Food / Bread,\"a, b\",2026-01-05T10:00:00.000Z,,\
             \"Highlight: Rye rises.\nSlowly.\nColor: green\nNote: Why?\n\nHighlight: Oats.\",true\n",
        );
        assert_eq!(found[0].0, "raindrop:5");
        assert_eq!(
            found[0].1.content,
            "Mine\n\nAbout rye\n\nAddress: https://example.org\nFolder: Food / Bread\nFavorite: yes\n\n\
             > Rye rises.\n> Slowly.\n\ngreen\n\nNote: Why?\n\n> Oats."
        );
        assert_eq!(found[0].1.media_type, "bookmark");
    }

    #[test]
    fn instapaper_selection_is_highlight() {
        let found = read(
            "URL,Title,Selection,Folder,Timestamp,Tags\n\
             https://example.org,Rye,Rye rises.,Archive,1767607200,\"[\"\"a\"\",\"\"b\"\"]\"\n\
             https://example.org,Rye,Oats rest.,Archive,1767607200,[]\n",
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "instapaper:https://example.org");
        assert_eq!(found[0].1.tags, ["a", "b"]);
        assert!(found[0].1.content.contains("Folder: Archive\n\n> Rye rises.\n\n> Oats rest."));
        assert_eq!(found[0].1.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
    }

    #[test]
    fn pocket_page_has_tags_and_status() {
        let found = read(
            "title,url,time_added,tags,status\nRye,https://example.org,1767607200,a|b,unread\n\
             https://a.org,https://a.org,1,,archive\n",
        );
        assert_eq!(found[0].1.tags, ["a", "b"]);
        assert!(found[0].1.content.ends_with("Status: unread"));
        assert_eq!(found[1].0, "pocket:https://a.org");
    }

    #[test]
    fn broken_row_is_reported_others_read() {
        let text = b"title,url,time_added,tags,status\nRye,https://a.org,1,,x\n,,,,\n".to_vec();
        let parsed = parse(&CsvReadingList, "/a.csv", text);
        assert_eq!((parsed.drafts.len(), parsed.problems.len()), (1, 1));
        assert!(!detects(&CsvReadingList, "/a.csv", "name,url\n"));
        assert!(try_parse(&CsvReadingList, "/a.csv", "title,url,time_added,\n").is_err());
    }
}
