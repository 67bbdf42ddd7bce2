//! Terminal output of a run: the streamed answer, and each call with its duration.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pegboard_agent::{AgentEvent, RunReport};
use pegboard_model::UntrustedText;
use serde::Serialize;

use crate::failure::Failure;
use crate::format::{count, duration, thousands};
use crate::output::{Output, Paint};

/// The interval of the spinner.
const TICK: Duration = Duration::from_millis(120);
/// The maximum number of characters shown of a provider's error message before a retry.
const MAX_MESSAGE_CHARS: usize = 200;

/// The output of a run.
pub(super) struct Screen {
    output: Output,
    /// Whether the answer is streamed. Only on a terminal: in a file, text of an interrupted attempt would remain.
    streams: bool,
    state: Mutex<ScreenState>,
}

#[derive(Default)]
struct ScreenState {
    spinner: Option<ProgressBar>,
    /// The running calls by id.
    running: BTreeMap<String, String>,
    /// Whether the cursor is on a line with text of the answer.
    in_line: bool,
    /// Whether the user is being prompted.
    paused: bool,
}

#[derive(Serialize)]
struct RunSummary<'a> {
    event: &'static str,
    answer: Option<&'a str>,
    error: Option<&'a pegboard_model::ToolError>,
    used: &'a [pegboard_agent::UsedTool],
    usage: pegboard_agent::Usage,
    turns: usize,
    calls: usize,
    saved_tokens: u64,
    took_ms: u64,
}

impl Screen {
    pub(super) fn new(output: &Output) -> Self {
        Self {
            output: output.clone(),
            streams: !output.json && std::io::stdout().is_terminal(),
            state: Mutex::default(),
        }
    }

    /// Prints an event of the run.
    pub(super) fn on_event(&self, event: AgentEvent) {
        if self.output.json {
            if let Ok(line) = serde_json::to_string(&event) {
                let _ = self.output.json_line(&line);
            }
            return;
        }
        let mut state = self.lock();
        match event {
            AgentEvent::Text { text } if self.streams => {
                state.hide();
                let shown = UntrustedText::block(&text).to_string();
                let mut stdout = std::io::stdout().lock();
                let _ = stdout.write_all(shown.as_bytes());
                let _ = stdout.flush();
                state.in_line = !shown.ends_with('\n') && (state.in_line || !shown.is_empty());
            }
            AgentEvent::TurnStarted { .. } => self.spin(&mut state),
            AgentEvent::Retrying { why, pause } => {
                state.hide();
                state.end_line();
                let why = UntrustedText::new(&why).shortened(MAX_MESSAGE_CHARS);
                let text = format!("retrying in {}: {why}", duration(pause));
                self.output.note(&self.output.paint(Paint::Warn, &text));
                self.spin(&mut state);
            }
            AgentEvent::CallStarted { id, tool, .. } => {
                state.end_line();
                state.running.insert(id, tool);
                self.spin(&mut state);
            }
            AgentEvent::CallFinished {
                id,
                tool,
                outcome,
                took,
                ..
            } => {
                state.running.remove(&id);
                state.hide();
                state.end_line();
                let (mark, paint, how) = match outcome.as_str() {
                    "ok" => ("✓", Paint::Good, String::new()),
                    code => ("✗", Paint::Bad, format!(" [{code}]")),
                };
                let tool = UntrustedText::new(&tool).shortened(100).to_string();
                let text = format!(
                    "{} {tool}  {}{how}",
                    self.output.paint(paint, mark),
                    duration(took)
                );
                self.output.note(&text);
                self.spin(&mut state);
            }
            AgentEvent::TurnFinished { .. } => state.hide(),
            _ => {}
        }
    }

    /// Clears the spinner for a prompt; [`Screen::resume`] ends the pause.
    pub(super) fn pause(&self) {
        let mut state = self.lock();
        state.hide();
        state.end_line();
        state.paused = true;
    }

    pub(super) fn resume(&self) {
        let mut state = self.lock();
        state.paused = false;
        self.spin(&mut state);
    }

    /// Prints the result of the run.
    pub(super) fn end(&self, run: &RunReport) -> Result<(), Failure> {
        {
            let mut state = self.lock();
            state.hide();
            state.end_line();
        }
        let answer = run.answer.as_deref();
        if self.output.json {
            let done = RunSummary {
                event: if answer.is_ok() { "done" } else { "failed" },
                answer: answer.ok(),
                error: answer.err(),
                used: &run.used,
                usage: run.usage,
                turns: run.turns,
                calls: run.calls,
                saved_tokens: run.saved_tokens,
                took_ms: u64::try_from(run.took.as_millis()).unwrap_or(u64::MAX),
            };
            let line = serde_json::to_string(&done).unwrap_or_default();
            return self.output.json_line(&line);
        }
        if let (Ok(answer), false) = (answer, self.streams) {
            self.output
                .line(&UntrustedText::block(answer).to_string())?;
        }
        self.output
            .note(&self.output.paint(Paint::Dim, &summary(run)));
        Ok(())
    }

    fn spin(&self, state: &mut ScreenState) {
        if !self.output.is_interactive() || state.paused || state.in_line {
            return;
        }
        let names: Vec<String> = state
            .running
            .values()
            .map(|tool| UntrustedText::new(tool).shortened(60).to_string())
            .collect();
        let message = match names.is_empty() {
            true => "thinking".to_owned(),
            false => names.join(", "),
        };
        let spinner = state.spinner.get_or_insert_with(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(TICK);
            spinner
        });
        spinner.set_message(message);
    }

    fn lock(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScreenState {
    fn hide(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            let mut stdout = std::io::stdout().lock();
            let _ = stdout.write_all(b"\n");
            let _ = stdout.flush();
        }
    }
}

fn summary(run: &RunReport) -> String {
    let number = |tokens: u64| thousands(usize::try_from(tokens).unwrap_or(usize::MAX));
    let cached = match run.usage.cached_tokens {
        0 => String::new(),
        tokens => format!(" ({} cached by the provider)", number(tokens)),
    };
    let mut text = format!(
        "{}, {}, {}: {} input tokens{cached}, {} output tokens; about {} tokens of definitions saved.",
        count(run.turns, "turn"),
        count(run.calls, "call"),
        duration(run.took),
        number(run.usage.input_tokens),
        number(run.usage.output_tokens),
        number(run.saved_tokens),
    );
    let servers = run.servers();
    if !servers.is_empty() {
        let names: Vec<&str> = servers.iter().map(|name| name.as_str()).collect();
        text.push_str(&format!(" Servers used: {}.", names.join(", ")));
    }
    text
}
