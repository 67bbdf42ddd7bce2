//! The lists that a server offers.

use crate::capabilities::ServerCapabilities;
use crate::contract::OfferKind;

/// One of a server's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Offers(OfferKind),
}

impl ListKind {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Offers(OfferKind::Prompts) => "prompts/list",
            Self::Offers(OfferKind::Resources) => "resources/list",
            Self::Offers(OfferKind::Templates) => "resources/templates/list",
        }
    }

    /// What its entries are called in messages.
    pub(crate) fn entries(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Offers(OfferKind::Prompts) => "prompts",
            Self::Offers(OfferKind::Resources) => "resources",
            Self::Offers(OfferKind::Templates) => "resource templates",
        }
    }

    /// The member of a page that holds the entries.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Offers(OfferKind::Templates) => "resourceTemplates",
            _ => self.entries(),
        }
    }
}

/// Returns whether a server with these capabilities may have this list.
pub(crate) fn may_offer(kind: OfferKind, has: ServerCapabilities) -> bool {
    match kind {
        OfferKind::Prompts => has.prompts,
        OfferKind::Resources | OfferKind::Templates => has.resources,
    }
}
