//! A tool in each provider's format, with the losses of the conversion.

use maud::{Markup, html};
use pegboard_catalog::ToolView;
use pegboard_formats::{Effect, Format};

use super::components::code;
use super::display::{count, line};
use super::request::query_string;
use crate::provider_format::convert_tool;

/// Largest number of losses shown.
const LOSSES: usize = 30;

pub(super) fn formats(view: &ToolView<'_>, chosen: Option<&str>) -> Markup {
    let chosen = chosen
        .and_then(|name| name.parse().ok())
        .unwrap_or(Format::Anthropic);
    let converted = convert_tool(view, chosen);
    let text = serde_json::to_string_pretty(&converted.definition).unwrap_or_default();
    html! {
        section.card id="formats" aria-labelledby="formats-title" {
            header { h2 id="formats-title" { "Provider formats" } p { "as used in a request" } }
            div.body.stack {
                nav.tabs aria-label="Formats" {
                    @for format in Format::all() {
                        a href=(format!("{}#formats", query_string(&[("format", format.name())]))) data-swap="formats"
                            aria-current=[(format == chosen).then_some("true")] { (format.name()) }
                    }
                }
                @if converted.losses.is_empty() {
                    p.small.muted { "Nothing is lost in the conversion." }
                } @else {
                    details {
                        summary { (count(converted.losses.len(), "difference")) " from the server's definition" }
                        ul.stack-tight.small { @for loss in converted.losses.iter().take(LOSSES) {
                            li {
                                (effect(loss.kind.effect())) " " (loss.kind.meaning())
                                @if !loss.path.is_empty() { " " code { (line(&loss.path)) } }
                                @if !loss.detail.is_empty() { " " span.faint { (line(&loss.detail)) } }
                            }
                        } }
                        @if converted.losses.len() > LOSSES { p.small.faint { "and " (converted.losses.len() - LOSSES) " more" } }
                    }
                }
                (code(&text))
            }
        }
    }
}

fn effect(effect: Effect) -> Markup {
    let (label, class) = match effect {
        Effect::Undone => ("undone", "chip ok"),
        Effect::InWords => ("in words", "chip"),
        Effect::Wider => ("wider", "chip warn"),
        Effect::Narrower => ("narrower", "chip warn"),
        Effect::Unseen => ("unseen", "chip bad"),
    };
    html! { span class=(class) { (label) } }
}
