//! Limit of registrations from one network.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Maximum number of registrations from one address within [`ADDRESS_WINDOW`].
const MAX_PER_ADDRESS: u32 = 60;
/// Period over which registrations of an address are counted.
const ADDRESS_WINDOW: Duration = Duration::from_hours(1);
/// Maximum number of addresses whose registrations are counted.
const MAX_ADDRESSES: usize = 10_000;

/// Numbers of registrations of each address.
#[derive(Debug, Default)]
pub(crate) struct RegistrationCounts(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl RegistrationCounts {
    /// Counts a registration; returns the waiting time if there were too many.
    pub(crate) fn count(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let address = network(address);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MAX_ADDRESSES && !counts.contains_key(&address) {
            counts.retain(|_, (_, started_at)| now.duration_since(*started_at) < ADDRESS_WINDOW);
            if counts.len() >= MAX_ADDRESSES {
                return Some(ADDRESS_WINDOW);
            }
        }
        let (count, started_at) = counts.entry(address).or_insert((0, now));
        if now.duration_since(*started_at) >= ADDRESS_WINDOW {
            (*count, *started_at) = (0, now);
        }
        *count = count.saturating_add(1);
        (*count > MAX_PER_ADDRESS)
            .then(|| ADDRESS_WINDOW.saturating_sub(now.duration_since(*started_at)))
    }
}

/// Returns the network of an address: one IPv6 client usually owns 64 bits.
fn network(address: IpAddr) -> IpAddr {
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

    #[test]
    fn registrations_of_one_network_are_counted_together() {
        let (counts, now) = (RegistrationCounts::default(), Instant::now());
        for number in 0..MAX_PER_ADDRESS {
            let address =
                Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::try_from(number).unwrap());
            assert_eq!(counts.count(address.into(), now), None);
        }
        let next: IpAddr = "2001:db8::ffff".parse().unwrap();
        assert_eq!(counts.count(next, now), Some(ADDRESS_WINDOW));
        assert_eq!(counts.count("192.0.2.1".parse().unwrap(), now), None);
        assert_eq!(counts.count(next, now + ADDRESS_WINDOW), None);
    }
}
