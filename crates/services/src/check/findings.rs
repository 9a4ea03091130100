//! Findings of a check.

use std::path::Path;

use serde::Serialize;

use crate::text::sanitize;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum FindingLevel {
    /// No problem.
    Ok,
    /// A problem that was repaired.
    Repaired,
    /// A problem that does not prevent operation.
    Warning,
    /// A problem that prevents operation, or soon will.
    Error,
}

/// Result of one check.
#[derive(Debug, Serialize)]
struct CheckFinding {
    level: FindingLevel,
    #[serde(rename = "where")]
    place: String,
    what: String,
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// All findings, in the order of the checks.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct CheckFindings(Vec<CheckFinding>);

impl CheckFindings {
    /// Adds a check without a problem.
    pub(super) fn add_ok(&mut self, place: &str, what: &str) {
        self.add_finding(FindingLevel::Ok, place, what, None);
    }

    /// Adds a problem that was repaired.
    pub(super) fn add_repaired(&mut self, place: &Path, what: &str) {
        self.add_finding(FindingLevel::Repaired, &place.display().to_string(), what, None);
    }

    /// Adds a problem that does not prevent operation.
    pub(super) fn add_warning(&mut self, place: &str, what: &str, remedy: &str) {
        self.add_finding(FindingLevel::Warning, place, what, Some(remedy));
    }

    /// Adds a problem that prevents operation.
    pub(super) fn add_error(&mut self, place: &str, what: &str, remedy: &str) {
        self.add_finding(FindingLevel::Error, place, what, Some(remedy));
    }

    fn add_finding(&mut self, level: FindingLevel, place: &str, what: &str, remedy: Option<&str>) {
        let (place, what, remedy) = (sanitize(place), sanitize(what), remedy.map(sanitize));
        self.0.push(CheckFinding { level, place, what, remedy });
    }

    /// Returns `true` if there is no error. Warnings are not errors.
    pub fn has_no_errors(&self) -> bool {
        self.0.iter().all(|finding| finding.level != FindingLevel::Error)
    }

    /// Returns a line for each finding.
    pub fn format_lines(&self) -> Vec<String> {
        self.0.iter().map(CheckFinding::format_line).collect()
    }
}

impl CheckFinding {
    fn format_line(&self) -> String {
        let Self { level, place, what, remedy } = self;
        let level = match level {
            FindingLevel::Ok => "ok",
            FindingLevel::Repaired => "repaired",
            FindingLevel::Warning => "warning",
            FindingLevel::Error => "error",
        };
        let remedy = remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        format!("{level}: {place}: {what}{remedy}")
    }
}
