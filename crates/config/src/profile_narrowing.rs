//! Combines a project's profile with the user's own. A project can only narrow.
//!
//! A profile that both files define keeps the user's values, with fewer servers and pinned tools and a mode that
//! lists fewer tools. A profile that only the project defines cannot use servers that the user's `default` profile
//! leaves out.

use pegboard_model::matches_pattern;

use crate::profile::{DEFAULT_PROFILE, Profile, ProfileMode};

/// The only item of a server list that matches no server. An empty list would mean all servers. Not a valid server
/// name.
pub(crate) const NO_SERVER: &str = "-";

/// The keys that a project's profile contains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenKeys {
    pub(crate) mode: bool,
    pub(crate) pinned: bool,
    pub(crate) prefix: bool,
}

/// A part of a project's profile that was rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RejectedKey {
    pub(crate) key: &'static str,
    /// The position in the list, if the key is a list.
    pub(crate) item: Option<usize>,
    pub(crate) why: String,
}

/// Narrows the user's profile by the project's profile of the same name.
pub(crate) fn narrowed(
    own: &Profile,
    wanted: &Profile,
    written: WrittenKeys,
    known: &[&str],
) -> (Profile, Vec<RejectedKey>) {
    let mut rejected = Vec::new();
    let servers = common_servers(
        own,
        wanted,
        "your profile of the same name",
        known,
        &mut rejected,
    );
    let mut mode = own.mode;
    if written.mode {
        match listed(wanted.mode) <= listed(own.mode) {
            true => mode = wanted.mode,
            false => rejected.push(RejectedKey {
                key: "mode",
                item: None,
                why: "your profile of the same name lists fewer tools".to_owned(),
            }),
        }
    }
    let mut pinned = own.pinned.clone();
    if written.pinned {
        pinned.clear();
        for (at, pattern) in wanted.pinned.iter().enumerate() {
            match own.pinned.iter().any(|own| covers(own, pattern)) {
                true => pinned.push(pattern.clone()),
                false => rejected.push(RejectedKey {
                    key: "pinned",
                    item: Some(at),
                    why: "your profile of the same name does not pin it".to_owned(),
                }),
            }
        }
    }
    if written.prefix && wanted.prefix != own.prefix {
        rejected.push(RejectedKey {
            key: "prefix",
            item: None,
            why: "your profile of the same name takes precedence".to_owned(),
        });
    }
    let profile = Profile {
        servers,
        pinned,
        mode,
        prefix: own.prefix,
    };
    (profile, rejected)
}

/// Limits a profile that only the project defines to the servers of the user's `default` profile.
pub(crate) fn bounded(
    default: &Profile,
    wanted: &Profile,
    known: &[&str],
) -> (Profile, Vec<RejectedKey>) {
    let mut rejected = Vec::new();
    let whose = format!("your profile `{DEFAULT_PROFILE}`");
    let servers = common_servers(default, wanted, &whose, known, &mut rejected);
    let profile = Profile {
        servers,
        ..wanted.clone()
    };
    (profile, rejected)
}

/// Orders modes by the number of tools that they list.
fn listed(mode: ProfileMode) -> u8 {
    match mode {
        ProfileMode::Lazy => 0,
        ProfileMode::Direct => 1,
        ProfileMode::Both => 2,
    }
}

/// Returns the servers of both profiles. Where two patterns overlap, the currently known servers are listed.
fn common_servers(
    own: &Profile,
    wanted: &Profile,
    whose: &str,
    known: &[&str],
    rejected: &mut Vec<RejectedKey>,
) -> Vec<String> {
    if wanted.servers.is_empty() || own.servers.is_empty() {
        let both = [&own.servers, &wanted.servers];
        return both.into_iter().flatten().cloned().collect();
    }
    let mut common: Vec<String> = Vec::new();
    for (at, pattern) in wanted.servers.iter().enumerate() {
        if own.servers.iter().any(|own| covers(own, pattern)) {
            common.push(pattern.clone());
            continue;
        }
        let named = own
            .servers
            .iter()
            .filter(|own| covers(pattern, own))
            .cloned();
        let holds = |name: &&&str| {
            matches_pattern(pattern, name)
                && own.servers.iter().any(|own| matches_pattern(own, name))
        };
        let names = known.iter().filter(holds).map(|name| (*name).to_owned());
        common.extend(named.chain(names));
        rejected.push(RejectedKey {
            key: "servers",
            item: Some(at),
            why: match pattern.contains(['*', '?']) {
                true => format!("{whose} does not include every server that it matches"),
                false => format!("{whose} does not include it"),
            },
        });
    }
    common.sort();
    common.dedup();
    if common.is_empty() {
        common.push(NO_SERVER.to_owned());
    }
    common
}

