//! Budget of the bytes in flight: messages that are received or processed, and replies that are not
//! sent yet.
//!
//! Each user has a budget, and the server has one. The first bytes of a user, as many as one message
//! needs, do not count against that of the server: users who together exhaust it keep no other user
//! from sending one message at a time. All bytes together take at most twice the budget.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vademecum_core::auth::UserId;

use crate::Failure;

/// Budgets of the bytes in flight, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteLimits {
    /// Budget of a user.
    pub per_user: usize,
    /// Budget of all users together.
    pub in_all: usize,
    /// Bytes of each user that do not count against `in_all`.
    pub reserved_per_user: usize,
}

impl Default for ByteLimits {
    fn default() -> Self {
        Self { per_user: 64 << 20, in_all: 256 << 20, reserved_per_user: 4 << 20 }
    }
}

/// Bytes in flight of each user and of the server.
#[derive(Debug)]
pub struct ByteBudget {
    limits: ByteLimits,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    per_user: HashMap<UserId, usize>,
    /// Bytes of all users.
    all: usize,
    /// Bytes of all users beyond those that are reserved for each.
    unreserved: usize,
}

impl ByteBudget {
    /// Creates a budget of which nothing is used.
    pub fn new(limits: ByteLimits) -> Self {
        Self { limits, ledger: Mutex::default() }
    }

    /// Returns an empty count of bytes of a user.
    pub fn in_flight(self: &Arc<Self>, user: &UserId) -> InFlightBytes {
        InFlightBytes { budget: Arc::clone(self), user: user.clone(), bytes: 0 }
    }

    /// Returns the number of bytes in flight of all users.
    pub fn bytes(&self) -> usize {
        self.ledger().all
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the bytes of a user. Fails if they grow beyond a budget that `is_enforced`.
    fn change(
        &self,
        user: &UserId,
        old: usize,
        new: usize,
        is_enforced: bool,
    ) -> Result<(), Failure> {
        if old == new {
            return Ok(());
        }
        let ByteLimits { per_user, in_all, reserved_per_user } = self.limits;
        let mut ledger = self.ledger();
        let before = ledger.per_user.get(user).copied().unwrap_or_default();
        let after = before.saturating_sub(old).saturating_add(new);
        let beyond = |bytes: usize| bytes.saturating_sub(reserved_per_user);
        let unreserved =
            ledger.unreserved.saturating_sub(beyond(before)).saturating_add(beyond(after));
        let all = ledger.all.saturating_sub(before).saturating_add(after);
        if is_enforced && new > old {
            if after > per_user {
                return Err(Failure::too_many_bytes(per_user));
            }
            let is_full = unreserved > in_all && unreserved > ledger.unreserved;
            if is_full || all > in_all.saturating_mul(2) {
                return Err(Failure::too_many_bytes_in_all(in_all));
            }
        }
        (ledger.unreserved, ledger.all) = (unreserved, all);
        if after == 0 {
            ledger.per_user.remove(user);
        } else if let Some(bytes) = ledger.per_user.get_mut(user) {
            *bytes = after;
        } else {
            ledger.per_user.insert(user.clone(), after);
        }
        Ok(())
    }
}

/// Bytes in flight of one message or connection. Dropping it releases them.
#[derive(Debug)]
pub struct InFlightBytes {
    budget: Arc<ByteBudget>,
    user: UserId,
    bytes: usize,
}

impl InFlightBytes {
    /// Changes the number of bytes. Fails if they grow beyond the budget of the user or of the
    /// server; then nothing changes.
    pub fn try_resize(&mut self, bytes: usize) -> Result<(), Failure> {
        self.budget.change(&self.user, self.bytes, bytes, true)?;
        self.bytes = bytes;
        Ok(())
    }

    /// Changes the number of bytes to those of a reply. It may exceed the budgets, because the work
    /// is done, and its effects would be unknown without the reply; until it is read, messages of
    /// the user are refused instead.
    #[must_use]
    pub fn for_reply(mut self, bytes: usize) -> Self {
        // A change that is not enforced does not fail.
        if self.budget.change(&self.user, self.bytes, bytes, false).is_ok() {
            self.bytes = bytes;
        }
        self
    }

