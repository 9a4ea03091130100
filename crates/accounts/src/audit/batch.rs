//! Entries to be written together. Repeated refusals of one caller are one row with a count, so
//! that a flood of refused requests does not fill the log.

use std::{collections::HashMap, net::IpAddr};

use vademecum_core::{
    audit::{AuditEntry, AuditOutcome},
    auth::{KeyId, UserId},
};

/// Entries to be written in one transaction, in order.
#[derive(Debug, Default)]
pub(super) struct AuditBatch {
    /// Entries, each with the number of calls that it stands for.
    pub(super) entries: Vec<(AuditEntry, u64)>,
    refusals: HashMap<RefusalIdentity, usize>,
}

/// Fields in which two refusals must agree to be counted as one row.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RefusalIdentity {
    user: Option<UserId>,
    key: Option<KeyId>,
    address: Option<IpAddr>,
    method: &'static str,
    tool: Option<&'static str>,
    outcome: AuditOutcome,
    code: Option<i32>,
    reason: Option<&'static str>,
}

impl AuditBatch {
    /// Adds an entry, or counts it if it repeats a refusal of this batch.
    pub(super) fn push(&mut self, entry: AuditEntry) {
        let is_refused = matches!(entry.outcome, AuditOutcome::Denied | AuditOutcome::Limited);
        if is_refused && entry.arguments.is_none() && entry.items.count() == 0 {
            let identity = RefusalIdentity {
                user: entry.user.clone(),
                key: entry.key.clone(),
                address: entry.address,
                method: entry.method,
                tool: entry.tool,
                outcome: entry.outcome,
                code: entry.code,
                reason: entry.reason,
            };
            let index = *self.refusals.entry(identity).or_insert(self.entries.len());
            if let Some((_, count)) = self.entries.get_mut(index) {
                *count += 1;
                return;
            }
        }
        self.entries.push((entry, 1));
    }

    /// Adds a row that stands for lost entries.
    pub(super) fn push_gap(&mut self, lost: u64) {
        let gap = AuditEntry::new("gap", "", AuditOutcome::Error);
        self.entries.push((AuditEntry { reason: Some("entries_lost"), ..gap }, lost));
    }

    /// Returns the number of calls in this batch.
    pub(super) fn call_count(&self) -> u64 {
        self.entries.iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(address: &str) -> AuditEntry {
        let address = Some(address.parse().unwrap());
        AuditEntry { address, ..AuditEntry::new("login", "http", AuditOutcome::Denied) }
    }

    #[test]
    fn repeated_refusals_are_one_row() {
        let mut batch = AuditBatch::default();
        for address in ["192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"] {
            batch.push(login(address));
        }
        let counts: Vec<u64> = batch.entries.iter().map(|(_, count)| *count).collect();
        assert_eq!((counts, batch.call_count()), (vec![3, 1], 4));
    }

    #[test]
    fn calls_are_never_merged() {
        let mut batch = AuditBatch::default();
        for outcome in [AuditOutcome::Ok, AuditOutcome::Error] {
            (0..3).for_each(|_| batch.push(AuditEntry::new("tools/call", "http", outcome)));
        }
        assert_eq!(batch.entries.len(), 6);
    }
}
