//! Notes on `MySQL` and `MariaDB` plans in all formats.

use serde_json::Value;

use super::notes::PlanNotes;
use crate::Rows;

/// Note for rows that are sorted without an index.
const FILESORT_NOTE: &str = "Sorting without an index (filesort)";

/// Returns notes on a tabular plan.
pub(super) fn notes_on_table(rows: &Rows) -> Vec<String> {
    let mut notes = PlanNotes::default();
    for record in rows.catalog_rows() {
        let extra = record.text("Extra");
        let (table, is_filtered) = (record.text("table"), extra.contains("Using where"));
        note_table_access(&mut notes, &table, &record.text("type"), is_filtered);
        let read = record.number("r_rows").zip(record.number("r_filtered"));
        if let Some((rows, kept)) = read {
            note_removed_rows(&mut notes, rows, kept);
        }
        if extra.contains("Using filesort") {
            notes.note_sort(FILESORT_NOTE);
        }
        if extra.contains("Using temporary") {
            note_temporary_table(&mut notes);
        }
    }
    notes.into_notes()
}

/// Returns notes on a JSON plan.
pub(super) fn notes_on_json(plan: &Value) -> Vec<String> {
    let mut notes = PlanNotes::default();
    visit_json(&mut notes, plan);
    notes.into_notes()
}

/// Returns notes on a tree plan, the format of `EXPLAIN ANALYZE` in `MySQL`.
pub(super) fn notes_on_tree(plan: &str) -> Vec<String> {
    let mut notes = PlanNotes::default();
    let mut filter = None;
    for line in plan.lines() {
        let step = line.trim().trim_start_matches("-> ");
        if let Some(table) = step.strip_prefix("Table scan on ") {
            let table = table.split("  (").next().unwrap_or(table);
            if !table.starts_with('<') {
                notes.note_sequential_scan(table);
                if let Some(filter) = filter {
                    notes.suggest_index(Some(filter));
                }
            }
        }
        filter = step.strip_prefix("Filter: ").map(|it| it.split("  (").next().unwrap_or(it));
        if step.starts_with("Sort") {
            notes.note_sort(FILESORT_NOTE);
        }
        if step.contains("temporary table") {
            note_temporary_table(&mut notes);
        }
    }
    notes.into_notes()
}

fn visit_json(notes: &mut PlanNotes, value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| visit_json(notes, item)),
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            let number = |name: &str| fields.get(name).and_then(Value::as_f64);
            if let (Some(table), Some(access)) = (text("table_name"), text("access_type")) {
                note_table_access(notes, table, access, text("attached_condition").is_some());
                if let Some((rows, kept)) = number("r_rows").zip(number("r_filtered")) {
                    note_removed_rows(notes, rows, kept);
                }
            }
            let is_sorted = fields.get("using_filesort") == Some(&Value::Bool(true));
            if fields.contains_key("filesort") || is_sorted {
                notes.note_sort(FILESORT_NOTE);
            }
            let is_kept = fields.get("using_temporary_table") == Some(&Value::Bool(true));
            if fields.contains_key("temporary_table") || is_kept {
                note_temporary_table(notes);
            }
            fields.values().for_each(|inner| visit_json(notes, inner));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Notes the access method of a table. A name in `<` and `>` is an intermediate result.
fn note_table_access(notes: &mut PlanNotes, table: &str, access: &str, is_filtered: bool) {
    if table.starts_with('<') {
        return;
    }
    match access {
        "ALL" => {
            notes.note_sequential_scan(table);
            if is_filtered {
                notes.suggest_index(None);
            }
        }
        "index" => notes.add_note(format!("Full index scan detected on '{table}'")),
        _ => {}
    }
}

/// Notes the rows removed by a filter: `rows` read, `kept` per cent of them kept.
fn note_removed_rows(notes: &mut PlanNotes, rows: f64, kept: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rows are counted in whole numbers, and a cast of a negative number gives 0"
    )]
    let removed = (rows * (100.0 - kept) / 100.0).round() as u64;
    if removed > 0 {
        notes.note_removed_rows(removed);
    }
}

fn note_temporary_table(notes: &mut PlanNotes) {
    notes.add_note(
        "Rows are kept in a temporary table - an index for GROUP BY or DISTINCT may avoid it"
            .to_owned(),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Column;

    #[test]
    fn tabular_plan_is_read_by_column_name() {
        let columns = ["id", "table", "type", "r_rows", "r_filtered", "Extra"];
        let columns = columns.map(|name| Column { name: name.to_owned(), kind: String::new() });
        let rows = Rows {
            columns: columns.to_vec(),
            rows: vec![
                vec![
                    json!(1),
                    json!("big"),
                    json!("ALL"),
                    json!("3000.00"),
                    json!(25.0),
                    json!("Using where; Using temporary; Using filesort"),
                ],
                vec![
                    json!(1),
                    json!("users"),
                    json!("eq_ref"),
                    json!("1.00"),
                    json!(100.0),
                    json!(null),
                ],
            ],
            truncated: false,
        };
        let notes = notes_on_table(&rows);
        assert_eq!(notes[0], "Sequential scan detected on 'big' table");
        let notes = notes.join("\n");
        for expected in
            ["Consider adding an index", "removed 2250 rows", "filesort", "temporary table"]
        {
            assert!(notes.contains(expected), "{expected}: {notes}");
        }
        assert!(!notes.contains("users"), "{notes}");
    }

    #[test]
    fn json_plan_gives_same_notes() {
        let table = json!({
            "table_name": "big", "access_type": "ALL", "attached_condition": "big.x = 1",
            "r_rows": 100, "r_filtered": 10,
        });
        let inner = json!({ "filesort": { "temporary_table": [{ "table": table }] } });
        let notes = notes_on_json(&json!({ "query_block": inner })).join("\n");
        for expected in
            ["'big' table", "Consider", "removed 90 rows", "filesort", "temporary table"]
        {
            assert!(notes.contains(expected), "{expected}: {notes}");
        }
    }

    #[test]
    fn tree_plan_gives_same_notes() {
        let tree = "-> Sort: big.x  (cost=1 rows=2) (actual time=1..2 rows=2 loops=1)\n\
                    \x20   -> Filter: (big.x = 1)  (cost=1 rows=2)\n\
                    \x20       -> Table scan on big  (cost=1 rows=2) (actual time=1..2 rows=2 loops=1)";
        let notes = notes_on_tree(tree).join("\n");
        for expected in ["'big' table", "(filter: (big.x = 1))", "filesort"] {
            assert!(notes.contains(expected), "{expected}: {notes}");
        }
        assert_eq!(
            notes_on_tree("-> Table scan on <temporary>"),
            ["Nothing stands out in this plan"]
        );
    }
}
