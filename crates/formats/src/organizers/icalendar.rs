//! Calendars: events and tasks of iCalendar.

use std::collections::BTreeMap;

use vademecum_model::{MediaDraft, SourceName};

use super::content_line::{ContentLine, content_lines};
use crate::{
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        keywords::{distinct_keywords, split_commas},
    },
};

/// Maximum number of components in one another.
const MAX_DEPTH: usize = 16;
/// Components that are items, with the type of the document.
const ITEMS: [(&str, &str); 3] = [("VEVENT", "event"), ("VTODO", "task"), ("VJOURNAL", "journal")];

/// Events and tasks of a calendar.
#[derive(Debug)]
pub(crate) struct Calendar;

impl Format for Calendar {
    fn id(&self) -> &'static str {
        "calendar"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "calendars (.ics)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["ics", "ical"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        sample.head.trim_start().starts_with("BEGIN:VCALENDAR")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let (mut open, mut item): (Vec<String>, Vec<ContentLine>) = (Vec::new(), Vec::new());
        let (mut calendar, mut origins) = (String::new(), BTreeMap::new());
        for line in content_lines(&text) {
            match line.name.as_str() {
                "BEGIN" => {
                    if open.len() >= MAX_DEPTH {
                        return Err(FormatError::new(format!(
                            "it nests more than {MAX_DEPTH} components"
                        )));
                    }
                    open.push(line.value.trim().to_ascii_uppercase());
                }
                "END" => {
                    let kind = open.pop().unwrap_or_default();
                    if let Some((_, kind)) = ITEMS.iter().find(|(name, _)| *name == kind) {
                        let item = std::mem::take(&mut item);
                        add_item(&mut parsed, &mut origins, kind, &calendar, &item);
                    }
                }
                "X-WR-CALNAME" if open.len() == 1 => calendar = line.text(),
                // An alarm in an event has fields of its own.
                _ if open.last().is_some_and(|it| ITEMS.iter().any(|(name, _)| name == it)) => {
                    item.push(line);
                }
                _ => {}
            }
        }
        parsed.or_empty("it has no events")
    }
}

fn add_item(
    parsed: &mut ParsedFormat,
    origins: &mut BTreeMap<String, usize>,
    kind: &'static str,
    calendar: &str,
    lines: &[ContentLine],
) {
    let first = |name: &str| lines.iter().find(|line| line.name == name);
    let text = |name: &str| first(name).map(ContentLine::text).unwrap_or_default();
    let all = |name: &str| lines.iter().filter(|line| line.name == name).collect::<Vec<_>>();
    let people = |name: &str| all(name).into_iter().map(person).collect::<Vec<_>>().join(", ");
    let mut fields = vec![
        ("Start", first("DTSTART").map(shown_time).unwrap_or_default()),
        ("End", first("DTEND").map(shown_time).unwrap_or_default()),
        ("Due", first("DUE").map(shown_time).unwrap_or_default()),
        ("Duration", text("DURATION")),
        ("Repeats", text("RRULE")),
        ("Place", text("LOCATION")),
        ("Status", text("STATUS")),
        ("Completed", first("COMPLETED").map(shown_time).unwrap_or_default()),
        ("Organizer", people("ORGANIZER")),
        ("Attendees", people("ATTENDEE")),
        ("Calendar", calendar.to_owned()),
        ("Address", text("URL")),
    ];
    fields.retain(|(_, value)| !value.is_empty());
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let blocks = [fields.join("\n"), text("DESCRIPTION")];
    let blocks: Vec<String> = blocks.into_iter().filter(|it| !it.is_empty()).collect();
    let tags = all("CATEGORIES").into_iter().map(ContentLine::text).collect::<Vec<_>>().join(",");
    let title = text("SUMMARY");
    let uid = match text("UID") {
        uid if uid.is_empty() => {
            format!("{} {title}", first("DTSTART").map(|it| it.value.as_str()).unwrap_or_default())
        }
        uid => uid,
    };
    // A changed occurrence has the identifier of its series.
    let of_series = first("RECURRENCE-ID").map(|it| format!("/{}", it.value)).unwrap_or_default();
    let mut origin = format!("{kind}:{uid}{of_series}");
    let count = origins.entry(origin.clone()).or_insert(0);
    *count += 1;
    if *count > 1 {
        origin = format!("{origin}#{count}");
    }
    let time = |name: &str| first(name).and_then(|line| parse_time(&line.value));
    let created = time("CREATED").or_else(|| time("DTSTAMP"));
    let content = if blocks.is_empty() { title.clone() } else { blocks.join("\n\n") };
    let document = MediaDraft {
        title,
        content,
        media_type: kind.to_owned(),
        url: Some(text("URL")).filter(|url| !url.is_empty()),
        tags: distinct_keywords(split_commas(&tags)),
        created_at: created,
        modified_at: time("LAST-MODIFIED").or(created),
        ..MediaDraft::default()
    };
    parsed.add_document(origin, document, kind);
}

