//! What may be done with a tool, and which line of the configuration decided it.
//!
//! The closest rule decides: a tool's own switch, then its exact name, then the pattern with the most literal
//! characters, then an annotation, then its server's `policy`, then the pattern `*` for all servers, then the
//! default. Of equals the stricter counts. The user's rules and a project's are weighed apart, and of both
//! results the stricter counts, so that a project can only tighten.

use pegboard_model::{
    Annotations, AskDestructive, EffectivePolicy, GlobalRules, HintEffect, Layer, Origin, Policy,
    PolicyRule, SEPARATOR, ServerSpec, Tool,
};

use crate::glob;

/// The annotations that a rule can name.
pub const ANNOTATION_RULES: [&str; 2] = ["@destructive", "@read_only"];

/// A tool as the rules look at it.
#[derive(Clone, Copy, Debug)]
pub struct PolicySubject<'a> {
    spec: Option<&'a ServerSpec>,
    global: &'a GlobalRules,
    name: &'a str,
    exposed: &'a str,
    annotations: Annotations,
}

impl<'a> PolicySubject<'a> {
    /// A tool of a server.
    pub fn of_server(spec: &'a ServerSpec, tool: &'a Tool) -> Self {
        Self::named(spec, &tool.name, tool.exposed.as_str(), tool.annotations)
    }

    /// A tool of a server that may not be known yet.
    pub fn named(
        spec: &'a ServerSpec,
        name: &'a str,
        exposed: &'a str,
        annotations: Annotations,
    ) -> Self {
        Self {
            spec: Some(spec),
            global: &spec.rules.global,
            name,
            exposed,
            annotations,
        }
    }

    /// A tool of the host program.
    pub fn of_host(name: &'a str, global: &'a GlobalRules) -> Self {
        Self {
            spec: None,
            global,
            name,
            exposed: name,
            annotations: Annotations::default(),
        }
    }
}

/// The policy of one tool and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// What may be done.
    pub policy: Policy,
    /// Whether a person is asked nevertheless when there is one.
    pub asks_if_possible: bool,
    /// Whether the server's own hints had a say in it.
    pub hints: HintEffect,
    /// The rule that decided, as a person finds it in the configuration.
    pub rule: String,
    /// Where that rule stands, when it stands somewhere.
    pub origin: Option<Origin>,
}

/// How close a rule is to one tool; later is closer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Specificity {
    Default,
    EveryServer,
    Server,
    Annotation,
    ServersAnnotation,
    Pattern,
    Name,
    Switch,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RuleSource<'a> {
    Switch,
    Table(&'a str),
    Kept(&'a PolicyRule),
    ServerPolicy,
    Global(&'a PolicyRule),
    Destructive,
    Nothing,
}

/// A rule that fits a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchingRule<'a> {
    pub(crate) source: RuleSource<'a>,
    pub(crate) effective: EffectivePolicy,
    pub(crate) specificity: Specificity,
    /// Literal characters, as if the whole name with its server had been written.
    pub(crate) weight: usize,
    pub(crate) is_from_project: bool,
}

impl MatchingRule<'_> {
    /// The order in which rules of one side win.
    pub(crate) fn rank(&self) -> (Specificity, usize, Policy) {
        (self.specificity, self.weight, self.effective.policy)
    }
}

/// Decides for a tool, with the words for it.
pub fn decide(subject: PolicySubject<'_>) -> PolicyDecision {
    let decides = winning_rule(subject);
    PolicyDecision {
        policy: decides.effective.policy,
        asks_if_possible: decides.effective.asks_if_possible,
        hints: subject.hint_effect(&decides),
        rule: subject.rule_name(decides.source),
        origin: subject.origin(decides.source),
    }
}

