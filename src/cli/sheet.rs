//! Rows as text.

use anyhow::Result;
use console::measure_text_width;
use serde_json::Value;

use super::output::plain;

/// The widest a column becomes; what is longer is cut.
const WIDEST: usize = 60;

/// Columns side by side.
pub(super) fn table(names: &[&str], rows: &[Vec<Value>]) -> String {
    let header = names.iter().map(|name| cell(name)).collect::<Vec<_>>();
    let is_number = |column: usize| rows.iter().all(|row| !row.get(column).is_some_and(is_text));
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|value| cell(&said(value, "NULL"))).collect())
        .collect();
    let widths: Vec<usize> = (0..names.len())
        .map(|column| {
            let cells = [&header].into_iter().chain(&shown).filter_map(|row| row.get(column));
            cells.map(|cell| measure_text_width(cell)).max().unwrap_or(0)
        })
        .collect();
    let line = |row: &[String], may_lean: bool| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let gap = " ".repeat(width - measure_text_width(cell));
            if may_lean && is_number(column) {
                format!("{gap}{cell}")
            } else {
                format!("{cell}{gap}")
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut lines = vec![line(&header, true), rule.join("  ")];
    lines.extend(shown.iter().map(|row| line(row, true)));
    let ending = if rows.len() == 1 { "" } else { "s" };
    lines.push(format!("({} row{ending})", rows.len()));
    lines.join("\n")
}

/// Comma-separated values.
pub(super) fn csv(names: &[&str], rows: &[Vec<Value>]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(names)?;
    for row in rows {
        writer.write_record(row.iter().map(|value| said(value, "")))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Tab-separated values.
pub(super) fn tsv(names: &[&str], rows: &[Vec<Value>]) -> String {
    let values = |row: &Vec<Value>| {
        let cells = row.iter().map(|value| match value {
            Value::Null => "\\N".to_owned(),
            value => escaped(&said(value, "")),
        });
        cells.collect::<Vec<_>>().join("\t")
    };
    let header = names.iter().map(|name| escaped(name)).collect::<Vec<_>>().join("\t");
    let lines: Vec<String> = [header].into_iter().chain(rows.iter().map(values)).collect();
    lines.join("\n")
}

fn escaped(text: &str) -> String {
    let mut escaped = text.replace('\\', "\\\\");
    for (sign, written) in [('\t', "\\t"), ('\n', "\\n"), ('\r', "\\r")] {
        escaped = escaped.replace(sign, written);
    }
    escaped
}

/// A value as text.
fn said(value: &Value, null: &str) -> String {
    match value {
        Value::Null => null.to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Whether a value stands on the left of its column.
fn is_text(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Number(_))
}

/// A text in one line, without what could turn a terminal upside down.
fn cell(text: &str) -> String {
    let line = plain(&text.replace(['\n', '\r', '\t'], " "));
    if measure_text_width(&line) <= WIDEST {
        return line;
    }
    console::truncate_str(&line, WIDEST, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows() -> Vec<Vec<Value>> {
        vec![
            vec![json!(1), json!("a\tb\n\"c\", \u{1b}[2J"), json!(null)],
            vec![json!(20), json!("東京"), json!([1, "x"])],
        ]
    }

    #[test]
    fn a_table_is_even_and_cannot_clear_the_screen() {
        let table = table(&["id", "name", "id"], &rows());
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "id  name           id");
        assert_eq!(lines[2], " 1  a b \"c\", \u{fffd}[2J  NULL");
        assert_eq!(lines[3], "20  東京           [1,\"x\"]");
        assert_eq!(lines[4], "(2 rows)");
        let long = super::table(&["x"], &[vec![json!("x".repeat(200))]]);
        assert!(long.contains('…') && long.lines().all(|line| line.chars().count() <= WIDEST));
    }

    #[test]
    fn separated_values_can_be_read_again() {
        let written = csv(&["id", "name", "id"], &rows()).unwrap();
        let mut reader = csv::Reader::from_reader(written.as_bytes());
        let read: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(&read[0][1], "a\tb\n\"c\", \u{1b}[2J");
        assert_eq!((&read[0][2], &read[1][2]), ("", "[1,\"x\"]"));
        let tsv = tsv(&["id", "na\tme"], &[vec![json!(null), json!("a\tb\\\n")]]);
        assert_eq!(tsv, "id\tna\\tme\n\\N\ta\\tb\\\\\\n");
    }
}
