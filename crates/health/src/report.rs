//! Runs a health check and reads its findings.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Number;

use super::{
    HealthCheck, ServerProduct,
    statements::{check_statement, takes_seconds},
    write_ahead_log::find_large_log,
};
use vademecum_sql::{CatalogRow, ErrorCode, Parameter, ProfileConnection, QueryCaps, SqlError};

/// Maximum number of findings of one check.
const MAX_FINDINGS: usize = 20;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A fact; nothing needs to be done.
    Ok,
    /// An improvement is possible.
    Notice,
    /// A problem that grows or costs time.
    Warning,
    /// A problem that can stop the database or lose data soon.
    Critical,
}

/// Status of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// No problem was found.
    Ok,
    /// The product has nothing to check.
    NotApplicable,
    /// The check failed or its role sees too little to call the result ok.
    Unknown,
    /// The worst finding is a notice.
    Notice,
    /// The worst finding is a warning.
    Warning,
    /// The worst finding is critical.
    Critical,
}

/// Finding of a check.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Object, quoted where needed.
    pub object: String,
    /// Measured value.
    pub measure: Option<Number>,
    /// Unit of the measured value.
    pub unit: Option<String>,
    /// Description for people.
    pub sentence: String,
    /// Statement that a person may run; this program does not.
    pub suggestion: Option<String>,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CheckReport {
    /// The check.
    pub check: HealthCheck,
    /// Its status.
    pub status: CheckStatus,
    /// Summary for people.
    pub sentence: String,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Parts that the role of the profile cannot see.
    pub not_visible: Vec<String>,
    /// True if there are more findings.
    pub truncated: bool,
}

/// Runs a check. A statement that fails gives the status [`CheckStatus::Unknown`]; only a lost
/// connection is an error. A transaction is long from `long_seconds` on.
pub async fn run_check(
    connection: &ProfileConnection,
    product: ServerProduct,
    check: HealthCheck,
    long_seconds: u32,
) -> Result<CheckReport, SqlError> {
    let Some(statement) = check_statement(check, product) else {
        let sentence = format!("{} has no such check.", product.as_str());
        return Ok(CheckReport::empty(check, CheckStatus::NotApplicable, sentence));
    };
    let parameters = [Parameter::Integer(i64::from(long_seconds))];
    let parameters = if takes_seconds(check) { parameters.as_slice() } else { &[] };
    let caps = QueryCaps { max_rows: MAX_FINDINGS, ..connection.profile().query_caps() };
    match connection.run_own_query(statement, parameters, caps).await {
        Ok(rows) => {
            let file = connection.profile().file().filter(|_| check == HealthCheck::Bloat);
            let log = file.and_then(find_large_log);
            let report = CheckReport::from_rows(check, rows.catalog_rows(), log);
            Ok(CheckReport { truncated: rows.truncated, ..report })
        }
        // The guard may refuse it because of what else the database contains.
        Err(error)
            if matches!(error.code, ErrorCode::XsqlDbExecFailed | ErrorCode::XsqlRoBlocked) =>
        {
            let sentence = format!("Could not be checked: {}.", error.message);
            Ok(CheckReport::empty(check, CheckStatus::Unknown, sentence))
        }
        Err(error) => Err(error),
    }
}

impl CheckReport {
    fn empty(check: HealthCheck, status: CheckStatus, sentence: String) -> Self {
        let (findings, not_visible) = (Vec::new(), Vec::new());
        Self { check, status, sentence, findings, not_visible, truncated: false }
    }

