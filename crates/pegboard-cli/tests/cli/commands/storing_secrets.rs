//! Tokens that are typed as part of `pegboard add`.

use crate::support::Home;

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

#[test]
fn r_cli_07_a_literal_token_gets_a_hint_that_does_not_repeat_it() {
    let home = Home::new();
    let variable = format!("GITHUB_TOKEN={TOKEN}");
    let run = home
        .run(&[
            "add",
            "hub",
            "--no-discover",
            "-e",
            &variable,
            "--",
            "program",
        ])
        .ok();
    assert!(
        run.stderr.contains("`pegboard secret set GITHUB_TOKEN`"),
        "{}",
        run.stderr
    );
    let edit = "`pegboard edit hub env.GITHUB_TOKEN '${secret:GITHUB_TOKEN}'`";
    assert!(run.stderr.contains(edit), "{}", run.stderr);
    assert!(!run.stderr.contains("ghp_"), "{}", run.stderr);

    let header = "Authorization: Bearer 0123456789";
    let url = "https://example.com/mcp";
    let run = home
        .run(&["add", "docs", "--no-discover", url, "-H", header])
        .ok();
    let edit = "`pegboard edit docs headers.Authorization 'Bearer ${secret:docs_token}'`";
    assert!(run.stderr.contains(edit), "{}", run.stderr);
    assert!(!run.stderr.contains("0123456789"), "{}", run.stderr);

    // The commands of the hint work.
    home.run_with_input(&["secret", "set", "docs_token"], "x")
        .ok();
    home.run(&[
        "edit",
        "docs",
        "headers.Authorization",
        "Bearer ${secret:docs_token}",
    ])
    .ok();
    assert!(!home.config().contains("Bearer 0123"), "{}", home.config());
}

#[test]
fn r_cli_07_store_secrets_writes_references_and_keeps_the_values() {
    let home = Home::new();
    let variable = format!("GITHUB_TOKEN={TOKEN}");
    let args = [
        "add",
        "hub",
        "--store-secrets",
        "--no-discover",
        "-e",
        &variable,
        "-e",
        "MODE=fast",
        "--",
        "program",
        "--api-key",
        "0123456789abc",
    ];
    let run = home.run(&args).ok();
    assert!(!run.stderr.contains("hint:"), "{}", run.stderr);
    let config = home.config();
    assert!(config.contains("${secret:GITHUB_TOKEN}"), "{config}");
    assert!(config.contains("${secret:hub_api_key}"), "{config}");
    assert!(config.contains("fast"), "{config}");
    assert!(
        !config.contains(TOKEN) && !config.contains("0123456789abc"),
        "{config}"
    );
    let secrets = home.run(&["secret", "list"]).ok().stdout;
    assert!(
        secrets.contains("GITHUB_TOKEN") && secrets.contains("hub_api_key"),
        "{secrets}"
    );

    // Another server's secret of the same name is not replaced.
    let args = [
        "add",
        "two",
        "--store-secrets",
        "--no-discover",
        "-e",
        &variable,
        "--",
        "program",
    ];
    home.run(&args).ok();
    assert!(
        home.config().contains("${secret:two_GITHUB_TOKEN}"),
        "{}",
        home.config()
    );
}

#[test]
fn r_cli_07_nothing_is_stored_if_the_server_is_not_written() {
    let home = Home::new();
    home.add("hub", "program", &[], "");
    let variable = format!("GITHUB_TOKEN={TOKEN}");
    let args = [
        "add",
        "hub",
        "--store-secrets",
        "--no-discover",
        "-e",
        &variable,
        "--",
        "program",
    ];
    home.run(&args).exits(2);
    assert_eq!(home.run(&["secret", "list"]).ok().stdout, "");
}

#[test]
fn r_cli_07_ordinary_values_and_references_get_no_hint() {
    let home = Home::new();
    let args = [
        "add",
        "plain",
        "--no-discover",
        "-e",
        "MODE=production",
        "-e",
        "TOKEN=${secret:x}",
        "--",
        "program",
        "--port",
        "8080",
    ];
    let run = home.run(&args).ok();
    assert!(!run.stderr.contains("hint:"), "{}", run.stderr);
}
