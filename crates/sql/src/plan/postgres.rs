//! Notes on `PostgreSQL` plans in all formats.

use serde_json::Value;

use super::notes::PlanNotes;

/// Properties of a plan step that notes depend on.
#[derive(Clone, Debug, Default, PartialEq)]
struct PlanStep {
    /// Table of a sequential scan.
    scanned_table: Option<String>,
    filter: Option<String>,
    /// Rows removed by the filter, per loop.
    rows_removed: u64,
    loops: u64,
    /// Disk space used by a sort, in kilobytes.
    sort_disk_kb: Option<u64>,
    /// Number of batches of a hash.
    hash_batches: u64,
    /// Buffers read from disk and found in the cache; the root step has the totals.
    buffers_read: u64,
    buffers_hit: u64,
}

/// Size of a page in bytes.
const PAGE_BYTES: u64 = 8_192;

/// Returns notes on a text plan.
pub(super) fn notes_on_text(plan: &str) -> Vec<String> {
    let mut steps: Vec<PlanStep> = Vec::new();
    for line in plan.lines() {
        let line = line.trim();
        // Buffers used for planning are not part of the plan.
        if line == "Planning:" {
            break;
        }
        match (line.strip_prefix("->"), steps.last_mut()) {
            (Some(head), _) => steps.push(parse_step(head)),
            (None, None) => steps.push(parse_step(line)),
            (None, Some(step)) => parse_detail_line(step, line),
        }
    }
    collect_notes(&steps)
}

/// Returns notes on a JSON plan.
pub(super) fn notes_on_json(plan: &Value) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(root) = plan.pointer("/0/Plan") {
        collect_steps(root, &mut steps);
    }
    collect_notes(&steps)
}

fn collect_notes(steps: &[PlanStep]) -> Vec<String> {
    let mut notes = PlanNotes::default();
    for step in steps {
        if let Some(table) = &step.scanned_table {
            notes.note_sequential_scan(table);
            if step.filter.is_some() {
                notes.suggest_index(step.filter.as_deref());
            }
        }
        if step.rows_removed > 0 {
            notes.note_removed_rows(step.rows_removed * step.loops.max(1));
        }
        if let Some(kilobytes) = step.sort_disk_kb {
            notes.add_note(format!(
                "Sort spilled to disk ({kilobytes} kB) - a larger work_mem, or an index in this \
                 order, would avoid it"
            ));
        }
        if step.hash_batches > 1 {
            let batches = step.hash_batches;
            notes.add_note(format!(
                "Hash was split into {batches} batches on disk - a larger work_mem would keep it \
                 in memory"
            ));
        }
    }
    if let Some(root) = steps.first().filter(|root| root.buffers_read > 0) {
        let (read, hit, kilobytes) =
            (root.buffers_read, root.buffers_hit, root.buffers_read * PAGE_BYTES / 1_024);
        notes.add_note(format!(
            "{read} buffers ({kilobytes} kB) were read from disk, {hit} were in the cache - run \
             it again to see it with a warm cache"
        ));
    }
    notes.into_notes()
}

/// Parses `Parallel Seq Scan on users u  (cost=… rows=…) (actual time=… rows=12 loops=1)`.
fn parse_step(head: &str) -> PlanStep {
    let (title, measures) = head.trim().split_once("  (").unwrap_or((head, ""));
    let scanned = title.split_once("Seq Scan on ").map(|(_, table)| leading_identifier(table));
    let loops = measures.split_once("loops=").and_then(|(_, rest)| leading_integer(rest));
    PlanStep { scanned_table: scanned, loops: loops.unwrap_or(1), ..PlanStep::default() }
}

/// Parses a detail line below a step.
fn parse_detail_line(step: &mut PlanStep, line: &str) {
    if let Some(filter) = line.strip_prefix("Filter: ") {
        step.filter = Some(filter.to_owned());
    } else if let Some(rows) = line.strip_prefix("Rows Removed by Filter: ") {
        step.rows_removed = leading_integer(rows).unwrap_or_default();
    } else if let Some((_, kilobytes)) = line.split_once("  Disk: ")
        && line.contains("Sort Method: ")
    {
        let all = step.sort_disk_kb.unwrap_or_default();
        step.sort_disk_kb = Some(all + leading_integer(kilobytes).unwrap_or_default());
    } else if let Some(batches) = line.strip_prefix("Buckets: ") {
        let batches = batches.split_once("Batches: ").and_then(|(_, rest)| leading_integer(rest));
        step.hash_batches = batches.unwrap_or_default();
    } else if let Some(buffers) = line.strip_prefix("Buffers: ") {
        let shared = buffers.strip_prefix("shared ").unwrap_or_default();
        let shared = shared.split(',').next().unwrap_or_default();
        let block_count =
            |name| shared.split_once(name).and_then(|(_, rest)| leading_integer(rest));
        step.buffers_read = block_count("read=").unwrap_or_default();
        step.buffers_hit = block_count("hit=").unwrap_or_default();
    }
}

