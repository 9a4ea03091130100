//! What is said of a plan, in the same words for every engine.

/// Remarks on a plan, each said once.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    /// A table is read from its first row to its last.
    pub(super) fn sequential_scan(&mut self, table: &str) {
        self.say(format!("Sequential scan detected on '{table}' table"));
    }

    /// An index would spare that; `filter` says for which columns.
    pub(super) fn index_helps(&mut self, filter: Option<&str>) {
        let filter = filter.map(|filter| format!(" (filter: {filter})")).unwrap_or_default();
        self.say(format!("Consider adding an index if this query runs frequently{filter}"));
    }

    /// Rows are read and thrown away.
    pub(super) fn removed(&mut self, rows: u64) {
        self.say(format!("Filter removed {rows} rows - WHERE clause selectivity is low"));
    }

    /// Rows are put in order after they are read.
    pub(super) fn sorted(&mut self, how: &str) {
        self.say(format!("{how} - an index in this order would avoid it"));
    }

    /// Anything else.
    pub(super) fn say(&mut self, note: String) {
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// The remarks; that there are none is one as well.
    pub(super) fn finish(mut self) -> Vec<String> {
        if self.0.is_empty() {
            self.0.push("Nothing stands out in this plan".to_owned());
        }
        self.0
    }
}
