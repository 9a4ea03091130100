//! Journals of Day One: JSON, also in the ZIP archive of the export.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use vademecum_model::{NoteDraft, SourceName};

use super::front_matter::with_fields;
use crate::{
    archive::{PackedFile, has_extension},
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime, decode_text,
        json::{parse_entry, text_at, texts_at},
        keywords::distinct_keywords,
    },
};

/// Journals of Day One.
#[derive(Debug)]
pub(crate) struct DayOne;

impl Format for DayOne {
    fn id(&self) -> &'static str {
        "day_one"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "journals of Day One (.json, the export's .zip)"
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let is_journal = |name: &String| !name.contains('/') && has_extension(name, &["json"]);
        let is_media = |name: &String| {
            ["photos/", "videos/", "audios/", "pdfs/"].iter().any(|folder| name.starts_with(folder))
        };
        let all = |name: &String| is_journal(name) || is_media(name);
        let is_packed = sample.entries.iter().any(|it| it == "Journal.json")
            || sample.entries.iter().any(is_media) && sample.entries.iter().any(is_journal);
        is_packed && sample.entries.iter().all(all)
            || sample.is_json_with(&["entries", "creationDate"])
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let mut parsed = ParsedFormat::default();
        if !input.is_zip() {
            add_journal(&mut parsed, &input.stem(), input.bytes)?;
            return parsed.or_empty("it has no entries");
        }
        for PackedFile { name, bytes, .. } in input.unpack(|name| has_extension(name, &["json"]))? {
            let journal = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
            if let Err(error) = add_journal(&mut parsed, journal, &bytes) {
                parsed.add_problem(name.as_str(), error.to_string());
            }
        }
        parsed.or_empty("it has no entries")
    }
}

#[derive(Debug, Deserialize)]
struct Journal<'a> {
    #[serde(borrow)]
    entries: Vec<&'a RawValue>,
}

fn add_journal(parsed: &mut ParsedFormat, journal: &str, bytes: &[u8]) -> Result<(), FormatError> {
    let text = decode_text(bytes, None)?;
    let entries = serde_json::from_str::<Journal>(&text)?.entries;
    for (number, json) in (1..).zip(entries) {
        match parse_entry::<Value>(json.get()) {
            Ok(entry) => add_entry(parsed, journal, &entry),
            Err(reason) => parsed.add_problem(format!("entry {number} of `{journal}`"), reason),
        }
    }
    Ok(())
}

fn add_entry(parsed: &mut ParsedFormat, journal: &str, entry: &Value) {
    let id = text_at(entry, "/uuid");
    let text = plain_markdown(text_at(entry, "/text"));
    let place = ["/location/placeName", "/location/localityName", "/location/country"];
    let place: Vec<_> = place.map(|path| text_at(entry, path)).to_vec();
    let place: Vec<_> = place.into_iter().filter(|it| !it.is_empty()).collect();
    let weather = text_at(entry, "/weather/conditionsDescription");
    let zone = text_at(entry, "/timeZone").replace("\\/", "/");
    let place = place.join(", ");
    let fields = [("place", place.as_str()), ("weather", weather), ("time_zone", zone.as_str())];
    let created = text_at(entry, "/creationDate");
    let day = created.get(..10).unwrap_or(created);
    if text.trim().is_empty() {
        return parsed.add_problem(format!("entry of {day}"), "it has no text");
    }
    let draft = NoteDraft {
        tags: distinct_keywords(texts_at(entry, "/tags")),
        folders: vec![journal.to_owned()],
        created_at: datetime::parse_text(created),
        modified_at: datetime::parse_text(text_at(entry, "/modifiedDate"))
            .or_else(|| datetime::parse_text(created)),
        title: text
            .lines()
            .find(|it| !it.trim().is_empty())
            .unwrap_or(day)
            .trim_start_matches(['#', ' '])
            .to_owned(),
        content: with_fields(&text, &fields),
        ..NoteDraft::default()
    };
    parsed.add_note(format!("day-one:{id}"), draft, day);
}

/// Removes the backslashes before signs that Day One escapes, and names its pictures.
fn plain_markdown(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(next) = letters.next() {
        let is_escape = next == '\\' && letters.peek().is_some_and(char::is_ascii_punctuation);
        plain.extend(if is_escape { letters.next() } else { Some(next) });
    }
    let mut named = String::with_capacity(plain.len());
    let mut rest = plain.as_str();
    while let Some((before, after)) = rest.split_once("![](dayone-moment:") {
        named.extend([before, "[picture]"]);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    named + rest
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    const JOURNAL: &str = r##"{"metadata": {"version": "1.0"}, "entries": [
        {"uuid": "E1", "text": "# Rye\n\n1\\. Knead\\.\n![](dayone-moment:\/\/A1)", "tags": ["bread"],
         "creationDate": "2026-01-05T10:00:00Z", "modifiedDate": "2026-01-06T10:00:00Z",
         "timeZone": "Europe\/Berlin", "location": {"placeName": "Mill", "country": "Germany"},
         "weather": {"conditionsDescription": "Cloudy"}},
        {"uuid": "E2", "creationDate": "2026-01-07T10:00:00Z"}, 5]}"##;

    #[test]
    fn entry_keeps_tags_dates_place_and_weather() {
        let zip = zip_archive(&[("Journal.json", JOURNAL.as_bytes()), ("photos/a.jpeg", b"x")]);
        for (path, bytes) in [("/Journal.json", JOURNAL.as_bytes()), ("/a.zip", &zip)] {
            assert!(detects(&DayOne, path, bytes));
            let parsed = parse(&DayOne, path, bytes);
            assert_eq!(parsed.drafts[0].origin, "day-one:E1");
            let note = notes(&parsed)[0];
            assert_eq!((note.title.as_str(), note.folders.join("")), ("Rye", "Journal".to_owned()));
            assert_eq!(
                note.content,
                "---\nplace: \"Mill, Germany\"\nweather: \"Cloudy\"\ntime_zone: \"Europe/Berlin\"\n---\n\
                 # Rye\n\n1. Knead.\n[picture]"
            );
            assert_eq!(note.tags, ["bread"]);
            assert_eq!(note.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
            assert_eq!(note.modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
            assert_eq!(parsed.problems.len(), 2, "{:?}", parsed.problems);
        }
    }

    #[test]
    fn other_files_are_rejected() {
        assert!(try_parse(&DayOne, "/a.json", "{\"entries\": 5}").is_err());
        assert!(!detects(&DayOne, "/a.zip", zip_archive(&[("a.json", b"{}"), ("x/b.md", b"")])));
        assert_eq!(plain_markdown("\\"), "\\");
        assert_eq!(plain_markdown("![](dayone-moment:x"), "[picture]");
    }
}
