//! What stands out in a plan of `PostgreSQL`, whichever form it has.

use serde_json::Value;

use super::notes::Notes;

/// A step of a plan, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    /// The table that is read from its first row to its last.
    scanned: Option<String>,
    filter: Option<String>,
    /// Rows that the filter threw away, in each run of the step.
    removed: u64,
    loops: u64,
    /// Kilobytes that a sort took on the disk.
    sorted_on_disk: Option<u64>,
    /// Into how many parts a hash was split.
    batches: u64,
    /// Pages that were read, and those that were there; of the first step, by all.
    read: u64,
    hit: u64,
}

/// Bytes of a page.
const PAGE: u64 = 8_192;

/// What stands out in a plan for people.
pub(super) fn notes_on_text(plan: &str) -> Vec<String> {
    let mut steps: Vec<Step> = Vec::new();
    for line in plan.lines() {
        let line = line.trim();
        // What planning took is no part of the plan.
        if line == "Planning:" {
            break;
        }
        match (line.strip_prefix("->"), steps.last_mut()) {
            (Some(head), _) => steps.push(step(head)),
            (None, None) => steps.push(step(line)),
            (None, Some(step)) => read_line(step, line),
        }
    }
    notes(&steps)
}

/// What stands out in a plan for programs.
pub(super) fn notes_on_json(plan: &Value) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(root) = plan.pointer("/0/Plan") {
        collect(root, &mut steps);
    }
    notes(&steps)
}

fn notes(steps: &[Step]) -> Vec<String> {
    let mut notes = Notes::default();
    for step in steps {
        if let Some(table) = &step.scanned {
            notes.sequential_scan(table);
            if step.filter.is_some() {
                notes.index_helps(step.filter.as_deref());
            }
        }
        if step.removed > 0 {
            notes.removed(step.removed * step.loops.max(1));
        }
        if let Some(kilobytes) = step.sorted_on_disk {
            notes.say(format!(
                "Sort spilled to disk ({kilobytes} kB) - a larger work_mem, or an index in this \
                 order, would avoid it"
            ));
        }
        if step.batches > 1 {
            let batches = step.batches;
            notes.say(format!(
                "Hash was split into {batches} batches on disk - a larger work_mem would keep it \
                 in memory"
            ));
        }
    }
    if let Some(root) = steps.first().filter(|root| root.read > 0) {
        let (read, hit, kilobytes) = (root.read, root.hit, root.read * PAGE / 1_024);
        notes.say(format!(
            "{read} buffers ({kilobytes} kB) were read from disk, {hit} were in the cache - run \
             it again to see it with a warm cache"
        ));
    }
    notes.finish()
}

/// `Parallel Seq Scan on users u  (cost=… rows=…) (actual time=… rows=12 loops=1)`
fn step(head: &str) -> Step {
    let (title, measures) = head.trim().split_once("  (").unwrap_or((head, ""));
    let scanned = title.split_once("Seq Scan on ").map(|(_, table)| first_name(table));
    let loops = measures.split_once("loops=").and_then(|(_, rest)| leading(rest));
    Step { scanned, loops: loops.unwrap_or(1), ..Step::default() }
}

/// What is said below a step.
fn read_line(step: &mut Step, line: &str) {
    if let Some(filter) = line.strip_prefix("Filter: ") {
        step.filter = Some(filter.to_owned());
    } else if let Some(rows) = line.strip_prefix("Rows Removed by Filter: ") {
        step.removed = leading(rows).unwrap_or_default();
    } else if let Some((_, kilobytes)) = line.split_once("  Disk: ")
        && line.contains("Sort Method: ")
    {
        let all = step.sorted_on_disk.unwrap_or_default();
        step.sorted_on_disk = Some(all + leading(kilobytes).unwrap_or_default());
    } else if let Some(batches) = line.strip_prefix("Buckets: ") {
        let batches = batches.split_once("Batches: ").and_then(|(_, rest)| leading(rest));
        step.batches = batches.unwrap_or_default();
    } else if let Some(buffers) = line.strip_prefix("Buffers: ") {
        let shared = buffers.strip_prefix("shared ").unwrap_or_default();
        let shared = shared.split(',').next().unwrap_or_default();
        let said = |name| shared.split_once(name).and_then(|(_, rest)| leading(rest));
        step.read = said("read=").unwrap_or_default();
        step.hit = said("hit=").unwrap_or_default();
    }
}

fn collect(plan: &Value, steps: &mut Vec<Step>) {
    let text = |name: &str| plan.get(name).and_then(Value::as_str);
    let count = |name: &str| plan.get(name).and_then(whole).unwrap_or_default();
    let is_scan = text("Node Type") == Some("Seq Scan");
    let on_disk = text("Sort Space Type") == Some("Disk");
    steps.push(Step {
        scanned: text("Relation Name").filter(|_| is_scan).map(str::to_owned),
        filter: text("Filter").map(str::to_owned),
        removed: count("Rows Removed by Filter"),
        loops: count("Actual Loops"),
        sorted_on_disk: on_disk.then(|| count("Sort Space Used")),
        batches: count("Hash Batches"),
        read: count("Shared Read Blocks"),
        hit: count("Shared Hit Blocks"),
    });
    for inner in plan.get("Plans").and_then(Value::as_array).into_iter().flatten() {
        collect(inner, steps);
    }
}

/// A number that counts; newer servers count in fractions.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| leading(&number.to_string())),
        Value::String(digits) => leading(digits),
        _ => None,
    }
}

/// The whole number that a text begins with.
fn leading(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// The name that a text begins with, without its quotes.
fn first_name(text: &str) -> String {
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
    fn a_scan_is_named_with_what_would_spare_it() {
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
    fn what_spills_is_named_with_the_setting_that_helps() {
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
        for said in [
            "Sort spilled to disk (1200 kB) - a larger work_mem",
            "4 batches on disk - a larger work_mem",
            "detected on 'Big Table' table",
            "removed 30 rows",
            "200 buffers (1600 kB) were read from disk, 15 were in the cache",
        ] {
            assert!(notes.contains(said), "{said}: {notes}");
        }
        assert!(!notes.contains("Consider adding an index"), "there is no filter: {notes}");
    }

    #[test]
    fn a_plan_that_is_json_says_the_same() {
        let plan = json!([{ "Plan": {
            "Node Type": "Sort", "Sort Space Used": 1200, "Sort Space Type": "Disk",
            "Shared Hit Blocks": 15, "Shared Read Blocks": 200, "Actual Loops": 1,
            "Plans": [{
                "Node Type": "Seq Scan", "Relation Name": "users", "Filter": "(x = 1)",
                "Rows Removed by Filter": 9.67, "Actual Loops": 3,
            }],
        }}]);
        let notes = notes_on_json(&plan).join("\n");
        for said in ["'users' table", "(filter: (x = 1))", "27 rows", "1200 kB", "200 buffers"] {
            assert!(notes.contains(said), "{said}: {notes}");
        }
    }

    #[test]
    fn an_index_is_nothing_to_speak_of() {
        let plan = "Index Only Scan using users_pkey on users  (cost=0.29..8.31 rows=1 width=8)\n\
                    \x20 Index Cond: (id = 'Seq Scan on users'::text)";
        assert_eq!(notes_on_text(plan), ["Nothing stands out in this plan"]);
    }
}
