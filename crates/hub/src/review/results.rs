//! Suspicious results are marked, or also neutralised.

use pegboard_guard::{neutralise_result, scan_result};
use pegboard_jsonrpc::Members;
use pegboard_model::ResultScan;
use pegboard_upstream::CallOutcome;
use serde_json::value::RawValue;

use crate::hub::Inner;

/// The key in `_meta` of a result that lists the rules it matches.
const META_KEY: &str = "pegboard/suspicious";

impl Inner {
    /// Marks a result that hides text or imitates a system message, as the setting says. Other results stay byte for
    /// byte.
    pub(crate) fn marked_result(&self, mut outcome: CallOutcome) -> CallOutcome {
        let setting = self.settings.result_scan;
        if setting == ResultScan::Off {
            return outcome;
        }
        let rules = scan_result(outcome.result.get());
        if rules.is_empty() {
            return outcome;
        }
        let text = match setting {
            ResultScan::Neutralise => neutralise_result(outcome.result.get()),
            ResultScan::Off | ResultScan::Mark => outcome.result.get().to_owned(),
        };
        if let Some(result) = with_mark(&text, &rules) {
            outcome.result = result;
        }
        outcome
    }
}

/// The result with the rules in its `_meta`; `None` if it is not an object. Everything else stays byte for byte.
fn with_mark(result: &str, rules: &[&str]) -> Option<Box<RawValue>> {
    let mut members = Members::of(result)?;
    let meta = members.get("_meta").unwrap_or("{}").to_owned();
    let mut meta = Members::of(&meta)?;
    meta.set(META_KEY, serde_json::to_string(rules).ok()?);
    members.set("_meta", meta.to_string());
    RawValue::from_string(members.to_string()).ok()
}