/// Returns the name and address of a person.
fn person(line: &ContentLine) -> String {
    let address = line.value.trim();
    let address = address.get(7..).filter(|_| address.to_ascii_lowercase().starts_with("mailto:"));
    let address = address.unwrap_or(line.value.trim());
    match line.parameter("CN") {
        "" => address.to_owned(),
        name => format!("{name} <{address}>"),
    }
}

/// Returns a time as it is shown: `2026-01-05 10:00 Europe/Berlin`.
fn shown_time(line: &ContentLine) -> String {
    let value = line.value.trim();
    let (digits, zone) = match value.strip_suffix('Z') {
        Some(digits) => (digits, "UTC"),
        None => (value, line.parameter("TZID")),
    };
    let is_digits = |text: &str| text.chars().all(|next| next.is_ascii_digit());
    let (day, time) = digits.split_once('T').unwrap_or((digits, ""));
    if day.len() != 8 || !is_digits(day) || !is_digits(time) {
        return value.to_owned();
    }
    let part =
        |text: &str, from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    let day = format!("{}-{}-{}", part(day, 0, 4), part(day, 4, 6), part(day, 6, 8));
    if time.len() < 4 {
        return day;
    }
    format!("{day} {}:{} {zone}", part(time, 0, 2), part(time, 2, 4)).trim_end().to_owned()
}

/// Parses a time in UTC; one without a zone counts as UTC.
fn parse_time(value: &str) -> Option<vademecum_model::Timestamp> {
    let line = ContentLine { value: value.to_owned(), ..ContentLine::default() };
    datetime::parse_text(shown_time(&line).trim_end_matches(" UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    const CALENDAR: &str = "BEGIN:VCALENDAR\r\nX-WR-CALNAME:Garden\r\nBEGIN:VTIMEZONE\r\nEND:VTIMEZONE\r\n\
        BEGIN:VEVENT\r\nUID:e1\r\nSUMMARY:Sow rye\\, oats\r\nDTSTART;TZID=Europe/Berlin:20260105T100000\r\n\
        DTEND;VALUE=DATE:20260106\r\nRRULE:FREQ=WEEKLY\r\nLOCATION:Bed 7\r\nCATEGORIES:garden,bread\r\n\
        ATTENDEE;CN=Ada:mailto:ada@example.org\r\nATTENDEE:mailto:ben@example.org\r\n\
        DESCRIPTION:Bring \r\n seeds.\\nAnd water.\r\nCREATED:20260101T090000Z\r\n\
        BEGIN:VALARM\r\nDESCRIPTION:alarm\r\nEND:VALARM\r\nEND:VEVENT\r\n\
        BEGIN:VTODO\r\nUID:e1\r\nSUMMARY:Buy seeds\r\nSTATUS:NEEDS-ACTION\r\nEND:VTODO\r\n\
        BEGIN:VEVENT\r\nUID:e1\r\nRECURRENCE-ID:20260112T100000\r\nSUMMARY:Moved\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

    #[test]
    fn event_keeps_time_people_and_rule() {
        assert!(detects(&Calendar, "/a.ics", CALENDAR));
        let parsed = parse(&Calendar, "/a.ics", CALENDAR);
        let origins: Vec<_> = parsed.drafts.iter().map(|it| it.origin.as_str()).collect();
        assert_eq!(origins, ["event:e1", "task:e1", "event:e1/20260112T100000"]);
        let event = documents(&parsed)[0];
        assert_eq!(
            event.content,
            "Start: 2026-01-05 10:00 Europe/Berlin\nEnd: 2026-01-06\nRepeats: FREQ=WEEKLY\n\
             Place: Bed 7\nAttendees: Ada <ada@example.org>, ben@example.org\nCalendar: Garden\n\n\
             Bring seeds.\nAnd water."
        );
        assert_eq!((event.title.as_str(), event.media_type.as_str()), ("Sow rye, oats", "event"));
        assert_eq!(event.tags, ["garden", "bread"]);
        assert_eq!(event.created_at.unwrap().to_string(), "2026-01-01T09:00:00.000Z");
    }

    #[test]
    fn deep_and_empty_calendars_fail() {
        let deep = format!("BEGIN:VCALENDAR\n{}", "BEGIN:VEVENT\n".repeat(100_000));
        assert!(try_parse(&Calendar, "/a.ics", deep).is_err());
        assert!(try_parse(&Calendar, "/a.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR").is_err());
        let twice = "BEGIN:VEVENT\nUID:a\nEND:VEVENT\n".repeat(2);
        let parsed = parse(&Calendar, "/a.ics", format!("BEGIN:VCALENDAR\n{twice}END:VCALENDAR"));
        assert_eq!(parsed.drafts[1].origin, "event:a#2");
    }
}
