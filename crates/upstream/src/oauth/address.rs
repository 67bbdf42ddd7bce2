//! Which addresses a login may connect to.
//!
//! What a server publishes must not make Pegboard send requests into the user's network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The internet.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Loopback,
    /// Nowhere that a login could be: link-local (cloud metadata services), multicast, unspecified, reserved.
    Forbidden,
}

impl Reach {
    /// Classifies an address. An IPv4 address inside an IPv6 address is decoded first.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => match embedded_v4(address) {
                Some(inside) => of_v4(inside),
                None => of_v6(address),
            },
        }
    }

    /// Whether a login to a server of class `self` may connect to an address of class `other`.
    pub(crate) fn may_reach(self, other: Self) -> bool {
        match other {
            Self::Public => true,
            Self::Private | Self::Loopback => self == other,
            Self::Forbidden => false,
        }
    }
}

fn of_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, ..) => Reach::Loopback,
        (10, ..) | (192, 168, _) => Reach::Private,
        (172, 16..=31, _) => Reach::Private,
        // Carrier-grade NAT and benchmarking networks.
        (100, 64..=127, _) | (198, 18..=19, _) => Reach::Private,
        (0, ..) | (169, 254, _) | (192, 0, 0) | (224..=255, ..) => Reach::Forbidden,
        _ => Reach::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Reach {
    let [first, second, ..] = address.segments();
    match first {
        _ if address.is_loopback() => Reach::Loopback,
        _ if address.is_unspecified() => Reach::Forbidden,
        // The metadata service of a cloud provider has a unique local address.
        0xfd00 if second == 0x0ec2 => Reach::Forbidden,
        0xfc00..=0xfdff | 0xfec0..=0xfeff => Reach::Private,
        0xfe80..=0xfebf | 0xff00..=0xffff => Reach::Forbidden,
        _ => Reach::Public,
    }
}

/// Decodes mapped, compatible, translated (NAT64) and 6to4 addresses.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, high, low] = address.segments();
    let from = |high: u16, low: u16| {
        let ([p, q], [r, s]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(p, q, r, s)
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) => Some(from(high, low)),
        (0, 0, 0, 0, 0xffff, 0) => Some(from(high, low)),
        (0, 0, 0, 0, 0, 0) if !address.is_loopback() && !address.is_unspecified() => {
            Some(from(high, low))
        }
        (0x64, 0xff9b, 0, 0, 0, 0) | (0x64, 0xff9b, 1, ..) => Some(from(high, low)),
        (0x2002, ..) => Some(from(b, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_auth_01_every_form_of_an_address_is_classified() {
        for (text, expected) in [
            ("93.184.216.34", Reach::Public),
            ("2606:2800:220:1::1", Reach::Public),
            ("10.1.2.3", Reach::Private),
            ("172.31.0.1", Reach::Private),
            ("172.32.0.1", Reach::Public),
            ("192.168.0.1", Reach::Private),
            ("100.100.100.200", Reach::Private),
            ("fd12::1", Reach::Private),
            ("127.0.0.1", Reach::Loopback),
            ("127.255.255.254", Reach::Loopback),
            ("::1", Reach::Loopback),
            ("::ffff:127.0.0.1", Reach::Loopback),
            ("::127.0.0.1", Reach::Loopback),
            ("64:ff9b::7f00:1", Reach::Loopback),
            ("2002:7f00:1::", Reach::Loopback),
            ("::ffff:169.254.169.254", Reach::Forbidden),
            ("64:ff9b::a9fe:a9fe", Reach::Forbidden),
            ("169.254.169.254", Reach::Forbidden),
            ("fe80::1", Reach::Forbidden),
            ("fd00:ec2::254", Reach::Forbidden),
            ("0.0.0.0", Reach::Forbidden),
            ("::", Reach::Forbidden),
            ("255.255.255.255", Reach::Forbidden),
            ("224.0.0.1", Reach::Forbidden),
            ("ff02::1", Reach::Forbidden),
        ] {
            assert_eq!(Reach::of(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn r_auth_01_a_public_server_cannot_lead_into_a_private_network() {
        for (server, target, allowed) in [
            (Reach::Public, Reach::Public, true),
            (Reach::Public, Reach::Private, false),
            (Reach::Public, Reach::Loopback, false),
            (Reach::Private, Reach::Private, true),
            (Reach::Private, Reach::Loopback, false),
            (Reach::Loopback, Reach::Loopback, true),
            (Reach::Loopback, Reach::Public, true),
            (Reach::Loopback, Reach::Forbidden, false),
        ] {
            assert_eq!(server.may_reach(target), allowed, "{server:?} {target:?}");
        }
    }
}
