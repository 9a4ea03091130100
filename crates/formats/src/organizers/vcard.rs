//! Address books: contacts of vCard.

use vademecum_model::{MediaDraft, SourceName};

use super::content_line::{ContentLine, content_lines};
use crate::{
    digest,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime,
        keywords::{distinct_keywords, split_commas},
    },
};

/// Fields of a contact, with their names. Pictures and keys are left out.
const FIELDS: [(&str, &str); 12] = [
    ("NICKNAME", "Nickname"),
    ("ORG", "Organization"),
    ("TITLE", "Title"),
    ("ROLE", "Role"),
    ("EMAIL", "Mail"),
    ("TEL", "Phone"),
    ("ADR", "Postal address"),
    ("URL", "Address"),
    ("IMPP", "Messenger"),
    ("X-SOCIALPROFILE", "Profile"),
    ("BDAY", "Birthday"),
    ("ANNIVERSARY", "Anniversary"),
];

/// Contacts of an address book.
#[derive(Debug)]
pub(crate) struct Contacts;

impl Format for Contacts {
    fn id(&self) -> &'static str {
        "contacts"
    }

    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn name(&self) -> &'static str {
        "contacts (.vcf)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["vcf", "vcard"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let begin = sample.head.trim_start().get(..11).unwrap_or_default();
        begin.eq_ignore_ascii_case("BEGIN:VCARD")
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let text = input.text()?;
        let mut parsed = ParsedFormat::default();
        let (mut card, mut number) = (Vec::new(), 0);
        for line in content_lines(&text) {
            match line.name.as_str() {
                "BEGIN" => card.clear(),
                "END" => {
                    number += 1;
                    add_contact(&mut parsed, &card, number);
                    card.clear();
                }
                _ => card.push(line),
            }
        }
        parsed.or_empty("it has no contacts")
    }
}

fn add_contact(parsed: &mut ParsedFormat, lines: &[ContentLine], number: usize) {
    let first = |name: &str| lines.iter().find(|line| line.name == name);
    let text = |name: &str| first(name).map(ContentLine::text).unwrap_or_default();
    let shown = |line: &ContentLine| {
        let kinds: Vec<&str> = line
            .parameters
            .iter()
            .filter(|(name, _)| name == "TYPE")
            .map(|(_, value)| value.as_str())
            .filter(|kind| {
                !["QUOTED-PRINTABLE", "PREF", "INTERNET"]
                    .contains(&kind.to_ascii_uppercase().as_str())
            })
            .collect();
        let value = line.parts().join(", ");
        if kinds.is_empty() {
            value
        } else {
            format!("{value} ({})", kinds.join(", ").to_lowercase())
        }
    };
    let mut content = Vec::new();
    for (name, label) in FIELDS {
        let values: Vec<String> =
            lines.iter().filter(|line| line.name == name).map(shown).collect();
        if !values.is_empty() {
            content.push(format!("{label}: {}", values.join("; ")));
        }
    }
    let mut names = first("N").map(ContentLine::parts).unwrap_or_default();
    names.truncate(2);
    names.reverse();
    let titles = [text("FN"), names.join(" "), text("ORG"), text("EMAIL")];
    let title = titles.into_iter().find(|title| !title.is_empty()).unwrap_or_default();
    if title.is_empty() && content.is_empty() {
        return parsed
            .add_problem(format!("contact {number}"), "it has neither a name nor an address");
    }
    let note = text("NOTE");
    let content = [content.join("\n"), note].into_iter().filter(|it| !it.is_empty());
    let content = content.collect::<Vec<_>>().join("\n\n");
    let uid = match text("UID") {
        // Without an identifier, a contact is its name and first address.
        uid if uid.is_empty() => {
            let parts = [title.clone(), text("EMAIL"), text("TEL")];
            digest("contact", parts.iter().map(String::as_bytes)).chars().take(16).collect()
        }
        uid => uid,
    };
    let document = MediaDraft {
        content: if content.is_empty() { title.clone() } else { content },
        title,
        media_type: "contact".to_owned(),
        tags: distinct_keywords(split_commas(&text("CATEGORIES"))),
        modified_at: datetime::parse_text(&text("REV")),
        ..MediaDraft::default()
    };
    parsed.add_document(format!("contact:{uid}"), document, "Contact");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{detects, documents, parse, try_parse};

    #[test]
    fn contact_keeps_addresses_and_note() {
        let cards = "BEGIN:VCARD\nVERSION:3.0\nUID:c1\nFN:Ada Miller\nN:Miller;Ada;;;\nORG:Mill;Rye\n\
            item1.EMAIL;TYPE=INTERNET;TYPE=WORK:ada@example.org\nTEL;HOME:+49 1\nADR:;;Lane 7;Bern;;;CH\n\
            PHOTO;ENCODING=b:AAAA\nNOTE:Grows rye\\nand oats\nCATEGORIES:garden\nREV:2026-01-05T10:00:00Z\nEND:VCARD\n\
            BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Ben\nEND:VCARD\n\
            BEGIN:VCARD\nEND:VCARD\n";
        assert!(detects(&Contacts, "/a.vcf", cards));
        let parsed = parse(&Contacts, "/a.vcf", cards);
        let found = documents(&parsed);
        assert_eq!(parsed.drafts[0].origin, "contact:c1");
        assert_eq!(
            found[0].content,
            "Organization: Mill, Rye\nMail: ada@example.org (work)\nPhone: +49 1 (home)\n\
             Postal address: Lane 7, Bern, CH\n\nGrows rye\nand oats"
        );
        assert_eq!(
            (found[0].title.as_str(), found[1].title.as_str()),
            ("Ada Miller", "Ben Müller")
        );
        assert_eq!(found[0].tags, ["garden"]);
        assert_eq!(parsed.problems[0].place, "contact 3");
        assert!(try_parse(&Contacts, "/a.vcf", "BEGIN:VCARD").is_err());
    }
}
