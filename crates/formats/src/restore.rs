//! From what the model sent to what the tool takes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::alias::NameRule;

/// Undoes what a conversion changed in the form of the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restore {
    /// Deepest places first, because names further up are still the model's while one goes down.
    rules: Vec<(Place, Rule)>,
}

/// Steps from the root of the arguments to an object: a property's name, or `None` for every item of a list.
pub(crate) type Place = Vec<Option<String>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Rename { from: String, to: String },
    DropNull(String),
}

impl Restore {
    /// Whether arguments pass as they are.
    pub fn is_identity(&self) -> bool {
        self.rules.is_empty()
    }

    /// The arguments as the tool's own schema describes them.
    pub fn apply(&self, mut arguments: Value) -> Value {
        for (place, rule) in &self.rules {
            apply_at(&mut arguments, place, rule);
        }
        arguments
    }

    /// Example arguments of the tool as the model would send them: parameters of the root get their new names.
    pub(crate) fn undo_names(&self, mut arguments: Value) -> Value {
        for (place, rule) in &self.rules {
            if let (Rule::Rename { from, to }, Value::Object(map), true) =
                (rule, &mut arguments, place.is_empty())
                && let Some(value) = map.shift_remove(to)
            {
                map.insert(from.clone(), value);
            }
        }
        arguments
    }
}

fn apply_at(value: &mut Value, place: &[Option<String>], rule: &Rule) {
    match (place.split_first(), value) {
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

/// Gathers the rules while a schema is rewritten.
#[derive(Clone, Debug, Default)]
pub(crate) struct RestoreBuilder {
    /// At a place: the model's name to the tool's. Alternatives at one place share it.
    names: BTreeMap<Place, BTreeMap<String, String>>,
    dropped_nulls: BTreeSet<(Place, String)>,
    real_nulls: BTreeSet<(Place, String)>,
}

impl RestoreBuilder {
    /// The name that a property gets: its own where the rule takes it and no other has it.
    pub(crate) fn name(
        &mut self,
        place: &Place,
        name: &str,
        own: &[String],
        rule: NameRule,
    ) -> String {
        let taken = self.names.entry(place.clone()).or_default();
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

    /// An optional property, for which the model sends `null` when it leaves it out.
    pub(crate) fn drops_null(&mut self, place: &Place, name: &str) {
        self.dropped_nulls.insert((place.clone(), name.to_owned()));
    }

    /// A property whose `null` is the tool's own.
    pub(crate) fn means_null(&mut self, place: &Place, name: &str) {
        self.real_nulls.insert((place.clone(), name.to_owned()));
    }

    /// Whether alternatives at one place disagree about what `null` means.
    pub(crate) fn is_ambiguous(&self) -> bool {
        !self.dropped_nulls.is_disjoint(&self.real_nulls)
    }

    pub(crate) fn build(self) -> Restore {
        let mut rules: Vec<(Place, Rule)> = Vec::new();
        for (place, name) in self.dropped_nulls {
            rules.push((place, Rule::DropNull(name)));
        }
        for (place, names) in self.names {
            for (from, to) in names {
                if from != to {
                    rules.push((place.clone(), Rule::Rename { from, to }));
                }
            }
        }
        // Stable: rules of one depth keep their order, nulls before names.
        rules.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        Restore { rules }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::rename::PARAMETER;
    use serde_json::json;

    #[test]
    fn r_reg_08_names_that_become_alike_stay_apart_and_come_back() {
        let mut builder = RestoreBuilder::default();
        let root = Place::new();
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
    fn nulls_that_stand_for_nothing_go_at_every_depth() {
        let mut builder = RestoreBuilder::default();
        builder.drops_null(&vec![Some("list".to_owned()), None], "x");
        builder.drops_null(&Place::new(), "y");
        let restored = builder
            .build()
            .apply(json!({"list": [{"x": null, "z": null}, {"x": 1}], "y": null}));
        assert_eq!(restored, json!({"list": [{"z": null}, {"x": 1}]}));
    }
}
