//! State shared by all clients: the eras, the lists and their changes.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::broadcast;

/// Capacity of the change channel; a slower client misses the oldest changes.
const CHANGE_BUFFER: usize = 64;

/// The supported protocol eras.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eras {
    Both,
    Legacy,
    Modern,
}

impl Eras {
    pub(crate) fn read(word: &str) -> Result<Self, String> {
        match word {
            "both" => Ok(Self::Both),
            "legacy" => Ok(Self::Legacy),
            "modern" => Ok(Self::Modern),
            _ => Err(format!("unknown era `{word}`: use both, legacy or modern")),
        }
    }

    pub(crate) fn legacy(self) -> bool {
        self != Self::Modern
    }

    pub(crate) fn modern(self) -> bool {
        self != Self::Legacy
    }
}

/// A change of a list or resource.
#[derive(Clone, Debug)]
pub(crate) enum ChangeEvent {
    Tools,
    Prompts,
    Resources,
    Updated(&'static str),
}

impl ChangeEvent {
    /// The method of its notification.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Updated(_) => "notifications/resources/updated",
        }
    }
}

/// The state of the fixtures. Each trigger adds an extra entry to its list or removes it, so that the change is
/// visible.
pub(crate) struct SharedState {
    pub(crate) eras: Eras,
    extra_tool: AtomicBool,
    extra_prompt: AtomicBool,
    extra_resource: AtomicBool,
    changes: broadcast::Sender<ChangeEvent>,
}

impl SharedState {
    pub(crate) fn new(eras: Eras) -> Self {
        Self {
            eras,
            extra_tool: AtomicBool::default(),
            extra_prompt: AtomicBool::default(),
            extra_resource: AtomicBool::default(),
            changes: broadcast::channel(CHANGE_BUFFER).0,
        }
    }

    pub(crate) fn extra_tool(&self) -> bool {
        self.extra_tool.load(Ordering::SeqCst)
    }

    pub(crate) fn extra_prompt(&self) -> bool {
        self.extra_prompt.load(Ordering::SeqCst)
    }

    pub(crate) fn extra_resource(&self) -> bool {
        self.extra_resource.load(Ordering::SeqCst)
    }

    /// Makes a change and notifies subscribers.
    pub(crate) fn change(&self, changes: ChangeEvent) {
        match changes {
            ChangeEvent::Tools => self.extra_tool.fetch_not(Ordering::SeqCst),
            ChangeEvent::Prompts => self.extra_prompt.fetch_not(Ordering::SeqCst),
            ChangeEvent::Resources => self.extra_resource.fetch_not(Ordering::SeqCst),
            ChangeEvent::Updated(_) => false,
        };
        // There may be no subscriber.
        let _ = self.changes.send(changes);
    }

    /// Subscribes to changes.
    pub(crate) fn changes(&self) -> broadcast::Receiver<ChangeEvent> {
        self.changes.subscribe()
    }
}