    /// Splits off that many of these bytes, or all of them if there are fewer.
    #[must_use]
    pub fn split_off(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: Arc::clone(&self.budget), user: self.user.clone(), bytes }
    }

    /// Takes over other bytes of the same user.
    pub fn append(&mut self, mut other: Self) {
        if self.user == other.user {
            self.bytes += std::mem::take(&mut other.bytes);
        }
    }

    /// Releases all but that many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        drop(self.split_off(self.bytes.saturating_sub(bytes)));
    }
}

impl Drop for InFlightBytes {
    fn drop(&mut self) {
        // Releasing bytes does not fail.
        drop(self.budget.change(&self.user, self.bytes, 0, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FailureKind;

    const LIMITS: ByteLimits = ByteLimits { per_user: 100, in_all: 150, reserved_per_user: 10 };

    fn in_flight(budget: &Arc<ByteBudget>, user: &str) -> InFlightBytes {
        budget.in_flight(&user.parse().unwrap())
    }

    #[test]
    fn user_is_refused_beyond_budget_until_released() {
        let budget = Arc::new(ByteBudget::new(LIMITS));
        let (mut first, mut second) = (in_flight(&budget, "ada"), in_flight(&budget, "ada"));
        first.try_resize(60).unwrap();
        second.try_resize(40).unwrap();
        let refused = second.try_resize(41).unwrap_err();
        assert!(matches!(refused.kind, FailureKind::TooMany(_)), "{refused:?}");
        assert!(refused.message.contains("limits.bytes_in_flight_per_user"), "{refused:?}");
        assert_eq!(budget.bytes(), 100, "a refusal changes nothing");
        first.shrink_to(59);
        second.try_resize(41).unwrap();
        drop((first, second));
        assert_eq!(budget.bytes(), 0);
        assert!(budget.ledger().per_user.is_empty());
    }

    #[test]
    fn reserved_bytes_remain_when_server_is_full() {
        let budget = Arc::new(ByteBudget::new(LIMITS));
        let mut full = [in_flight(&budget, "ada"), in_flight(&budget, "bob")];
        full[0].try_resize(100).unwrap();
        full[1].try_resize(70).unwrap();
        let mut other = in_flight(&budget, "eve");
        other.try_resize(10).unwrap();
        let refused = other.try_resize(11).unwrap_err();
        assert!(matches!(refused.kind, FailureKind::Busy(_)), "{refused:?}");
        assert!(refused.message.contains("limits.bytes_in_flight_in_all"), "{refused:?}");
        full[0].shrink_to(99);
        other.try_resize(11).unwrap();
    }

    #[test]
    fn many_users_take_twice_the_budget_at_most() {
        let budget = Arc::new(ByteBudget::new(LIMITS));
        let mut held = Vec::new();
        for number in 0..40 {
            let mut user = in_flight(&budget, &format!("user-{number}"));
            if user.try_resize(10).is_ok() {
                held.push(user);
            }
        }
        assert_eq!((held.len(), budget.bytes()), (30, 2 * LIMITS.in_all));
        drop(held);
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn replies_are_counted_but_never_refused() {
        let budget = Arc::new(ByteBudget::new(LIMITS));
        let mut message = in_flight(&budget, "ada");
        message.try_resize(10).unwrap();
        let reply = message.for_reply(1_000);
        assert_eq!(budget.bytes(), 1_000);
        let mut next = in_flight(&budget, "ada");
        next.try_resize(1).unwrap_err();
        drop(reply);
        next.try_resize(1).unwrap();
    }

    #[test]
    fn bytes_change_hands_without_being_counted_twice() {
        let budget = Arc::new(ByteBudget::new(LIMITS));
        let mut all = in_flight(&budget, "ada");
        all.try_resize(100).unwrap();
        let part = all.split_off(30);
        assert_eq!((all.bytes, part.bytes, budget.bytes()), (70, 30, 100));
        all.append(part);
        assert_eq!((all.bytes, budget.bytes()), (100, 100));
        let rest = all.split_off(1_000);
        assert_eq!((all.bytes, rest.bytes, budget.bytes()), (0, 100, 100));
    }
}
