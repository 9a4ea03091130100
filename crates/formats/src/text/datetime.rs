//! Parsing of dates and times in the formats that other programs write.

use serde_json::Value;
use vademecum_model::Timestamp;

/// Largest number read as seconds (year 5138); larger ones are milliseconds.
const MAX_EPOCH_SECONDS: f64 = 100_000_000_000.0;
/// Largest number read as milliseconds; larger ones are microseconds.
const MAX_EPOCH_MILLISECONDS: f64 = 100_000_000_000_000.0;

/// Longest text that is read as the date of a document, in bytes.
const MAX_DATE_BYTES: usize = 100;
/// Largest offset from UTC, in hours.
const MAX_OFFSET_HOURS: u32 = 14;
/// Names of time zones in mail and feeds, by their offset from UTC in minutes.
const ZONES: [(f64, &[&str]); 22] = [
    (0.0, &["Z", "UT", "UTC", "GMT", "WET"]),
    (-240.0, &["EDT", "AST"]),
    (-300.0, &["EST", "CDT"]),
    (-360.0, &["CST", "MDT"]),
    (-420.0, &["MST", "PDT"]),
    (-480.0, &["PST", "AKDT"]),
    (-540.0, &["AKST"]),
    (-600.0, &["HST"]),
    (-210.0, &["NST"]),
    (-180.0, &["BRT", "ART"]),
    (60.0, &["CET", "MET", "WEST", "BST"]),
    (120.0, &["CEST", "MEST", "EET", "SAST"]),
    (180.0, &["EEST", "MSK"]),
    (330.0, &["IST"]),
    (480.0, &["SGT", "HKT", "AWST"]),
    (540.0, &["JST", "KST"]),
    (570.0, &["ACST"]),
    (600.0, &["AEST"]),
    (630.0, &["ACDT"]),
    (660.0, &["AEDT"]),
    (720.0, &["NZST"]),
    (780.0, &["NZDT"]),
];

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Parses a JSON number of seconds, milliseconds or microseconds since 1970, or a JSON string.
pub fn parse_json(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(number) => from_epoch(number.as_f64()?),
        Value::String(text) => parse_text(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses ISO 8601, a number since 1970, a date in digits, or words such as `January 31, 2026
/// 8:30am` and `Fri, 3 May 2024 10:00:00 +0200 (CEST)`. A time without a known offset is UTC.
pub fn parse_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    Timestamp::parse(text)
        .ok()
        // A shorter number is a year, a day or an hour.
        .or_else(|| from_epoch(text.parse().ok().filter(|_| text.len() >= 9)?))
        .or_else(|| {
            let (local, minutes) = split_offset(text);
            let local = parse_numeric(local).or_else(|| parse_worded(local))?;
            Timestamp::from_unix_seconds(local.as_unix_milliseconds() / 1e3 - minutes * 60.0)
        })
}

/// Parses the date that a document states as its own. The placeholders of programs, which are in
/// the first centuries, are no dates.
pub fn parse_document_date(text: &str) -> Option<Timestamp> {
    let earliest = Timestamp::parse("1000-01-01").ok();
    parse_text(text).filter(|_| text.len() <= MAX_DATE_BYTES).filter(|it| Some(*it) >= earliest)
}

/// Splits a date with a time into the part before the offset, and the offset in minutes. An unknown
/// offset is 0.
fn split_offset(text: &str) -> (&str, f64) {
    // A comment repeats the offset in words.
    let text = text.split('(').next().unwrap_or_default().trim_end();
    let Some(time) = text.find(':') else { return (text, 0.0) };
    let after_time = &text[time..];
    let sign = after_time.find(['+', '-', '\u{2212}']);
    if let Some(at) = sign.map(|at| time + at) {
        let (local, offset) = text.split_at(at);
        return (trim_zone_name(local).0, parse_offset(offset).unwrap_or(0.0));
    }
    trim_zone_name(text)
}

/// Parses an offset such as `+0200`, `+02:00`, `-7` or `+5:30` into minutes.
fn parse_offset(text: &str) -> Option<f64> {
    let sign = if text.starts_with('+') { 1.0 } else { -1.0 };
    let digits: String = text.chars().skip(1).filter(|next| *next != ':').collect();
    let number: u32 = digits.trim().parse().ok()?;
    let (hours, minutes) =
        if digits.len() <= 2 { (number, 0) } else { (number / 100, number % 100) };
    (hours <= MAX_OFFSET_HOURS && minutes < 60).then(|| sign * f64::from(hours * 60 + minutes))
}

/// Removes the name of a time zone from the end, and returns its offset in minutes.
fn trim_zone_name(text: &str) -> (&str, f64) {
    let text = text.trim_end();
    let before = text.trim_end_matches(|next: char| next.is_ascii_alphabetic());
    let name = text[before.len()..].to_ascii_uppercase();
    match ZONES.iter().find(|(_, names)| names.contains(&name.as_str())) {
        Some((minutes, _)) => (before.trim_end(), *minutes),
        None => (text, 0.0),
    }
}

fn from_epoch(number: f64) -> Option<Timestamp> {
    let seconds = match number.abs() {
        size if size < MAX_EPOCH_SECONDS => number,
        size if size < MAX_EPOCH_MILLISECONDS => number / 1e3,
        _ => number / 1e6,
    };
    Timestamp::from_unix_seconds(seconds)
}

/// Parses year, month, day and optionally a time, with any separators: `2024-1-5 @14h 30m 12s`.
fn parse_numeric(text: &str) -> Option<Timestamp> {
    let parts = text.split(|next: char| !next.is_ascii_digit()).filter(|part| !part.is_empty());
    let numbers: Vec<u32> = parts.take(6).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let is_date = text.starts_with(|next: char| next.is_ascii_digit());
    let (date, time) = numbers.split_at_checked(3)?;
    let [year, month, day] = date else { return None };
    if !is_date || *year < 1000 {
        return None;
    }
    build_timestamp(*year, *month, *day, time)
}

/// Parses a date with the name of the month: `January 31, 2026 8:30am`, `31 January 2026`, `Fri May
/// 3 10:00:00 2024`. The larger of two numbers is the year; one of two digits is from 1950 to 2049.
fn parse_worded(text: &str) -> Option<Timestamp> {
    let text = text.to_lowercase();
    let (before, time, after) = split_time(&text);
    let words = || {
        let separated = before.split(is_separator).chain(after.split(is_separator));
        separated.filter(|word| !word.is_empty())
    };
    let month = words().find_map(month_number)?;
    let mut numbers =
        words().filter_map(|word| word.trim_end_matches(char::is_alphabetic).parse::<u32>().ok());
    let (first, second) = (numbers.next()?, numbers.next()?);
    let (day, year) = if first > 31 { (second, first) } else { (first, second) };
    let year = match year {
        0..50 => 2_000 + year,
        50..100 => 1_900 + year,
        year => year,
    };
    let mut time = time.unwrap_or_else(|| numbers.take(3).collect());
    if let Some(hour) = time.first_mut() {
        match (text.ends_with("pm"), text.ends_with("am")) {
            (true, _) if *hour < 12 => *hour += 12,
            (_, true) if *hour == 12 => *hour = 0,
            _ => {}
        }
    }
    build_timestamp(year, month, day, &time)
}

fn is_separator(next: char) -> bool {
    !next.is_alphanumeric()
}

/// Splits a text at its time such as `8:30` or `10:00:00.5`.
fn split_time(text: &str) -> (&str, Option<Vec<u32>>, &str) {
    let no_digit = |next: char| !next.is_ascii_digit();
    let Some(colon) = text.find(':') else { return (text, None, "") };
    let start = text[..colon]
        .rfind(no_digit)
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let rest = &text[start..];
    let end = rest.find(|next: char| no_digit(next) && !matches!(next, ':' | '.'));
    let (time, after) = rest.split_at(end.unwrap_or(rest.len()));
    let whole = time.split('.').next().unwrap_or_default();
    let numbers = whole.split(':').map(str::parse).collect::<Result<Vec<u32>, _>>();
    (&text[..start], numbers.ok(), after)
}

fn month_number(word: &str) -> Option<u32> {
    let place = MONTHS.iter().position(|month| word.len() >= 3 && word.starts_with(month))?;
    u32::try_from(place + 1).ok()
}

fn build_timestamp(year: u32, month: u32, day: u32, time: &[u32]) -> Option<Timestamp> {
    let at = |place: usize| time.get(place).copied().unwrap_or(0);
    let text = format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", at(0), at(1), at(2));
    Timestamp::parse(&text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn datetime_is_parsed_in_every_format() {
        for (written, meant) in [
            (json!("2024-01-05T14:30:12Z"), "2024-01-05T14:30:12.000Z"),
            (json!(1_704_465_012), "2024-01-05T14:30:12.000Z"),
            (json!(1_704_465_012_000_i64), "2024-01-05T14:30:12.000Z"),
            (json!(1_704_465_012_000_000_i64), "2024-01-05T14:30:12.000Z"),
            (json!("1704465012"), "2024-01-05T14:30:12.000Z"),
            (json!("2024-1-5 @14h 30m 12s 123ms"), "2024-01-05T14:30:12.000Z"),
            (json!("2024-01-05@14h30m12s"), "2024-01-05T14:30:12.000Z"),
            (json!("January 5, 2024 2:30pm"), "2024-01-05T14:30:00.000Z"),
            (json!("Jan 5, 2024 12:05 AM"), "2024-01-05T00:05:00.000Z"),
            (json!("5 January 2024"), "2024-01-05T00:00:00.000Z"),
            (json!("Fri, 5 Jan 2024 10:00:00 +0200 (EET)"), "2024-01-05T08:00:00.000Z"),
            (json!("5 Jan 24 10:00 EST"), "2024-01-05T15:00:00.000Z"),
            (json!("Fri, 05 Jan 1996 23:30:00 -0330"), "1996-01-06T03:00:00.000Z"),
            (json!("Fri Jan  5 14:30:12 2024"), "2024-01-05T14:30:12.000Z"),
            (json!("Fri, 5 Jan 2024 14:30:12"), "2024-01-05T14:30:12.000Z"),
            (json!("Fri, 5 Jan 2024 14:30:12 GMT+5:30"), "2024-01-05T09:00:12.000Z"),
            (json!("Fri, 5 Jan 2024 14:30:12 +9900"), "2024-01-05T14:30:12.000Z"),
            (json!("Fri, 5 Jan 2024 14:30:12 Somewhere"), "2024-01-05T14:30:12.000Z"),
            (json!("2024-01-05T14:30:12+0200"), "2024-01-05T12:30:12.000Z"),
            (json!("2024-01-05 14:30:12.25 -07"), "2024-01-05T21:30:12.000Z"),
            (json!("2024/01/05 14:30:12 CET"), "2024-01-05T13:30:12.000Z"),
        ] {
            assert_eq!(
                parse_json(&written).map(|it| it.to_string()).as_deref(),
                Some(meant),
                "{written}"
            );
        }
    }

    #[test]
    fn invalid_datetime_is_none() {
        for written in [
            json!(null),
            json!("yesterday"),
            json!("may be"),
            json!(""),
            json!(1e300),
            json!([1]),
            json!("2024-13-45"),
            json!("Journal 5, 2024"),
            json!("99999999999999999999-1-1"),
            json!("Fri, 31 Feb 2024 10:00:00 +0000"),
            json!("Fri, 3 May 2024 25:00:00 +0000"),
            json!("Thu, Jan :: +"),
        ] {
            assert_eq!(parse_json(&written), None, "{written}");
        }
    }

    #[test]
    fn placeholder_is_no_document_date() {
        assert_eq!(parse_document_date("0001-01-01T00:00:00Z"), None);
        assert_eq!(parse_document_date(&format!("2024-01-05{}", " x".repeat(80))), None);
        assert!(parse_document_date("1859-11-24").is_some());
    }
}
