//! Indexes that could serve the conditions of a plan.

use super::{
    plan::{PlanFacts, TableScan},
    predicate::{PlanColumn, Predicate},
    table::TableFacts,
};
use vademecum_sql::{Engine, quote_identifier};

/// Tables with fewer rows are read whole fast enough.
const MIN_TABLE_ROWS: f64 = 10_000.0;
/// Maximum number of columns of an advised index.
const MAX_COLUMNS: usize = 4;
/// Maximum length of a name in bytes, the lower one of the engines.
const MAX_NAME_BYTES: usize = 63;
/// Length of the indexed part of a text column in `MySQL`, which needs one.
const TEXT_PREFIX: &str = "(64)";

/// Index that could help.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IndexCandidate {
    /// Schema; empty for the schema of the connection.
    pub(super) schema: String,
    /// Name of the table.
    pub(super) table: String,
    /// Columns in order.
    pub(super) columns: Vec<String>,
    /// Columns with what the engine needs behind their names.
    parts: Vec<String>,
    /// Estimated number of rows of the table.
    pub(super) table_rows: f64,
    /// Estimated number of rows that the statement needs, if known.
    pub(super) kept_rows: Option<f64>,
    /// True if the plan alone says that the index helps, without asking the planner.
    pub(super) is_likely: bool,
}

/// Returns the candidates for a scan, the most promising first, without those that an existing
/// index serves.
pub(super) fn find_candidates(
    engine: Engine,
    plan: &PlanFacts,
    scan: &TableScan,
    table: &TableFacts,
) -> Vec<IndexCandidate> {
    if table.rows < MIN_TABLE_ROWS || table.is_partition {
        return Vec::new();
    }
    let columns = ScanColumns::collect(plan, scan, table);
    let mut found: Vec<IndexCandidate> = Vec::new();
    for (names, equalities, is_likely) in columns.combinations(plan, scan, table) {
        let is_known = found.iter().any(|it| it.columns == names);
        if names.is_empty() || is_known || is_served(table, &names, equalities) {
            continue;
        }
        let part = |name: &String| {
            let column = table.columns.get(name);
            let is_text = column.is_some_and(|it| it.data_type.ends_with("text"));
            let prefix = if engine == Engine::MySql && is_text { TEXT_PREFIX } else { "" };
            quote_identifier(engine, name) + prefix
        };
        found.push(IndexCandidate {
            schema: scan.schema.clone(),
            table: scan.table.clone(),
            parts: names.iter().map(part).collect(),
            columns: names,
            table_rows: table.rows,
            kept_rows: scan.kept_rows,
            is_likely,
        });
    }
    found
}

/// Returns true if the columns begin an existing index. The order of the first `equalities` columns
/// does not matter.
fn is_served(table: &TableFacts, names: &[String], equalities: usize) -> bool {
    let (first, rest) = names.split_at(equalities.min(names.len()));
    table.indexes.iter().any(|index| {
        let begin = index.get(..first.len());
        begin.is_some_and(|begin| first.iter().all(|name| begin.contains(name)))
            && index.get(first.len()..names.len()).is_some_and(|after| after == rest)
    })
}

/// Columns of a scan by the way in which the statement uses them.
struct ScanColumns {
    equalities: Vec<String>,
    ranges: Vec<String>,
    joins: Vec<(String, String)>,
    sort: Vec<String>,
}

