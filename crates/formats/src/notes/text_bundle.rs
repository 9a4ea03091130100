//! ZIP archives of TextBundle: one pack (`.textpack`), and the backups of Bear (`.bear2bk`).

use std::collections::BTreeMap;

use serde_json::Value;
use vademecum_model::{NoteDraft, SourceName};

use super::front_matter::with_fields;
use crate::{
    archive::PackedFile,
    format::{Format, FormatError, FormatInput, FormatSample, ParsedFormat},
    text::{
        datetime, decode_text,
        json::{parse_entry, text_at, texts_at},
        keywords::{distinct_keywords, inline_tags, multi_word_tags},
        markdown::MarkdownDocument,
    },
};

/// Archives of TextBundle and Bear.
#[derive(Debug)]
pub(crate) struct TextBundle;

impl Format for TextBundle {
    fn id(&self) -> &'static str {
        "text_bundle"
    }

    fn source(&self) -> SourceName {
        SourceName::Notes
    }

    fn name(&self) -> &'static str {
        "notes of Bear and TextBundle (.bear2bk, .textpack)"
    }

    fn own_extensions(&self) -> &'static [&'static str] {
        &["bear2bk", "textpack"]
    }

    fn detect(&self, sample: &FormatSample<'_>) -> bool {
        let has_text =
            |name: &&str| sample.entries.iter().any(|it| is_text(it) && folder(it) == *name);
        let infos = sample.entries.iter().filter(|name| file_name(name) == "info.json");
        infos.map(|name| folder(name)).any(|folder| has_text(&folder))
    }

    fn parse(&self, input: &FormatInput<'_>) -> Result<ParsedFormat, FormatError> {
        let files = input.unpack(|name| is_text(name) || file_name(name) == "info.json")?;
        let mut bundles: BTreeMap<&str, Bundle<'_>> = BTreeMap::new();
        for file in &files {
            let bundle = bundles.entry(folder(&file.name)).or_default();
            if is_text(&file.name) { bundle.text = Some(file) } else { bundle.info = Some(file) }
        }
        let mut parsed = ParsedFormat::default();
        let mut left_out = LeftOut::default();
        for (folder, bundle) in bundles {
            if let Bundle { text: Some(text), info: Some(info) } = bundle {
                add_bundle(&mut parsed, &mut left_out, input, (folder, text, info));
            }
        }
        parsed.add_count(
            left_out.encrypted,
            "note",
            "encrypted; unlock it in Bear before the export",
        );
        parsed.add_count(left_out.trashed, "note", "in the trash of Bear");
        parsed.or_empty("it has no notes")
    }
}

/// The two files of a bundle.
#[derive(Debug, Default)]
struct Bundle<'f> {
    text: Option<&'f PackedFile>,
    info: Option<&'f PackedFile>,
}

/// Numbers of notes that are not imported.
#[derive(Debug, Default)]
struct LeftOut {
    encrypted: usize,
    trashed: usize,
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns `true` for `text.md`, `text.markdown` and `text.txt`.
fn is_text(path: &str) -> bool {
    let name = file_name(path).strip_prefix("text.");
    name.is_some_and(|ending| matches!(ending, "md" | "markdown" | "txt"))
}

fn add_bundle(
    parsed: &mut ParsedFormat,
    left_out: &mut LeftOut,
    input: &FormatInput<'_>,
    (folder, text, info): (&str, &PackedFile, &PackedFile),
) {
    let about: Value = match parse_entry(&String::from_utf8_lossy(&info.bytes)) {
        Ok(about) => about,
        Err(reason) => {
            parsed.add_problem(info.name.as_str(), reason);
            Value::Null
        }
    };
    let bear = about.get("net.shinyfrog.bear").unwrap_or(&Value::Null);
    let is_set = |name: &str| {
        let value = bear.get(name);
        value.is_some_and(|it| it.as_bool() == Some(true) || it.as_i64().is_some_and(|it| it > 0))
    };
    if is_set("encrypted") {
        left_out.encrypted += 1;
        return;
    }
    if is_set("trashed") {
        left_out.trashed += 1;
        return;
    }
    let content = match decode_text(&text.bytes, None) {
        Ok(content) => content,
        Err(error) => return parsed.add_problem(text.name.as_str(), error.to_string()),
    };
    let document = MarkdownDocument::parse(&content);
    let stem = file_name(folder).rsplit_once('.').map_or(file_name(folder), |(stem, _)| stem);
    let stem = if stem.is_empty() { input.stem() } else { stem.to_owned() };
    let inline = if bear.is_null() { Vec::new() } else { multi_word_tags(document.body) };
    let listed = texts_at(bear, "/tags");
    let id = text_at(bear, "/uniqueIdentifier");
    let origin =
        if id.is_empty() { format!("{}#{folder}", input.origin()) } else { format!("bear:{id}") };
    let archived = if is_set("archived") { "yes" } else { "" };
    let source = text_at(&about, "/sourceURL");
    let source = if source.starts_with("http") { source } else { "" };
    let draft = NoteDraft {
        title: document.opening_heading().unwrap_or(&stem).to_owned(),
        tags: distinct_keywords(
            document
                .properties
                .tags
                .into_iter()
                .chain(listed)
                .chain(inline)
                .chain(inline_tags(document.body)),
        ),
        content: with_fields(&content, &[("source", source), ("archived", archived)]),
        names: vec![stem.clone()],
        created_at: datetime::parse_text(text_at(bear, "/creationDate")),
        modified_at: datetime::parse_text(text_at(bear, "/modificationDate")).or(text.modified),
        ..NoteDraft::default()
    };
    parsed.add_note(origin, draft, &stem);
}

#[cfg(test)]
mod tests {
    use vademecum_testing::zip_archive;

