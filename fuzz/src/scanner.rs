//! The scanner of definitions and results.

use std::time::{Duration, Instant};

use pegboard_guard::{
    PeerTool, Peers, ScanContext, neutralise_result, scan_definition, scan_result, scan_text,
};

/// Far more than any input of a fuzz run takes, also without optimisation on a busy machine.
const MOST_TIME: Duration = Duration::from_secs(20);

/// Any definition and any text is scanned in bounded time, with a bounded number of findings whose texts are safe to
/// display. Returns whether the input is JSON.
pub(super) fn scanning(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let peer = PeerTool {
        server: "other".to_owned(),
        name: "send_email".to_owned(),
        description: "Sends an email to a recipient.".to_owned(),
    };
    let context = ScanContext::new(["own_tool"], Peers::new([peer]));
    let started = Instant::now();
    let mut findings = scan_definition(&text, &context);
    findings.extend(scan_text("instructions", &text, &context));
    assert!(started.elapsed() < MOST_TIME, "{} bytes", input.len());
    assert!(findings.len() <= 64, "{findings:?}");
    for finding in findings {
        let is_safe =
            |text: &str| !text.chars().any(char::is_control) && text.chars().count() < 400;
        assert!(
            is_safe(&finding.excerpt) && is_safe(&finding.place),
            "{finding:?}"
        );
    }
    let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
    if is_json && !scan_result(&text).is_empty() {
        let safe = neutralise_result(&text);
        assert!(
            serde_json::from_str::<serde_json::Value>(&safe).is_ok(),
            "{safe}"
        );
    }
    is_json
}
