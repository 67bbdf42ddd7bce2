//! Forty planted secrets: known values in every form in which they may appear, and texts that only look like secrets.
//! None appears in any exported byte.

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pegboard_model::{Outcome, Reason, Recorder, Secret, SpanContext, ToolError};
use pegboard_trace::{Destination, Gauges, LangfuseKeys, Redactor};

use crate::collector::{Collector, LONG};
use crate::facts::{call, plain, record_everything, server, trace_id, tracer};

/// A configured value, and the form in which it appears.
fn known() -> Vec<(String, String)> {
    let value = |number: usize| format!("canary{number:02}-V4lue/with \"marks\" & more");
    let forms: [fn(&str) -> String; 10] = [
        |value| value.to_owned(),
        |value| format!("prefix{value}suffix"),
        |value| serde_json::to_string(value).unwrap(),
        |value| serde_json::to_string(&serde_json::to_string(value).unwrap()).unwrap(),
        |value| {
            percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        },
        |value| format!("https://host/path?key={value}&x=1"),
        |value| STANDARD.encode(value),
        |value| format!("Authorization: Basic {}", STANDARD.encode(value)),
        |value| format!("line one\n{value}\nline three"),
        |value| format!("{}{value}{}", "x".repeat(16_380), "y".repeat(5_000)),
    ];
    (0..20)
        .map(|number| (value(number), forms[number % forms.len()](&value(number))))
        .collect()
}

/// The part that must not appear, and the text that contains it.
fn lookalikes() -> Vec<(String, String)> {
    [
        ("canary20abcdefgh", "Authorization: Bearer canary20abcdefgh"),
        ("canary21abcdefgh", "bearer canary21abcdefgh"),
        (
            "sk-canary22abcdefghijkl",
            "the key sk-canary22abcdefghijkl was used",
        ),
        (
            "sk-ant-api03-canary23abcdefghijkl",
            "sk-ant-api03-canary23abcdefghijkl",
        ),
        ("AKIACANARY24ABCDEFGH", "id AKIACANARY24ABCDEFGH"),
        (
            "canary25secretaccess",
            "AWS_SECRET_ACCESS_KEY=canary25secretaccess",
        ),
        (
            "eyJjYW5hcnkyNg.eyJjYW5hcnkyNg.canary26",
            "jwt eyJjYW5hcnkyNg.eyJjYW5hcnkyNg.canary26",
        ),
        ("canary27password", "password=canary27password"),
        ("canary28password", r#"{"password": "canary28password"}"#),
        (
            "canary29password",
            r#""{\"password\":\"canary29password\"}""#,
        ),
        (
            "canary30:canary30x",
            "postgres://canary30:canary30x@db.example/x",
        ),
        (
            "ghp_canary31abcdefghijklmnop",
            "ghp_canary31abcdefghijklmnop",
        ),
        ("glpat-canary32abcdefgh", "glpat-canary32abcdefgh"),
        ("xoxb-canary33-abcdefgh", "xoxb-canary33-abcdefgh"),
        ("canary34token", "--api-token canary34token"),
        ("canary35key", "X-Api-Key: canary35key"),
        (
            "canary36=session",
            "Cookie: canary36=session; other=canary36",
        ),
        ("canary37secret", "client_secret: 'canary37secret'"),
        (
            "Canary38MIIE",
            "-----BEGIN EC PRIVATE KEY-----\nCanary38MIIE\n-----END EC PRIVATE KEY-----",
        ),
        ("Y2FuYXJ5Mzk6Y2FuYXJ5", "Basic Y2FuYXJ5Mzk6Y2FuYXJ5"),
    ]
    .map(|(secret, text)| (secret.to_owned(), text.to_owned()))
    .into()
}

/// Everything that must not appear: the values, their escaped and encoded forms, and the number of each, which is in
/// every form except the encoded ones.
fn forbidden(canaries: &[(String, String)]) -> Vec<String> {
    let mut forms: Vec<String> = (0..40).map(|number| format!("canary{number:02}")).collect();
    for (secret, _) in canaries {
        let quoted = serde_json::to_string(secret).unwrap();
        forms.push(quoted.trim_matches('"').to_owned());
        forms.push(STANDARD.encode(secret));
        forms.push(secret.clone());
    }
    forms
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_obs_03_forty_canaries_are_in_no_exported_byte() {
    let collector = Collector::start().await;
    let canaries: Vec<_> = known().into_iter().chain(lookalikes()).collect();
    assert_eq!(canaries.len(), 40);
    let secrets: Vec<Secret> = known()
        .iter()
        .map(|(value, _)| Secret::new(value.as_str()))
        .collect();
    let keys = LangfuseKeys {
        public_key: Secret::new("pk-lf-own-public-key"),
        secret_key: Secret::new("sk-lf-own-secret-key"),
        base_url: Some(collector.url.clone()),
    };
    let both = vec![plain(&collector.url), Destination::langfuse(&keys).unwrap()];
    let tracer = tracer(both, true, Redactor::with_secrets(&secrets));
    for (_, text) in &canaries {
        let error = ToolError::new(Reason::ServerExited, format!("it said: {text}"));
        record_everything(&tracer, Outcome::Failed(&error), text);
        // Names that a caller chose.
        let span = tracer
            .begin(None, &trace_id())
            .map(|span| span.with_labels(text, text));
        let server = server();
        let mut facts = call(&server, Outcome::Ok);
        (facts.tool, facts.exposed) = (text, text);
        tracer.call(span.as_ref(), &facts);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent = SpanContext::parse(parent, Some(text));
        tracer.call(
            tracer.begin(parent.as_ref(), &trace_id()).as_ref(),
            &call(&server, Outcome::Ok),
        );
    }
    let delivered = tracer.close(LONG).await;
    assert_eq!((delivered.sent, delivered.dropped), (2 * 40 * 10, 0));
    let forbidden = forbidden(&canaries);
    let finder = AhoCorasick::new(&forbidden).unwrap();
    let check = |bytes: &[u8]| {
        let found = finder.find(bytes).map(|found| &forbidden[found.pattern()]);
        assert_eq!(found, None, "a canary has left");
    };
    check(tracer.metrics(&Gauges::default()).as_bytes());
    for request in collector.seen() {
        check(&request.body);
    }
    // The spans themselves are there: 40 failures of each kind.
    let spans = collector.spans();
    assert_eq!(
        spans
            .iter()
            .filter(|span| span.name == "tools/call close_issue")
            .count(),
        2 * 40 * 2
    );
}
