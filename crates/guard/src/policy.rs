//! The policy decision for a tool, with the rule that decided it.
//!
//! The most specific rule wins: `enabled` of the tool, then its exact name, then the pattern with the most literal
//! characters, then an annotation, then the server's `policy`, then the pattern `*` for all servers, then the default.
//! Among equally specific rules the stricter one wins. The rules of the user and of a project are evaluated
//! separately, and the stricter result wins, so that a project can only tighten.

use pegboard_model::{
    Annotations, AskDestructive, EffectivePolicy, GlobalRules, HintEffect, Layer, Origin, Policy,
    PolicyRule, SEPARATOR, ServerSpec, Tool,
};

use crate::glob;

/// The annotations that a rule can match.
pub const ANNOTATION_RULES: [&str; 2] = ["@destructive", "@read_only"];

/// The tool properties that policy rules match.
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

    /// A tool of a server, given by its names; it does not have to be discovered.
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

/// The policy of one tool and the rule that determined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// What is permitted.
    pub policy: Policy,
    /// Whether approval is requested if a user can be asked.
    pub asks_if_possible: bool,
    /// How the server's annotations influence the decision.
    pub hints: HintEffect,
    /// The deciding rule as it is written in the configuration.
    pub rule: String,
    /// Where that rule is written; `None` for a default.
    pub origin: Option<Origin>,
}

/// How specifically a rule matches a tool, in ascending order.
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

/// The kind and source of a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RuleSource<'a> {
    Switch,
    Table(&'a str),
    UserRule(&'a PolicyRule),
    ServerPolicy,
    Global(&'a PolicyRule),
    Destructive,
    Nothing,
}

/// A rule that matches a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchingRule<'a> {
    pub(crate) source: RuleSource<'a>,
    pub(crate) effective: EffectivePolicy,
    pub(crate) specificity: Specificity,
    /// Number of literal characters, as if the pattern included the server name.
    pub(crate) weight: usize,
    pub(crate) is_from_project: bool,
}

impl MatchingRule<'_> {
    /// Sort key among the rules of the user or of the project; the highest wins.
    pub(crate) fn rank(&self) -> (Specificity, usize, Policy) {
        (self.specificity, self.weight, self.effective.policy)
    }
}

/// Decides the policy of a tool and names the deciding rule.
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

/// The same decision without the rule name; cheaper, for listings.
pub fn effective_policy(subject: PolicySubject<'_>) -> EffectivePolicy {
    let has_no_rules = subject.global.rules.is_empty()
        && subject.spec.is_none_or(|spec| {
            spec.policy.is_none()
                && spec.policies.is_empty()
                && spec.tools.is_empty()
                && spec.rules.user_rules.is_empty()
        });
    if has_no_rules {
        return subject.fallback().effective;
    }
    let decides = winning_rule(subject);
    EffectivePolicy {
        hints: subject.hint_effect(&decides),
        ..decides.effective
    }
}

/// The stricter of the user's and the project's winning rules; if equal, the more specific one.
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

/// Sort key between the user's and the project's winning rule: strictness, then specificity.
pub(crate) fn strictness(rule: &MatchingRule<'_>) -> (Policy, bool, Specificity) {
    let EffectivePolicy {
        policy,
        asks_if_possible,
        ..
    } = rule.effective;
    (policy, asks_if_possible, rule.specificity)
}

