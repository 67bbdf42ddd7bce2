//! What the names of a server's tools say about the state that it keeps between calls.

/// Words of tools that control a browser. `navigate` alone is enough: only browsers have it.
const BROWSER: &[&str] = &[
    "browser",
    "browserbase",
    "navigate",
    "playwright",
    "puppeteer",
    "stagehand",
];
/// Words of tools that control a phone, a simulator or a desktop.
const DEVICE: &[&str] = &[
    "adb",
    "emulator",
    "keypress",
    "sim",
    "simulator",
    "swipe",
    "tap",
];
/// Words of tools that control a debugger.
const DEBUGGER: &[&str] = &["breakpoint", "breakpoints", "stepover", "stepinto"];
/// Words of tools that continue a history of thoughts.
const THINKING: &[&str] = &["sequentialthinking", "thinking", "thought", "thoughts"];

/// Verbs that make one of several things current.
const SELECTING: &[&str] = &["activate", "change", "select", "set", "use"];
/// The things that are current in a server from one call to the next.
const SELECTED: &[&str] = &[
    "account",
    "active",
    "context",
    "current",
    "cwd",
    "database",
    "db",
    "default",
    "defaults",
    "dir",
    "directory",
    "environment",
    "folder",
    "org",
    "organization",
    "profile",
    "project",
    "repo",
    "repository",
    "session",
    "tab",
    "tenant",
    "window",
    "workdir",
    "working",
    "workspace",
];
/// What a server connects to on a client's request and then uses for the following calls.
const CONNECTED: &[&str] = &["database", "db", "device", "instance", "server", "to"];

/// Verbs of tools that write to a memory.
const REMEMBERING: &[&str] = &["add", "save", "store", "write"];

/// Returns why each session needs an instance of its own, judged by the names of the tools.
pub(super) fn state_of_session<'a>(names: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    let mut selects = None;
    for name in names {
        let words = words_of(name);
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        // What is controlled says more than what is selected in it.
        if has(BROWSER) {
            return Some("has tools that control a browser");
        }
        if has(DEVICE) {
            return Some("has tools that control a device");
        }
        if has(DEBUGGER) {
            return Some("has tools that control a debugger");
        }
        if has(THINKING) {
            return Some("has tools that continue a history of thoughts");
        }
        selects = selects.or_else(|| selection(&words));
    }
    selects
}

/// Returns what a tool with these words selects for the following calls.
fn selection(words: &[String]) -> Option<&'static str> {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    for at in 0..words.len() {
        let (verb, object) = (word(at), word(at + 1));
        match verb {
            "switch" if !object.is_empty() => {
                return Some("has tools that switch between things for the following calls");
            }
            "connect" if object.is_empty() || CONNECTED.contains(&object) => {
                return Some("has tools that connect it to something for the following calls");
            }
            "chdir" => return Some("has tools that select a working directory"),
            _ if SELECTING.contains(&verb) && SELECTED.contains(&object) => {
                return Some(match object {
                    "working" | "workdir" | "cwd" | "dir" | "directory" | "folder" => {
                        "has tools that select a working directory"
                    }
                    "project" | "workspace" | "repo" | "repository" => {
                        "has tools that select a project"
                    }
                    "account" | "org" | "organization" | "tenant" => {
                        "has tools that select an account"
                    }
                    "database" | "db" => "has tools that select a database",
                    _ => "has tools that select something for the following calls",
                });
            }
            _ => {}
        }
    }
    None
}

/// Returns whether the tools write to a memory of the server.
pub(super) fn keeps_memory<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let (mut entities, mut observations) = (false, false);
    for name in names {
        entities |= name == "create_entities";
        observations |= name == "add_observations";
        let words = words_of(name);
        let writes = words
            .iter()
            .any(|word| REMEMBERING.contains(&word.as_str()));
        let memory = |word: &String| matches!(word.as_str(), "memory" | "memories");
        if writes && words.iter().any(memory) {
            return true;
        }
    }
    entities && observations
}

/// Splits a name at everything but letters and digits, and at capital letters, into lowercase words.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let is_break = !character.is_alphanumeric();
        if is_break || (was_lower && character.is_uppercase()) {
            words.push(String::new());
        }
        if !is_break && let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase() || character.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        for (name, words) in [
            ("git_set_working_dir", vec!["git", "set", "working", "dir"]),
            ("selectAccount", vec!["select", "account"]),
            (
                "TwilioApiV2010--FetchApp",
                vec!["twilio", "api", "v2010", "fetch", "app"],
            ),
            ("__", vec![]),
        ] {
            assert_eq!(words_of(name), words, "{name}");
        }
    }

    #[test]
    fn r_share_03_tools_that_select_something_are_recognised() {
        let is_selecting = |name: &str| selection(&words_of(name)).is_some();
        for name in [
            "git_set_working_dir",
            "activate_project",
            "switch_presentation",
            "select-account",
            "connect_to_database",
            "session_set_defaults",
            "use_database",
            "setCwd",
            "connect",
        ] {
            assert!(is_selecting(name), "{name}");
        }
        for name in [
            "set",
            "json_set",
            "env_var_set",
            "set_table_width",
            "connect-jump-host-cache-cluster",
            "add_attachments_to_set",
            "git_checkout",
            "list_switches",
            "create_project",
            "confluence_set_page_restrictions",
            "FetchConnectApp",
            "simulate_route_change",
        ] {
            assert!(!is_selecting(name), "{name}");
        }
    }
}
