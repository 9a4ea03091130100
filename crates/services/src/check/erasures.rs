//! Check of the copies of removed users that nodes have not erased yet.

use vademecum_accounts::Accounts;
use vademecum_store::DataFolder;

use super::findings::CheckFindings;

/// Names the copies of libraries of removed users that other nodes may still have.
pub(super) fn check_erasures(data: &DataFolder, findings: &mut CheckFindings) {
    if data.archive().is_none() {
        return;
    }
    // An error of the accounts is reported by the check of their file.
    for pending in Accounts::new(data).pending_erasures().unwrap_or_default() {
        let place = format!("library of {}", pending.user);
        let what = format!(
            "removed at {}, but its copy on {} is not erased yet; that server was last started at {}",
            pending.removed_at, pending.place, pending.started_at
        );
        let remedy = format!(
            "start that server; if its data folder does not exist any more, run `vademecum check \
             --forget-node {}`",
            pending.node
        );
        findings.add_warning(&place, &what, &remedy);
    }
}
