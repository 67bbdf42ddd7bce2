//! The words and colours for how things stand.

use maud::{Markup, html};
use pegboard_catalog::{ServerEntry, ToolView};
use pegboard_hub::{RunState, ServerHealth};
use pegboard_model::{ActivityKind, Annotations, DiscoveryStatus, Policy, TrustState};

/// The tones of the colour system; each is a class of the style sheet.
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

/// The state of a server whose process ended although nothing stopped it.
pub(crate) const CRASHED: &str = "ended by itself";

/// How a server stands, in one word. What a person should look at comes before what is fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerStatus {
    pub(crate) word: &'static str,
    pub(crate) tone: Tone,
    pub(crate) is_busy: bool,
}

impl ServerStatus {
    pub(crate) fn of(entry: &ServerEntry, health: Option<&ServerHealth>) -> Self {
        let state = health.map_or(RunState::Configured, |health| health.state);
        let still = |word, tone| Self {
            word,
            tone,
            is_busy: false,
        };
        let moving = |word| Self {
            word,
            tone: Tone::Run,
            is_busy: true,
        };
        match (
            entry.spec.enabled,
            entry.spec.approval,
            entry.status(),
            state,
        ) {
            (false, ..) => still("disabled", Tone::Off),
            (_, TrustState::Pending, ..) => still("needs consent", Tone::Warn),
            (_, TrustState::Changed, ..) => still("changed, needs consent", Tone::Warn),
            (_, _, DiscoveryStatus::Discovering, _) => moving("discovering"),
            (_, _, _, RunState::Busy) => moving("busy"),
            (_, _, DiscoveryStatus::Failed, _) => still("failed", Tone::Bad),
            (_, _, _, RunState::Running) => still("running", Tone::Run),
            _ if health.is_some_and(|health| health.crashed_at.is_some()) => {
                still(CRASHED, Tone::Warn)
            }
            (_, _, DiscoveryStatus::Never, _) => still("never asked", Tone::Off),
            _ if entry.stale => still("known, stale", Tone::Warn),
            _ => still("known", Tone::Ok),
        }
    }

    pub(crate) fn render(self) -> Markup {
        let busy = if self.is_busy { " busy" } else { "" };
        html! { span class=(format!("state {}{busy}", self.tone.class())) { (self.word) } }
    }
}

/// A policy as a chip. A tool that asks only when a person is there says so.
pub(crate) fn policy_chip(policy: Policy, asks_if_possible: bool) -> Markup {
    let (word, class) = match (policy, asks_if_possible) {
        (Policy::Allow, true) => ("asks if possible", "chip warn"),
        (Policy::Allow, false) => ("allow", "chip"),
        (Policy::Ask, _) => ("ask", "chip warn"),
        (Policy::Deny, _) => ("deny", "chip bad"),
        (Policy::Disable, _) => ("disable", "chip bad"),
    };
    html! { span class=(class) { (word) } }
}

/// How a tool stands, in one word.
pub(crate) fn tool_status(view: &ToolView<'_>) -> (&'static str, Tone) {
    if !view.enabled() {
        return ("not offered", Tone::Off);
    }
    if view.deprecated().is_some() {
        return ("deprecated", Tone::Warn);
    }
    if view.note().is_some() {
        return ("look-alike name", Tone::Warn);
    }
    match view.status() {
        DiscoveryStatus::Failed => ("server failed", Tone::Bad),
        DiscoveryStatus::Discovering => ("discovering", Tone::Run),
        _ if view.stale() => ("stale", Tone::Warn),
        _ => ("offered", Tone::Ok),
    }
}

/// What a server hints about a tool, as chips; hints that were not given are left out.
pub(crate) fn hint_chips(hints: Annotations) -> Markup {
    let told = [
        (
            hints.read_only,
            "read-only",
            "changes things",
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
            "reaches out",
            "stays local",
            "chip",
            "chip",
        ),
    ];
    html! {
        @for (hint, yes, no, class_yes, class_no) in told {
            @match hint {
                Some(true) => span class=(class_yes) { (yes) },
                Some(false) => span class=(class_no) { (no) },
                None => {},
            }
        }
    }
}

/// Whether a line of the activity log tells of something good.
pub(crate) fn outcome_tone(kind: ActivityKind, outcome: &str) -> Tone {
    match (kind, outcome) {
        (ActivityKind::Config, _) | (_, "asked") => Tone::Off,
        (_, "ok" | "once" | "session" | "always") => Tone::Ok,
        (ActivityKind::Approval, _)
        | (ActivityKind::Discovery, "changed")
        | (_, "SCHEMA_OUTPUT_MISMATCH") => Tone::Warn,
        _ => Tone::Bad,
    }
}
