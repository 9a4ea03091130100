//! Bibliographies in the format RIS, which most databases of papers export.

use vademecum_model::SourceName;

use super::reference::Reference;
use crate::format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat};

/// Bibliographies in RIS.
#[derive(Debug)]
pub(crate) struct Ris;

impl Format for Ris {
    fn id(&self) -> &'static str {
        "ris"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "bibliographies in RIS (.ris)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["ris"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let first = sample.head.lines().find(|line| !line.trim().is_empty());
        first.and_then(split_line).is_some_and(|(tag, _)| tag == "TY")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let mut open: Option<Reference> = None;
        let mut last: &str = "";
        for line in text.lines() {
            let Some((tag, value)) = split_line(line) else {
                if let Some(reference) = open.as_mut().filter(|_| !line.trim().is_empty()) {
                    // A long value goes on in the next line.
                    set_field(reference, last, line.trim());
                }
                continue;
            };
            last = tag;
            match (tag, open.as_mut()) {
                ("TY", _) => {
                    let kind = value.to_owned();
                    let before = open.replace(Reference { kind, ..Reference::default() });
                    add(&mut parsed, input, before);
                }
                ("ER", _) => add(&mut parsed, input, open.take()),
                (tag, Some(reference)) => set_field(reference, tag, value),
                (_, None) => {}
            }
        }
        add(&mut parsed, input, open);
        parsed.or_empty("it has no entries")
    }
}

fn add(parsed: &mut ParsedFormat, input: &FormatInput<'_>, reference: Option<Reference>) {
    if let Some(reference) = reference {
        parsed.add_entry(reference.into_entry(&input.origin()));
    }
}

/// Splits `TI  - Rye bread` into its tag and its value.
fn split_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches('\u{feff}');
    let tag = line.get(..2).filter(|tag| tag.bytes().all(|it| it.is_ascii_alphanumeric()))?;
    let value = line.get(2..)?.trim_start().strip_prefix('-')?;
    line.get(2..4).filter(|it| it.trim().is_empty())?;
    Some((tag, value.trim()))
}

fn set_field(reference: &mut Reference, tag: &str, value: &str) {
    let field = match tag {
        "AU" | "A1" | "A2" => return reference.authors.push(value.to_owned()),
        "KW" => return reference.keywords.push(value.to_owned()),
        "TI" | "T1" => &mut reference.title,
        "AB" | "N2" => &mut reference.summary,
        "N1" => &mut reference.note,
        "JO" | "JF" | "T2" | "BT" if !reference.container.is_empty() => return,
        "JO" | "JF" | "T2" | "BT" => &mut reference.container,
        "DA" | "PY" | "Y1" if reference.date.len() >= value.trim_end_matches('/').len() => return,
        "DA" | "PY" | "Y1" => {
            value.trim_end_matches('/').clone_into(&mut reference.date);
            return;
        }
        "SP" => &mut reference.pages,
        "EP" => {
            reference.pages.extend(["–", value]);
            return;
        }
        "DO" => &mut reference.doi,
        "UR" if !reference.url.is_empty() => return,
        "UR" => &mut reference.url,
        "VL" => &mut reference.volume,
        "IS" => &mut reference.number,
        "PB" => &mut reference.publisher,
        "SN" => &mut reference.isbn,
        "L1" => &mut reference.file,
        "ID" => &mut reference.key,
        _ => return,
    };
    if !field.is_empty() {
        field.push(' ');
    }
    field.push_str(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    #[test]
    fn entry_keeps_all_fields() {
        let ris = "\u{feff}TY  - JOUR\r\nAU  - Lovelace, Ada\r\nAU  - Hopper, Grace\r\nTI  - Rye bread\r\n\
            PY  - 2026\r\nDA  - 2026/02/03/\r\nJO  - Flour\r\nVL  - 3\r\nSP  - 1\r\nEP  - 9\r\nAB  - It\r\n\
            rises.\r\nKW  - bread\r\nDO  - 10.1/X\r\nUR  - https://example.org\r\nER  - \r\n\
            TY  - BOOK\r\nTI  - Oats\r\nID  - k2\r\n";
        assert!(detects(&Ris, "/a.txt", ris));
        let parsed = parse(&Ris, "/a.ris", ris);
        let found = documents(&parsed);
        assert_eq!(parsed.drafts[0].origin, "doi:10.1/x");
        assert_eq!(
            (found[0].title.as_str(), found[0].author.as_deref()),
            ("Rye bread", Some("Lovelace, Ada; Hopper, Grace"))
        );
        assert!(found[0].content.starts_with("It rises.\n\nAddress: https://example.org"));
        assert!(found[0].content.contains("In: Flour") && found[0].content.contains("Pages: 1–9"));
        assert_eq!(found[0].created_at.unwrap().to_string(), "2026-02-03T00:00:00.000Z");
        assert_eq!(found[0].tags, ["bread"]);
        assert_eq!(parsed.drafts[1].origin, "file:/a.ris#k2");
    }

    #[test]
    fn other_text_is_rejected() {
        assert!(try_parse(&Ris, "/a.ris", "Text\né  - x").is_err());
        assert!(!detects(&Ris, "/a.txt", "TYPO - x"));
    }
}
