//! The policy gate, the check before a request is sent, and the global rules.

mod dispatch_check;
mod gate;
mod offer_gate;
mod rules;

pub(crate) use self::gate::{GatePass, refused};
pub(crate) use self::offer_gate::OfferPass;
