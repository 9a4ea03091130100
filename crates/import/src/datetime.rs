//! Parsing of dates and times in the formats that other programs write.

use serde_json::Value;
use vademecum_kit::model::Timestamp;

/// Largest number read as seconds (year 5138); larger ones are milliseconds.
const MAX_EPOCH_SECONDS: f64 = 100_000_000_000.0;
/// Largest number read as milliseconds; larger ones are microseconds.
const MAX_EPOCH_MILLISECONDS: f64 = 100_000_000_000_000.0;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Parses a JSON number of seconds, milliseconds or microseconds since 1970, or a JSON string.
pub(super) fn parse_json(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(number) => from_epoch(number.as_f64()?),
        Value::String(text) => parse_text(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Parses ISO 8601, a number since 1970, a date in digits, or words such as `January 31, 2026
/// 8:30am`. A time without an offset is UTC.
pub(super) fn parse_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    Timestamp::parse(text)
        .ok()
        // A shorter number is a year, a day or an hour.
        .or_else(|| from_epoch(text.parse().ok().filter(|_| text.len() >= 9)?))
        .or_else(|| parse_numeric(text))
        .or_else(|| parse_worded(text))
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

/// Parses a date with the name of the month: `January 31, 2026 8:30am`, `31 January 2026`.
fn parse_worded(text: &str) -> Option<Timestamp> {
    let text = text.to_lowercase();
    let mut words = text.split(|next: char| !next.is_alphanumeric()).filter(|it| !it.is_empty());
    let month = words.clone().find_map(month_number)?;
    let is_late = text.ends_with("pm");
    let is_early = text.ends_with("am");
    let numbers: Vec<u32> = words
        .by_ref()
        .filter_map(|word| word.trim_end_matches(char::is_alphabetic).parse().ok())
        .take(5)
        .collect();
    let (date, time) = numbers.split_at_checked(2)?;
    let [day, year] = date else { return None };
    let mut time = time.to_vec();
    if let Some(hour) = time.first_mut() {
        match (is_late, is_early) {
            (true, _) if *hour < 12 => *hour += 12,
            (_, true) if *hour == 12 => *hour = 0,
            _ => {}
        }
    }
    build_timestamp(*year, month, *day, &time)
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
        ] {
            assert_eq!(parse_json(&written), None, "{written}");
        }
    }
}