fn collect_steps(plan: &Value, steps: &mut Vec<PlanStep>) {
    let text = |name: &str| plan.get(name).and_then(Value::as_str);
    let count = |name: &str| plan.get(name).and_then(parse_count).unwrap_or_default();
    let is_scan = text("Node Type") == Some("Seq Scan");
    let on_disk = text("Sort Space Type") == Some("Disk");
    steps.push(PlanStep {
        scanned_table: text("Relation Name").filter(|_| is_scan).map(str::to_owned),
        filter: text("Filter").map(str::to_owned),
        rows_removed: count("Rows Removed by Filter"),
        loops: count("Actual Loops"),
        sort_disk_kb: on_disk.then(|| count("Sort Space Used")),
        hash_batches: count("Hash Batches"),
        buffers_read: count("Shared Read Blocks"),
        buffers_hit: count("Shared Hit Blocks"),
    });
    for inner in plan.get("Plans").and_then(Value::as_array).into_iter().flatten() {
        collect_steps(inner, steps);
    }
}

/// Returns a count as an integer; newer servers report fractions.
fn parse_count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| leading_integer(&number.to_string())),
        Value::String(digits) => leading_integer(digits),
        _ => None,
    }
}

/// Parses the integer at the start of a text.
fn leading_integer(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// Returns the identifier at the start of a text, without quotes.
fn leading_identifier(text: &str) -> String {
    let mut name = String::new();
    let mut is_quoted = false;
    for sign in text.chars() {
        match sign {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => break,
            other => name.push(other),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sequential_scan_note_suggests_index() {
        let plan = "Seq Scan on users  (cost=0.00..25.00 rows=6 width=540) (actual time=0.015..0.089 rows=12 loops=1)\n\
                    \x20 Filter: (email ~~ '%@example.com'::text)\n\
                    \x20 Rows Removed by Filter: 988\n\
                    \x20 Buffers: shared hit=15\n\
                    Planning Time: 0.085 ms\n\
                    Execution Time: 0.112 ms";
        assert_eq!(
            notes_on_text(plan),
            [
                "Sequential scan detected on 'users' table",
                "Consider adding an index if this query runs frequently (filter: (email ~~ \
                 '%@example.com'::text))",
                "Filter removed 988 rows - WHERE clause selectivity is low",
            ]
        );
    }

    #[test]
    fn disk_spill_note_names_helpful_setting() {
        let plan = "Gather Merge  (cost=1..2 rows=3 width=4) (actual time=1..2 rows=3 loops=1)\n\
                    \x20 Buffers: shared hit=15 read=200, temp read=30 written=40\n\
                    \x20 ->  Sort  (cost=1..2 rows=3 width=4) (actual time=1..2 rows=3 loops=3)\n\
                    \x20       Sort Method: external merge  Disk: 1000kB\n\
                    \x20       Worker 0:  Sort Method: external merge  Disk: 200kB\n\
                    \x20       ->  Hash  (cost=1..2 rows=3 width=4)\n\
                    \x20             Buckets: 1024  Batches: 4  Memory Usage: 64kB\n\
                    \x20             ->  Parallel Seq Scan on \"Big Table\" b  (cost=1..2 rows=3 width=4) (actual time=1..2 rows=3 loops=3)\n\
                    \x20                   Rows Removed by Filter: 10\n\
                    Planning:\n\
                    \x20 Buffers: shared hit=1 read=999";
        let notes = notes_on_text(plan).join("\n");
        for expected in [
            "Sort spilled to disk (1200 kB) - a larger work_mem",
            "4 batches on disk - a larger work_mem",
            "detected on 'Big Table' table",
            "removed 30 rows",
            "200 buffers (1600 kB) were read from disk, 15 were in the cache",
        ] {
            assert!(notes.contains(expected), "{expected}: {notes}");
        }
        assert!(!notes.contains("Consider adding an index"), "there is no filter: {notes}");
    }

    #[test]
    fn json_plan_gives_same_notes() {
        let plan = json!([{ "Plan": {
            "Node Type": "Sort", "Sort Space Used": 1200, "Sort Space Type": "Disk",
            "Shared Hit Blocks": 15, "Shared Read Blocks": 200, "Actual Loops": 1,
            "Plans": [{
                "Node Type": "Seq Scan", "Relation Name": "users", "Filter": "(x = 1)",
                "Rows Removed by Filter": 9.67, "Actual Loops": 3,
            }],
        }}]);
        let notes = notes_on_json(&plan).join("\n");
        for expected in ["'users' table", "(filter: (x = 1))", "27 rows", "1200 kB", "200 buffers"]
        {
            assert!(notes.contains(expected), "{expected}: {notes}");
        }
    }

    #[test]
    fn index_scan_has_no_notes() {
        let plan = "Index Only Scan using users_pkey on users  (cost=0.29..8.31 rows=1 width=8)\n\
                    \x20 Index Cond: (id = 'Seq Scan on users'::text)";
        assert_eq!(notes_on_text(plan), ["Nothing stands out in this plan"]);
    }
}