/// The same decision without the words for it, for listings.
pub fn effective_policy(subject: PolicySubject<'_>) -> EffectivePolicy {
    let is_free = subject.global.rules.is_empty()
        && subject.spec.is_none_or(|spec| {
            spec.policy.is_none()
                && spec.policies.is_empty()
                && spec.tools.is_empty()
                && spec.rules.user_rules.is_empty()
        });
    if is_free {
        return subject.fallback().effective;
    }
    let decides = winning_rule(subject);
    EffectivePolicy {
        hints: subject.hint_effect(&decides),
        ..decides.effective
    }
}

/// The strictest of what both sides say; of equals the closest.
fn winning_rule(subject: PolicySubject<'_>) -> MatchingRule<'_> {
    let (mut own, mut projects) = (subject.fallback(), None::<MatchingRule<'_>>);
    subject.for_each_match(|rule| {
        let side = match rule.is_from_project {
            true => projects.get_or_insert(rule),
            false => &mut own,
        };
        if rule.rank() > side.rank() {
            *side = rule;
        }
    });
    match projects {
        Some(projects) if strictness(&projects) > strictness(&own) => projects,
        _ => own,
    }
}

/// Which side's result counts: the stricter; of equals the closer.
pub(crate) fn strictness(rule: &MatchingRule<'_>) -> (Policy, bool, Specificity) {
    let EffectivePolicy {
        policy,
        asks_if_possible,
        ..
    } = rule.effective;
    (policy, asks_if_possible, rule.specificity)
}

impl<'a> PolicySubject<'a> {
    /// What holds when no rule speaks of the tool.
    pub(crate) fn fallback(&self) -> MatchingRule<'a> {
        let ask = self.global.ask_destructive;
        let (source, policy, asks_if_possible) = match ask {
            _ if !is_destructive(self.annotations) => (RuleSource::Nothing, Policy::Allow, false),
            AskDestructive::Never => (RuleSource::Nothing, Policy::Allow, false),
            AskDestructive::Always => (RuleSource::Destructive, Policy::Ask, false),
            AskDestructive::WhenPossible => (RuleSource::Destructive, Policy::Allow, true),
        };
        let hints = match ask {
            // The host program's tools have no hints of a server.
            _ if self.spec.is_none() => HintEffect::None,
            AskDestructive::Never => HintEffect::None,
            AskDestructive::WhenPossible => HintEffect::MayAsk,
            AskDestructive::Always => HintEffect::Decides,
        };
        MatchingRule {
            source,
            effective: EffectivePolicy {
                policy,
                asks_if_possible,
                hints,
            },
            specificity: Specificity::Default,
            weight: 0,
            is_from_project: false,
        }
    }

    /// What other hints of the server could have changed, when this rule decided.
    fn hint_effect(&self, decides: &MatchingRule<'_>) -> HintEffect {
        let Some(spec) = self.spec else {
            return HintEffect::None;
        };
        // A project's rules are weighed apart, so that a closer one of the user's does not outweigh them.
        let own_wins =
            decides.specificity > Specificity::ServersAnnotation && !decides.is_from_project;
        let counts = |is_from_project: bool| is_from_project || !own_wins;
        let is_annotation = |pattern: &str| pattern.starts_with('@');
        let of_server = spec.policies.keys().any(|pattern| is_annotation(pattern))
            && counts(self.is_from_project());
        let mut others = spec.rules.user_rules.iter().chain(&self.global.rules);
        let of_others = others.any(|rule| {
            is_annotation(&rule.pattern) && counts(rule.origin.layer == Layer::Project)
        });
        match of_server || of_others {
            true => HintEffect::Decides,
            false => decides.effective.hints,
        }
    }

    /// Gives every rule that fits, in no order.
    pub(crate) fn for_each_match(&self, mut visit: impl FnMut(MatchingRule<'a>)) {
        if let Some(spec) = self.spec {
            self.for_each_server_match(spec, &mut visit);
        }
        let switched_on = self.switch() == Some(true) && !self.is_from_project();
        for rule in &self.global.rules {
            let Some((specificity, weight)) = self.match_global_pattern(&rule.pattern) else {
                continue;
            };
            let is_from_project = rule.is_from_project();
            if switched_on && !is_from_project && gives_way(specificity, rule.policy) {
                continue;
            }
            visit(MatchingRule {
                source: RuleSource::Global(rule),
                effective: rule.policy.into(),
                specificity,
                weight,
                is_from_project,
            });
        }
    }

    fn for_each_server_match(
        &self,
        spec: &'a ServerSpec,
        visit: &mut impl FnMut(MatchingRule<'a>),
    ) {
        let is_from_project = self.is_from_project();
        let mut tell = |source, policy: Policy, specificity, weight, is_from_project| {
            visit(MatchingRule {
                source,
                effective: policy.into(),
                specificity,
                weight,
                is_from_project,
            });
        };
        let switch = self.switch();
        if switch == Some(false) {
            let specificity = Specificity::Switch;
            tell(
                RuleSource::Switch,
                Policy::Disable,
                specificity,
                0,
                is_from_project,
            );
        }
        // A tool that is switched on by name is not switched off by a broader rule.
        let applies = |specificity, policy| switch != Some(true) || !gives_way(specificity, policy);
        for (pattern, policy) in &spec.policies {
            if let Some((specificity, weight)) = self.match_server_pattern(spec, pattern)
                && applies(specificity, *policy)
            {
                let source = RuleSource::Table(pattern);
                tell(source, *policy, specificity, weight, is_from_project);
            }
        }
        if let Some(policy) = spec.policy
            && applies(Specificity::Server, policy)
        {
            let source = RuleSource::ServerPolicy;
            tell(source, policy, Specificity::Server, 0, is_from_project);
        }
        for rule in &spec.rules.user_rules {
            let fits = match rule.pattern.is_empty() {
                true => Some((Specificity::Server, 0)),
                false => self.match_server_pattern(spec, &rule.pattern),
            };
            if let Some((specificity, weight)) = fits {
                tell(
                    RuleSource::Kept(rule),
                    rule.policy,
                    specificity,
                    weight,
                    false,
                );
            }
        }
    }

    fn is_from_project(&self) -> bool {
        self.spec
            .is_some_and(|spec| spec.origin.layer == Layer::Project)
    }

    fn switch(&self) -> Option<bool> {
        let spec = self.spec?;
        spec.tools.get(self.name).and_then(|tool| tool.enabled)
    }

    /// How closely a pattern of the server's own table fits. It counts as if the server stood before it.
    fn match_server_pattern(
        &self,
        spec: &ServerSpec,
        pattern: &str,
    ) -> Option<(Specificity, usize)> {
        let prefix = spec.name.as_str().len() + SEPARATOR.len();
        if pattern.starts_with('@') {
            return self
                .is_annotated(pattern)
                .then_some((Specificity::ServersAnnotation, 0));
        }
        if pattern == self.name {
            return Some((Specificity::Name, prefix + self.name.len()));
        }
        let fits = glob::is_pattern(pattern) && glob::matches(pattern, self.name);
        fits.then(|| {
            let weight = prefix + glob::literal_characters(pattern);
            (Specificity::Pattern, weight)
        })
    }

    /// How closely a pattern of the table for all servers fits. A pattern with a server part (`server/tool`,
    /// `server__tool`) is compared with the server's configured name and the tool's own name, each with its part:
    /// a tool cannot take another server's place by what it calls itself. A pattern without one is compared with
    /// the tool's own name and with its exposed name, which begins with the configured server.
    fn match_global_pattern(&self, pattern: &str) -> Option<(Specificity, usize)> {
        if pattern.starts_with('@') {
            return self
                .is_annotated(pattern)
                .then_some((Specificity::Annotation, 0));
        }
        let fits = match (self.spec, server_part(pattern)) {
            (Some(spec), Some((server, tool))) => {
                let is_alias = glob::fits(pattern, self.exposed);
                glob::fits(server, spec.name.as_str()) && (glob::fits(tool, self.name) || is_alias)
            }
            _ => glob::fits(pattern, self.name) || glob::fits(pattern, self.exposed),
        };
        if !fits {
            return None;
        }
        if !glob::is_pattern(pattern) {
            // A name of the host program has no server before it.
            let names_server = pattern != self.name;
            let server = self.spec.filter(|_| names_server);
            let prefix = server.map_or(0, |spec| spec.name.as_str().len() + SEPARATOR.len());
            return Some((Specificity::Name, prefix + self.name.len()));
        }
        let literal = glob::literal_characters(pattern);
        Some(match literal {
            0 => (Specificity::EveryServer, 0),
            // `/` counts as the separator that it stands for.
            _ => (
                Specificity::Pattern,
                literal + usize::from(pattern.contains('/')),
            ),
        })
    }

    fn is_annotated(&self, rule: &str) -> bool {
        match rule {
            "@destructive" => is_destructive(self.annotations),
            // Hints that contradict each other are no reason to allow more.
            "@read_only" => {
                self.annotations.read_only == Some(true) && !is_destructive(self.annotations)
            }
            _ => false,
        }
    }

    pub(crate) fn rule_name(&self, source: RuleSource<'_>) -> String {
        let server = self.spec.map_or("", |spec| spec.name.as_str());
        match source {
            RuleSource::Switch => format!("tools.\"{}\".enabled of server {server}", self.name),
            RuleSource::Table(pattern) => format!("policies.\"{pattern}\" of server {server}"),
            RuleSource::Kept(rule) if rule.pattern.is_empty() => {
                format!("policy of server {server} in your own file")
            }
            RuleSource::Kept(rule) => {
                let pattern = &rule.pattern;
                format!("policies.\"{pattern}\" of server {server} in your own file")
            }
            RuleSource::ServerPolicy => format!("policy of server {server}"),
            RuleSource::Global(rule) => format!("policies.\"{}\"", rule.pattern),
            RuleSource::Destructive => {
                let word = self.global.ask_destructive.as_str();
                format!("settings.ask_destructive = \"{word}\"")
            }
            RuleSource::Nothing => "default".to_owned(),
        }
    }

    pub(crate) fn origin(&self, source: RuleSource<'_>) -> Option<Origin> {
        let of_server = |key: String| {
            let spec = self.spec?;
            let line = spec.rules.lines.get(&key).copied();
            Some(Origin {
                line: line.or(spec.origin.line),
                ..spec.origin.clone()
            })
        };
        match source {
            RuleSource::Switch => of_server(format!("tools.{}.enabled", self.name)),
            RuleSource::Table(pattern) => of_server(format!("policies.{pattern}")),
            RuleSource::ServerPolicy => of_server("policy".to_owned()),
            RuleSource::Kept(rule) | RuleSource::Global(rule) => Some(rule.origin.clone()),
            RuleSource::Destructive | RuleSource::Nothing => None,
        }
    }
}

/// The two parts of a pattern that names a server: the first `/` or `__` ends the server's part, as in a tool's name.
/// `None` for a pattern without a server part, such as `delete_*` or `__init__`.
fn server_part(pattern: &str) -> Option<(&str, &str)> {
    let slash = pattern.find('/').map(|at| (at, 1));
    let separator = pattern.find(SEPARATOR).map(|at| (at, SEPARATOR.len()));
    let (at, length) = slash.into_iter().chain(separator).min()?;
    let (server, tool) = (pattern.get(..at)?, pattern.get(at + length..)?);
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

fn gives_way(specificity: Specificity, policy: Policy) -> bool {
    policy == Policy::Disable && specificity < Specificity::Name
}

fn is_destructive(annotations: Annotations) -> bool {
    annotations.destructive == Some(true)
}
