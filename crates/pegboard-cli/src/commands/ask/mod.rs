//! `pegboard ask`: asks a model that can use every tool.

pub(crate) mod args;
mod model;
mod screen;

use std::io::{IsTerminal, Read};
use std::sync::Arc;

use async_trait::async_trait;
use pegboard_agent::{Agent, AgentEvent, CancellationToken, Conversation};
use pegboard_hub::{ApprovalPrompt, Approver, PromptResponse};
use pegboard_model::{Reason, ToolError};
use pegboard_upstream::{adopt_orphans, start_watcher_early};

use super::call::{TerminalApprover, report_pending_approvals};
use super::{CommandResult, Global, Output, builder, interrupted, load_config, open, working};
use crate::failure::Failure;
use args::AskArgs;
use screen::Screen;

/// The maximum size of a question on standard input.
const QUESTION_BYTES: u64 = 1024 * 1024;

/// The default system prompt; the summary of the tools follows it.
const SYSTEM: &str = "You answer a person at a terminal. Use the tools where they help, several at once where they do \
not depend on each other, and say plainly what could not be done. Answer briefly, in plain text.";

pub(crate) fn run(args: &AskArgs, global: &Global, output: &Output) -> CommandResult {
    let question = question(args)?;
    let configuration = load_config(global, output)?;
    let (provider, key) = model::provider(args, &configuration)?;
    let settings = configuration.loaded.agent.clone();
    let (essential, result_tokens) = {
        let settings = &configuration.loaded.settings;
        (settings.essential.clone(), settings.result_tokens)
    };
    adopt_orphans();
    start_watcher_early();
    let screen = Arc::new(Screen::new(output));
    let builder = builder(global).approver(ScreenApprover {
        terminal: TerminalApprover { yes: args.yes },
        screen: screen.clone(),
    });
    working(async {
        let pegboard = open(configuration, builder, output).await?;
        pegboard.redact(&key);
        let hub = pegboard.hub().clone();
        let agent = Agent::over(hub.clone(), provider)
            .system(settings.system.as_deref().unwrap_or(SYSTEM))
            .essential(essential)
            .result_tokens(result_tokens)
            .loading(model::loading(args, &settings))
            .budget(model::budget(args, &settings))
            .retry(model::retry(args))
            .recorder(pegboard.recorder().clone());
        let cancel = CancellationToken::new();
        let mut conversation = Conversation::new();
        let on_event = |event: AgentEvent| screen.on_event(event);
        let run = {
            let work = agent.run(&mut conversation, &question, &cancel, &on_event);
            let mut work = std::pin::pin!(work);
            tokio::select! {
                run = &mut work => run,
                () = interrupted() => {
                    cancel.cancel();
                    work.await
                }
                never = report_pending_approvals(hub.subscribe(), output) => match never {},
            }
        };
        pegboard.shut_down().await;
        // The process exits now; freeing thousands of tools one by one would only take time.
        std::mem::forget(pegboard);
        screen.end(&run)?;
        match run.answer {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    })
}

fn question(args: &AskArgs) -> Result<String, Failure> {
    let written = args.question.join(" ");
    let missing = |why: String| {
        let error = ToolError::new(Reason::ArgsInvalid, why);
        Failure::from(error.with_remedy("Write it: pegboard ask \"Which issues are open?\""))
    };
    let question = match written.trim() {
        "" if std::io::stdin().is_terminal() => String::new(),
        "" | "-" => {
            let mut text = String::new();
            let mut input = std::io::stdin().lock().take(QUESTION_BYTES);
            let read = input.read_to_string(&mut text);
            read.map_err(|error| missing(format!("standard input: {error}")))?;
            text
        }
        written => written.to_owned(),
    };
    match question.trim() {
        "" => Err(missing("no question given".to_owned())),
        question => Ok(question.to_owned()),
    }
}

/// Asks the user at the terminal for approval, and pauses other output meanwhile.
struct ScreenApprover {
    terminal: TerminalApprover,
    screen: Arc<Screen>,
}

#[async_trait]
impl Approver for ScreenApprover {
    fn can_ask(&self) -> bool {
        self.terminal.can_ask()
    }

    async fn ask(&self, question: ApprovalPrompt) -> PromptResponse {
        self.screen.pause();
        let response = self.terminal.ask(question).await;
        self.screen.resume();
        response
    }
}
