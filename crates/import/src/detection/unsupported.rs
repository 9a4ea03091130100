//! Formats that no importer reads. They are recognised so that an import says what it has found.
//!
//! A format is identified by its name in this file, by the name of an importer for another source,
//! or by the extension of its files, such as `.xyz`.

use std::{collections::BTreeMap, path::Path};

use serde::Serialize;

use super::FileProbe;

/// Files of one format that were not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnsupportedFiles {
    /// Format: `OneNote`, `pictures`, `.xyz`.
    pub format: String,
    /// Number of files.
    pub files: usize,
    /// Count and format as shown to the user: `71 OneNote`, `12 pictures`, ``3 `.xyz` files``.
    #[serde(skip)]
    pub label: String,
    /// Reason, with advice if there is any.
    pub reason: String,
}

/// Files of other programs: name, extensions, advice.
const PROGRAMS: [(&str, &[&str], &str); 28] = [
    ("Apple Notes", &["notesarchive"], ""),
    ("OneNote", &["one", "onepkg", "onetoc2"], "save the sections as .docx or .pdf there"),
    ("Day One", &["dayone"], "export the journal as JSON there"),
    ("Obsidian canvas", &["canvas"], ""),
    ("Excalidraw", &["excalidraw"], ""),
    ("Slack", &[], "import the .zip of the export as it was delivered"),
    ("Bear", &["bearbk", "bear"], AS_MARKDOWN),
    ("Notesnook", &["nnbackup", "nnbackupz"], AS_MARKDOWN),
    ("SiYuan", &["sy"], AS_MARKDOWN),
    ("AnyType", &[], AS_MARKDOWN),
    ("Samsung Notes", &["sdoc", "sdocx"], "save the notes as .docx or .pdf there"),
    ("Firefox database", &[], "export the bookmarks as HTML or JSON there"),
    ("iMessage database", &[], ""),
    ("iCloud placeholder", &["icloud"], "download the files in Finder first"),
    ("Typst or Textile", &["typ", "textile"], ""),
    ("Google Takeout", &[], ""),
    ("Outlook mailbox", &["pst", "ost", "olm"], "save the messages as .eml, .msg or .mbox there"),
    ("Apple Mail", &["emlx"], "export the mailbox as .mbox there"),
    ("bibliography", &["nbib", "enw"], "export it as RIS or BibTeX there"),
    ("Anki", &["apkg", "colpkg", "anki2"], ""),
    ("OpenDocument", &["fodt", "fods", "fodp"], "save them as .odt, .ods or .odp"),
    (
        "Pages, Numbers or Keynote",
        &["pages", "numbers", "key"],
        "export them as .docx, .xlsx, .pptx or .pdf",
    ),
    (
        "Kindle or other books",
        &["mobi", "azw", "azw3", "kfx", "prc", "djvu", "lit"],
        "convert them to .epub or .pdf",
    ),
    ("LaTeX", &["tex", "latex"], ""),
    ("AsciiDoc", &["adoc", "asciidoc"], ""),
    ("MediaWiki", &[], ""),
    ("web archive", &["webarchive", "mht", "mhtml", "maff", "warc"], "save the pages as .html"),
    ("link to a page", &["url", "webloc", "desktop"], ""),
];

