//! Tables: CSV and similar files as a Markdown table.

use csv::{ReaderBuilder, StringRecord};
use vademecum_model::{MediaDraft, SourceName};

use super::document::single_document;
use crate::{Confidence, FileProbe, ImportError, Importer, ParsedFile, Problem, SourceFile};

/// Version of the importer; increment when the same file produces a different document.
const VERSION: &str = "table/1";

/// Possible delimiters of cells.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Maximum number of lines examined to detect the delimiter.
const MAX_SAMPLE_LINES: usize = 20;

/// Imports a file with commas, semicolons, tabs or bars between cells as one document.
#[derive(Debug)]
pub(crate) struct TableImporter;

impl Importer for TableImporter {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format_name(&self) -> &'static str {
        "tables (.csv, .tsv)"
    }

    fn detect(&self, probe: &FileProbe) -> Confidence {
        Confidence::ByName.when(probe.has_extension(&["csv", "tsv"]))
    }

    fn parse(&self, file: &SourceFile) -> Result<ParsedFile, ImportError> {
        let text = file.text()?;
        let mut rows = ReaderBuilder::new()
            .delimiter(detect_delimiter(&text))
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let mut content = String::new();
        let mut problems = Vec::new();
        for (number, row) in (1..).zip(rows.records()) {
            match row {
                Ok(row) => push_row(&mut content, &row),
                Err(error) => problems
                    .push(Problem { place: format!("row {number}"), reason: error.to_string() }),
            }
        }
        let document = MediaDraft {
            title: file.file_stem(),
            media_type: "csv".to_owned(),
            content,
            modified_at: file.modified,
            ..MediaDraft::default()
        };
        single_document(file, VERSION, document, problems)
    }
}

/// Returns the delimiter with the highest minimum count per line.
fn detect_delimiter(text: &str) -> u8 {
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.is_empty()).take(MAX_SAMPLE_LINES).collect();
    let fewest =
        |sign: u8| lines.iter().map(|line| line.bytes().filter(|byte| *byte == sign).count()).min();
    // Of equal counts, the first delimiter wins.
    DELIMITERS.into_iter().rev().max_by_key(|sign| fewest(*sign)).unwrap_or(b',')
}

/// Adds a row to the Markdown table; the first one becomes its header.
fn push_row(content: &mut String, row: &StringRecord) {
    if row.iter().all(|cell| cell.trim().is_empty()) {
        return;
    }
    let is_head = content.is_empty();
    content.push('|');
    for cell in row {
        let words: Vec<&str> = cell.split_whitespace().collect();
        content.extend([" ", &words.join(" ").replace('|', "\\|"), " |"]);
    }
    content.push('\n');
    if is_head {
        content.push('|');
        content.extend(std::iter::repeat_n("---|", row.len()));
        content.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::document::tests::{read_document, read_error};

    #[test]
    fn rows_of_any_length_become_a_table() {
        let text = "name,age\n\"Ada, L.\",36\n\n\"two\nlines\",1,a|b\n,\n";
        let table = read_document(&TableImporter, "/people.csv", text);
        let rows = "| name | age |\n|---|---|\n| Ada, L. | 36 |\n| two lines | 1 | a\\|b |\n";
        assert_eq!(table.content, rows);
        assert_eq!((table.title.as_str(), table.media_type.as_str()), ("people", "csv"));
    }

    #[test]
    fn delimiter_is_detected() {
        for text in ["a;b\n1,5;2\n", "a\tb\n1,5\t2\n", "a|b\n1,5|2\n"] {
            let table = read_document(&TableImporter, "/a.tsv", text);
            assert_eq!(table.content, "| a | b |\n|---|---|\n| 1,5 | 2 |\n");
        }
        assert_eq!(
            read_document(&TableImporter, "/a.csv", "one\ntwo\n").content,
            "| one |\n|---|\n| two |\n"
        );
    }

    #[test]
    fn legacy_encodings_are_read() {
        let bytes = encoding_rs::SHIFT_JIS.encode("名前,年齢\n佐藤太郎,30\n").0.into_owned();
        assert!(
            read_document(&TableImporter, "/a.csv", bytes).content.contains("| 佐藤太郎 | 30 |")
        );
    }

    #[test]
    fn empty_table_is_rejected() {
        assert!(read_error(&TableImporter, "/a.csv", ",,\n,\n").contains("holds no text"));
        assert!(read_error(&TableImporter, "/a.csv", b"a,b\n\0".as_slice()).contains("NUL"));
    }
}
