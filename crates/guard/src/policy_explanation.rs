//! Every rule that fits a tool, and why all but one of them lost.

use pegboard_model::{Origin, Policy};

use crate::policy::{
    MatchingRule, PolicyDecision, PolicySubject, RuleSource, Specificity, decide, strictness,
};

/// A rule that fits a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedRule {
    /// The rule, as a person finds it in the configuration.
    pub rule: String,
    /// What it says.
    pub policy: Policy,
    /// Where it stands, when it stands somewhere.
    pub origin: Option<Origin>,
    /// Why it lost; `None` for the rule that decides.
    pub lost_because: Option<String>,
}

/// A decision with everything that spoke for and against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyExplanation {
    /// What holds.
    pub decision: PolicyDecision,
    /// Every rule that fits the tool, the deciding one first and then by closeness.
    pub rules: Vec<ExplainedRule>,
}

/// Decides for a tool and tells why.
pub fn explain_decision(subject: PolicySubject<'_>) -> PolicyExplanation {
    let decision = decide(subject);
    let mut fitting = vec![subject.fallback()];
    subject.for_each_match(|rule| fitting.push(rule));
    fitting.sort_by_key(|rule| std::cmp::Reverse(rule.rank()));
    let best = |of_project: bool| {
        let mut side = fitting
            .iter()
            .filter(|rule| rule.is_from_project == of_project);
        side.next().copied()
    };
    let (own, projects) = (best(false), best(true));
    let projects_decide = match (&own, &projects) {
        (Some(own), Some(projects)) => strictness(projects) > strictness(own),
        _ => false,
    };
    let mut rules: Vec<ExplainedRule> = Vec::with_capacity(fitting.len());
    for rule in &fitting {
        let side = if rule.is_from_project {
            &projects
        } else {
            &own
        };
        let is_best = side.as_ref().is_some_and(|best| is_same(best, rule));
        let lost_because = match (is_best, rule.is_from_project == projects_decide) {
            (true, true) => None,
            (true, false) if rule.is_from_project => Some(
                "a project's file can only tighten, and your own rules are at least as strict"
                    .to_owned(),
            ),
            (true, false) => Some("a rule of the project's file is stricter".to_owned()),
            (false, _) => side.as_ref().map(|best| why_lost(rule, best)),
        };
        let weighed = ExplainedRule {
            rule: subject.rule_name(rule.source),
            policy: rule.effective.policy,
            origin: subject.origin(rule.source),
            lost_because,
        };
        match weighed.lost_because {
            None => rules.insert(0, weighed),
            Some(_) => rules.push(weighed),
        }
    }
    PolicyExplanation { decision, rules }
}

fn is_same(one: &MatchingRule<'_>, other: &MatchingRule<'_>) -> bool {
    match (one.source, other.source) {
        (RuleSource::Table(one), RuleSource::Table(other)) => std::ptr::eq(one, other),
        (RuleSource::Kept(one), RuleSource::Kept(other)) => std::ptr::eq(one, other),
        (RuleSource::Global(one), RuleSource::Global(other)) => std::ptr::eq(one, other),
        (one, other) => std::mem::discriminant(&one) == std::mem::discriminant(&other),
    }
}

fn why_lost(rule: &MatchingRule<'_>, best: &MatchingRule<'_>) -> String {
    if rule.specificity != best.specificity {
        let (this, that) = (kind(rule.specificity), kind(best.specificity));
        return format!("{this} gives way to {that}");
    }
    if rule.weight != best.weight {
        return format!(
            "it pins down {} characters of the whole name, the other {}",
            rule.weight, best.weight
        );
    }
    "of equally close rules the stricter counts".to_owned()
}

fn kind(specificity: Specificity) -> &'static str {
    match specificity {
        Specificity::Default => "the default",
        Specificity::EveryServer => "a rule for every tool",
        Specificity::Server => "the policy of a server",
        Specificity::Annotation => "an annotation",
        Specificity::ServersAnnotation => "an annotation in a server's table",
        Specificity::Pattern => "a pattern",
        Specificity::Name => "an exact name",
        Specificity::Switch => "the switch of the tool",
    }
}
