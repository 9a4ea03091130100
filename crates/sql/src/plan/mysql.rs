//! What stands out in a plan of `MySQL` or `MariaDB`, whichever form it has.

use serde_json::Value;

use super::notes::Notes;
use crate::Rows;

/// How a plan names rows that are put in order by hand.
const FILESORT: &str = "Sorting without an index (filesort)";

/// What stands out in a table of steps.
pub(super) fn notes_on_table(rows: &Rows) -> Vec<String> {
    let mut notes = Notes::default();
    for record in rows.records() {
        let extra = record.text("Extra");
        let (table, is_filtered) = (record.text("table"), extra.contains("Using where"));
        read(&mut notes, &table, &record.text("type"), is_filtered);
        let read = record.number("r_rows").zip(record.number("r_filtered"));
        if let Some((rows, kept)) = read {
            removed(&mut notes, rows, kept);
        }
        if extra.contains("Using filesort") {
            notes.sorted(FILESORT);
        }
        if extra.contains("Using temporary") {
            temporary(&mut notes);
        }
    }
    notes.finish()
}

/// What stands out in a plan for programs.
pub(super) fn notes_on_json(plan: &Value) -> Vec<String> {
    let mut notes = Notes::default();
    look_at(&mut notes, plan);
    notes.finish()
}

/// What stands out in a tree of sentences, in which `MySQL` measures.
pub(super) fn notes_on_tree(plan: &str) -> Vec<String> {
    let mut notes = Notes::default();
    let mut filter = None;
    for line in plan.lines() {
        let step = line.trim().trim_start_matches("-> ");
        if let Some(table) = step.strip_prefix("Table scan on ") {
            let table = table.split("  (").next().unwrap_or(table);
            if !table.starts_with('<') {
                notes.sequential_scan(table);
                if let Some(filter) = filter {
                    notes.index_helps(Some(filter));
                }
            }
        }
        filter = step.strip_prefix("Filter: ").map(|it| it.split("  (").next().unwrap_or(it));
        if step.starts_with("Sort") {
            notes.sorted(FILESORT);
        }
        if step.contains("temporary table") {
            temporary(&mut notes);
        }
    }
    notes.finish()
}

fn look_at(notes: &mut Notes, value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| look_at(notes, item)),
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            let number = |name: &str| fields.get(name).and_then(Value::as_f64);
            if let (Some(table), Some(access)) = (text("table_name"), text("access_type")) {
                read(notes, table, access, text("attached_condition").is_some());
                if let Some((rows, kept)) = number("r_rows").zip(number("r_filtered")) {
                    removed(notes, rows, kept);
                }
            }
            let is_sorted = fields.get("using_filesort") == Some(&Value::Bool(true));
            if fields.contains_key("filesort") || is_sorted {
                notes.sorted(FILESORT);
            }
            let is_kept = fields.get("using_temporary_table") == Some(&Value::Bool(true));
            if fields.contains_key("temporary_table") || is_kept {
                temporary(notes);
            }
            fields.values().for_each(|inner| look_at(notes, inner));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// How a table is read. One in `<` and `>` is made by the query itself.
fn read(notes: &mut Notes, table: &str, access: &str, is_filtered: bool) {
    if table.starts_with('<') {
        return;
    }
    match access {
        "ALL" => {
            notes.sequential_scan(table);
            if is_filtered {
                notes.index_helps(None);
            }
        }
        "index" => notes.say(format!("The whole of an index of '{table}' is read")),
        _ => {}
    }
}

/// Of so many rows, so much per cent were kept.
fn removed(notes: &mut Notes, rows: f64, kept: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rows are counted in whole numbers, and a cast of what is less than nothing is 0"
    )]
    let removed = (rows * (100.0 - kept) / 100.0).round() as u64;
    if removed > 0 {
        notes.removed(removed);
    }
}

fn temporary(notes: &mut Notes) {
    notes.say(
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
    fn steps_in_a_table_are_read_by_the_names_of_its_columns() {
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
        for said in ["Consider adding an index", "removed 2250 rows", "filesort", "temporary table"]
        {
            assert!(notes.contains(said), "{said}: {notes}");
        }
        assert!(!notes.contains("users"), "{notes}");
    }

    #[test]
    fn a_plan_that_is_json_says_the_same() {
        let table = json!({
            "table_name": "big", "access_type": "ALL", "attached_condition": "big.x = 1",
            "r_rows": 100, "r_filtered": 10,
        });
        let inner = json!({ "filesort": { "temporary_table": [{ "table": table }] } });
        let notes = notes_on_json(&json!({ "query_block": inner })).join("\n");
        for said in ["'big' table", "Consider", "removed 90 rows", "filesort", "temporary table"] {
            assert!(notes.contains(said), "{said}: {notes}");
        }
    }

    #[test]
    fn a_tree_of_sentences_says_the_same() {
        let tree = "-> Sort: big.x  (cost=1 rows=2) (actual time=1..2 rows=2 loops=1)\n\
                    \x20   -> Filter: (big.x = 1)  (cost=1 rows=2)\n\
                    \x20       -> Table scan on big  (cost=1 rows=2) (actual time=1..2 rows=2 loops=1)";
        let notes = notes_on_tree(tree).join("\n");
        for said in ["'big' table", "(filter: (big.x = 1))", "filesort"] {
            assert!(notes.contains(said), "{said}: {notes}");
        }
        assert_eq!(
            notes_on_tree("-> Table scan on <temporary>"),
            ["Nothing stands out in this plan"]
        );
    }
}