    use super::*;
    use crate::format::tests::{detects, notes, parse, try_parse};

    fn bear(fields: &str) -> String {
        format!(
            r#"{{"type": "net.daringfireball.markdown", "version": 2, "net.shinyfrog.bear": {{
                "creationDate": "2026-01-05T10:00:00Z", "modificationDate": "2026-01-06T10:00:00Z", {fields}}}}}"#
        )
    }

    #[test]
    fn bear_note_keeps_tags_dates_and_state() {
        let info = [
            bear(r#""uniqueIdentifier": "B1", "archived": 1"#),
            bear(r#""uniqueIdentifier": "B2", "trashed": 1"#),
            bear(r#""uniqueIdentifier": "B3", "encrypted": 1"#),
        ];
        let zip = zip_archive(&[
            (
                "x.bear2bk/Rye.textbundle/text.md",
                "# Rye bread\nKnead. #food/bread #two words# #项目 计划#".as_bytes(),
            ),
            ("x.bear2bk/Rye.textbundle/info.json", info[0].as_bytes()),
            ("x.bear2bk/Old.textbundle/text.md", b"Old"),
            ("x.bear2bk/Old.textbundle/info.json", info[1].as_bytes()),
            ("x.bear2bk/Secret.textbundle/text.md", b""),
            ("x.bear2bk/Secret.textbundle/info.json", info[2].as_bytes()),
        ]);
        assert!(detects(&TextBundle, "/a.bear2bk", &zip));
        let parsed = parse(&TextBundle, "/a.bear2bk", &zip);
        let note = notes(&parsed)[0];
        assert_eq!(parsed.drafts[0].origin, "bear:B1");
        assert_eq!((note.title.as_str(), note.names.join(",")), ("Rye bread", "Rye".to_owned()));
        assert_eq!(note.tags, ["two words", "项目 计划", "food/bread", "two", "项目"]);
        assert!(note.content.starts_with("---\narchived: \"yes\"\n---\n# Rye"));
        assert_eq!(note.created_at.unwrap().to_string(), "2026-01-05T10:00:00.000Z");
        assert_eq!(note.modified_at.unwrap().to_string(), "2026-01-06T10:00:00.000Z");
        assert_eq!(parsed.problems.len(), 2, "{:?}", parsed.problems);
    }

    #[test]
    fn pack_is_named_after_its_folder() {
        let zip = zip_archive(&[
            ("Rye.textbundle/text.markdown", b"Knead."),
            ("Rye.textbundle/info.json", br#"{"version": 1, "sourceURL": "https://example.org"}"#),
            ("Rye.textbundle/assets/text.md", b"x"),
        ]);
        assert!(detects(&TextBundle, "/a.textpack", &zip));
        let parsed = parse(&TextBundle, "/a.textpack", &zip);
        assert_eq!(notes(&parsed)[0].title, "Rye");
        assert_eq!(parsed.drafts[0].origin, "file:/a.textpack#Rye.textbundle");
        assert!(notes(&parsed)[0].content.contains("https://example.org"));
    }

    #[test]
    fn damaged_bundle_is_reported_others_kept() {
        let zip = zip_archive(&[
            ("a/text.md", b"Rye"),
            ("a/info.json", b"{"),
            ("b/text.md", b"\0"),
            ("b/info.json", b"{}"),
        ]);
        let parsed = parse(&TextBundle, "/a.zip", zip);
        assert_eq!((parsed.drafts.len(), parsed.problems.len()), (1, 2));
        assert!(!detects(
            &TextBundle,
            "/a.zip",
            zip_archive(&[("text.md", b"x"), ("b/info.json", b"x")])
        ));
        assert!(try_parse(&TextBundle, "/a.zip", zip_archive(&[("x", b"")])).is_err());
    }
}
