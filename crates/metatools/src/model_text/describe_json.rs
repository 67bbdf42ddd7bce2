//! Describes one tool as JSON, with the same limit as the text.

use pegboard_catalog::{Description, Parameter, ToolView, describe};
use pegboard_model::{Policy, escape_hidden_values};
use serde_json::{Map, Value, json};

use super::budgeted_text::fits_description;
use super::status::failed_refresh;
use super::wording::{beginning, tidy};

/// Levels of detail, from everything to the bare minimum; the first one that fits is used.
const STEPS: &[Step] = &[
    Step::new(usize::MAX, 200, usize::MAX, usize::MAX, 40, 5),
    Step::new(1200, 60, 400, 400, 20, 5),
    Step::new(700, 40, 140, 90, 10, 3),
    Step::new(400, 30, 120, 40, 6, 0),
    Step::new(300, 20, 90, 0, 4, 0),
    Step::new(160, 8, 60, 0, 2, 0),
    Step::new(60, 0, 0, 0, 0, 0),
];
/// Characters of a default value that is shown.
const DEFAULT: usize = 60;

struct Step {
    description: usize,
    parameters: usize,
    /// Characters of a required parameter's description.
    needed: usize,
    /// Characters of an optional parameter's description.
    optional: usize,
    choices: usize,
    related: usize,
}

impl Step {
    const fn new(
        description: usize,
        parameters: usize,
        needed: usize,
        optional: usize,
        choices: usize,
        related: usize,
    ) -> Self {
        Self {
            description,
            parameters,
            needed,
            optional,
            choices,
            related,
        }
    }
}

/// Describes what a tool does and which arguments it takes, as a JSON object in less than 400 tokens for usual
/// tools. If something was left out, `shortened` contains the call that returns the rest.
pub fn describe_json(view: &ToolView<'_>, include_examples: bool) -> String {
    let mut tool = describe(view);
    tool.description = tidy(&tool.description);
    if !include_examples {
        tool.examples.clear();
    }
    let mut text = String::new();
    for step in STEPS {
        text = escape_hidden_values(&at(step, view, &tool).to_string()).into_owned();
        if fits_description(&text) {
            break;
        }
    }
    text
}

fn at(step: &Step, view: &ToolView<'_>, tool: &Description) -> Value {
    let (description, left) = beginning(&tool.description, step.description);
    let mut cut = left > 0 || tool.parameters.len() > step.parameters;
    let mut parameters: Vec<&Parameter> = tool.parameters.iter().collect();
    if parameters.len() > step.parameters {
        parameters.sort_by_key(|parameter| !parameter.required);
    }
    let parameters: Vec<Value> = parameters
        .into_iter()
        .take(step.parameters)
        .map(|one| parameter(one, step, &mut cut))
        .collect();
    let mut map = Map::new();
    let mut add = |key: &str, value: Value| drop(map.insert(key.to_owned(), value));
    add("name", json!(tool.name));
    add("description", json!(description));
    add("parameters", json!(parameters));
    if step.related > 0 {
        add("examples", json!(tool.examples));
        let related = tool.related.iter().take(step.related);
        add("related", json!(related.collect::<Vec<_>>()));
    }
    let hints = tool.annotations;
    add("read_only", json!(hints.claims_read_only()));
    add("destructive", json!(hints.destructive == Some(true)));
    add("enabled", json!(tool.enabled));
    if tool.policy != Policy::Allow {
        add("policy", json!(tool.policy));
    }
    for (key, text) in [("deprecated", &tool.deprecated), ("note", &tool.note)] {
        if let Some(text) = text {
            add(key, json!(beginning(text, 160).0));
        }
    }
    let failed = view.entry().and_then(|entry| failed_refresh(entry));
    add("stale", json!(failed.is_some()));
    if let Some(failed) = failed {
        add("stale_reason", json!(failed));
    }
    if cut {
        let rest = format!("search_tools(query=\"{}\", detail=\"full\")", tool.name);
        add("shortened", json!(rest));
    }
    Value::Object(map)
}

fn parameter(parameter: &Parameter, step: &Step, cut: &mut bool) -> Value {
    let mut shown = parameter.clone();
    let room = match shown.required {
        true => step.needed,
        false => step.optional,
    };
    if let Some(description) = shown.description.take() {
        let (kept, left) = beginning(description.trim(), room);
        *cut |= left > 0;
        let mark = if left > 0 { "…" } else { "" };
        shown.description = (!kept.is_empty()).then(|| format!("{kept}{mark}"));
    }
    let is_long = |value: &Value| value.to_string().chars().nth(DEFAULT).is_some();
    if shown.default.as_ref().is_some_and(is_long) {
        (shown.default, *cut) = (None, true);
    }
    // Some of the values would look like all of them.
    if shown
        .choices
        .as_ref()
        .is_some_and(|choices| choices.len() > step.choices)
    {
        (shown.choices, *cut) = (None, true);
    }
    json!(shown)
}
