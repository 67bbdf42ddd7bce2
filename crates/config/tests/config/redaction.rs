//! Secrets never appear in problems, explanations or `Debug` output.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::fixture::Fixture;

const CANARY: &str = "cAnArY-7f3e9d21";

/// Files with a canary in every place that may contain a secret.
fn files() -> [(&'static str, String); 3] {
    let toml = format!(
        "[servers.a]\ncommand = 'run'\nargs = ['--token', '{CANARY}', '--api-key={CANARY}', 'https://u:{CANARY}@h/']\n\
         env = {{ KEY = '{CANARY}', OTHER = '${{NONE:-{CANARY}}}' }}\n[servers.b]\nurl = 'https://u:{CANARY}@h/?k={CANARY}'\n\
         headers = {{ Authorization = 'Bearer {CANARY}' }}\nbearer = '{CANARY}'\n[servers.c]\nurl = 'https://h/${{FROM_ENV}}'\n\
         [trace]\nendpoint = 'https://u:{CANARY}@h/?k={CANARY}'\nheaders = {{ X = '{CANARY}' }}\n\
         langfuse = {{ public_key = '{CANARY}', secret_key = '{CANARY}' }}\n"
    );
    let json = format!(
        "{{\"servers\":{{\"a\":{{\"command\":\"run\",\"args\":[\"--token\",\"{CANARY}\"],\n\"env\":{{\"KEY\":\"{CANARY}\"}}}},\n\
         \"b\":{{\"url\":\"https://u:{CANARY}@h/\",\"headers\":{{\"X\":\"{CANARY}\"}},\"bearer\":\"{CANARY}\",\"apiKey\":\"{CANARY}\"}}}}}}"
    );
    let yaml = format!(
        "servers:\n  a:\n    command: run\n    args: [--token, {CANARY}]\n    env:\n      KEY: {CANARY}\n      LONG: |\n        {CANARY}\n\
         \x20 b:\n    url: https://u:{CANARY}@h/\n    headers: {{ X: {CANARY} }}\n    bearer: {CANARY}\n"
    );
    [
        ("config.toml", toml),
        ("config.json", json),
        ("config.yaml", yaml),
    ]
}

/// Arguments and URLs are displayed except for parts that look like secrets, so mutations must not change them.
fn files_without_arguments() -> [(&'static str, String); 3] {
    files().map(|(file, text)| {
        let text = text
            .replace(
                &format!("'--token', '{CANARY}', '--api-key={CANARY}', 'https://u:{CANARY}@h/'"),
                "'x'",
            )
            .replace(&format!("\"--token\",\"{CANARY}\""), "\"x\"")
            .replace(&format!("--token, {CANARY}"), "x")
            .replace(&format!("u:{CANARY}@"), "")
            .replace(&format!("?k={CANARY}"), "");
        (file, text)
    })
}

/// Everything of a configuration that can be printed.
fn printed(fixture: &Fixture) -> String {
    let loaded = fixture.load();
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    let as_json = serde_json::to_string(&(&loaded.problems, &loaded.values)).unwrap();
    format!(
        "{loaded:?}\n{}\n{as_json}\n{:?}",
        problems.join("\n"),
        fixture.env
    )
}

#[test]
fn r_cfg_08_no_secret_is_printed_for_a_valid_configuration() {
    for (file, text) in files() {
        let fixture = Fixture::with(file, &text)
            .var("FROM_ENV", CANARY)
            .var("A_API_KEY", CANARY)
            .var("NEW_MCP_URL", &format!("https://{CANARY}/"));
        assert!(
            fixture.load().servers.len() >= 3,
            "{file}: {:#?}",
            fixture.load().problems
        );
        let printed = printed(&fixture);
        assert!(!printed.contains(CANARY), "{file}: {printed}");
    }
}

#[test]
fn r_cfg_08_no_secret_is_printed_when_its_line_is_wrong() {
    for body in [
        format!("command = 1\nenv = '{CANARY}'"),
        format!("command = 1\nenv = ['{CANARY}']"),
        format!("command = 1\nenv = {{ A = ['{CANARY}'] }}"),
        format!("command = 1\nbearer = ['{CANARY}']"),
        format!("url = '{CANARY}'\nheaders = '{CANARY}'"),
        format!("url = 'ftp://u:{CANARY}@h'"),
        format!("command = 'x'\napi_key = '{CANARY}'\nttl = 'x'"),
        format!("env = {{ A = '{CANARY}' }}\nenv = {{ A = '{CANARY}' }}"),
        format!("env = {{ A = '${{{CANARY}' }}"),
        format!("env = {{ A = '${{secret:{CANARY} x}}' }}"),
        format!("env = {{ A = '${{x:-${{{CANARY}}}}}' }}"),
        format!("url = 'https://h/'\nbearer = \"\"\"\n{CANARY}\n\"\"\""),
        format!("env = {{ A = '{CANARY}"),
        format!("args = [\n'--token',\n'{CANARY}\n]"),
        format!("env = {{ A = '{CANARY}' }} x = 1"),
        format!("bearer = {CANARY}"),
    ] {
        let printed = printed(&Fixture::with(
            "config.toml",
            &format!("[servers.a]\n{body}\n"),
        ));
        assert!(!printed.contains(CANARY), "{body}:\n{printed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: RngSeed::Fixed(11), ..ProptestConfig::default() })]

    /// Mutated files never lead to printing a value of `env`, `headers` or `bearer`.
    #[test]
    fn r_cfg_08_no_secret_is_printed_of_a_mutilated_file(
        which in 0usize..3,
        cuts in prop::collection::vec((0.0f64..1.0, 0usize..4, "[\\[\\]{}\"':=,#\n \\\\-]{0,3}"), 1..4),
    ) {
        let (file, mut text) = files_without_arguments().into_iter().nth(which).unwrap();
        for (at, length, instead) in cuts {
            // The canary must stay in one piece, because the test searches for all of it.
            let at = (at * text.len() as f64) as usize;
            let end = (at + length).min(text.len());
            let touches = text.match_indices(CANARY).any(|(start, found)| at < start + found.len() && end > start);
            if !touches {
                text.replace_range(at..end, &instead);
            }
        }
        let fixture = Fixture::with(file, &text);
        // A canary that became a server's name is displayed, so that the user can find it.
        prop_assume!(!fixture.load().broken.keys().any(|name| name.contains(CANARY)));
        let printed = printed(&fixture);
        prop_assert!(!printed.contains(CANARY), "{}\n---\n{}", text, printed);
    }
}

#[test]
fn r_cfg_08_a_key_in_the_arguments_is_masked_everywhere_and_gets_advice() {
    let text = "[servers.git]\ncommand = 'run'\nargs = ['--id=AKIACANARY0123456789', 'ghp_canary0123456789', '--token', 'canary-x']\nunknown = 1\n";
    let loaded = Fixture::with("config.toml", text).load();
    let mut shown = format!("{:?}", loaded.values);
    for problem in &loaded.problems {
        shown.push_str(&problem.to_string());
    }
    assert!(!shown.to_lowercase().contains("canary"), "{shown}");
    let advice: Vec<_> = loaded
        .problems
        .iter()
        .filter(|problem| problem.reason == pegboard_model::Reason::SecretWritten)
        .collect();
    assert_eq!(advice.len(), 3, "{shown}");
    assert_eq!(advice[0].line, Some(3));
    assert!(
        advice[0].help.ends_with("write `--id=${secret:git_id}`"),
        "{}",
        advice[0].help
    );
}
