//! Describes one tool in less than 400 tokens.

use std::fmt::Write;

use pegboard_catalog::{ToolView, generate_example, related_tools};
use pegboard_model::{Policy, ToolExample, escape_hidden_values};

use super::budgeted_text::fits_description;
use super::instructions;
use super::parameter_lines::{ArgumentLimits, DetailLimits, parameter_lines};
use super::status::failed_refresh;
use super::wording::{beginning, line, tidy};

/// Levels of detail, from everything to the bare minimum; the first one that fits is used. Objects inside optional
/// arguments are dropped before the descriptions of arguments, those of required arguments last.
const STEPS: &[Step] = &[
    Step::new(usize::MAX, 200, (usize::MAX, 3), (usize::MAX, 3), 40, 5),
    Step::new(1200, 60, (400, 2), (400, 2), 20, 5),
    Step::new(900, 60, (220, 2), (220, 2), 12, 5),
    Step::new(700, 40, (140, 2), (140, 2), 10, 3),
    Step::new(600, 40, (120, 1), (90, 1), 8, 3),
    Step::new(600, 40, (120, 1), (90, 0), 8, 3),
    Step::new(500, 30, (120, 1), (60, 0), 6, 2),
    Step::new(400, 30, (120, 1), (40, 0), 6, 0),
    Step::new(350, 24, (90, 1), (0, 0), 5, 0),
    Step::new(300, 20, (90, 0), (0, 0), 4, 0),
    Step::new(240, 12, (60, 0), (0, 0), 3, 0),
    Step::new(160, 6, (60, 0), (0, 0), 2, 0),
    Step::new(160, 6, (0, 0), (0, 0), 2, 0),
    Step::new(60, 0, (0, 0), (0, 0), 0, 0),
];
/// Examples up to this many characters are shown at every level of detail that shows examples; longer ones only at
/// the first.
const SHORT_EXAMPLE: usize = 200;

struct Step {
    description: usize,
    limits: DetailLimits,
    related: usize,
}

impl Step {
    /// `needed` and `optional`: characters of an argument's description, and levels of nested objects.
    const fn new(
        description: usize,
        arguments: usize,
        needed: (usize, usize),
        optional: (usize, usize),
        choices: usize,
        related: usize,
    ) -> Self {
        let limits = DetailLimits {
            arguments,
            needed: ArgumentLimits {
                description: needed.0,
                levels: needed.1,
            },
            optional: ArgumentLimits {
                description: optional.0,
                levels: optional.1,
            },
            choices,
        };
        Self {
            description,
            limits,
            related,
        }
    }
}

/// Describes what a tool does and which arguments it takes, in less than 400 tokens. Shortened parts are marked and
/// name the call that returns the rest.
pub fn describe_text(view: &ToolView<'_>, include_examples: bool) -> String {
    let schema = view.input_schema();
    let description = ToolDescription {
        view,
        schema,
        description: tidy(&view.description()),
        examples: if include_examples {
            examples(view, schema)
        } else {
            Vec::new()
        },
        related: related_tools(view),
        notes: notes(view),
    };
    let mut text = String::new();
    for step in STEPS {
        text = description.at(step);
        if fits_description(&text) {
            break;
        }
    }
    text
}

struct ToolDescription<'a> {
    view: &'a ToolView<'a>,
    schema: &'a str,
    description: String,
    examples: Vec<String>,
    related: Vec<String>,
    notes: String,
}

impl ToolDescription<'_> {
    fn at(&self, step: &Step) -> String {
        let name = self.view.exposed();
        let rest = format!("search_tools(query=\"{name}\", detail=\"full\")");
        let (kept, left) = beginning(&self.description, step.description);
        let mut text = format!("{name}\n{kept}");
        if left > 0 {
            let _ = write!(text, "… ({left} more characters: {rest})");
        }
        text.push_str(&self.notes);
        let (parameters, cut) = parameter_lines(self.schema, step.limits);
        match parameters.is_empty() {
            true => text.push_str("\nNo parameters."),
            false => {
                let _ = write!(text, "\nParameters:\n{}", parameters.join("\n"));
            }
        }
        let roomy = step.description == usize::MAX;
        let shown = self
            .examples
            .iter()
            .filter(|example| roomy || example.chars().count() <= SHORT_EXAMPLE);
        for example in shown.take(if roomy {
            3
        } else {
            usize::from(step.related > 0)
        }) {
            let _ = write!(text, "\nExample: {example}");
        }
        let related: Vec<String> = self
            .related
            .iter()
            .take(step.related)
            .map(|name| line(name, 64))
            .collect();
        if !related.is_empty() {
            let _ = write!(text, "\nRelated: {}", related.join(", "));
        }
        if let Some(entry) = self.view.entry().filter(|_| step.related > 0)
            && instructions::exist(entry)
        {
            let server = entry.name();
            let _ = write!(
                text,
                "\nIts server's instructions: list_available_tools(category=\"{server}\")"
            );
        }
        if cut && left == 0 {
            let _ = write!(text, "\nShortened; in full: {rest}");
        }
        text
    }
}

fn examples(view: &ToolView<'_>, schema: &str) -> Vec<String> {
    let own = view
        .user_override()
        .map(|user| user.examples.as_slice())
        .unwrap_or_default();
    let shown = |example: &ToolExample| {
        let mut text = escape_hidden_values(&example.arguments.to_string()).into_owned();
        if let Some(description) = &example.description {
            let _ = write!(text, " ({})", line(description, 100));
        }
        if let Some(output) = &example.expected_output {
            // A string is shown without its quotes.
            let written = output
                .as_str()
                .map_or_else(|| output.to_string(), str::to_owned);
            let _ = write!(
                text,
                " gives {}",
                line(&escape_hidden_values(&written), 200)
            );
        }
        text
    };
    if !own.is_empty() {
        return own.iter().map(shown).collect();
    }
    let made = generate_example(schema)
        .map(|arguments| escape_hidden_values(&arguments.to_string()).into_owned());
    // `{}` adds nothing to the list of parameters.
    made.filter(|text| text != "{}").into_iter().collect()
}

/// Returns warnings and hints about calls of the tool.
fn notes(view: &ToolView<'_>) -> String {
    let mut notes = String::new();
    if let Some(deprecated) = view.deprecated() {
        let _ = write!(notes, "\nDeprecated: {}", line(deprecated, 160));
    }
    if let Some(note) = view.note() {
        let _ = write!(notes, "\nNote: {}", line(note, usize::MAX));
    }
    if let Some(failed) = view.entry().and_then(|entry| failed_refresh(entry)) {
        let _ = write!(notes, "\nStale: {failed}");
    }
    if !view.enabled() {
        notes.push_str("\nDisabled: it cannot be called.");
    }
    match view.policy() {
        Policy::Ask => notes.push_str("\nPolicy: the user is asked before each call."),
        Policy::Deny => notes.push_str("\nPolicy: calls are denied."),
        Policy::Allow | Policy::Disable => {}
    }
    let hints = view.annotations();
    let labels = [
        (hints.read_only, "read-only"),
        (hints.destructive, "may destroy data"),
        (hints.idempotent, "idempotent"),
    ];
    let labels: Vec<&str> = labels
        .iter()
        .filter(|(hint, _)| *hint == Some(true))
        .map(|(_, word)| *word)
        .collect();
    if !labels.is_empty() {
        let _ = write!(notes, "\nHints: {}", labels.join(", "));
    }
    notes
}
