//! Tables as text: CSV and its kin, read as a Markdown table.

use csv::{ReaderBuilder, StringRecord};
use vademecum_kit::model::{MediaDraft, SourceName};

use super::document::whole;
use crate::{Fit, Glance, ImportError, Importer, Problem, Reading, SourceFile};

/// Goes up when the same file makes another document than before.
const VERSION: &str = "table/1";

/// What may stand between two cells.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Lines that are looked at to find out which of them does.
const SAMPLE_LINES: usize = 20;

/// Reads tables.
#[derive(Debug)]
pub(crate) struct Table;

impl Importer for Table {
    fn source(&self) -> SourceName {
        SourceName::Media
    }

    fn format(&self) -> &'static str {
        "tables (.csv, .tsv)"
    }

    fn recognise(&self, glance: &Glance) -> Fit {
        Fit::Name.when(glance.ends_in(&["csv", "tsv"]))
    }

    fn read(&self, file: &SourceFile) -> Result<Reading, ImportError> {
        let text = file.text()?;
        let mut rows = ReaderBuilder::new()
            .delimiter(delimiter(&text))
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let mut content = String::new();
        let mut problems = Vec::new();
        for (number, row) in (1..).zip(rows.records()) {
            match row {
                Ok(row) => add(&mut content, &row),
                Err(error) => problems
                    .push(Problem { place: format!("row {number}"), reason: error.to_string() }),
            }
        }
        let document = MediaDraft {
            title: file.stem(),
            media_type: "csv".to_owned(),
            content,
            modified_at: file.modified,
            ..MediaDraft::default()
        };
        whole(file, VERSION, document, problems)
    }
}

/// The sign that stands between cells most evenly: as often in each line.
fn delimiter(text: &str) -> u8 {
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.is_empty()).take(SAMPLE_LINES).collect();
    let fewest =
        |sign: u8| lines.iter().map(|line| line.bytes().filter(|byte| *byte == sign).count()).min();
    // Of those that are as good, the first.
    DELIMITERS.into_iter().rev().max_by_key(|sign| fewest(*sign)).unwrap_or(b',')
}

/// Adds a row; the first is the head of the table.
fn add(content: &mut String, row: &StringRecord) {
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
    use crate::media::document::tests::{read, refused};

    #[test]
    fn rows_of_any_length_become_a_table() {
        let text = "name,age\n\"Ada, L.\",36\n\n\"two\nlines\",1,a|b\n,\n";
        let table = read(&Table, "/people.csv", text);
        let rows = "| name | age |\n|---|---|\n| Ada, L. | 36 |\n| two lines | 1 | a\\|b |\n";
        assert_eq!(table.content, rows);
        assert_eq!((table.title.as_str(), table.media_type.as_str()), ("people", "csv"));
    }

    #[test]
    fn what_stands_between_cells_is_found_out() {
        for text in ["a;b\n1,5;2\n", "a\tb\n1,5\t2\n", "a|b\n1,5|2\n"] {
            let table = read(&Table, "/a.tsv", text);
            assert_eq!(table.content, "| a | b |\n|---|---|\n| 1,5 | 2 |\n");
        }
        assert_eq!(read(&Table, "/a.csv", "one\ntwo\n").content, "| one |\n|---|\n| two |\n");
    }

    #[test]
    fn older_encodings_are_read() {
        let bytes = encoding_rs::SHIFT_JIS.encode("名前,年齢\n佐藤太郎,30\n").0.into_owned();
        assert!(read(&Table, "/a.csv", bytes).content.contains("| 佐藤太郎 | 30 |"));
    }

    #[test]
    fn a_table_without_a_word_is_refused() {
        assert!(refused(&Table, "/a.csv", ",,\n,\n").contains("holds no text"));
        assert!(refused(&Table, "/a.csv", b"a,b\n\0".as_slice()).contains("NUL"));
    }
}
