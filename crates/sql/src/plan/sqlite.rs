//! What stands out in a plan of `SQLite`, which says each step in words.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::notes::Notes;
use crate::Rows;

/// A step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    id: String,
    parent: String,
    said: String,
}

/// The steps, in the order in which they are listed.
pub(super) fn steps(rows: &Rows) -> Vec<Step> {
    let records = rows.records();
    records
        .map(|record| Step {
            id: record.text("id"),
            parent: record.text("parent"),
            said: record.text("detail"),
        })
        .collect()
}

/// The steps, each further in than the one that it is part of.
pub(super) fn tree(steps: &[Step]) -> String {
    let mut depths: HashMap<&str, usize> = HashMap::new();
    let lines = steps.iter().map(|step| {
        let depth = depths.get(step.parent.as_str()).map_or(0, |depth| depth + 1);
        depths.insert(&step.id, depth);
        format!("{}{}", "  ".repeat(depth), step.said)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The same for programs.
pub(super) fn to_json(steps: &[Step]) -> Value {
    let steps = steps.iter();
    steps.map(|step| json!({ "id": step.id, "parent": step.parent, "detail": step.said })).collect()
}

/// What stands out.
pub(super) fn notes(steps: &[Step]) -> Vec<String> {
    let mut notes = Notes::default();
    // What the query makes for itself has no index.
    let own: HashSet<&str> = steps
        .iter()
        .filter_map(|step| {
            let said = step.said.as_str();
            said.strip_prefix("CO-ROUTINE ").or_else(|| said.strip_prefix("MATERIALIZE "))
        })
        .collect();
    for Step { said, .. } in steps {
        let scanned =
            said.strip_prefix("SCAN ").map(|rest| rest.strip_prefix("TABLE ").unwrap_or(rest));
        if let Some(scanned) = scanned.filter(|it| is_plain(it)) {
            let table = scanned.split(' ').next().unwrap_or(scanned);
            if !own.contains(table) {
                notes.sequential_scan(table);
                notes.index_helps(None);
            }
        }
        if let Some(what) = said.strip_prefix("USE TEMP B-TREE FOR ") {
            notes.sorted(&format!("{what} takes a temporary B-tree (TEMP B-TREE)"));
        }
        if let Some((table, index)) = said.split_once(" USING AUTOMATIC ") {
            let table = table.strip_prefix("SEARCH ").unwrap_or(table);
            let columns = index.split_once('(').map_or("", |(_, columns)| columns);
            let columns = columns.trim_end_matches(')');
            notes.say(format!(
                "An index of '{table}' ({columns}) is made for this query alone - consider adding it"
            ));
        }
    }
    notes.finish()
}

/// Whether it is a table, and no index of it is used.
fn is_plain(scanned: &str) -> bool {
    let made = scanned.starts_with('(') || scanned.starts_with("CONSTANT ROW");
    let indexed = [" USING ", " VIRTUAL TABLE "].iter().any(|word| scanned.contains(word));
    !made && !indexed && !scanned.contains("-ROW VALUES") && !scanned.starts_with("SUBQUERY")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(said: &[&str]) -> Vec<Step> {
        let steps = said.iter().zip(1..);
        steps
            .map(|(said, id)| Step {
                id: id.to_string(),
                parent: (id - 1).to_string(),
                said: (*said).to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_step_stands_further_in_than_the_one_it_is_part_of() {
        assert_eq!(tree(&plan(&["COMPOUND QUERY", "SCAN a"])), "COMPOUND QUERY\n  SCAN a");
    }

    #[test]
    fn a_scan_without_an_index_and_a_temporary_tree_stand_out() {
        let notes = notes(&plan(&[
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
    fn a_search_by_an_index_is_nothing_to_speak_of() {
        let notes = notes(&plan(&["SEARCH users USING INTEGER PRIMARY KEY (rowid=?)"]));
        assert_eq!(notes, ["Nothing stands out in this plan"]);
    }
}