/// Whether a pattern matches everything that another name or pattern matches. A pattern is only covered by itself and
/// by `*`.
fn covers(wide: &str, narrow: &str) -> bool {
    let is_pattern = narrow.contains(['*', '?']);
    wide == narrow || wide == "*" || (!is_pattern && matches_pattern(wide, narrow))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(servers: &[&str], mode: ProfileMode) -> Profile {
        Profile {
            servers: servers.iter().map(|name| (*name).to_owned()).collect(),
            mode,
            ..Profile::default()
        }
    }

    #[track_caller]
    fn check(own: &[&str], wanted: &[&str], expected: &[&str], refused: usize) {
        let (own, wanted) = (
            profile(own, ProfileMode::Lazy),
            profile(wanted, ProfileMode::Lazy),
        );
        let written = WrittenKeys {
            mode: false,
            pinned: false,
            prefix: false,
        };
        let known = ["docs_a", "docs_b", "safe", "time"];
        let (got, rejected) = narrowed(&own, &wanted, written, &known);
        assert_eq!(got.servers, expected, "{own:?} {wanted:?}");
        assert_eq!(rejected.len(), refused, "{rejected:?}");
        for name in known {
            let holds = |profile: &Profile| {
                let servers = &profile.servers;
                servers.is_empty() || servers.iter().any(|p| matches_pattern(p, name))
            };
            assert_eq!(
                holds(&got),
                holds(&own) && holds(&wanted),
                "{name}: {got:?}"
            );
        }
    }

    #[test]
    fn r_sec_07_servers_of_both_profiles_are_the_common_ones() {
        check(&["safe"], &[], &["safe"], 0);
        check(&[], &["safe"], &["safe"], 0);
        check(&["safe", "time"], &["time"], &["time"], 0);
        check(&["safe"], &["time"], &["-"], 1);
        check(&["safe"], &["*"], &["safe"], 1);
        check(&["docs_*"], &["docs_a", "safe"], &["docs_a"], 1);
        check(&["docs_*"], &["*_b"], &["docs_b"], 1);
        check(&["*_?"], &["docs_*"], &["docs_a", "docs_b"], 1);
        check(&["*"], &["docs_*"], &["docs_*"], 0);
    }

    #[test]
    fn r_sec_07_a_project_lists_no_more_tools_than_the_user() {
        use ProfileMode::{Both, Direct, Lazy};
        let written = WrittenKeys {
            mode: true,
            pinned: true,
            prefix: true,
        };
        for (own, wanted, expected) in [
            (Lazy, Direct, Lazy),
            (Lazy, Both, Lazy),
            (Direct, Both, Direct),
            (Both, Direct, Direct),
            (Both, Lazy, Lazy),
        ] {
            let mut own = profile(&[], own);
            own.pinned = vec!["time/*".to_owned()];
            let mut wanted = profile(&[], wanted);
            wanted.pinned = vec!["time/now".to_owned(), "safe/open".to_owned()];
            wanted.prefix = false;
            let (got, rejected) = narrowed(&own, &wanted, written, &[]);
            assert_eq!(got.mode, expected);
            assert_eq!(got.pinned, ["time/now"]);
            assert!(got.prefix);
            let keys: Vec<_> = rejected.iter().map(|not| (not.key, not.item)).collect();
            assert!(keys.contains(&("pinned", Some(1))) && keys.contains(&("prefix", None)));
        }
    }
}
