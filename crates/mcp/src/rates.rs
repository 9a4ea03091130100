//! How often a user may ask, and how often for the same tool.

use std::{fmt, num::NonZeroU32, time::Duration};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

use vademecum_core::auth::UserId;

/// How often a user may ask, and how often for the same tool.
///
/// It counts for the user, not for the principal: another key of the same user,
/// or other access tags, make no fresh start.
#[derive(Default)]
pub struct Rates {
    requests: Option<DefaultKeyedRateLimiter<UserId>>,
    calls: Option<DefaultKeyedRateLimiter<(UserId, &'static str)>>,
}

impl fmt::Debug for Rates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rates").finish_non_exhaustive()
    }
}

impl Rates {
    /// So many requests, and so many calls of one tool, in a minute; 0 is as
    /// many as one likes.
    pub fn per_minute(requests: u32, calls_per_tool: u32) -> Self {
        let quota = |count| NonZeroU32::new(count).map(Quota::per_minute);
        Self {
            requests: quota(requests).map(RateLimiter::keyed),
            calls: quota(calls_per_tool).map(RateLimiter::keyed),
        }
    }

    /// Counts a request; how long to wait if it was one too many.
    pub(crate) fn request(&self, user: &UserId) -> Option<Duration> {
        count(self.requests.as_ref(), user)
    }

    /// Counts a call of a tool; how long to wait if it was one too many.
    pub(crate) fn call(&self, user: &UserId, tool: &'static str) -> Option<Duration> {
        // The key is only made where it is needed.
        self.calls.as_ref().and_then(|calls| count(Some(calls), &(user.clone(), tool)))
    }

    /// Forgets users who have been quiet for long enough to start afresh.
    pub(crate) fn sweep(&self) {
        if let Some(requests) = &self.requests {
            requests.retain_recent();
        }
        if let Some(calls) = &self.calls {
            calls.retain_recent();
        }
    }
}

fn count<K: Clone + Eq + std::hash::Hash>(
    limiter: Option<&DefaultKeyedRateLimiter<K>>,
    key: &K,
) -> Option<Duration> {
    let refused = limiter?.check_key(key).err()?;
    Some(refused.wait_time_from(DefaultClock::default().now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    #[test]
    fn each_user_and_each_tool_is_counted_apart() {
        let rates = Rates::per_minute(3, 1);
        assert_eq!(rates.call(&user("ada"), "search"), None);
        let wait = rates.call(&user("ada"), "search").unwrap();
        assert!(wait > Duration::ZERO && wait <= Duration::from_mins(1), "{wait:?}");
        assert_eq!(rates.call(&user("ada"), "get"), None);
        assert_eq!(rates.call(&user("eve"), "search"), None);
        let many: Vec<bool> = (0..4).map(|_| rates.request(&user("ada")).is_some()).collect();
        assert_eq!(many, [false, false, false, true]);
        assert_eq!(rates.request(&user("eve")), None);
    }

    #[test]
    fn nobody_is_counted_who_need_not_be() {
        let rates = Rates::per_minute(0, 0);
        assert!((0..1_000).all(|_| rates.request(&user("ada")).is_none()));
        assert!((0..1_000).all(|_| rates.call(&user("ada"), "search").is_none()));
    }

    #[test]
    fn who_has_been_quiet_is_forgotten() {
        let rates = Rates::per_minute(60_000_000, 0);
        rates.request(&user("ada"));
        while !rates.requests.as_ref().unwrap().is_empty() {
            rates.sweep();
        }
    }
}
