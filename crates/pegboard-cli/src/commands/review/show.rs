//! One review on the terminal: the findings, what changed, and the whole definition.

use pegboard_catalog::{Change, ChangedText, ReviewMark, word_changes};
use pegboard_guard::rule;
use pegboard_hub::PendingReview;
use pegboard_model::{Finding, ReviewState, UntrustedText};

use crate::commands::{CommandResult, Output};
use crate::output::Paint;

/// Characters of a reason in the list.
const REASON_MAX: usize = 200;

pub(super) fn state_word(mark: &ReviewMark) -> &'static str {
    match mark.is_rejected() {
        true => "rejected",
        false => mark.state().as_str(),
    }
}

/// Why a definition has a review, in one line.
pub(super) fn reason(review: &PendingReview) -> String {
    let mark = review.mark.review();
    if let Some(first) = mark.findings.first() {
        let text = format!("{} in {}: {}", first.rule, first.place, first.excerpt);
        return UntrustedText::new(&text).shortened(REASON_MAX).to_string();
    }
    match (&mark.before, mark.state) {
        (Some(before), _) => {
            let changes = word_changes(before, &review.text);
            let fields: Vec<&str> = changes.iter().map(|change| change.field.as_str()).collect();
            format!("changed: {}", fields.join(", "))
        }
        (None, ReviewState::New) => "new".to_owned(),
        (None, _) => String::new(),
    }
}

pub(super) fn print(review: &PendingReview, output: &Output) -> CommandResult {
    let mark = &review.mark;
    let (name, kind) = (
        UntrustedText::new(&review.exposed),
        review.subject.kind.as_str(),
    );
    let state = output.paint(Paint::Warn, state_word(mark));
    output.line(&format!(
        "{} ({kind}, {state})",
        output.paint(Paint::Strong, &name.to_string())
    ))?;
    for finding in &mark.review().findings {
        output.line(&finding_text(finding, output))?;
    }
    if let Some(before) = &mark.review().before {
        output.line("\n  changed since it was accepted:")?;
        for change in word_changes(before, &review.text) {
            let parts: String = change
                .parts
                .iter()
                .map(|part| part_text(part, output))
                .collect();
            output.line(&format!("    {}: {parts}", change.field))?;
        }
    }
    output.line("\n  now:")?;
    let text = pretty(&review.text);
    for line in UntrustedText::block(&text).to_string().lines() {
        output.line(&format!("    {line}"))?;
    }
    output.line("")
}

fn finding_text(finding: &Finding, output: &Output) -> String {
    let what = rule(&finding.rule).map_or("", |rule| rule.what);
    let severity = output.paint(Paint::Bad, finding.severity.as_str());
    format!(
        "  {severity} {} in {}: {}\n    {what}",
        finding.rule, finding.place, finding.excerpt
    )
}

/// Marks what changed, also without color.
fn part_text(part: &ChangedText, output: &Output) -> String {
    let text = UntrustedText::block(&part.text).to_string();
    match part.change {
        Change::Same => text,
        Change::Removed => output.paint(Paint::Bad, &format!("[-{text}-]")),
        Change::Added => output.paint(Paint::Good, &format!("{{+{text}+}}")),
    }
}

/// A definition with one member per line; instructions as they are.
fn pretty(text: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(text).ok();
    let value = value.filter(serde_json::Value::is_object);
    value
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| text.to_owned())
}