/// Kinds of files: name of one and of several, extensions, advice.
const KINDS: [(&str, &str, &[&str], &str); 12] = [
    (
        "picture",
        "pictures",
        &[
            "jpg", "jpeg", "png", "gif", "webp", "bmp", "tif", "tiff", "heic", "heif", "avif",
            "svg", "ico", "psd", "raw", "cr2", "nef", "dng", "eps", "ai", "xcf", "jxl",
        ],
        "",
    ),
    (
        "audio file",
        "audio files",
        &[
            "mp3", "m4a", "m4b", "aac", "wav", "flac", "ogg", "oga", "opus", "wma", "aiff", "aif",
            "mid", "midi", "amr", "caf",
        ],
        "import their transcripts (.srt, .vtt, .json) instead",
    ),
    (
        "video",
        "videos",
        &["mp4", "m4v", "mov", "avi", "mkv", "webm", "wmv", "flv", "mpg", "mpeg", "3gp", "ogv"],
        "import their subtitles (.srt, .vtt) instead",
    ),
    (
        "archive",
        "archives",
        &["zip", "tar", "gz", "tgz", "bz2", "xz", "7z", "rar", "zst", "lz4", "iso", "dmg", "cab"],
        UNPACK,
    ),
    (
        "database",
        "databases",
        &["sqlite", "sqlite3", "db", "db3", "mdb", "accdb", "dbf", "realm", "parquet", "duckdb"],
        "",
    ),
    (
        "file with program code",
        "files with program code",
        &[
            "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "c", "h", "cpp", "cc",
            "hpp", "cs", "go", "rb", "php", "swift", "kt", "scala", "sh", "bash", "zsh", "fish",
            "ps1", "bat", "cmd", "pl", "lua", "r", "sql", "css", "scss", "less", "vue", "svelte",
            "m", "mm", "hs", "ex", "exs", "erl", "clj", "dart", "jl", "asm", "s", "vb", "pas",
            "proto", "gradle", "cmake", "mk", "tf", "nix", "vim", "el",
        ],
        "",
    ),
    (
        "file with settings or data",
        "files with settings or data",
        &[
            "yaml",
            "yml",
            "toml",
            "ini",
            "cfg",
            "conf",
            "xml",
            "xsd",
            "xsl",
            "plist",
            "lock",
            "log",
            "env",
            "properties",
            "edn",
            "base",
            "bin",
            "dat",
            "jsonc",
            "json5",
            "gitignore",
            "gitattributes",
            "editorconfig",
        ],
        "",
    ),
    ("JSON file", "JSON files", &["json", "jsonl", "ndjson"], ""),
    (
        "program",
        "programs",
        &[
            "exe", "dll", "so", "dylib", "class", "jar", "wasm", "msi", "apk", "deb", "rpm", "o",
            "a", "pyc", "app",
        ],
        "",
    ),
    ("font", "fonts", &["ttf", "otf", "woff", "woff2", "eot"], ""),
    ("empty file", "empty files", &[], ""),
    ("file without an extension", "files without an extension", &[], ""),
];

const AS_MARKDOWN: &str = "export the notes as Markdown there and import that folder";
const UNPACK: &str = "unpack them and import the folder";

/// Programs by text at the beginning of their files. All parts must occur.
const MARKS: [(&str, &[&str]); 5] = [
    ("MediaWiki", &["<mediawiki"]),
    ("Slack", &["\"client_msg_id\""]),
    ("Slack", &["\"ts\"", "\"type\": \"message\""]),
    ("Google Takeout", &["\"titleUrl\"", "\"products\""]),
    ("AnyType", &["\"sbType\""]),
];

/// Programs by the names of files in their archives. All names must occur as the end of one.
const PACKED_MARKS: [(&str, &[&str]); 3] = [
    ("Anki", &["collection.anki2"]),
    ("Anki", &["collection.anki21b"]),
    ("Notesnook", &[".nnbackup"]),
];

/// Programs by the beginning of the names of their databases.
const DATABASES: [(&str, &str); 4] = [
    ("Apple Notes", "NoteStore."),
    ("Firefox database", "places.sqlite"),
    ("iMessage database", "chat.db"),
    ("iMessage database", "sms.db"),
];

/// Kinds of files by their first bytes.
const SIGNATURES: [(&str, &[u8]); 14] = [
    ("pictures", b"\x89PNG\r\n"),
    ("pictures", b"\xff\xd8\xff"),
    ("pictures", b"GIF8"),
    ("databases", b"SQLite format 3\0"),
    ("archives", b"PK\x03\x04"),
    ("archives", b"\x1f\x8b"),
    ("archives", b"7z\xbc\xaf\x27\x1c"),
    ("archives", b"Rar!"),
    ("archives", b"BZh"),
    ("archives", b"\xfd7zXZ"),
    ("programs", b"\x7fELF"),
    ("programs", b"MZ"),
    ("audio files", b"ID3"),
    ("audio files", b"fLaC"),
];

