//! Dates that a query names in words, such as `in March 2024` or `last week`.
//!
//! ISO dates and names of months are read, and what is relative to today in English. A date that could
//! be something else, such as a number without a month, is not one. Items of that time rank as if they
//! had the words of the date.

use vademecum_model::{Timestamp, month_number};

const DAY: std::time::Duration = std::time::Duration::from_hours(24);
/// Words before a year, a month or a day without a year that make it a date.
const PREPOSITIONS: [&str; 12] =
    ["in", "during", "since", "from", "of", "last", "on", "im", "am", "seit", "en", "em"];
/// Words between the parts of a date in Romance languages.
const LINKING_WORDS: [&str; 3] = ["de", "del", "di"];

/// A range of days that a query names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryDates {
    /// First moment.
    pub after: Timestamp,
    /// Last moment.
    pub before: Timestamp,
    /// Words of the query that name it, in lower case.
    pub words: Vec<String>,
}

impl QueryDates {
    /// Returns the first date that a query names. Relative ones are seen from `now`.
    pub fn find(text: &str, now: Timestamp) -> Option<Self> {
        let words: Vec<String> = text
            .split(|letter: char| !letter.is_alphanumeric() && letter != '-')
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .filter(|word| !LINKING_WORDS.contains(&word.as_str()))
            .collect();
        (0..words.len()).find_map(|place| DateReader { words: &words, place, now }.read())
    }

    /// Returns whether a moment is in the range.
    pub fn contains(&self, moment: Timestamp) -> bool {
        (self.after..=self.before).contains(&moment)
    }
}

/// Reads a date at a place of the words of a query.
struct DateReader<'w> {
    words: &'w [String],
    place: usize,
    now: Timestamp,
}

impl DateReader<'_> {
    fn word(&self, offset: isize) -> &str {
        let place = self.place.checked_add_signed(offset);
        place.and_then(|place| self.words.get(place)).map_or("", String::as_str)
    }

    fn read(&self) -> Option<QueryDates> {
        let word = self.word(0);
        if let Some((year, month, day)) = iso_date(word) {
            return self.range(year, month, day, &[0]);
        }
        if let Some(month) = month_number(word) {
            return self.read_month(month);
        }
        match (word, self.word(1)) {
            ("today", _) => self.days(0, 0, &[0]),
            ("yesterday", _) => self.days(1, 1, &[0]),
            ("last" | "past", "week") => self.days(7, 0, &[0, 1]),
            ("last" | "past", "month") => self.days(31, 0, &[0, 1]),
            ("this", "month") => {
                let (year, month, _) = self.today();
                self.range(year, Some(month), None, &[0, 1])
            }
            ("last", "year") => self.range(self.today().0 - 1, None, None, &[0, 1]),
            ("this", "year") => self.range(self.today().0, None, None, &[0, 1]),
            (preposition, year) if PREPOSITIONS.contains(&preposition) => {
                self.range(year_number(year)?, None, None, &[1])
            }
            _ => None,
        }
    }

    fn read_month(&self, month: u32) -> Option<QueryDates> {
        let (before, after) = (day_number(self.word(-1)), day_number(self.word(1)));
        if let Some(year) = year_number(self.word(1)) {
            return match before {
                Some(day) => self.range(year, Some(month), Some(day), &[-1, 0, 1]),
                None => self.range(year, Some(month), None, &[0, 1]),
            };
        }
        if let (Some(day), Some(year)) = (after, year_number(self.word(2))) {
            return self.range(year, Some(month), Some(day), &[0, 1, 2]);
        }
        // Without a year, the latest one.
        let (this_year, this_month, _) = self.today();
        let year = if month > this_month { this_year - 1 } else { this_year };
        let follows = |offset| PREPOSITIONS.contains(&self.word(offset));
        match (before, after) {
            (Some(day), _) if follows(-2) => self.range(year, Some(month), Some(day), &[-1, 0]),
            (None, Some(day)) if follows(-1) => self.range(year, Some(month), Some(day), &[0, 1]),
            (None, None) if follows(-1) => self.range(year, Some(month), None, &[0]),
            _ => None,
        }
    }

    /// Returns year, month and day.
    fn today(&self) -> (u32, u32, u32) {
        let text = self.now.to_string();
        let part = |range| text.get(range).and_then(|part: &str| part.parse().ok()).unwrap_or(1);
        (part(0..4), part(5..7), part(8..10))
    }

    /// Returns the range from `first` days ago to `last` days ago.
    fn days(&self, first: u32, last: u32, words: &[isize]) -> Option<QueryDates> {
        let date = |days: u32| self.now.minus(DAY * days).to_string().get(..10).map(str::to_owned);
        let after = Timestamp::parse(&date(first)?).ok()?;
        let before = Timestamp::parse_range_end(&date(last)?).ok()?;
        Some(self.named(after, before, words))
    }

    /// Returns the range of a year, a month or a day.
    fn range(
        &self,
        year: u32,
        month: Option<u32>,
        day: Option<u32>,
        words: &[isize],
    ) -> Option<QueryDates> {
        let date = |year: u32, month: u32, day: u32| format!("{year:04}-{month:02}-{day:02}");
        let first = Timestamp::parse(&date(year, month.unwrap_or(1), day.unwrap_or(1))).ok()?;
        let last = match (month, day) {
            (Some(month), Some(day)) => Timestamp::parse_range_end(&date(year, month, day)).ok()?,
            (Some(month), None) if month < 12 => {
                Timestamp::parse(&date(year, month + 1, 1)).ok()?.minus(DAY / 86_400_000)
            }
            _ => Timestamp::parse_range_end(&date(year, 12, 31)).ok()?,
        };
        Some(self.named(first, last, words))
    }

    fn named(&self, after: Timestamp, before: Timestamp, words: &[isize]) -> QueryDates {
        let words = words.iter().map(|offset| self.word(*offset).to_owned()).collect();
        QueryDates { after, before, words }
    }
}

