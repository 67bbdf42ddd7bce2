//! Logins to protected servers: Pegboard's connector against the authorization server of this crate.

mod discovery;
mod fixture;
mod hostile;
mod machine;
mod renewal;
mod secrecy;
mod steps;
