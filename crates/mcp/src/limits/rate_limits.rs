//! Rate limits per user and per user and tool.

use std::{fmt, num::NonZeroU32, time::Duration};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

use vademecum_core::auth::UserId;

/// Rate limits per user and per user and tool.
///
/// Limits apply to the user, not to the principal: another key or other access tags of the same
/// user share them.
#[derive(Default)]
pub struct RateLimits {
    requests: Option<DefaultKeyedRateLimiter<UserId>>,
    calls: Option<DefaultKeyedRateLimiter<(UserId, &'static str)>>,
}

impl fmt::Debug for RateLimits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rates").finish_non_exhaustive()
    }
}

impl RateLimits {
    /// Creates limits of requests per user and of calls per user and tool, both per minute; 0 means
    /// unlimited.
    pub fn per_minute(requests: u32, calls_per_tool: u32) -> Self {
        let quota = |count| NonZeroU32::new(count).map(Quota::per_minute);
        Self {
            requests: quota(requests).map(RateLimiter::keyed),
            calls: quota(calls_per_tool).map(RateLimiter::keyed),
        }
    }

    /// Counts a request. Returns the time to wait if it exceeds the limit.
    pub(crate) fn count_request(&self, user: &UserId) -> Option<Duration> {
        check_limit(self.requests.as_ref(), user)
    }

    /// Counts a tool call. Returns the time to wait if it exceeds the limit.
    pub(crate) fn count_tool_call(&self, user: &UserId, tool: &'static str) -> Option<Duration> {
        // Build the key only if calls are limited.
        self.calls.as_ref().and_then(|calls| check_limit(Some(calls), &(user.clone(), tool)))
    }

    /// Removes users whose limits have fully recovered.
    pub(crate) fn remove_recovered(&self) {
        if let Some(requests) = &self.requests {
            requests.retain_recent();
        }
        if let Some(calls) = &self.calls {
            calls.retain_recent();
        }
    }
}

fn check_limit<K: Clone + Eq + std::hash::Hash>(
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
    fn users_and_tools_are_counted_separately() {
        let rates = RateLimits::per_minute(3, 1);
        assert_eq!(rates.count_tool_call(&user("ada"), "search"), None);
        let wait = rates.count_tool_call(&user("ada"), "search").unwrap();
        assert!(wait > Duration::ZERO && wait <= Duration::from_mins(1), "{wait:?}");
        assert_eq!(rates.count_tool_call(&user("ada"), "get"), None);
        assert_eq!(rates.count_tool_call(&user("eve"), "search"), None);
        let many: Vec<bool> = (0..4).map(|_| rates.count_request(&user("ada")).is_some()).collect();
        assert_eq!(many, [false, false, false, true]);
        assert_eq!(rates.count_request(&user("eve")), None);
    }

    #[test]
    fn unlimited_requests_are_not_counted() {
        let rates = RateLimits::per_minute(0, 0);
        assert!((0..1_000).all(|_| rates.count_request(&user("ada")).is_none()));
        assert!((0..1_000).all(|_| rates.count_tool_call(&user("ada"), "search").is_none()));
    }

    #[test]
    fn recovered_users_are_removed() {
        let rates = RateLimits::per_minute(60_000_000, 0);
        rates.count_request(&user("ada"));
        while !rates.requests.as_ref().unwrap().is_empty() {
            rates.remove_recovered();
        }
    }
}