/// Reads `2024-01-31` or `2024-01`.
fn iso_date(word: &str) -> Option<(u32, Option<u32>, Option<u32>)> {
    let mut parts = word.split('-');
    let year = year_number(parts.next()?)?;
    let two = |part: &str| part.parse().ok().filter(|_| part.len() == 2);
    let month = two(parts.next()?).filter(|month| (1..=12).contains(month))?;
    let day = match parts.next() {
        Some(day) => Some(two(day).filter(|day| (1..=31).contains(day))?),
        None => None,
    };
    parts.next().is_none().then_some((year, Some(month), day))
}

fn year_number(word: &str) -> Option<u32> {
    let is_year = word.len() == 4 && word.bytes().all(|digit| digit.is_ascii_digit());
    word.parse().ok().filter(|year| is_year && (1900..2100).contains(year))
}

/// Returns the number of a day, 1 to 31, such as `7` or `7th`.
fn day_number(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let is_ordinal = ["", "st", "nd", "rd", "th"].contains(&word.get(digits.len()..)?);
    digits.parse().ok().filter(|day| is_ordinal && (1..=31).contains(day))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the range that a query names on 2026-11-28, and its words.
    fn find(text: &str) -> Option<(String, String, String)> {
        let now = Timestamp::parse("2026-11-28T10:00:00Z").unwrap();
        let found = QueryDates::find(text, now)?;
        let day = |moment: Timestamp| moment.to_string()[..10].to_owned();
        Some((day(found.after), day(found.before), found.words.join(" ")))
    }

    #[test]
    fn dates_in_words_are_ranges() {
        for (text, first, last, words) in [
            ("what did Emi plan in March 2024", "2024-03-01", "2024-03-31", "march 2024"),
            ("party on 10 January 2024", "2024-01-10", "2024-01-10", "10 january 2024"),
            ("party on Jan 7th, 2024?", "2024-01-07", "2024-01-07", "jan 7th 2024"),
            ("emails from July 2001", "2001-07-01", "2001-07-31", "july 2001"),
            ("goals of December 2023", "2023-12-01", "2023-12-31", "december 2023"),
            ("journal 2024-02-29", "2024-02-29", "2024-02-29", "2024-02-29"),
            ("journal 2024-02", "2024-02-01", "2024-02-29", "2024-02"),
            ("what did I read in 2019", "2019-01-01", "2019-12-31", "2019"),
            ("what did I read last year", "2025-01-01", "2025-12-31", "last year"),
            ("what did I write yesterday", "2026-11-27", "2026-11-27", "yesterday"),
            ("notes of last week", "2026-11-21", "2026-11-28", "last week"),
            ("notes from this month", "2026-11-01", "2026-11-30", "this month"),
            ("what did I weigh in March", "2026-03-01", "2026-03-31", "march"),
            ("what did I weigh in December", "2025-12-01", "2025-12-31", "december"),
            ("the call on May 3", "2026-05-03", "2026-05-03", "may 3"),
            ("the call on 3 May", "2026-05-03", "2026-05-03", "3 may"),
            ("was plante Emi im März 2024", "2024-03-01", "2024-03-31", "märz 2024"),
            ("fiesta del 10 de enero de 2024", "2024-01-10", "2024-01-10", "10 enero 2024"),
        ] {
            let expected = Some((first.to_owned(), last.to_owned(), words.to_owned()));
            assert_eq!(find(text), expected, "{text}");
        }
    }

    #[test]
    fn other_words_are_no_dates() {
        for text in [
            "may I bake",
            "10 mars bars",
            "march of the penguins",
            "python 3.12",
            "1984 by Orwell",
            "room 2024",
            "in 12 steps",
            "version 2024-13",
            "2024-02-30",
            "",
            "in 99999",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
