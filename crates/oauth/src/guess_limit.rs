//! Limits of wrong passwords: a browser that has not logged in before shares ten guesses an hour at
//! an account with all others, and one that has, has ten of its own. So a stranger neither guesses
//! from many addresses nor keeps the owner of an account out.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Number of wrong passwords within [`PERIOD`].
const MAX_GUESSES: usize = 10;
/// Time after which a wrong password counts no more.
const PERIOD: Duration = Duration::from_hours(1);
/// Maximum number of tracked names that are no accounts.
const MAX_STRANGE_NAMES: usize = 10_000;

/// Source of guesses that are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Guesser {
    /// Name of the account, as typed.
    pub(crate) account: String,
    /// Identifier of a browser that has logged in to the account before; `None` for all others.
    pub(crate) browser: Option<String>,
}

/// Wrong passwords of the last hour.
#[derive(Debug, Default)]
pub(crate) struct GuessLimit {
    accounts: Mutex<HashMap<Guesser, VecDeque<Instant>>>,
    strange_names: Mutex<HashMap<Guesser, VecDeque<Instant>>>,
}

impl GuessLimit {
    /// Counts a guess before its password is compared, so that guesses at the same time count as
    /// well. Fails with the waiting time if there were too many. `is_account` tells whether the name
    /// is one; guesses at other names are forgotten before those at accounts.
    pub(crate) fn begin(
        &self,
        guesser: &Guesser,
        is_account: bool,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut tracked = self.tracked(is_account);
        if !is_account && tracked.len() >= MAX_STRANGE_NAMES && !tracked.contains_key(guesser) {
            evict_oldest(&mut tracked, now);
        }
        let guesses = tracked.entry(guesser.clone()).or_default();
        forget_old(guesses, now);
        match guesses.front() {
            Some(first) if guesses.len() >= MAX_GUESSES => {
                Err((*first + PERIOD).saturating_duration_since(now))
            }
            _ => {
                guesses.push_back(now);
                Ok(())
            }
        }
    }

    /// Takes back a guess that was counted at `begun`: its password was right, or was not compared.
    /// All others still count. Returns false if there is no such guess.
    pub(crate) fn forgive(&self, guesser: &Guesser, is_account: bool, begun: Instant) -> bool {
        let mut tracked = self.tracked(is_account);
        let Some(guesses) = tracked.get_mut(guesser) else { return false };
        let found = guesses.iter().rposition(|guess| *guess == begun);
        if let Some(at) = found {
            guesses.remove(at);
        }
        if guesses.is_empty() {
            tracked.remove(guesser);
        }
        found.is_some()
    }

    fn tracked(&self, is_account: bool) -> MutexGuard<'_, HashMap<Guesser, VecDeque<Instant>>> {
        let tracked = if is_account { &self.accounts } else { &self.strange_names };
        tracked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_old(guesses: &mut VecDeque<Instant>, now: Instant) {
    while guesses.front().is_some_and(|guess| now.saturating_duration_since(*guess) >= PERIOD) {
        guesses.pop_front();
    }
}

/// Removes the names without a recent guess or, if all have one, the name whose last is the oldest.
fn evict_oldest(tracked: &mut HashMap<Guesser, VecDeque<Instant>>, now: Instant) {
    tracked.retain(|_, guesses| {
        forget_old(guesses, now);
        !guesses.is_empty()
    });
    if tracked.len() < MAX_STRANGE_NAMES {
        return;
    }
    let oldest = tracked.iter().min_by_key(|(_, guesses)| guesses.back().copied());
    if let Some(guesser) = oldest.map(|(guesser, _)| guesser.clone()) {
        tracked.remove(&guesser);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guesser(account: &str, browser: Option<&str>) -> Guesser {
        Guesser { account: account.to_owned(), browser: browser.map(str::to_owned) }
    }

    #[test]
    fn account_takes_ten_guesses_an_hour() {
        let (limit, stranger, begun) =
            (GuessLimit::default(), guesser("ada", None), Instant::now());
        let minute = Duration::from_mins(1);
        let allowed = |at| limit.begin(&stranger, true, at).is_ok();
        let count = (0..600).filter(|at| allowed(begun + minute * *at)).count();
        assert_eq!(count, 100, "ten hours");
        assert!(limit.begin(&guesser("bob", None), true, begun).is_ok());
    }

    #[test]
    fn known_browser_has_guesses_of_its_own() {
        let (limit, now) = (GuessLimit::default(), Instant::now());
        let (stranger, known) = (guesser("ada", None), guesser("ada", Some("phone")));
        for _ in 0..20 {
            limit.begin(&stranger, true, now).ok();
        }
        assert_eq!(limit.begin(&stranger, true, now), Err(PERIOD));
        for _ in 0..50 {
            limit.begin(&known, true, now).unwrap();
            limit.forgive(&known, true, now);
        }
        assert_eq!(limit.begin(&stranger, true, now), Err(PERIOD), "a login clears nothing else");
    }

    #[test]
    fn strange_names_are_bounded() {
        let (limit, now) = (GuessLimit::default(), Instant::now());
        limit.begin(&guesser("ada", None), true, now).unwrap();
        for number in 0..MAX_STRANGE_NAMES + 50 {
            limit.begin(&guesser(&format!("name{number}"), None), false, now).unwrap();
        }
        assert_eq!(limit.tracked(false).len(), MAX_STRANGE_NAMES);
        assert_eq!(limit.tracked(true).len(), 1);
    }
}
