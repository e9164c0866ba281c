//! Who may hold a connection: a maximum in all and a maximum per address.
//!
//! An [`Admission`] is a place; dropping it gives the place back, however the connection ended.
//! It must not know what is spoken over the connection.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{ConnectionCounts, ConnectionLimits, Peer};

#[derive(Debug)]
pub(super) struct Gate {
    n_max: usize,
    n_per_address_max: usize,
    counts: Arc<ConnectionCounts>,
    held: Mutex<HeldConnections>,
}

#[derive(Debug, Default)]
struct HeldConnections {
    n_total: usize,
    /// Holds no zeros, so it is never longer than there are connections.
    n_by_holder: HashMap<IpAddr, usize>,
}

impl Gate {
    pub(super) fn new(limits: &ConnectionLimits, counts: Arc<ConnectionCounts>) -> Arc<Self> {
        Arc::new(Self {
            n_max: limits.connections_max,
            n_per_address_max: limits.connections_per_address_max,
            counts,
            held: Mutex::default(),
        })
    }

    /// A place for this peer, or `None` if all places, or all of this peer's, are taken.
    pub(super) fn admit(self: &Arc<Self>, peer: Peer) -> Option<Admission> {
        let holder = peer.address().map(holder);
        let mut held = self.lock();
        if held.n_total >= self.n_max {
            return None;
        }
        if let Some(holder) = holder {
            let n_held = held.n_by_holder.get(&holder).copied().unwrap_or(0);
            if n_held >= self.n_per_address_max {
                return None;
            }
            held.n_by_holder.insert(holder, n_held + 1);
        }
        held.n_total += 1;
        self.counts.opened();
        Some(Admission { gate: Arc::clone(self), holder })
    }

    fn lock(&self) -> MutexGuard<'_, HeldConnections> {
        self.held.lock().expect("nothing panics while the gate is locked")
    }
}

/// A place at the gate, held as long as its connection.
#[derive(Debug)]
pub(super) struct Admission {
    gate: Arc<Gate>,
    holder: Option<IpAddr>,
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut held = self.gate.lock();
        held.n_total -= 1;
        if let Some(holder) = self.holder {
            let n_held = held.n_by_holder.get_mut(&holder).expect("an admission was counted");
            *n_held -= 1;
            if *n_held == 0 {
                held.n_by_holder.remove(&holder);
            }
        }
        self.gate.counts.closed();
    }
}

/// A household or a machine is given a whole /64 of IPv6: its addresses are one holder.
pub(super) fn holder(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_all_and_per_holder() {
        // (who comes, admitted?) with two places per holder and five in all
        let script = [
            ("192.0.2.1", true),
            ("::ffff:192.0.2.1", true),
            ("192.0.2.1", false),
            ("192.0.2.2", true),
            ("2001:db8:0:1::1", true),
            ("2001:db8:0:1:ffff::9", true),
            ("2001:db8:0:2::1", false),
        ];
        let counts = Arc::new(ConnectionCounts::default());
        let gate = gate_of(&counts);
        let mut places = Vec::new();
        for (address, expected) in script {
            let place = gate.admit(Peer::Remote(address.parse().expect("an address")));
            assert_eq!(place.is_some(), expected, "{address}");
            places.extend(place);
        }
        assert_eq!(counts.open(), 5);
        places.clear();
        assert_eq!(counts.open(), 0);
        assert!(gate.lock().n_by_holder.is_empty());
    }

    #[test]
    fn a_place_given_back_can_be_taken_again() {
        let gate = gate_of(&Arc::default());
        let places: Vec<_> = (0..5).map(|_| gate.admit(Peer::Local).expect("a place")).collect();
        assert!(gate.admit(Peer::Local).is_none());
        drop(places);
        assert!(gate.admit(Peer::Local).is_some());
    }

    fn gate_of(counts: &Arc<ConnectionCounts>) -> Arc<Gate> {
        let limits = ConnectionLimits {
            connections_max: 5,
            connections_per_address_max: 2,
            ..ConnectionLimits::default()
        };
        Gate::new(&limits, Arc::clone(counts))
    }
}
