//! Failed attempts slow down: who has failed too often from an address must
//! wait, twice as long each time.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The first wait.
const SHORTEST: Duration = Duration::from_secs(10);
/// The longest wait.
const LONGEST: Duration = Duration::from_mins(5);
/// After so long without a failure, all is forgotten.
const MEMORY: Duration = Duration::from_mins(15);
/// Addresses that are remembered at most.
const MOST: usize = 10_000;

/// The failed attempts from each address.
#[derive(Debug)]
pub(super) struct Attempts {
    free: u32,
    addresses: Mutex<HashMap<IpAddr, Failures>>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Attempts {
    /// None yet; the first `free` ones from an address cost no wait.
    pub(super) fn new(free: u32) -> Self {
        Self { free, addresses: Mutex::default() }
    }

    /// How long nothing from there is looked at, if at all.
    pub(super) fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let failures = *self.addresses().get(&place(address))?;
        let beyond = failures.count.checked_sub(self.free)?;
        let pause = SHORTEST.saturating_mul(1 << beyond.min(16)).min(LONGEST);
        (failures.last + pause).checked_duration_since(now).filter(|wait| !wait.is_zero())
    }

    /// Remembers a failure.
    pub(super) fn failed(&self, address: IpAddr, now: Instant) {
        let mut addresses = self.addresses();
        let place = place(address);
        if addresses.len() >= MOST && !addresses.contains_key(&place) {
            make_room(&mut addresses, now);
        }
        let failures = addresses.entry(place).or_insert(Failures { count: 0, last: now });
        if now.duration_since(failures.last) > MEMORY {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
    }

    /// Forgets the failures from there.
    pub(super) fn succeeded(&self, address: IpAddr) {
        self.addresses().remove(&place(address));
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<IpAddr, Failures>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets what is long ago or, if nothing is, what is longest ago.
fn make_room(addresses: &mut HashMap<IpAddr, Failures>, now: Instant) {
    addresses.retain(|_, failures| now.duration_since(failures.last) <= MEMORY);
    if addresses.len() < MOST {
        return;
    }
    let oldest = addresses.iter().min_by_key(|(_, failures)| failures.last);
    if let Some(address) = oldest.map(|(address, _)| *address) {
        addresses.remove(&address);
    }
}

/// Whoever has an IPv6 address has all that begin with the same 64 bits.
fn place(address: IpAddr) -> IpAddr {
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

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_wait_doubles_up_to_a_limit() {
        let (attempts, here, mut now) = (Attempts::new(2), address("192.0.2.1"), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..8 {
            attempts.failed(here, now);
            let wait = attempts.wait(here, now).unwrap_or_default();
            waits.push(wait.as_secs());
            now += wait;
            assert_eq!(attempts.wait(here, now), None);
        }
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn one_address_does_not_make_another_wait() {
        let (attempts, now) = (Attempts::new(0), Instant::now());
        attempts.failed(address("2001:db8::1"), now);
        assert!(attempts.wait(address("2001:db8::2"), now).is_some(), "the same network");
        assert!(attempts.wait(address("2001:db8:0:1::1"), now).is_none());
        attempts.failed(address("192.0.2.1"), now);
        assert!(attempts.wait(address("::ffff:192.0.2.1"), now).is_some(), "the same address");
        assert!(attempts.wait(address("192.0.2.2"), now).is_none());
    }

    #[test]
    fn success_and_time_make_it_forget() {
        let (attempts, here, now) = (Attempts::new(1), address("192.0.2.1"), Instant::now());
        attempts.failed(here, now);
        attempts.succeeded(here);
        assert!(attempts.wait(here, now).is_none());
        for _ in 0..20 {
            attempts.failed(here, now);
        }
        let later = now + MEMORY + Duration::from_secs(1);
        attempts.failed(here, later);
        assert_eq!(attempts.wait(here, later), Some(SHORTEST));
    }

    #[test]
    fn memory_is_bounded() {
        let (attempts, now) = (Attempts::new(0), Instant::now());
        for number in 0..u32::try_from(MOST).unwrap() + 50 {
            let later = now + Duration::from_micros(number.into());
            attempts.failed(std::net::Ipv4Addr::from_bits(number).into(), later);
        }
        assert_eq!(attempts.addresses().len(), MOST);
        assert!(attempts.wait(address("0.0.0.0"), now).is_none(), "the oldest goes first");
    }
}
