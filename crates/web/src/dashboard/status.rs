//! Labels and colours of states.

use maud::{Markup, html};
use pegboard_catalog::{ServerEntry, ToolView};
use pegboard_hub::{RunState, ServerHealth};
use pegboard_model::{ActivityKind, Annotations, DiscoveryStatus, LoginState, Policy, TrustState};

/// Colour classes of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    Bad,
    Warn,
    Run,
    Ok,
    Off,
}

impl Tone {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::Run => "run",
            Self::Ok => "ok",
            Self::Off => "off",
        }
    }
}

/// The label of a server whose list is past its TTL. Nothing is wrong with it.
pub(crate) const CACHED: &str = "known, cached";
/// The label of a server whose process ended unexpectedly.
pub(crate) const CRASHED: &str = "crashed";

/// The status of a server. States that need attention take precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerStatus {
    pub(crate) label: &'static str,
    pub(crate) tone: Tone,
    pub(crate) is_busy: bool,
}

impl ServerStatus {
    pub(crate) fn of(entry: &ServerEntry, health: &ServerHealth) -> Self {
        let idle = |label, tone| Self {
            label,
            tone,
            is_busy: false,
        };
        let active = |label| Self {
            label,
            tone: Tone::Run,
            is_busy: true,
        };
        let (spec, state) = (&entry.spec, health.state);
        match (spec.enabled, spec.trust_state, entry.status(), state) {
            (false, ..) => idle("disabled", Tone::Off),
            (_, TrustState::Pending, ..) => idle("not trusted", Tone::Warn),
            (_, TrustState::Changed, ..) => idle("changed, not trusted", Tone::Warn),
            (_, _, DiscoveryStatus::Discovering, _) => active("discovering"),
            _ if health.login.as_ref().is_some_and(LoginState::needs_person) => {
                let words = health.login.as_ref().map_or("", LoginState::words);
                let is_lost = matches!(health.login, Some(LoginState::Expired { .. }));
                idle(words, if is_lost { Tone::Bad } else { Tone::Warn })
            }
            (_, _, _, RunState::Busy) => active("busy"),
            (_, _, DiscoveryStatus::Failed, _) => idle("failed", Tone::Bad),
            (_, _, _, RunState::Running) => idle("running", Tone::Run),
            _ if health.crashed_at.is_some() => idle(CRASHED, Tone::Warn),
            (_, _, DiscoveryStatus::Never, _) => idle("undiscovered", Tone::Off),
            _ if entry.stale => idle(CACHED, Tone::Ok),
            _ => idle("known", Tone::Ok),
        }
    }

    pub(crate) fn render(self) -> Markup {
        let busy = if self.is_busy { " busy" } else { "" };
        html! { span class=(format!("state {}{busy}", self.tone.class())) { (self.label) } }
    }
}

/// A policy as a chip.
pub(crate) fn policy_chip(policy: Policy, asks_if_possible: bool) -> Markup {
    let (label, class) = match (policy, asks_if_possible) {
        (Policy::Allow, true) => ("asks if possible", "chip warn"),
        (Policy::Allow, false) => ("allow", "chip"),
        (Policy::Ask, _) => ("ask", "chip warn"),
        (Policy::Deny, _) => ("deny", "chip bad"),
        (Policy::Disable, _) => ("disable", "chip bad"),
    };
    html! { span class=(class) { (label) } }
}

/// The status of a tool.
pub(crate) fn tool_status(view: &ToolView<'_>) -> (&'static str, Tone) {
    if view.is_held() {
        return ("awaits review", Tone::Warn);
    }
    if !view.enabled() {
        return ("not offered", Tone::Off);
    }
    if view.deprecated().is_some() {
        return ("deprecated", Tone::Warn);
    }
    if view.review().is_some_and(|review| review.note().is_some()) {
        return ("not reviewed", Tone::Warn);
    }
    if view.note().is_some() {
        return ("look-alike name", Tone::Warn);
    }
    match view.status() {
        DiscoveryStatus::Failed => ("server failed", Tone::Bad),
        DiscoveryStatus::Discovering => ("discovering", Tone::Run),
        _ => ("offered", Tone::Ok),
    }
}

/// A tool's annotations as chips; absent ones are left out.
pub(crate) fn hint_chips(hints: Annotations) -> Markup {
    let rows = [
        (
            hints.read_only,
            "read-only",
            "not read-only",
            "chip ok",
            "chip",
        ),
        (
            hints.destructive,
            "destructive",
            "not destructive",
            "chip bad",
            "chip",
        ),
        (
            hints.idempotent,
            "idempotent",
            "not idempotent",
            "chip",
            "chip",
        ),
        (
            hints.open_world,
            "open world",
            "closed world",
            "chip",
            "chip",
        ),
    ];
    html! {
        @for (hint, yes, no, class_yes, class_no) in rows {
            @match hint {
                Some(true) => span class=(class_yes) { (yes) },
                Some(false) => span class=(class_no) { (no) },
                None => {},
            }
        }
    }
}

/// The colour of an activity entry.
pub(crate) fn outcome_tone(kind: ActivityKind, outcome: &str) -> Tone {
    match (kind, outcome) {
        (ActivityKind::Config, _) => Tone::Off,
        (_, "ok" | "once" | "session" | "always") => Tone::Ok,
        (ActivityKind::Approval, _)
        | (ActivityKind::Discovery, "changed")
        | (_, "SCHEMA_OUTPUT_MISMATCH") => Tone::Warn,
        _ => Tone::Bad,
    }
}
