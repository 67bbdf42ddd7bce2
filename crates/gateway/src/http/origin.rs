//! Loopback origins.

/// Whether a page of this origin was loaded from this machine. Origins have no path; anything else is rejected.
pub(super) fn is_loopback_origin(origin: &str) -> bool {
    let rest = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    let Some(rest) = rest else { return false };
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| {
        let after = match rest.split_at_checked(host.len()) {
            Some((name, after)) if name.eq_ignore_ascii_case(host) => after,
            _ => return false,
        };
        after.is_empty()
            || after
                .strip_prefix(':')
                .is_some_and(|port| port.parse::<u16>().is_ok() && !port.starts_with('+'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_03_lookalikes_of_loopback_origins_are_rejected() {
        for good in [
            "http://localhost",
            "https://localhost:5173",
            "http://127.0.0.1:1",
            "http://[::1]:80",
            "http://LOCALHOST:80",
        ] {
            assert!(is_loopback_origin(good), "{good}");
        }
        for bad in [
            "",
            "null",
            "localhost",
            "http://localhost.evil.example",
            "http://localhost:80@evil.example",
            "http://127.0.0.1.evil.example",
            "http://127.0.0.1:",
            "http://127.0.0.1:99999",
            "http://[::1",
            "ftp://localhost",
            "http://localhost/path",
            "http://evil.example#localhost",
            "http://127.0.0.2",
        ] {
            assert!(!is_loopback_origin(bad), "{bad}");
        }
    }
}