/// Returns the format of a file that no importer reads.
pub(crate) fn unsupported_format(probe: &FileProbe) -> String {
    if probe.stamp().size == 0 {
        return "empty files".to_owned();
    }
    let named = |extensions: &&[&str]| probe.has_extension(extensions);
    let program = PROGRAMS.iter().find(|(_, extensions, _)| named(extensions));
    let kind = || KINDS.iter().find(|(_, _, extensions, _)| named(extensions));
    let by_bytes = || SIGNATURES.iter().find(|(_, start)| probe.head().starts_with(start));
    let known = program
        .map(|(name, ..)| *name)
        .or_else(|| program_by_content(probe))
        .or_else(|| kind().map(|(_, several, ..)| *several))
        .or_else(|| by_bytes().map(|(several, _)| *several));
    known.map_or_else(|| extension_label(probe.path()), str::to_owned)
}

fn program_by_content(probe: &FileProbe) -> Option<&'static str> {
    let opening = probe.head_text();
    let by_text = MARKS.iter().find(|(_, parts)| parts.iter().all(|part| opening.contains(part)));
    let packed = |part: &&str| probe.entries().iter().any(|name| name.ends_with(part));
    let by_names = || PACKED_MARKS.iter().find(|(_, parts)| parts.iter().all(packed));
    let is_takeout = || probe.entries().iter().any(|name| name.starts_with("Takeout/"));
    let file_name = probe.path().file_name().and_then(|name| name.to_str());
    by_text
        .or_else(by_names)
        .map(|(name, _)| *name)
        .or_else(|| is_takeout().then_some("Google Takeout"))
        .or_else(|| {
            let name = file_name?;
            let database = DATABASES.iter().find(|(_, start)| name.starts_with(start));
            database.map(|(program, _)| *program)
        })
}

/// Returns the extension of a file, such as `.xyz`.
fn extension_label(path: &Path) -> String {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let is_name = |extension: &String| {
        extension.chars().count() <= 16 && extension.chars().all(char::is_alphanumeric)
    };
    match extension.filter(is_name) {
        Some(extension) => format!(".{extension}"),
        None => "files without an extension".to_owned(),
    }
}

/// Returns the description of `files` files of a format that is not the one of an importer.
pub(crate) fn describe_format(format: &str, files: usize) -> UnsupportedFiles {
    let (label, reason, advice) = if let Some((_, _, advice)) = program(format) {
        (format!("{files} {format}"), "not supported yet", (*advice).to_owned())
    } else if let Some((one, several, _, advice)) = kind(format) {
        let name = if files == 1 { one } else { several };
        (format!("{files} {name}"), "not read", (*advice).to_owned())
    } else {
        let ending = if files == 1 { "" } else { "s" };
        (format!("{files} `{format}` file{ending}"), "unknown format", String::new())
    };
    let semicolon = if advice.is_empty() { "" } else { "; " };
    let reason = format!("{reason}{semicolon}{advice}");
    UnsupportedFiles { format: format.to_owned(), files, label, reason }
}

/// Returns the description of one file that cannot be read, for an error message.
pub(crate) fn describe_one(format: &str) -> String {
    let UnsupportedFiles { label, reason, .. } = describe_format(format, 1);
    format!("{}: {reason}", label.trim_start_matches("1 ").trim_start_matches("file: "))
}

/// Returns the numbers of files by format: ``12 pictures, 3 `.xyz` files``.
pub(crate) fn describe_counts(counts: &BTreeMap<String, usize>) -> String {
    let mut groups: Vec<_> =
        counts.iter().map(|(format, files)| describe_format(format, *files)).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.files));
    groups.into_iter().map(|group| group.label).collect::<Vec<_>>().join(", ")
}

fn program(format: &str) -> Option<&'static (&'static str, &'static [&'static str], &'static str)> {
    PROGRAMS.iter().find(|(name, ..)| *name == format)
}