    /// Judges the rows of a statement, and a finding that no statement makes.
    fn from_rows<'a>(
        check: HealthCheck,
        rows: impl Iterator<Item = CatalogRow<'a>>,
        other: Option<Finding>,
    ) -> Self {
        let (mut findings, mut not_visible) = (Vec::from_iter(other), Vec::new());
        for row in rows {
            match Severity::parse(&row.text("severity")) {
                Some(severity) => findings.push(Finding::from_row(severity, &row)),
                None => not_visible.push(row.text("sentence")),
            }
        }
        // A stable sort keeps the order of the statement among equals.
        findings.sort_by_key(|finding| Reverse(finding.severity));
        let worst = findings.first().map_or(Severity::Ok, |worst| worst.severity);
        let problems = findings.iter().filter(|it| it.severity > Severity::Ok).count();
        let (status, sentence) = match (worst, not_visible.is_empty()) {
            (Severity::Ok, true) => (CheckStatus::Ok, check.ok_sentence().to_owned()),
            (Severity::Ok, false) => {
                let sentence = "No problem is visible, but this role does not see everything.";
                (CheckStatus::Unknown, sentence.to_owned())
            }
            (worst, _) => {
                let noun = if problems == 1 { "finding" } else { "findings" };
                (worst.into(), format!("{problems} {noun}."))
            }
        };
        Self { check, status, sentence, findings, not_visible, truncated: false }
    }
}

impl Finding {
    fn from_row(severity: Severity, row: &CatalogRow<'_>) -> Self {
        Self {
            severity,
            object: row.text("object"),
            measure: row.optional_text("measure").and_then(|text| exact_number(&text)),
            unit: row.optional_text("unit"),
            sentence: row.text("sentence"),
            suggestion: row.optional_text("suggestion"),
        }
    }
}

/// Parses a number, without a fraction if it has none.
pub(super) fn exact_number(text: &str) -> Option<Number> {
    let whole = text.parse::<i64>().ok().map(Number::from);
    whole.or_else(|| Number::from_f64(text.parse().ok()?))
}

impl Severity {
    /// Parses the severity of a row; `None` marks a row about objects that the role cannot see.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "ok" => Some(Self::Ok),
            "notice" => Some(Self::Notice),
            "warning" => Some(Self::Warning),
            "critical" => Some(Self::Critical),
            _ => None,
        }
    }

    /// Returns the name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl From<Severity> for CheckStatus {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Ok => Self::Ok,
            Severity::Notice => Self::Notice,
            Severity::Warning => Self::Warning,
            Severity::Critical => Self::Critical,
        }
    }
}

impl CheckStatus {
    /// Returns the name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotApplicable => "not applicable",
            Self::Unknown => "unknown",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use vademecum_sql::{Column, Rows};

    fn report(rows: &[(&str, &str)]) -> CheckReport {
        let columns = ["severity", "object", "measure", "unit", "sentence", "suggestion"];
        let columns = columns.map(|name| Column { name: name.to_owned(), kind: String::new() });
        let rows = rows.iter().map(|(severity, object)| {
            vec![
                json!(severity),
                json!(object),
                json!("1.5"),
                json!("rows"),
                json!("S."),
                json!(null),
            ]
        });
        let rows = Rows { columns: columns.to_vec(), rows: rows.collect(), truncated: false };
        CheckReport::from_rows(HealthCheck::Bloat, rows.catalog_rows(), None)
    }

    #[test]
    fn worst_finding_comes_first_and_sets_status() {
        let found = report(&[("notice", "a"), ("critical", "b"), ("ok", "c"), ("notice", "d")]);
        let objects: Vec<&str> = found.findings.iter().map(|it| it.object.as_str()).collect();
        assert_eq!(objects, ["b", "a", "d", "c"]);
        assert_eq!(found.status, CheckStatus::Critical);
        assert_eq!(found.sentence, "3 findings.");
        assert_eq!(found.findings[0].measure, Number::from_f64(1.5));
    }

    #[test]
    fn hidden_objects_make_ok_unknown() {
        assert_eq!(report(&[("ok", "a")]).status, CheckStatus::Ok);
        assert_eq!(report(&[]).status, CheckStatus::Ok);
        let hidden = report(&[("ok", "a"), ("hidden", "tables")]);
        assert_eq!(hidden.status, CheckStatus::Unknown);
        assert_eq!(hidden.not_visible, ["S."]);
        assert_eq!(report(&[("warning", "a"), ("hidden", "b")]).status, CheckStatus::Warning);
    }
}
