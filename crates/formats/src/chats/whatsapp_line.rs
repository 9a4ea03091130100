//! The beginning of a message in a chat of WhatsApp: `date, time - ` or `[date, time] `.
//!
//! The order of day and month is that of the phone's language. It is found from all dates of a chat.

use vademecum_model::Timestamp;

/// Maximum length of the date and time, in bytes.
const MAX_STAMP_BYTES: usize = 48;

/// Words for the second half of the day.
const AFTERNOON: [&str; 6] = ["pm", "p.m", "p. m", "下午", "午後", "오후"];
/// Words for the first half of the day.
const MORNING: [&str; 6] = ["am", "a.m", "a. m", "上午", "午前", "오전"];

/// The numbers of a date and time, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    date: [u32; 3],
    time: [u32; 3],
}

/// The number with which a date begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstNumber {
    Day,
    Month,
    Year,
}

/// Splits a line at the end of its date and time; `None` if it does not begin with them.
pub(super) fn split_line(line: &str) -> Option<(Stamp, &str)> {
    let line = line.trim_start_matches(['\u{200e}', '\u{200f}', '\u{feff}']);
    let (stamp, rest) = match line.strip_prefix('[') {
        Some(line) => line.split_once("] ")?,
        None => line.split_once(" - ")?,
    };
    (stamp.len() <= MAX_STAMP_BYTES).then(|| Stamp::parse(stamp))?.map(|stamp| (stamp, rest))
}

impl Stamp {
    fn parse(text: &str) -> Option<Self> {
        let text = text.to_lowercase().replace(['\u{202f}', '\u{a0}'], " ");
        if !text.starts_with(|next: char| next.is_ascii_digit()) {
            return None;
        }
        let is_digit = |next: char| next.is_ascii_digit();
        let numbers = text.split(|next: char| !is_digit(next)).filter(|it| !it.is_empty());
        let numbers: Option<Vec<u32>> =
            numbers.map(|it| it.parse().ok().filter(|_| it.len() <= 4)).collect();
        let (date, time) = match *numbers?.as_slice() {
            [a, b, c, hour, minute] => ([a, b, c], [hour, minute, 0]),
            [a, b, c, hour, minute, second] => ([a, b, c], [hour, minute, second]),
            _ => return None,
        };
        let mut signs = text.split(is_digit).map(str::trim).filter(|it| !it.is_empty());
        let (first, second) = (signs.next()?, signs.next()?);
        // A log has dates such as `2026-01-31`.
        let is_date = matches!(first, "/" | ".") || first == "-" && date[0] < 1_000;
        if !is_date || first != second || !text.contains(':') && !text.contains('.') {
            return None;
        }
        let [mut hour, minute, second] = time;
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if has(&AFTERNOON) && hour < 12 {
            hour += 12;
        } else if has(&MORNING) && hour == 12 {
            hour = 0;
        }
        let is_time = hour < 24 && minute < 60 && second < 60;
        is_time.then_some(Self { date, time: [hour, minute, second] })
    }

    /// Returns the time in this order, as UTC: the file states no zone.
    pub(super) fn timestamp(self, order: FirstNumber) -> Option<Timestamp> {
        let [a, b, c] = self.date;
        let (year, month, day) = match order {
            FirstNumber::Day => (c, b, a),
            FirstNumber::Month => (c, a, b),
            FirstNumber::Year => (a, b, c),
        };
        let year = if year < 100 { 2_000 + year } else { year };
        let [hour, minute, second] = self.time;
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
        Timestamp::parse(&text).ok()
    }
}

/// Returns the order of the numbers of all dates, and whether another one fits them as well.
pub(super) fn date_order(stamps: &[Stamp]) -> (FirstNumber, bool) {
    if stamps.iter().any(|it| it.date[0] > 31) {
        return (FirstNumber::Year, false);
    }
    let misfits = |order: FirstNumber| {
        let times: Vec<_> = stamps.iter().map(|it| it.timestamp(order)).collect();
        let backwards = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        // Messages are in order, so that a date that goes back is most likely misread.
        (times.iter().filter(|it| it.is_none()).count(), backwards)
    };
    let (days, months) = (misfits(FirstNumber::Day), misfits(FirstNumber::Month));
    let order = if months < days { FirstNumber::Month } else { FirstNumber::Day };
    (order, days == months && stamps.iter().any(|it| it.date[0] != it.date[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(line: &str, order: FirstNumber) -> Option<String> {
        Some(split_line(line)?.0.timestamp(order)?.to_string())
    }

    #[test]
    fn line_begins_with_date_in_many_forms() {
        use FirstNumber::{Day, Month, Year};
        for (line, order, expected) in [
            ("05/01/26, 10:00 - Ada: x", Day, "10:00"),
            ("1/5/26, 10:00\u{202f}PM - Ada: x", Month, "22:00"),
            ("\u{200e}[05.01.26, 10:00:00] Ada: x", Day, "10:00"),
            ("01/05/2026, 12:00 a. m. - Ada: x", Month, "00:00"),
            ("5-1-2026 10:00 - Ada: x", Day, "10:00"),
            ("2026/01/05, 10:00 - Ada: x", Year, "10:00"),
            ("2026. 1. 5. 오후 3:05 - Ada: x", Year, "15:05"),
            ("[2026/1/5 下午3:05:00] Ada: x", Year, "15:05"),
        ] {
            let expected = format!("2026-01-05T{expected}:00.000Z");
            assert_eq!(time(line, order), Some(expected), "{line}");
        }
        for line in [
            "",
            "Ada - x",
            "2026-01-05 10:00:00,123 - INFO: x",
            "1 - 2",
            "12/13 - x",
            "[1] x",
            "05/01/26, 30:00 - Ada: x",
            "99999999999/1/1, 1:1 - x",
        ] {
            assert_eq!(split_line(line), None, "{line}");
        }
    }

    #[test]
    fn order_follows_from_all_dates() {
        let order = |dates: &[&str]| {
            let lines: Vec<String> = dates.iter().map(|it| format!("{it}, 1:00 - A: x")).collect();
            let stamps: Vec<_> = lines.iter().map(|line| split_line(line).unwrap().0).collect();
            date_order(&stamps)
        };
        assert_eq!(order(&["5/1/26", "20/1/26"]), (FirstNumber::Day, false));
        assert_eq!(order(&["1/5/26", "1/20/26"]), (FirstNumber::Month, false));
        assert_eq!(order(&["1/5/26", "2/3/26"]), (FirstNumber::Month, false));
        assert_eq!(order(&["1/5/26"]), (FirstNumber::Day, true));
        assert_eq!(order(&["5/5/26"]), (FirstNumber::Day, false));
        assert_eq!(order(&["26/1/5"]), (FirstNumber::Day, false));
        assert_eq!(order(&["2026/1/5"]), (FirstNumber::Year, false));
    }
}
