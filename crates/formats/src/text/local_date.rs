//! Dates in the words of a device's language, as in `Sonntag, 13. September 2015 15:25:45`.

use vademecum_model::{Timestamp, month_number};

/// Words before or after a time that is in the second half of the day.
const AFTERNOON: [&str; 6] = ["pm", "p.m", "p. m", "下午", "午後", "오후"];
/// Words before or after a time that is in the first half of the day. `am` alone is a German word
/// before a date.
const MORNING: [&str; 6] = [" am", "a.m", "a. m", "上午", "午前", "오전"];

/// Longest text that is read, in bytes.
const MAX_BYTES: usize = 200;

/// Parses a date with a year of four digits, the name of a month or, in East Asian languages, its
/// number after the year, and optionally a time. The time is read as UTC.
pub fn parse(text: &str) -> Option<Timestamp> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let text = text.to_lowercase().replace(['\u{202f}', '\u{a0}'], " ");
    let (before, time, after) = split_time(&text);
    let mut words = before.split(|next: char| !next.is_alphanumeric()).filter(|it| !it.is_empty());
    let digits = before.split(|next: char| !next.is_ascii_digit()).filter(|it| !it.is_empty());
    let numbers: Vec<u32> =
        digits.filter(|it| it.len() <= 4).filter_map(|it| it.parse().ok()).collect();
    let year_at = numbers.iter().position(|number| (1900..2200).contains(number))?;
    let named = words.find_map(month_number);
    let year = *numbers.get(year_at)?;
    let (month, day) = match named {
        Some(month) => (month, numbers.iter().copied().find(|number| (1..=31).contains(number))?),
        None => (*numbers.get(year_at + 1)?, *numbers.get(year_at + 2)?),
    };
    let [mut hour, minute, second] = time;
    let around = [before, after].map(|part| format!("{part} "));
    let has = |words: &[&str]| {
        words
            .iter()
            .any(|word| around[1].contains(word) || !word.is_ascii() && around[0].contains(word))
    };
    if has(&AFTERNOON) && hour < 12 {
        hour += 12;
    } else if has(&MORNING) && hour == 12 {
        hour = 0;
    }
    Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
        .ok()
}

/// Splits a text at its time; without one, the time is midnight.
fn split_time(text: &str) -> (&str, [u32; 3], &str) {
    let no_digit = |next: char| !next.is_ascii_digit();
    for (colon, _) in text.match_indices(':') {
        let start = text[..colon]
            .rfind(no_digit)
            .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        let rest = &text[start..];
        let end = rest.find(|next: char| no_digit(next) && next != ':').unwrap_or(rest.len());
        let mut parts = rest[..end].split(':').map(str::parse::<u32>);
        if let (Some(Ok(hour)), Some(Ok(minute))) = (parts.next(), parts.next()) {
            let second = parts.next().and_then(Result::ok).unwrap_or(0);
            return (&text[..start], [hour, minute, second], &rest[end..]);
        }
    }
    (text, [0; 3], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_is_read_in_many_languages() {
        for (text, expected) in [
            ("Added on Sunday, September 13, 2015 3:25:45 PM", "2015-09-13T15:25:45.000Z"),
            ("Added on Sunday, 13 September 2015 12:25:45 AM", "2015-09-13T00:25:45.000Z"),
            ("Hinzugefügt am Sonntag, 13. September 2015 12:25:45", "2015-09-13T12:25:45.000Z"),
            ("Ajouté le dimanche 13 août 2015 15:25:45", "2015-08-13T15:25:45.000Z"),
            ("Añadido el domingo, 13 de septiembre de 2015 15:25:45", "2015-09-13T15:25:45.000Z"),
            ("Aggiunto in data domenica 13 settembre 2015 15:25:45", "2015-09-13T15:25:45.000Z"),
            ("Adicionado: domingo, 13 de março de 2015 15:25:45", "2015-03-13T15:25:45.000Z"),
            ("Toegevoegd op zondag 13 maart 2015 15:25:45", "2015-03-13T15:25:45.000Z"),
            ("作成日: 2015年9月13日日曜日 15:25:45", "2015-09-13T15:25:45.000Z"),
            ("添加于 2015年9月13日星期日 下午3:25:45", "2015-09-13T15:25:45.000Z"),
            ("2015년 9월 13일 일요일 오후 3:25:45에 추가됨", "2015-09-13T15:25:45.000Z"),
            ("Добавлено: воскресенье, 13 сентября 2015 г. в 15:25:45", "2015-09-13T15:25:45.000Z"),
            ("13 września 2015", "2015-09-13T00:00:00.000Z"),
        ] {
            assert_eq!(parse(text).map(|it| it.to_string()).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn text_without_date_is_none() {
        for text in ["", "someday", "13 September", "2015", "99999999999 2015 13 99", ":::"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