impl<'a> PolicySubject<'a> {
    /// The default, which applies if no rule matches.
    pub(crate) fn fallback(&self) -> MatchingRule<'a> {
        let ask = self.global.ask_destructive;
        let (source, policy, asks_if_possible) = match ask {
            _ if !is_destructive(self.annotations) => (RuleSource::Nothing, Policy::Allow, false),
            AskDestructive::Never => (RuleSource::Nothing, Policy::Allow, false),
            AskDestructive::Always => (RuleSource::Destructive, Policy::Ask, false),
            AskDestructive::WhenPossible => (RuleSource::Destructive, Policy::Allow, true),
        };
        let hints = match ask {
            // Tools of the host program have no annotations.
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

    /// What other annotations of the tool would change, given the rule that decided.
    fn hint_effect(&self, decides: &MatchingRule<'_>) -> HintEffect {
        let Some(spec) = self.spec else {
            return HintEffect::None;
        };
        // A project's rules are evaluated separately, so a more specific user rule does not override them.
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

    /// Calls `visit` for every matching rule, in no particular order.
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
            if switched_on && !is_from_project && yields_to_enabled(specificity, rule.policy) {
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
        let mut add = |source, policy: Policy, specificity, weight, is_from_project| {
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
            add(
                RuleSource::Switch,
                Policy::Disable,
                specificity,
                0,
                is_from_project,
            );
        }
        // A tool that is enabled by name is not disabled by a less specific rule.
        let applies =
            |specificity, policy| switch != Some(true) || !yields_to_enabled(specificity, policy);
        for (pattern, policy) in &spec.policies {
            if let Some((specificity, weight)) = self.match_server_pattern(spec, pattern)
                && applies(specificity, *policy)
            {
                let source = RuleSource::Table(pattern);
                add(source, *policy, specificity, weight, is_from_project);
            }
        }
        if let Some(policy) = spec.policy
            && applies(Specificity::Server, policy)
        {
            let source = RuleSource::ServerPolicy;
            add(source, policy, Specificity::Server, 0, is_from_project);
        }
        for rule in &spec.rules.user_rules {
            let fits = match rule.pattern.is_empty() {
                true => Some((Specificity::Server, 0)),
                false => self.match_server_pattern(spec, &rule.pattern),
            };
            if let Some((specificity, weight)) = fits {
                add(
                    RuleSource::UserRule(rule),
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

    /// Matches a pattern of the server's own `policies` table. Its weight counts as if it included the server name.
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

    /// Matches a pattern of the global `policies` table. A pattern with a server part (`server/tool`, `server__tool`) is
    /// matched part by part against the configured server name and the tool's own name, so that a tool cannot
    /// impersonate another server by its name. A pattern without a server part is matched against the tool's own name
    /// and its exposed name, which starts with the configured server name.
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
            // A tool of the host program has no server prefix.
            let names_server = pattern != self.name;
            let server = self.spec.filter(|_| names_server);
            let prefix = server.map_or(0, |spec| spec.name.as_str().len() + SEPARATOR.len());
            return Some((Specificity::Name, prefix + self.name.len()));
        }
        let literal = glob::literal_characters(pattern);
        Some(match literal {
            0 => (Specificity::EveryServer, 0),
            // `/` counts like the two characters of `__`.
            _ => (
                Specificity::Pattern,
                literal + usize::from(pattern.contains('/')),
            ),
        })
    }

    fn is_annotated(&self, rule: &str) -> bool {
        match rule {
            "@destructive" => is_destructive(self.annotations),
            // Contradictory annotations do not make the policy more permissive.
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
            RuleSource::UserRule(rule) if rule.pattern.is_empty() => {
                format!("policy of server {server} in your own file")
            }
            RuleSource::UserRule(rule) => {
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
            RuleSource::UserRule(rule) | RuleSource::Global(rule) => Some(rule.origin.clone()),
            RuleSource::Destructive | RuleSource::Nothing => None,
        }
    }
}

/// Splits a pattern with a server part at the first `/` or `__`, as in a tool name. `None` for a pattern without a
/// server part, such as `delete_*` or `__init__`.
fn server_part(pattern: &str) -> Option<(&str, &str)> {
    let slash = pattern.find('/').map(|at| (at, 1));
    let separator = pattern.find(SEPARATOR).map(|at| (at, SEPARATOR.len()));
    let (at, length) = slash.into_iter().chain(separator).min()?;
    let (server, tool) = (pattern.get(..at)?, pattern.get(at + length..)?);
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

fn yields_to_enabled(specificity: Specificity, policy: Policy) -> bool {
    policy == Policy::Disable && specificity < Specificity::Name
}

fn is_destructive(annotations: Annotations) -> bool {
    annotations.destructive == Some(true)
}
