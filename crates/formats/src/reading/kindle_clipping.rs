//! One block of a Kindle's `My Clippings.txt`, which is written in the language of the device.

use vademecum_model::Timestamp;

use crate::text::local_date;

/// Words for a note, in lower case. A block that has none of them and a text is a highlight.
const NOTE_WORDS: [&str; 11] = [
    "note",
    "notiz",
    "nota",
    "notitie",
    "notatka",
    "not",
    "заметка",
    "メモ",
    "笔记",
    "筆記",
    "메모",
];

/// Words for a location, in lower case.
const LOCATION_WORDS: [&str; 14] = [
    "location",
    "loc.",
    "position",
    "posición",
    "pos.",
    "posizione",
    "posição",
    "emplacement",
    "locatie",
    "місце",
    "место",
    "位置",
    "위치",
    "lokacja",
];

/// Beginnings of the text that replaces a highlight beyond the publisher's limit.
const LIMIT_WORDS: [&str; 2] = ["<You have reached the clipping limit", "<Sie haben die maximale"];

/// A highlight, a note or a bookmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clipping {
    pub(super) title: String,
    pub(super) author: String,
    pub(super) kind: ClippingKind,
    pub(super) page: String,
    /// First and last location; both are 0 if there is none.
    pub(super) location: (u32, u32),
    pub(super) created_at: Option<Timestamp>,
    pub(super) text: String,
}

/// Kind of a clipping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClippingKind {
    Highlight,
    Note,
    /// A page without text.
    Bookmark,
    /// A highlight whose text is missing because of the publisher's limit.
    BeyondLimit,
}

impl Clipping {
    /// Parses a block; `None` if its second line does not begin with a dash.
    pub(super) fn parse(block: &str) -> Option<Self> {
        let mut lines = block.trim_matches(['\n', '\r', '\u{feff}']).lines();
        let (title, author) = split_author(lines.next()?.trim_matches(['\u{feff}', ' ']));
        let about = lines.next()?.trim().strip_prefix('-')?.to_lowercase();
        let text = lines.collect::<Vec<_>>().join("\n").trim().to_owned();
        let mut clipping = Self {
            title: title.to_owned(),
            author: author.to_owned(),
            kind: kind(&about, &text),
            page: String::new(),
            location: (0, 0),
            created_at: None,
            text,
        };
        let parts: Vec<&str> = about.split('|').map(str::trim).collect();
        for part in &parts {
            if let Some(date) = local_date::parse(part) {
                clipping.created_at = Some(date);
            } else if LOCATION_WORDS.iter().any(|word| part.contains(word)) {
                clipping.location = range(part).unwrap_or_default();
            } else if clipping.page.is_empty() {
                clipping.page = page(part);
            }
        }
        Some(clipping)
    }

    /// Returns the place for people: `Page 12, location 120-122`.
    pub(super) fn place(&self) -> String {
        let page = (!self.page.is_empty()).then(|| format!("Page {}", self.page));
        let location = match self.location {
            (0, 0) => None,
            (first, last) if first == last => Some(format!("location {first}")),
            (first, last) => Some(format!("location {first}-{last}")),
        };
        match (page, location) {
            (Some(page), Some(location)) => format!("{page}, {location}"),
            (Some(page), None) => page,
            (None, Some(location)) => location.replacen('l', "L", 1),
            (None, None) => String::new(),
        }
    }
}

/// Splits `Title (Last, First)`. The author is in the last brackets.
fn split_author(line: &str) -> (&str, &str) {
    let Some(inside) = line.strip_suffix(')') else { return (line, "") };
    let mut depth = 1;
    for (at, next) in inside.char_indices().rev() {
        match next {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (line[..at].trim(), inside[at + 1..].trim());
        }
    }
    (line, "")
}

fn kind(about: &str, text: &str) -> ClippingKind {
    let first = about.split('|').next().unwrap_or_default();
    let words = || first.split(|next: char| !next.is_alphabetic());
    let is_east_asian = |word: &&str| !word.is_ascii() && first.contains(*word);
    if LIMIT_WORDS.iter().any(|words| text.starts_with(words)) {
        ClippingKind::BeyondLimit
    } else if text.is_empty() {
        ClippingKind::Bookmark
    } else if words().any(|word| NOTE_WORDS.contains(&word)) || NOTE_WORDS.iter().any(is_east_asian)
    {
        ClippingKind::Note
    } else {
        ClippingKind::Highlight
    }
}

