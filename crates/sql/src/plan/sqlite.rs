//! Notes on `SQLite` plans, whose steps are described in words.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::notes::PlanNotes;
use crate::Rows;

/// A row of EXPLAIN QUERY PLAN; `parent` is the `id` of the step above it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlanStep {
    id: String,
    parent: String,
    detail: String,
}

/// Reads the steps, in listed order.
pub(super) fn parse_steps(rows: &Rows) -> Vec<PlanStep> {
    let records = rows.catalog_rows();
    records
        .map(|record| PlanStep {
            id: record.text("id"),
            parent: record.text("parent"),
            detail: record.text("detail"),
        })
        .collect()
}

/// Formats the steps as a tree, each indented below its parent.
pub(super) fn format_tree(steps: &[PlanStep]) -> String {
    let mut depths: HashMap<&str, usize> = HashMap::new();
    let lines = steps.iter().map(|step| {
        let depth = depths.get(step.parent.as_str()).map_or(0, |depth| depth + 1);
        depths.insert(&step.id, depth);
        format!("{}{}", "  ".repeat(depth), step.detail)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the steps as a flat JSON list with `id`, `parent` and `detail`.
pub(super) fn steps_to_json(steps: &[PlanStep]) -> Value {
    let steps = steps.iter();
    steps
        .map(|step| json!({ "id": step.id, "parent": step.parent, "detail": step.detail }))
        .collect()
}

/// Returns notes on conspicuous steps.
pub(super) fn collect_notes(steps: &[PlanStep]) -> Vec<String> {
    let mut notes = PlanNotes::default();
    // Intermediate results of the query have no index.
    let own: HashSet<&str> = steps
        .iter()
        .filter_map(|step| {
            let detail = step.detail.as_str();
            detail.strip_prefix("CO-ROUTINE ").or_else(|| detail.strip_prefix("MATERIALIZE "))
        })
        .collect();
    for PlanStep { detail, .. } in steps {
        let scanned =
            detail.strip_prefix("SCAN ").map(|rest| rest.strip_prefix("TABLE ").unwrap_or(rest));
        if let Some(scanned) = scanned.filter(|it| is_unindexed_table_scan(it)) {
            let table = scanned.split(' ').next().unwrap_or(scanned);
            if !own.contains(table) {
                notes.note_sequential_scan(table);
                notes.suggest_index(None);
            }
        }
        if let Some(what) = detail.strip_prefix("USE TEMP B-TREE FOR ") {
            notes.note_sort(&format!("{what} takes a temporary B-tree (TEMP B-TREE)"));
        }
        if let Some((table, index)) = detail.split_once(" USING AUTOMATIC ") {
            let table = table.strip_prefix("SEARCH ").unwrap_or(table);
            let columns = index.split_once('(').map_or("", |(_, columns)| columns);
            let columns = columns.trim_end_matches(')');
            notes.add_note(format!(
                "A temporary index of '{table}' ({columns}) is built for this query - consider adding it"
            ));
        }
    }
    notes.into_notes()
}

/// Returns true if a table is scanned without an index.
fn is_unindexed_table_scan(scanned: &str) -> bool {
    let made = scanned.starts_with('(') || scanned.starts_with("CONSTANT ROW");
    let indexed = [" USING ", " VIRTUAL TABLE "].iter().any(|word| scanned.contains(word));
    !made && !indexed && !scanned.contains("-ROW VALUES") && !scanned.starts_with("SUBQUERY")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_plan(details: &[&str]) -> Vec<PlanStep> {
        let steps = details.iter().zip(1..);
        steps
            .map(|(detail, id)| PlanStep {
                id: id.to_string(),
                parent: (id - 1).to_string(),
                detail: (*detail).to_owned(),
            })
            .collect()
    }

    #[test]
    fn tree_indents_steps_below_parent() {
        assert_eq!(
            format_tree(&test_plan(&["COMPOUND QUERY", "SCAN a"])),
            "COMPOUND QUERY\n  SCAN a"
        );
    }

    #[test]
    fn unindexed_scan_and_temporary_tree_are_noted() {
        let notes = collect_notes(&test_plan(&[
            "CO-ROUTINE recent",
            "SCAN big",
            "SCAN recent",
            "SCAN note_fts VIRTUAL TABLE INDEX 0:M1",
            "SCAN users USING COVERING INDEX by_name",
            "SCAN CONSTANT ROW",
            "SEARCH other USING AUTOMATIC COVERING INDEX (x=?)",
            "USE TEMP B-TREE FOR ORDER BY",
        ]));
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert_eq!(notes[0], "Sequential scan detected on 'big' table");
        assert!(notes[2].contains("'other' (x=?)"), "{notes:?}");
        assert!(notes[3].starts_with("ORDER BY takes a temporary B-tree"), "{notes:?}");
    }

    #[test]
    fn index_search_has_no_notes() {
        let notes =
            collect_notes(&test_plan(&["SEARCH users USING INTEGER PRIMARY KEY (rowid=?)"]));
        assert_eq!(notes, ["Nothing stands out in this plan"]);
    }
}
