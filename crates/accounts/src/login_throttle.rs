//! Throttling of failed logins: after too many failures, an address must wait, twice as long each
//! time.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// First waiting time.
const MIN_WAIT: Duration = Duration::from_secs(10);
/// Maximum waiting time.
const MAX_WAIT: Duration = Duration::from_mins(5);
/// Failures are forgotten after this time without a new one.
const FAILURE_RETENTION: Duration = Duration::from_mins(15);
/// Maximum number of tracked addresses.
const MAX_ADDRESSES: usize = 10_000;

/// Failed logins per address.
#[derive(Debug)]
pub struct LoginThrottle {
    free_failures: u32,
    addresses: Mutex<HashMap<IpAddr, FailureRecord>>,
}

#[derive(Clone, Copy, Debug)]
struct FailureRecord {
    count: u32,
    last: Instant,
}

impl LoginThrottle {
    /// Creates an empty throttle. The first `free` failures of an address cause no waiting time.
    pub fn new(free: u32) -> Self {
        Self { free_failures: free, addresses: Mutex::default() }
    }

    /// Returns the remaining waiting time of an address, or `None` if it may try now.
    pub fn remaining_wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let failures = *self.addresses().get(&throttle_key(address))?;
        let beyond = failures.count.checked_sub(self.free_failures)?;
        let pause = MIN_WAIT.saturating_mul(1 << beyond.min(16)).min(MAX_WAIT);
        (failures.last + pause).checked_duration_since(now).filter(|wait| !wait.is_zero())
    }

    /// Records a failed login.
    pub fn record_failure(&self, address: IpAddr, now: Instant) {
        let mut addresses = self.addresses();
        let place = throttle_key(address);
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(&place) {
            evict_stale(&mut addresses, now);
        }
        let failures = addresses.entry(place).or_insert(FailureRecord { count: 0, last: now });
        if now.duration_since(failures.last) > FAILURE_RETENTION {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
    }

    /// Takes back one failure of an address, which was recorded before its attempt was complete. The
    /// others still count.
    pub fn forgive_failure(&self, address: IpAddr) {
        if let Some(failures) = self.addresses().get_mut(&throttle_key(address)) {
            failures.count = failures.count.saturating_sub(1);
        }
    }

    /// Clears the failures of an address after a successful login.
    pub fn clear_failures(&self, address: IpAddr) {
        self.addresses().remove(&throttle_key(address));
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<IpAddr, FailureRecord>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Evicts expired entries or, if there are none, the least recent one.
fn evict_stale(addresses: &mut HashMap<IpAddr, FailureRecord>, now: Instant) {
    addresses.retain(|_, failures| now.duration_since(failures.last) <= FAILURE_RETENTION);
    if addresses.len() < MAX_ADDRESSES {
        return;
    }
    let oldest = addresses.iter().min_by_key(|(_, failures)| failures.last);
    if let Some(address) = oldest.map(|(address, _)| *address) {
        addresses.remove(&address);
    }
}

/// Reduces an address to its throttling key. One IPv6 client usually owns a /64 network, so only
/// the first 64 bits count.
fn throttle_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn wait_doubles_up_to_maximum() {
        let (attempts, here, mut now) =
            (LoginThrottle::new(2), parse_address("192.0.2.1"), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..8 {
            attempts.record_failure(here, now);
            let wait = attempts.remaining_wait(here, now).unwrap_or_default();
            waits.push(wait.as_secs());
            now += wait;
            assert_eq!(attempts.remaining_wait(here, now), None);
        }
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn addresses_are_throttled_separately() {
        let (attempts, now) = (LoginThrottle::new(0), Instant::now());
        attempts.record_failure(parse_address("2001:db8::1"), now);
        assert!(
            attempts.remaining_wait(parse_address("2001:db8::2"), now).is_some(),
            "the same network"
        );
        assert!(attempts.remaining_wait(parse_address("2001:db8:0:1::1"), now).is_none());
        attempts.record_failure(parse_address("192.0.2.1"), now);
        assert!(
            attempts.remaining_wait(parse_address("::ffff:192.0.2.1"), now).is_some(),
            "the same address"
        );
        assert!(attempts.remaining_wait(parse_address("192.0.2.2"), now).is_none());
    }

    #[test]
    fn failures_expire_after_success_or_time() {
        let (attempts, here, now) =
            (LoginThrottle::new(1), parse_address("192.0.2.1"), Instant::now());
        attempts.record_failure(here, now);
        attempts.clear_failures(here);
        assert!(attempts.remaining_wait(here, now).is_none());
        for _ in 0..20 {
            attempts.record_failure(here, now);
        }
        let later = now + FAILURE_RETENTION + Duration::from_secs(1);
        attempts.record_failure(here, later);
        assert_eq!(attempts.remaining_wait(here, later), Some(MIN_WAIT));
    }

    #[test]
    fn forgiven_failure_clears_no_others() {
        let (attempts, here, now) =
            (LoginThrottle::new(1), parse_address("192.0.2.1"), Instant::now());
        attempts.record_failure(here, now);
        attempts.record_failure(here, now);
        attempts.forgive_failure(here);
        assert_eq!(attempts.remaining_wait(here, now), Some(MIN_WAIT));
        attempts.forgive_failure(here);
        assert_eq!(attempts.remaining_wait(here, now), None);
    }

    #[test]
    fn tracked_addresses_are_bounded() {
        let (attempts, now) = (LoginThrottle::new(0), Instant::now());
        for number in 0..u32::try_from(MAX_ADDRESSES).unwrap() + 50 {
            let later = now + Duration::from_micros(number.into());
            attempts.record_failure(std::net::Ipv4Addr::from_bits(number).into(), later);
        }
        assert_eq!(attempts.addresses().len(), MAX_ADDRESSES);
        assert!(
            attempts.remaining_wait(parse_address("0.0.0.0"), now).is_none(),
            "the oldest goes first"
        );
    }
}
