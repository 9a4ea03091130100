//! Formats query results as text: table, CSV and TSV.

use std::fmt::Write as _;

use anyhow::Result;
use console::measure_text_width;
use serde_json::Value;
use vademecum_services::text::sanitize;

use super::output::escape_json;

/// Maximum width of a column, in terminal columns. Longer cells are truncated.
const MAX_COLUMN_WIDTH: usize = 60;

/// Formats rows as aligned columns with a header and a row count. Columns of numbers are
/// right-aligned.
pub(super) fn format_table(names: &[&str], rows: &[Vec<Value>]) -> String {
    let header = names.iter().map(|name| format_cell(name)).collect::<Vec<_>>();
    let is_number =
        |column: usize| rows.iter().all(|row| !row.get(column).is_some_and(is_left_aligned));
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|value| format_cell(&value_text(value, "NULL"))).collect())
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

/// Formats rows as comma-separated values, with a header if there are names.
pub(super) fn format_csv(names: Option<&[&str]>, rows: &[Vec<Value>]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if let Some(names) = names {
        writer.write_record(names)?;
    }
    for row in rows {
        writer.write_record(row.iter().map(|value| value_text(value, "")))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Formats rows as tab-separated values, with tabs and line breaks escaped and NULL as `\N`, and with
/// a header if there are names.
pub(super) fn format_tsv(names: Option<&[&str]>, rows: &[Vec<Value>]) -> String {
    let values = |row: &Vec<Value>| {
        let cells = row.iter().map(|value| match value {
            Value::Null => "\\N".to_owned(),
            value => escape_tsv(&value_text(value, "")),
        });
        cells.collect::<Vec<_>>().join("\t")
    };
    let header =
        names.map(|names| names.iter().map(|name| escape_tsv(name)).collect::<Vec<_>>().join("\t"));
    let lines = header.into_iter().chain(rows.iter().map(values));
    lines.map(|line| line + "\n").collect()
}

/// Formats each row as a line with a JSON object. A name that occurs again gets a number.
pub(super) fn format_json_lines(names: &[&str], rows: &[Vec<Value>]) -> Result<String> {
    let mut keys: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let mut key = (*name).to_owned();
        let mut number = 2;
        while keys.contains(&key) {
            key = format!("{name}_{number}");
            number += 1;
        }
        keys.push(key);
    }
    let keys = keys.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let mut text = String::new();
    for row in rows {
        text.push('{');
        for (column, (key, value)) in keys.iter().zip(row).enumerate() {
            let comma = if column == 0 { "" } else { "," };
            write!(text, "{comma}{key}:{value}")?;
        }
        text.push_str("}\n");
    }
    Ok(escape_json(&text))
}

fn escape_tsv(text: &str) -> String {
    let mut escaped = text.replace('\\', "\\\\");
    for (sign, written) in [('\t', "\\t"), ('\n', "\\n"), ('\r', "\\r")] {
        escaped = escaped.replace(sign, written);
    }
    escaped
}

/// Returns a value as text, with `null` for NULL.
fn value_text(value: &Value, null: &str) -> String {
    match value {
        Value::Null => null.to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Returns `true` if a value is left-aligned: it is neither a number nor NULL.
fn is_left_aligned(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Number(_))
}

/// Returns a text as one line without control characters, truncated to the maximum width.
fn format_cell(text: &str) -> String {
    let line = sanitize(&text.replace(['\n', '\r', '\t'], " "));
    if measure_text_width(&line) <= MAX_COLUMN_WIDTH {
        return line;
    }
    console::truncate_str(&line, MAX_COLUMN_WIDTH, "…").into_owned()
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
    fn table_is_aligned_and_sanitized() {
        let table = format_table(&["id", "name", "id"], &rows());
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "id  name           id");
        assert_eq!(lines[2], " 1  a b \"c\", \u{fffd}[2J  NULL");
        assert_eq!(lines[3], "20  東京           [1,\"x\"]");
        assert_eq!(lines[4], "(2 rows)");
        let long = super::format_table(&["x"], &[vec![json!("x".repeat(200))]]);
        assert!(
            long.contains('…') && long.lines().all(|line| line.chars().count() <= MAX_COLUMN_WIDTH)
        );
    }

    #[test]
    fn separated_values_survive_round_trip() {
        let written = format_csv(Some(&["id", "name", "id"]), &rows()).unwrap();
        let mut reader = csv::Reader::from_reader(written.as_bytes());
        let read: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(&read[0][1], "a\tb\n\"c\", \u{1b}[2J");
        assert_eq!((&read[0][2], &read[1][2]), ("", "[1,\"x\"]"));
        let row = [vec![json!(null), json!("a\tb\\\n")]];
        let tsv = format_tsv(Some(&["id", "na\tme"]), &row);
        assert_eq!(tsv, "id\tna\\tme\n\\N\ta\\tb\\\\\\n\n");
        assert!(tsv.ends_with(&format_tsv(None, &row)), "later rows have no header");
        let lines = format_json_lines(&["id", "name", "id"], &rows()).unwrap();
        let lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[1], json!({ "id": 20, "name": "東京", "id_2": [1, "x"] }));
        assert_eq!((lines.len(), &lines[0]["name"]), (2, &json!("a\tb\n\"c\", \u{1b}[2J")));
    }
}
