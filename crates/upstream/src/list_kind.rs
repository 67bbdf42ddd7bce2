//! The lists that a server pages through.

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

    /// What its entries are, in words.
    pub(crate) fn entries(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Offers(OfferKind::Prompts) => "prompts",
            Self::Offers(OfferKind::Resources) => "resources",
            Self::Offers(OfferKind::Templates) => "resource templates",
        }
    }

    /// The member of a page that holds them.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Offers(OfferKind::Templates) => "resourceTemplates",
            _ => self.entries(),
        }
    }
}

/// Whether a server that declared this is worth asking.
pub(crate) fn may_offer(kind: OfferKind, has: ServerCapabilities) -> bool {
    match kind {
        OfferKind::Prompts => has.prompts,
        OfferKind::Resources | OfferKind::Templates => has.resources,
    }
}
