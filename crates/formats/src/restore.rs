//! Mapping of a model's arguments back to the tool's own schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::alias::NameRule;

/// Undoes the changes of a conversion in the arguments of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restore {
    /// Deepest paths first, because outer names must still be the model's when an inner rule is applied.
    rules: Vec<(ArgumentPath, Rule)>,
}

/// The path from the root of the arguments to an object: property names, or `None` for every item of an array.
pub(crate) type ArgumentPath = Vec<Option<String>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Rename { from: String, to: String },
    DropNull(String),
}

impl Restore {
    /// Whether arguments are unchanged.
    pub fn is_identity(&self) -> bool {
        self.rules.is_empty()
    }

    /// Converts the model's arguments to the tool's own schema.
    pub fn apply(&self, mut arguments: Value) -> Value {
        for (path, rule) in &self.rules {
            apply_at(&mut arguments, path, rule);
        }
        arguments
    }

    /// Converts example arguments of the tool to the names that the model uses; root parameters only.
    pub(crate) fn to_model_names(&self, mut arguments: Value) -> Value {
        for (path, rule) in &self.rules {
            if let (Rule::Rename { from, to }, Value::Object(map), true) =
                (rule, &mut arguments, path.is_empty())
                && let Some(value) = map.shift_remove(to)
            {
                map.insert(from.clone(), value);
            }
        }
        arguments
    }
}

fn apply_at(value: &mut Value, path: &[Option<String>], rule: &Rule) {
    match (path.split_first(), value) {
        (Some((Some(name), rest)), Value::Object(map)) => {
            if let Some(value) = map.get_mut(name) {
                apply_at(value, rest, rule);
            }
        }
        (Some((None, rest)), Value::Array(list)) => {
            for value in list {
                apply_at(value, rest, rule);
            }
        }
        (None, Value::Object(map)) => match rule {
            Rule::Rename { from, to } => {
                if let Some(value) = map.shift_remove(from) {
                    map.insert(to.clone(), value);
                }
            }
            Rule::DropNull(name) => {
                if map.get(name).is_some_and(Value::is_null) {
                    map.shift_remove(name);
                }
            }
        },
        _ => {}
    }
}

/// Collects the rules while a schema is rewritten.
#[derive(Clone, Debug, Default)]
pub(crate) struct RestoreBuilder {
    /// For each path: the model's names mapped to the tool's. Alternatives at one path share the map.
    names: BTreeMap<ArgumentPath, BTreeMap<String, String>>,
    dropped_nulls: BTreeSet<(ArgumentPath, String)>,
    real_nulls: BTreeSet<(ArgumentPath, String)>,
}

impl RestoreBuilder {
    /// Chooses the name of a property: its own if the rule allows it and it is unique.
    pub(crate) fn name(
        &mut self,
        path: &ArgumentPath,
        name: &str,
        own: &[String],
        rule: NameRule,
    ) -> String {
        let taken = self.names.entry(path.clone()).or_default();
        let is_free = |alias: &str, taken: &BTreeMap<String, String>| {
            taken.get(alias).is_none_or(|of| of == name)
                && (alias == name || !own.iter().any(|n| n == alias))
        };
        let mut alias = if rule.fits(name) {
            name.to_owned()
        } else {
            rule.replaced(name, rule.max)
        };
        let mut number = 2_usize;
        while !is_free(&alias, taken) {
            let ending = format!("_{number}");
            alias = format!("{}{ending}", rule.replaced(name, rule.max - ending.len()));
            number += 1;
        }
        taken.insert(alias.clone(), name.to_owned());
        alias
    }

    /// Records an optional property for which the model sends `null` to omit it.
    pub(crate) fn drops_null(&mut self, path: &ArgumentPath, name: &str) {
        self.dropped_nulls.insert((path.clone(), name.to_owned()));
    }

    /// Records a property for which `null` is a value.
    pub(crate) fn means_null(&mut self, path: &ArgumentPath, name: &str) {
        self.real_nulls.insert((path.clone(), name.to_owned()));
    }

    /// Whether alternatives at one path disagree about the meaning of `null`.
    pub(crate) fn is_ambiguous(&self) -> bool {
        !self.dropped_nulls.is_disjoint(&self.real_nulls)
    }

    pub(crate) fn build(self) -> Restore {
        let mut rules: Vec<(ArgumentPath, Rule)> = Vec::new();
        for (path, name) in self.dropped_nulls {
            rules.push((path, Rule::DropNull(name)));
        }
        for (path, names) in self.names {
            for (from, to) in names {
                if from != to {
                    rules.push((path.clone(), Rule::Rename { from, to }));
                }
            }
        }
        // Stable sort: rules of one depth keep their order, nulls before names.
        rules.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Restore { rules }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::rename::PARAMETER;
    use serde_json::json;

    #[test]
    fn r_reg_08_names_that_collide_stay_distinct_and_are_restored() {
        let mut builder = RestoreBuilder::default();
        let root = ArgumentPath::new();
        let own = ["a<", "a>", "a_"].map(str::to_owned);
        let names: Vec<String> = own
            .iter()
            .map(|name| builder.name(&root, name, &own, PARAMETER))
            .collect();
        assert_eq!(names, ["a__2", "a__3", "a_"]);
        let restored = builder
            .build()
            .apply(json!({"a__2": 1, "a__3": 2, "a_": 3}));
        assert_eq!(restored, json!({"a_": 3, "a<": 1, "a>": 2}));
    }

    #[test]
    fn nulls_for_omitted_values_are_removed_at_every_depth() {
        let mut builder = RestoreBuilder::default();
        builder.drops_null(&vec![Some("list".to_owned()), None], "x");
        builder.drops_null(&ArgumentPath::new(), "y");
        let restored = builder
            .build()
            .apply(json!({"list": [{"x": null, "z": null}, {"x": 1}], "y": null}));
        assert_eq!(restored, json!({"list": [{"z": null}, {"x": 1}]}));
    }
}