impl ScanColumns {
    fn collect(plan: &PlanFacts, scan: &TableScan, table: &TableFacts) -> Self {
        let own = |column: &PlanColumn| own_column(scan, table, column);
        let (mut equalities, mut ranges, mut joins) = (Vec::new(), Vec::new(), Vec::new());
        for predicate in &plan.predicates {
            match predicate {
                Predicate::Equality(column) => equalities.extend(own(column)),
                Predicate::Range(column) => ranges.extend(own(column)),
                Predicate::Join(one, other) => {
                    joins.extend(own(one).map(|name| (name, other.alias.clone())));
                    joins.extend(own(other).map(|name| (name, one.alias.clone())));
                }
            }
        }
        let distinct = |name: &String| {
            table.columns.get(name).and_then(|column| column.distinct).unwrap_or_default()
        };
        // The most selective column first; the order in the statement decides among equals.
        equalities.sort_by(|one, other| distinct(other).total_cmp(&distinct(one)));
        deduplicate(&mut equalities);
        deduplicate(&mut ranges);
        ranges.retain(|name| !equalities.contains(name));
        let sort = plan.sorts.iter().find_map(|keys| keys.iter().map(own).collect());
        Self { equalities, ranges, joins, sort: sort.unwrap_or_default() }
    }

    /// Returns columns, the number of equality columns that they begin with, and whether the plan
    /// alone speaks for them.
    fn combinations(
        &self,
        plan: &PlanFacts,
        scan: &TableScan,
        table: &TableFacts,
    ) -> Vec<(Vec<String>, usize, bool)> {
        let Self { equalities, ranges, joins, sort } = self;
        let is_whole = scan.is_whole;
        let is_selective = is_whole && scan.kept_rows.is_none_or(|kept| kept <= 0.1 * table.rows);
        let equalities: Vec<String> = equalities.iter().take(MAX_COLUMNS - 1).cloned().collect();
        let with = |after: &[String]| {
            let mut names = equalities.clone();
            names.extend(after.iter().filter(|name| !equalities.contains(name)).cloned());
            names.truncate(MAX_COLUMNS);
            names
        };
        let count = equalities.len();
        let mut all = Vec::new();
        for range in ranges {
            all.push((with(std::slice::from_ref(range)), count, is_selective));
        }
        all.push((equalities.clone(), count, is_selective));
        all.push((with(sort), count, plan.has_limit && is_selective));
        for (join, other) in joins {
            let few =
                is_whole && plan.rows.get(other).is_some_and(|rows| rows * 20.0 <= table.rows);
            all.push((vec![join.clone()], 1, few));
            all.push((with(std::slice::from_ref(join)), count + 1, few && is_selective));
        }
        all.extend(equalities.iter().map(|name| (vec![name.clone()], 1, is_selective)));
        all
    }
}

/// Returns the name of a column if it belongs to the scan and an index on it can serve the use.
fn own_column(scan: &TableScan, table: &TableFacts, column: &PlanColumn) -> Option<String> {
    if !column.alias.eq_ignore_ascii_case(&scan.alias) {
        return None;
    }
    let same = |name: &&String| name.eq_ignore_ascii_case(&column.column);
    let name = table.columns.get_key_value(&column.column).map(|(name, _)| name);
    let name = name.or_else(|| table.columns.keys().find(same))?;
    let is_varchar = table.columns.get(name)?.data_type.starts_with("character varying");
    (!column.is_cast_to_text || is_varchar).then(|| name.clone())
}

fn deduplicate(names: &mut Vec<String>) {
    let mut seen = Vec::new();
    names.retain(|name| {
        let is_new = !seen.contains(name);
        seen.push(name.clone());
        is_new
    });
}

impl IndexCandidate {
    /// Returns the table and the columns in parentheses, quoted.
    fn target(&self, engine: Engine) -> String {
        let schema = match self.schema.as_str() {
            "" => String::new(),
            schema => quote_identifier(engine, schema) + ".",
        };
        format!("{schema}{} ({})", quote_identifier(engine, &self.table), self.parts.join(", "))
    }

    /// Returns the definition for hypopg.
    pub(super) fn hypothetical_definition(&self) -> String {
        format!("CREATE INDEX ON {}", self.target(Engine::Postgres))
    }

    /// Returns the name: table and columns, cut to the length that the engines accept.
    pub(super) fn name(&self) -> String {
        let mut name = format!("{}_{}", self.table, self.columns.join("_"));
        while name.len() > MAX_NAME_BYTES - "_idx".len() {
            name.pop();
        }
        name + "_idx"
    }