type Kind = (&'static str, &'static str, &'static [&'static str], &'static str);

fn kind(format: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|(_, several, ..)| *several == format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe_unsupported;
    use crate::detection::file_probe::tests::{probe_file, zip_archive};

    #[test]
    fn format_is_told_by_name_or_content() {
        let zip = |names: &[&str]| {
            zip_archive(&names.iter().map(|name| (*name, &b"x"[..])).collect::<Vec<_>>())
        };
        for (name, content, format) in [
            ("a.one", b"x".to_vec(), "OneNote"),
            ("a.xml", b"<?xml version='1.0'?><mediawiki>".to_vec(), "MediaWiki"),
            ("a.json", br#"{"sbType": "Page", "snapshot": {}}"#.to_vec(), "AnyType"),
            ("places.sqlite", b"SQLite format 3\0".to_vec(), "Firefox database"),
            (".a.md.icloud", b"x".to_vec(), "iCloud placeholder"),
            ("a.json", b"{}".to_vec(), "JSON files"),
            ("NoteStore.sqlite", b"SQLite format 3\0".to_vec(), "Apple Notes"),
            ("a.json", br#"[{"client_msg_id": "1", "text": "x"}]"#.to_vec(), "Slack"),
            ("a.zip", zip(&["Takeout/Mail/x.mbox"]), "Google Takeout"),
            ("a.zip", zip(&["x.txt"]), "archives"),
            ("a.JPG", b"x".to_vec(), "pictures"),
            ("a", b"\x89PNG\r\n\x1a\n".to_vec(), "pictures"),
            ("a.main", b"SQLite format 3\0".to_vec(), "databases"),
            ("a.rs", b"fn".to_vec(), "files with program code"),
            ("a.xyz", b"x".to_vec(), ".xyz"),
            ("a.this is no extension", b"x".to_vec(), "files without an extension"),
            ("Makefile", b"x".to_vec(), "files without an extension"),
            ("a.xyz", Vec::new(), "empty files"),
        ] {
            assert_eq!(unsupported_format(&probe_file(name, content)), format, "{name}");
        }
    }

    #[test]
    fn description_counts_files_and_says_why() {
        let describe = |format: &str, files| {
            let UnsupportedFiles { label, reason, .. } = describe_unsupported(format, files);
            format!("{label}: {reason}")
        };
        assert!(describe("OneNote", 71).starts_with("71 OneNote: not supported yet; save"));
        assert_eq!(describe("Anki", 1), "1 Anki: not supported yet");
        assert_eq!(describe("pictures", 12), "12 pictures: not read");
        assert_eq!(describe("pictures", 1), "1 picture: not read");
        assert_eq!(describe(".xyz", 3), "3 `.xyz` files: unknown format");
        assert_eq!(describe(".xyz", 1), "1 `.xyz` file: unknown format");
        let table = describe("tables (.csv, .tsv)", 2);
        assert!(table.contains("imports them as media") || table.contains("unknown"), "{table}");
        assert_eq!(describe_one("pictures"), "picture: not read");
        let counts = BTreeMap::from([(".xyz".to_owned(), 1), ("pictures".to_owned(), 2)]);
        assert_eq!(describe_counts(&counts), "2 pictures, 1 `.xyz` file");
    }

    #[test]
    fn extension_and_name_are_listed_once() {
        let mut all: Vec<&str> =
            PROGRAMS.iter().flat_map(|(_, them, _)| them.iter().copied()).collect();
        all.extend(KINDS.iter().flat_map(|(_, _, them, _)| them.iter().copied()));
        all.extend(PROGRAMS.iter().map(|(name, ..)| *name));
        all.extend(KINDS.iter().map(|(_, several, ..)| *several));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for (name, _) in MARKS.iter().chain(&PACKED_MARKS) {
            assert!(program(name).is_some(), "{name}");
        }
        for (several, _) in SIGNATURES {
            assert!(kind(several).is_some(), "{several}");
        }
    }
}
