//! Formats of dates in the settings of Obsidian (those of Moment.js) and of Logseq.

use chrono::{Datelike as _, NaiveDate, NaiveDateTime, Timelike as _};

/// Program whose format it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatStyle {
    /// `YYYY-MM-DD`, with texts in brackets.
    Moment,
    /// `yyyy_MM_dd`, with texts in quotation marks.
    Logseq,
}

/// Returns a time in a format. Names of days and months are English; letters without meaning stay as they are.
pub(super) fn format_time(format: &str, style: FormatStyle, time: NaiveDateTime) -> String {
    let (open, close) = match style {
        FormatStyle::Moment => ('[', ']'),
        FormatStyle::Logseq => ('\'', '\''),
    };
    let mut text = String::new();
    let mut rest = format;
    while let Some(next) = rest.chars().next() {
        if next == open
            && let Some((literal, after)) =
                rest.get(1..).and_then(|inside| inside.split_once(close))
        {
            text.push_str(literal);
            rest = after;
            continue;
        }
        let run = rest.len() - rest.trim_start_matches(next).len();
        let (token, after) = longest_token(rest, run, next.len_utf8(), style);
        let value = match style {
            FormatStyle::Moment => moment_value(token, time),
            FormatStyle::Logseq => logseq_value(token, time.date()),
        };
        text.push_str(value.as_deref().unwrap_or(token));
        rest = after;
    }
    text
}

/// Splits off the token at the beginning of a format: a run of one letter, which may be ordinal.
fn longest_token(rest: &str, run: usize, letter: usize, style: FormatStyle) -> (&str, &str) {
    let is_ordinal = match style {
        FormatStyle::Moment => run == letter && rest.starts_with(['D', 'M', 'Q', 'd', 'w', 'W']),
        FormatStyle::Logseq => run == letter && rest.starts_with('d'),
    };
    let end = if is_ordinal && rest.get(run..).is_some_and(|after| after.starts_with('o')) {
        run + 1
    } else {
        run
    };
    rest.split_at_checked(end).unwrap_or((rest, ""))
}

fn moment_value(token: &str, time: NaiveDateTime) -> Option<String> {
    let date = time.date();
    let week = date.iso_week();
    let hour12 = (time.hour() + 11) % 12 + 1;
    Some(match token {
        "YYYY" => format!("{:04}", date.year()),
        "YY" => format!("{:02}", date.year().rem_euclid(100)),
        "Q" => (date.month0() / 3 + 1).to_string(),
        "MMMM" => month_name(date).to_owned(),
        "MMM" => short(month_name(date)),
        "MM" => format!("{:02}", date.month()),
        "M" => date.month().to_string(),
        "Mo" => ordinal(date.month()),
        "DDDD" => format!("{:03}", date.ordinal()),
        "DDD" => date.ordinal().to_string(),
        "DD" => format!("{:02}", date.day()),
        "D" => date.day().to_string(),
        "Do" => ordinal(date.day()),
        "dddd" => day_name(date).to_owned(),
        "ddd" => short(day_name(date)),
        "dd" => day_name(date).chars().take(2).collect(),
        "d" => date.weekday().num_days_from_sunday().to_string(),
        "E" => date.weekday().number_from_monday().to_string(),
        "gggg" | "GGGG" => format!("{:04}", week.year()),
        "gg" | "GG" => format!("{:02}", week.year().rem_euclid(100)),
        "ww" | "WW" => format!("{:02}", week.week()),
        "w" | "W" => week.week().to_string(),
        "wo" | "Wo" => ordinal(week.week()),
        "HH" => format!("{:02}", time.hour()),
        "H" => time.hour().to_string(),
        "hh" => format!("{hour12:02}"),
        "h" => hour12.to_string(),
        "mm" => format!("{:02}", time.minute()),
        "m" => time.minute().to_string(),
        "ss" => format!("{:02}", time.second()),
        "s" => time.second().to_string(),
        "A" => if time.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        "a" => if time.hour() < 12 { "am" } else { "pm" }.to_owned(),
        _ => return None,
    })
}

fn logseq_value(token: &str, date: NaiveDate) -> Option<String> {
    Some(match token {
        "yyyy" | "YYYY" => format!("{:04}", date.year()),
        "yy" => format!("{:02}", date.year().rem_euclid(100)),
        "MMMM" => month_name(date).to_owned(),
        "MMM" => short(month_name(date)),
        "MM" => format!("{:02}", date.month()),
        "M" => date.month().to_string(),
        "dd" => format!("{:02}", date.day()),
        "d" => date.day().to_string(),
        "do" => ordinal(date.day()),
        "EEEE" => day_name(date).to_owned(),
        "EEE" | "EE" | "E" => short(day_name(date)),
        _ => return None,
    })
}

fn short(name: &str) -> String {
    name.chars().take(3).collect()
}

fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn month_name(date: NaiveDate) -> &'static str {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let month = usize::try_from(date.month0()).unwrap_or_default();
    MONTHS.get(month).copied().unwrap_or_default()
}

fn day_name(date: NaiveDate) -> &'static str {
    const DAYS: [&str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let day = usize::try_from(date.weekday().num_days_from_monday()).unwrap_or_default();
    DAYS.get(day).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(format: &str, style: FormatStyle) -> String {
        let date = NaiveDate::from_ymd_opt(2026, 1, 2).unwrap();
        format_time(format, style, date.and_hms_opt(15, 4, 5).unwrap())
    }

    #[test]
    fn moment_formats_are_read() {
        for (format, expected) in [
            ("YYYY-MM-DD", "2026-01-02"),
            ("YYYY/MM-MMMM/YYYY-MM-DD-dddd", "2026/01-January/2026-01-02-Friday"),
            ("gggg-[W]ww", "2026-W01"),
            ("[Log of] dddd, MMMM Do YY", "Log of Friday, January 2nd 26"),
            ("DDD DDDD Q E d dd ddd", "2 002 1 5 5 Fr Fri"),
            ("HH:mm h A", "15:04 3 PM"),
            ("YYYY年M月D日", "2026年1月2日"),
            ("[", "["),
        ] {
            assert_eq!(formatted(format, FormatStyle::Moment), expected, "{format}");
        }
    }

    #[test]
    fn logseq_formats_are_read() {
        for (format, expected) in [
            ("yyyy_MM_dd", "2026_01_02"),
            ("MMM do, yyyy", "Jan 2nd, 2026"),
            ("EEEE, MM/dd/yyyy", "Friday, 01/02/2026"),
            ("yyyy'年'MM'月'dd'日'", "2026年01月02日"),
        ] {
            assert_eq!(formatted(format, FormatStyle::Logseq), expected, "{format}");
        }
    }

    #[test]
    fn ordinals_have_english_endings() {
        let endings = [1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31].map(ordinal);
        let expected =
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st"];
        assert_eq!(endings, expected);
    }
}
