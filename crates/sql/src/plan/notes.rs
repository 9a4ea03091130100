//! Notes on a plan, with the same wording for all engines.

/// Notes on a plan, without duplicates.
#[derive(Debug, Default)]
pub(super) struct PlanNotes(Vec<String>);

impl PlanNotes {
    /// Notes a full scan of a table.
    pub(super) fn note_sequential_scan(&mut self, table: &str) {
        self.add_note(format!("Sequential scan detected on '{table}' table"));
    }

    /// Suggests an index; `filter` is the condition that it would serve.
    pub(super) fn suggest_index(&mut self, filter: Option<&str>) {
        let filter = filter.map(|filter| format!(" (filter: {filter})")).unwrap_or_default();
        self.add_note(format!("Consider adding an index if this query runs frequently{filter}"));
    }

    /// Notes rows that a filter discarded.
    pub(super) fn note_removed_rows(&mut self, rows: u64) {
        self.add_note(format!("Filter removed {rows} rows - WHERE clause selectivity is low"));
    }

    /// Notes a sort after reading.
    pub(super) fn note_sort(&mut self, how: &str) {
        self.add_note(format!("{how} - an index in this order would avoid it"));
    }

    /// Adds a note unless it is already present.
    pub(super) fn add_note(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Returns the notes, or a single note that there is nothing to report.
    pub(super) fn into_notes(mut self) -> Vec<String> {
        if self.0.is_empty() {
            self.0.push("Nothing stands out in this plan".to_owned());
        }
        self.0
    }
}
