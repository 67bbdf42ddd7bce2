//! Decides which clients may share one instance of a server.
//!
//! A shared instance serves several clients with one process, so whatever a client selects in it (a browser tab, a
//! working directory, a database) applies to the others too. The decision is therefore careful: a server is shared by
//! all clients of a user only if nothing that is known about it depends on the client or on the project.

mod packages;
mod texts;
mod tool_names;

use std::borrow::Cow;

use pegboard_model::{Layer, ServerRecord, ServerSpec, ShareScope, SharingDecision, Transport};

use self::packages::known_package;
use self::texts::folder_phrase;
use self::tool_names::{keeps_memory, state_of_session};

/// Decides who shares a server. Parses no definition.
pub fn decide_sharing(spec: &ServerSpec, record: &ServerRecord) -> SharingDecision {
    if let Some(scope) = spec.share.scope() {
        let reason = Cow::Borrowed("set by `share` in the configuration");
        return SharingDecision {
            scope,
            is_configured: true,
            reason,
        };
    }
    let (scope, reason) = derive(spec, record);
    // A project's server never serves clients outside the project.
    let is_narrowed = spec.origin.layer == Layer::Project && scope == ShareScope::User;
    let (scope, reason) = match is_narrowed {
        true => (ShareScope::Project, "a project's file defines it".into()),
        false => (scope, reason),
    };
    SharingDecision {
        scope,
        is_configured: false,
        reason,
    }
}

fn derive(spec: &ServerSpec, record: &ServerRecord) -> (ShareScope, Cow<'static, str>) {
    use ShareScope::{Project, Session, User};
    let program = match &spec.transport {
        Transport::Http { .. } => {
            return (User, "a remote server, which separates its clients".into());
        }
        Transport::Stdio { command, args, .. } => (command, args.as_slice()),
    };
    // A record of another definition says nothing about this one.
    let is_current = record.config == spec.hash;
    let learnt = if is_current {
        record.learnt
    } else {
        Default::default()
    };
    if learnt.asks_clients {
        return (Session, "asked a client for input during a call".into());
    }
    if learnt.changes_list {
        return (Session, "a call changed its list of tools".into());
    }
    if let Some(reason) = known_package(program.0, program.1).filter(|_| !learnt.asks_roots) {
        return (User, reason.into());
    }
    if !is_current || !record.is_known() {
        return (Project, "its tools are not known yet".into());
    }
    let names = || record.tools.iter().map(|tool| tool.name.as_str());
    if let Some(reason) = state_of_session(names()) {
        return (Session, reason.into());
    }
    if learnt.asks_roots {
        return (Project, "asks its client for the project folders".into());
    }
    if let Some(phrase) = folder_phrase(record) {
        return (Project, format!("its texts speak of a {phrase}").into());
    }
    if keeps_memory(names()) {
        let reason = "keeps a memory, which several processes would overwrite";
        return (User, reason.into());
    }
    (
        Project,
        "nothing shows that projects can share it safely".into(),
    )
}
