//! The OAuth client: logs in to remote servers, and keeps their tokens fresh.
//!
//! Invariant: only a person's act starts a login; connections only use and renew what is stored.
//! Invariant: every request of a login goes through `fetch`, which bounds it, follows no redirect to another origin,
//! and connects only to addresses that were checked.
//! Invariant: a token is sent to the URL that it was obtained for, and nowhere else; a changed definition has another
//! key, under which no token is found.
//! Invariant: tokens, codes, verifiers, states and client secrets are `Secret`s, and no error contains a body.

mod address;
mod attempt;
mod challenge;
mod client;
mod device;
mod discovery;
mod failure;
mod fetch;
mod jwt;
mod keeper;
mod listener;
mod login;
mod logins;
mod metadata;
mod pending;
mod random;
mod settings;
mod store;
mod token;

pub use device::DeviceLogin;
pub use login::LoginKey;
pub use logins::{LoginOptions, Logins, LogoutOutcome, needs_login};
pub use pending::{LOGIN_TIME, PendingLogin};
pub use store::{LoginStore, MemoryLogins, StoredLogin};

pub(crate) use challenge::BearerChallenge;
pub(crate) use keeper::Keeper;
pub(crate) use settings::LoginTarget;