    /// Returns the statement that creates the index, on `PostgreSQL` without blocking writes.
    pub(super) fn create_statement(&self, engine: Engine) -> String {
        let concurrently = if engine == Engine::Postgres { " CONCURRENTLY" } else { "" };
        let name = quote_identifier(engine, &self.name());
        format!("CREATE INDEX{concurrently} {name} ON {};", self.target(engine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::table::ColumnFacts;

    fn facts(indexes: &[&[&str]]) -> TableFacts {
        let column = |data_type: &str, distinct| ColumnFacts {
            data_type: data_type.to_owned(),
            distinct: Some(distinct),
        };
        let columns = [
            ("kind", column("integer", 3.0)),
            ("Email", column("text", 9_000.0)),
            ("at", column("date", 50.0)),
        ];
        TableFacts {
            rows: 20_000.0,
            columns: columns.into_iter().map(|(name, facts)| (name.to_owned(), facts)).collect(),
            indexes: indexes
                .iter()
                .map(|it| it.iter().map(|name| (*name).to_owned()).collect())
                .collect(),
            is_partition: false,
        }
    }

    fn plan(predicates: Vec<Predicate>) -> PlanFacts {
        let scan = TableScan {
            schema: "public".to_owned(),
            table: "t\"1".to_owned(),
            alias: "t".to_owned(),
            kept_rows: Some(20.0),
            is_whole: true,
        };
        PlanFacts { scans: vec![scan], predicates, ..PlanFacts::default() }
    }

    fn column(name: &str) -> PlanColumn {
        PlanColumn { alias: "t".to_owned(), column: name.to_owned(), is_cast_to_text: false }
    }

    fn found(plan: &PlanFacts, table: &TableFacts) -> Vec<Vec<String>> {
        let found = find_candidates(Engine::Postgres, plan, &plan.scans[0], table);
        found.into_iter().map(|it| it.columns).collect()
    }

    #[test]
    fn selective_equality_precedes_range() {
        let plan = plan(vec![
            Predicate::Equality(column("kind")),
            Predicate::Range(column("at")),
            Predicate::Equality(column("Email")),
        ]);
        assert_eq!(found(&plan, &facts(&[]))[0], ["Email", "kind", "at"]);
        let first = &find_candidates(Engine::Postgres, &plan, &plan.scans[0], &facts(&[]))[0];
        assert_eq!(
            first.create_statement(Engine::Postgres),
            "CREATE INDEX CONCURRENTLY \"t\"\"1_Email_kind_at_idx\" ON \"public\".\"t\"\"1\" \
             (\"Email\", \"kind\", \"at\");"
        );
        assert!(first.is_likely);
        let first = &find_candidates(Engine::MySql, &plan, &plan.scans[0], &facts(&[]))[0];
        assert!(first.create_statement(Engine::MySql).contains("(`Email`(64), `kind`, `at`)"));
    }

    #[test]
    fn existing_index_is_never_suggested() {
        let plan =
            plan(vec![Predicate::Equality(column("kind")), Predicate::Equality(column("Email"))]);
        let table = facts(&[&["kind", "Email", "at"]]);
        assert_eq!(found(&plan, &table), [["Email"]]);
        assert!(found(&plan, &facts(&[&["kind"], &["Email", "kind"]])).is_empty());
    }

    #[test]
    fn small_table_and_cast_column_have_no_candidate() {
        let cast = PlanColumn { is_cast_to_text: true, ..column("kind") };
        let plan = plan(vec![Predicate::Equality(cast)]);
        assert!(found(&plan, &facts(&[])).is_empty());
        let small = TableFacts { rows: 100.0, ..facts(&[]) };
        assert!(found(&self::plan(vec![Predicate::Equality(column("kind"))]), &small).is_empty());
    }
}
