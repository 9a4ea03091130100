//! Dates as names of journal pages.
//!
//! Logseq shows a journal page under a date in the format of its settings, and links name it so. All of
//! its formats are read, because the settings are not part of a page.

use time::{Date, Month};
use vademecum_model::month_number;

/// The years of dates without separators: other numbers of eight digits are no dates.
const PLAIN_YEARS: std::ops::RangeInclusive<i32> = 1900..=2199;

/// Returns a date as `YYYY-MM-DD`. Accepts the formats of Logseq: `Jan 31st, 2026`, `31-01-2026`,
/// `Saturday, 01/31/2026`, `2026_01_31`, `20260131`, `2026年01月31日` and their variants. Day and month
/// are in the order of the format with this separator, or in the other one if only that is a date.
pub(super) fn parse_date_name(name: &str) -> Option<String> {
    // The shortest format has eight characters, the longest ones name weekday and month.
    if !(8..=40).contains(&name.len()) || !name.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let name = name.to_lowercase();
    let bare = strip_weekday(name.trim());
    let date = numeric_date(bare).or_else(|| named_date(bare))?;
    Some(format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day()))
}

/// Removes the weekday before or after a date.
fn strip_weekday(name: &str) -> &str {
    let is_weekday = |word: &str| {
        const DAYS: [&str; 7] =
            ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
        DAYS.iter().any(|day| *day == word || day.get(..3) == Some(word))
    };
    if let Some((first, rest)) = name.split_once(',')
        && is_weekday(first)
    {
        return rest.trim_start();
    }
    match name.rsplit_once(' ') {
        Some((rest, last)) if is_weekday(last) => rest.trim_end().trim_end_matches(','),
        _ => name,
    }
}

fn numeric_date(name: &str) -> Option<Date> {
    if name.len() == 8 && name.bytes().all(|byte| byte.is_ascii_digit()) {
        let year = name.get(..4)?.parse().ok().filter(|year| PLAIN_YEARS.contains(year))?;
        return calendar_date(year, name.get(4..6)?.parse().ok()?, name.get(6..)?.parse().ok()?);
    }
    let plain = name.replace(['年', '月'], "-").replace('日', "");
    let separator = plain.chars().find(|next| !next.is_ascii_digit())?;
    let mut parts = plain.split(separator);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    let is_number = |part: &str| matches!(part.len(), 1 | 2 | 4);
    if parts.next().is_some() || ![first, second, third].into_iter().all(is_number) {
        return None;
    }
    let number = |part: &str| part.parse::<u16>().ok();
    let (a, b, c) = (number(first)?, number(second)?, number(third)?);
    match (first.len(), third.len(), separator) {
        (4, 1 | 2, _) => calendar_date(a.into(), b, c),
        (1 | 2, 4, '/' | '_') => {
            calendar_date(c.into(), a, b).or_else(|| calendar_date(c.into(), b, a))
        }
        (1 | 2, 4, '-' | '.') => {
            calendar_date(c.into(), b, a).or_else(|| calendar_date(c.into(), a, b))
        }
        _ => None,
    }
}

/// Parses a date with the name of its month, such as `31st january 2026`.
fn named_date(name: &str) -> Option<Date> {
    let (mut year, mut month, mut day) = (None, None, None);
    for word in name.split([' ', ',']).filter(|word| !word.is_empty()) {
        let named = month_number(word);
        let digits = word.trim_end_matches(|next: char| next.is_ascii_alphabetic());
        let suffix = word.get(digits.len()..).unwrap_or_default();
        if let Some(number) = named.filter(|_| month.is_none()) {
            month = u16::try_from(number).ok();
        } else if suffix.is_empty() && word.len() == 4 && year.is_none() {
            year = Some(word.parse().ok()?);
        } else if matches!(suffix, "" | "st" | "nd" | "rd" | "th") && day.is_none() {
            day = Some(digits.parse().ok()?);
        } else {
            return None;
        }
    }
    calendar_date(year?, month?, day?)
}

fn calendar_date(year: i32, month: u16, day: u16) -> Option<Date> {
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    Date::from_calendar_date(year, month, u8::try_from(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_journal_formats_name_one_day() {
        for name in [
            "2026-01-31",
            "2026_01_31",
            "2026/01/31",
            "20260131",
            "Jan 31st, 2026",
            "January 31st, 2026",
            "31st Jan 2026",
            "31st January 2026",
            "31-01-2026",
            "31.01.2026",
            "01/31/2026",
            "01-31-2026",
            "01_31_2026",
            "Sat, 31-01-2026",
            "Saturday, 01/31/2026",
            "Sat, 2026/01/31",
            "2026-01-31 Saturday",
            "Saturday, January 31st, 2026",
            "2026年01月31日",
        ] {
            assert_eq!(parse_date_name(name).as_deref(), Some("2026-01-31"), "{name}");
        }
    }

    #[test]
    fn other_names_are_not_dates() {
        for name in [
            "12345678",
            "2026-13-40",
            "2026-01-31 plan",
            "January 2026",
            "v1.2.2026.1",
            "May the 4th, be 2026",
            "年月日年月日",
            "",
        ] {
            assert_eq!(parse_date_name(name), None, "{name}");
        }
    }
}