/// Returns the first number or range of a text. The end of a range may be shortened: `1203-05`.
fn range(part: &str) -> Option<(u32, u32)> {
    let at = part.find(|next: char| next.is_ascii_digit())?;
    let rest = &part[at..];
    let end = rest.find(|next: char| !next.is_ascii_digit() && !matches!(next, '-' | '–'));
    let mut numbers = rest[..end.unwrap_or(rest.len())].split(['-', '–']);
    let first_text = numbers.next()?;
    let first: u32 = first_text.parse().ok()?;
    let last = numbers.next().unwrap_or_default();
    let missing = first_text.len().saturating_sub(last.len());
    let last = format!("{}{last}", first_text.get(..missing).unwrap_or_default());
    Some((first, last.parse().unwrap_or(first).max(first)))
}

/// Returns the page of a text: its first number, or the Roman number at its end.
fn page(part: &str) -> String {
    let is_digit = |next: char| next.is_ascii_digit();
    if let Some(at) = part.find(is_digit) {
        let rest = &part[at..];
        let end = rest.find(|next: char| !is_digit(next) && !matches!(next, '-' | '–'));
        return rest[..end.unwrap_or(rest.len())].to_owned();
    }
    let last = part.rsplit(' ').next().unwrap_or_default();
    let is_roman = !last.is_empty() && last.chars().all(|next| "ivxlc".contains(next));
    if is_roman { last.to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(about: &str, text: &str) -> Clipping {
        Clipping::parse(&format!(
            "\u{feff}Grain (new) (Lovelace, Ada)\r\n{about}\r\n\r\n{text}\r\n"
        ))
        .unwrap()
    }

    #[test]
    fn clipping_is_read_in_many_languages() {
        for (about, kind, place, day) in [
            (
                "- Your Highlight on page 12 | Location 120-122 | Added on Sunday, September 13, 2015 3:25:45 PM",
                ClippingKind::Highlight,
                "Page 12, location 120-122",
                13,
            ),
            (
                "- Your Note at location 1203 | Added on Monday, 14 September 2015 15:25:45",
                ClippingKind::Note,
                "Location 1203",
                14,
            ),
            (
                "- Ihre Markierung auf Seite 12 | bei Position 1203-05 | Hinzugefügt am Sonntag, 13. September 2015 12:25:45",
                ClippingKind::Highlight,
                "Page 12, location 1203-1205",
                13,
            ),
            (
                "- Ihre Notiz bei Position 9 | Hinzugefügt am Sonntag, 13. September 2015 12:25:45",
                ClippingKind::Note,
                "Location 9",
                13,
            ),
            (
                "- Votre surlignement à l'emplacement 9-10 | Ajouté le dimanche 13 septembre 2015 12:25:45",
                ClippingKind::Highlight,
                "Location 9-10",
                13,
            ),
            (
                "- La subrayado en la página 4 | posición 9-10 | Añadido el domingo, 13 de septiembre de 2015 12:25:45",
                ClippingKind::Highlight,
                "Page 4, location 9-10",
                13,
            ),
            (
                "- Sua nota na página iv | posição 9 | Adicionado: domingo, 13 de setembro de 2015 12:25:45",
                ClippingKind::Note,
                "Page iv, location 9",
                13,
            ),
            (
                "- 您在位置 #9-10的标注 | 添加于 2015年9月13日星期日 下午3:25:45",
                ClippingKind::Highlight,
                "Location 9-10",
                13,
            ),
            (
                "- 您在位置 #9 的笔记 | 添加于 2015年9月13日星期日 下午3:25:45",
                ClippingKind::Note,
                "Location 9",
                13,
            ),
        ] {
            let clipping = parse(about, "Text");
            assert_eq!((clipping.kind, clipping.place().as_str()), (kind, place), "{about}");
            let found = clipping.created_at.unwrap().to_string();
            assert!(found.starts_with(&format!("2015-09-{day}")), "{about}: {found}");
            assert_eq!(
                (clipping.title.as_str(), clipping.author.as_str()),
                ("Grain (new)", "Lovelace, Ada")
            );
        }
    }

    #[test]
    fn bookmarks_limits_and_other_text_are_told_apart() {
        assert_eq!(parse("- Your Bookmark on page 1", "").kind, ClippingKind::Bookmark);
        let beyond =
            parse("- Your Highlight", "<You have reached the clipping limit for this item>");
        assert_eq!((beyond.kind, beyond.place()), (ClippingKind::BeyondLimit, String::new()));
        assert_eq!(Clipping::parse("Title\nText\n\nx"), None);
        assert_eq!(Clipping::parse(""), None);
        assert_eq!(split_author("Side-loaded"), ("Side-loaded", ""));
        assert_eq!(split_author("A (B (C))"), ("A", "B (C)"));
        assert_eq!(split_author("A)"), ("A)", ""));
    }
}
