//! The `[trace]` table and the log level.

use pegboard_config::{LoadedConfig, TraceSettings};
use pegboard_model::{NoSecrets, Template};

use crate::fixture::{Fixture, short};

fn value(template: Option<&Template>) -> String {
    let value = template.map(|template| template.resolve(&NoSecrets).unwrap());
    value.map_or(String::new(), |value| value.reveal().to_owned())
}

fn explained(loaded: &LoadedConfig, key: &str) -> Option<String> {
    let found = loaded.values.iter().find(|value| value.key == key);
    found.map(|value| format!("{} ({:?})", value.value, value.layer))
}

#[test]
fn r_obs_02_a_collector_and_langfuse_are_named_in_every_format() {
    let toml = "[trace]\nendpoint = 'http://u:p@h:4318?k=1'\nheaders = { X-Key = '${KEY}' }\n\
                capture_content = true\nservice_name = 'mine'\nenvironment = 'test'\n\
                [trace.langfuse]\npublic_key = 'pk'\nsecret_key = '${KEY}'\nbase_url = 'http://l'\n";
    let yaml = "trace:\n  endpoint: http://u:p@h:4318?k=1\n  headers: {X-Key: '${KEY}'}\n  \
                capture_content: true\n  service_name: mine\n  environment: test\n  \
                langfuse: {public_key: pk, secret_key: '${KEY}', base_url: 'http://l'}\n";
    let json = r#"{"trace": {"endpoint": "http://u:p@h:4318?k=1", "headers": {"X-Key": "${KEY}"},
        "capture_content": true, "service_name": "mine", "environment": "test",
        "langfuse": {"public_key": "pk", "secret_key": "${KEY}", "base_url": "http://l"}}}"#;
    for (name, text) in [
        ("config.toml", toml),
        ("config.yaml", yaml),
        ("config.json", json),
    ] {
        let loaded = Fixture::with(name, text).var("KEY", "canary").load();
        assert_eq!(short(&loaded), [] as [&str; 0], "{name}");
        let trace = &loaded.trace;
        assert_eq!(value(trace.endpoint.as_ref()), "http://u:p@h:4318?k=1");
        assert_eq!(value(trace.headers.get("X-Key")), "canary");
        let langfuse = trace.langfuse.as_ref().unwrap();
        assert_eq!(value(Some(&langfuse.secret_key)), "canary");
        assert_eq!(value(langfuse.base_url.as_ref()), "http://l");
        assert!(trace.capture_content);
        assert_eq!(trace.service_name.as_deref(), Some("mine"));
        let shown = |key: &str| explained(&loaded, key).unwrap_or_default();
        assert_eq!(shown("trace.endpoint"), "http://***@h:4318?k=*** (User)");
        assert_eq!(shown("trace.headers.X-Key"), "${KEY} (User)");
        assert_eq!(shown("trace.langfuse.public_key"), "*** (User)");
        assert_eq!(shown("trace.environment"), "test (User)");
    }
}

/// A mistake affects only its key and is a warning.
#[track_caller]
fn check(text: &str, expected: &[&str]) -> TraceSettings {
    let loaded = Fixture::with("config.toml", text).load();
    assert_eq!(short(&loaded), expected, "{text}");
    loaded.trace
}

#[test]
fn r_obs_02_a_mistake_about_traces_is_a_warning_and_other_keys_apply() {
    let invalid = "warning CONFIG_INVALID -:2";
    check("[trace]\nendpoint = 'grpc://h'\n", &[invalid]);
    check("[trace]\nendpoint = 7\n", &[invalid]);
    check("[trace]\nheaders = { 'bad name' = 'v' }\n", &[invalid]);
    check("[trace]\nlangfuse = { public_key = 'pk' }\n", &[invalid]);
    check("[trace]\nlangfuse = 'pk'\n", &[invalid]);
    check("trace = 7\n", &["warning CONFIG_INVALID -:1"]);
    let kept = check(
        "[trace]\nendpoint = '${NOT_SET}'\nenvironment = 'test'\ncapture_contents = true\n",
        &[
            "warning CONFIG_SECRET_MISSING -:2",
            "warning CONFIG_UNKNOWN_KEY -:4",
        ],
    );
    assert_eq!(kept.environment.as_deref(), Some("test"));
    assert!(kept.endpoint.is_none() && !kept.capture_content);
}

#[test]
fn r_obs_03_a_project_cannot_change_where_traces_are_sent() {
    let loaded = Fixture::with("config.toml", "[trace]\nendpoint = 'http://mine'\n")
        .project(
            ".pegboard/config.toml",
            "[trace]\nendpoint = 'http://theirs'\ncapture_content = true\n",
        )
        .load();
    assert_eq!(short(&loaded), ["warning CONFIG_INVALID -:1"]);
    assert_eq!(value(loaded.trace.endpoint.as_ref()), "http://mine");
    assert!(!loaded.trace.capture_content);
}

#[test]
fn r_obs_01_the_log_level_is_a_setting() {
    let loaded = Fixture::with("config.toml", "[settings]\nlog_level = 'info'\n").load();
    assert_eq!(loaded.settings.log_level.as_deref(), Some("info"));
    let shown = explained(&loaded, "settings.log_level");
    assert_eq!(shown.as_deref(), Some("info (User)"));
    let shown = explained(&Fixture::new().load(), "settings.log_level");
    assert_eq!(shown.as_deref(), Some("off (Builtin)"));
}
