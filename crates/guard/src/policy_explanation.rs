//! All rules that match a tool, and why each of the others did not decide.

use pegboard_model::{Origin, Policy};

use crate::policy::{
    MatchingRule, PolicyDecision, PolicySubject, RuleSource, Specificity, decide, strictness,
};

/// A matching rule with the reason why it lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedRule {
    /// The rule as it is written in the configuration.
    pub rule: String,
    /// The rule's policy.
    pub policy: Policy,
    /// Where the rule is written; `None` for a default.
    pub origin: Option<Origin>,
    /// Why another rule decided instead; `None` for the deciding rule.
    pub lost_because: Option<String>,
}

/// A policy decision with all matching rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyExplanation {
    /// The decision.
    pub decision: PolicyDecision,
    /// All matching rules: the deciding one first, then by specificity.
    pub rules: Vec<ExplainedRule>,
}

/// Decides the policy of a tool and explains the decision.
pub fn explain_decision(subject: PolicySubject<'_>) -> PolicyExplanation {
    let decision = decide(subject);
    let mut matching = vec![subject.fallback()];
    subject.for_each_match(|rule| matching.push(rule));
    matching.sort_by_key(|rule| std::cmp::Reverse(rule.rank()));
    let best = |of_project: bool| {
        let mut side = matching
            .iter()
            .filter(|rule| rule.is_from_project == of_project);
        side.next().copied()
    };
    let (own, projects) = (best(false), best(true));
    let projects_decide = match (&own, &projects) {
        (Some(own), Some(projects)) => strictness(projects) > strictness(own),
        _ => false,
    };
    let mut rules: Vec<ExplainedRule> = Vec::with_capacity(matching.len());
    for rule in &matching {
        let side = if rule.is_from_project {
            &projects
        } else {
            &own
        };
        let is_best = side.as_ref().is_some_and(|best| is_same(best, rule));
        let lost_because = match (is_best, rule.is_from_project == projects_decide) {
            (true, true) => None,
            (true, false) if rule.is_from_project => Some(
                "a project's rules can only tighten, and your own rules are at least as strict"
                    .to_owned(),
            ),
            (true, false) => Some("a rule of the project is stricter".to_owned()),
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
        (RuleSource::UserRule(one), RuleSource::UserRule(other)) => std::ptr::eq(one, other),
        (RuleSource::Global(one), RuleSource::Global(other)) => std::ptr::eq(one, other),
        (one, other) => std::mem::discriminant(&one) == std::mem::discriminant(&other),
    }
}

fn why_lost(rule: &MatchingRule<'_>, best: &MatchingRule<'_>) -> String {
    if rule.specificity != best.specificity {
        let (this, that) = (kind(rule.specificity), kind(best.specificity));
        return format!("{this} is less specific than {that}");
    }
    if rule.weight != best.weight {
        return format!(
            "it has {} literal characters, the deciding rule {}",
            rule.weight, best.weight
        );
    }
    "among equally specific rules the stricter one decides".to_owned()
}

fn kind(specificity: Specificity) -> &'static str {
    match specificity {
        Specificity::Default => "the default",
        Specificity::EveryServer => "a rule for every tool",
        Specificity::Server => "a server's `policy`",
        Specificity::Annotation => "an annotation",
        Specificity::ServersAnnotation => "an annotation in a server's table",
        Specificity::Pattern => "a pattern",
        Specificity::Name => "an exact name",
        Specificity::Switch => "`enabled` of the tool",
    }
}
