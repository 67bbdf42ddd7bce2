//! From a name that somebody wrote to the one tool that is meant.

use std::sync::Arc;

use pegboard_guard::{PolicySubject, decide};
use pegboard_model::{
    Reason, SEPARATOR, ServerName, ToolError, ToolRef, ToolResult, TrustState, UntrustedText,
};

use crate::entry::ServerEntry;
use crate::meta::is_meta_tool;
use crate::snapshot::Catalog;
use crate::view::ToolView;

/// Characters of a written name in a message.
const EXCERPT_CHARS: usize = 100;
/// Candidates that a message names.
const CANDIDATES: usize = 5;

impl Catalog {
    /// Finds a tool by its exposed name, by `server__tool` or `server/tool`, or by its bare name when
    /// only one server has it. An error says why not, and names what may have been meant.
    pub fn find(&self, written: &str) -> ToolResult<ToolView<'_>> {
        let written = written.trim();
        if let Some(tool) = self.static_tool(written) {
            return self.offered(ToolView::of_host(tool));
        }
        if let Some(view) = self.find_exact(written) {
            return Ok(view);
        }
        match ToolRef::parse(written) {
            None => Err(ToolError::new(
                Reason::ToolNameInvalid,
                format!("`{}` is not a tool's name", excerpt(written)),
            )),
            Some(ToolRef::Bare(name)) => self.find_bare(name),
            // A name with a server part never means another server's tool, whatever that one calls itself.
            Some(ToolRef::Qualified { server, tool }) => match self.server(&server) {
                Some(entry) => self.find_on_server(entry, tool, written),
                None => Err(self.unknown_server(server.as_str(), written)),
            },
        }
    }

    /// The usual case, found without a copy of anything: an offered tool, written as it is listed or as
    /// `server/tool`. No server's name holds a separator, so the first one decides.
    fn find_exact(&self, written: &str) -> Option<ToolView<'_>> {
        let view = match written.split_once('/') {
            Some((server, tool)) if !server.contains(SEPARATOR) => {
                self.server_named(server)?.named(tool)?
            }
            _ => {
                let (server, _) = written.split_once(SEPARATOR)?;
                self.server_named(server)?.exposed_as(written)?
            }
        };
        let hidden = self.static_tool(view.exposed().as_str()).is_some();
        (view.enabled() && !hidden).then_some(view)
    }

    fn find_on_server<'a>(
        &'a self,
        entry: &'a Arc<ServerEntry>,
        tool: &str,
        written: &str,
    ) -> ToolResult<ToolView<'a>> {
        if let Some(refusal) = refusal(entry) {
            return Err(refusal);
        }
        let found = entry
            .named(tool)
            .or_else(|| entry.exposed_as(&format!("{}{SEPARATOR}{tool}", entry.name())));
        match found {
            Some(view) => self.offered(view),
            None => Err(self.unknown_tool(entry, tool, written)),
        }
    }

    fn find_bare(&self, name: &str) -> ToolResult<ToolView<'_>> {
        // A separator makes a name qualified; here it stands after what cannot be a server's name.
        if let Some((server, _)) = name.split_once(SEPARATOR).or_else(|| name.split_once('/')) {
            return Err(self.unknown_server(server, name));
        }
        // One of the host program's tools of this name was found before.
        let mut named: Vec<ToolView<'_>> = self
            .servers()
            .filter_map(|entry| entry.named(name))
            .filter(|view| self.static_tool(view.exposed().as_str()).is_none())
            .collect();
        named.sort_by_key(|view| view.exposed());
        if is_meta_tool(name) {
            return Err(reserved(name, &named));
        }
        let offered: Vec<ToolView<'_>> = named.iter().copied().filter(ToolView::enabled).collect();
        match (offered.as_slice(), named.as_slice()) {
            ([one], _) => Ok(*one),
            ([], [one]) => self.offered(*one),
            ([], []) => Err(ToolError::new(
                Reason::ToolUnknown,
                format!("no tool is called `{}`", excerpt(name)),
            )
            .with_nearest(self.suggest_tools(name))),
            ([], several) | (several, _) => {
                let names: Vec<String> = several
                    .iter()
                    .take(CANDIDATES)
                    .map(|view| view.exposed().to_string())
                    .collect();
                let (count, listed) = (several.len(), names.join("`, `"));
                let message = format!(
                    "`{}` is the name of {count} tools: `{listed}`",
                    excerpt(name)
                );
                Err(ToolError::new(Reason::ToolAmbiguous, message).with_nearest(names))
            }
        }
    }

    /// The tool, unless something keeps it from being offered.
    pub(crate) fn offered<'a>(&self, view: ToolView<'a>) -> ToolResult<ToolView<'a>> {
        let name = view.exposed().as_str();
        let disabled = |by: &str| {
            let message = format!("`{name}` is disabled by {by}");
            ToolError::new(Reason::ToolDisabled, message).at_tool(name)
        };
        let (Some(entry), Some(tool)) = (view.entry(), view.tool()) else {
            return match view.enabled() {
                true => Ok(view),
                false => Err(disabled("a rule of `policies`")),
            };
        };
        if let Some(refusal) = refusal(entry) {
            return Err(refusal);
        }
        if !view.enabled() {
            let subject = PolicySubject::of_server(&entry.spec, tool);
            return Err(disabled(&decide(subject).rule).at_server(entry.name()));
        }
        if self.static_tool(name).is_some() {
            let message = format!(
                "`{name}` of server `{}` gives way to a static tool",
                entry.name()
            );
            return Err(ToolError::new(Reason::NameReserved, message)
                .at_server(entry.name())
                .at_tool(name));
        }
        Ok(view)
    }

    fn unknown_tool(&self, entry: &ServerEntry, tool: &str, written: &str) -> ToolError {
        let server = entry.name();
        let known = match (entry.record.is_known(), entry.discovering) {
            (true, _) => "",
            (false, true) => "; its tools are being discovered",
            (false, false) => "; its tools are not known yet",
        };
        let message = format!("server `{server}` has no tool `{}`{known}", excerpt(tool));
        let error = ToolError::new(Reason::ToolUnknown, message).at_server(server);
        let error = error.with_nearest(self.suggest_tools(written));
        if known.is_empty() {
            error
        } else {
            error.with_remedy(format!(
                "Ask for its tools with `pegboard refresh {server}`."
            ))
        }
    }

    fn unknown_server(&self, server: &str, written: &str) -> ToolError {
        let message = format!("no server is called `{}`", excerpt(server));
        let mut nearest = self.suggest_servers(server);
        if let Some(corrected) =
            ServerName::corrected(server).and_then(|name| ServerName::parse(&name).ok())
            && self.server(&corrected).is_some()
            && !nearest.iter().any(|name| name == corrected.as_str())
        {
            nearest.insert(0, corrected.to_string());
        }
        // What was written may be a tool's own name, which is called by its full name.
        let whole = self.servers().filter_map(|entry| entry.named(written));
        nearest.extend(
            whole
                .take(CANDIDATES)
                .map(|view| view.exposed().to_string()),
        );
        if nearest.is_empty() {
            nearest = self.suggest_tools(written);
        }
        ToolError::new(Reason::ServerUnknown, message).with_nearest(nearest)
    }
}

/// Why nothing of a server is offered, when that is so.
pub(crate) fn refusal(entry: &ServerEntry) -> Option<ToolError> {
    let server = entry.name();
    let (reason, message) = match entry.spec.approval {
        TrustState::Pending => (
            Reason::ServerPending,
            format!("server `{server}` waits for somebody to agree to it"),
        ),
        TrustState::Changed => (
            Reason::ConfigChanged,
            format!("server `{server}` has changed since it was agreed to"),
        ),
        TrustState::Granted if !entry.spec.enabled => return Some(entry.spec.disabled_error()),
        TrustState::Granted => return None,
    };
    Some(ToolError::new(reason, message).at_server(server))
}

/// The names of the meta tools never mean a server's tool, so that no server can answer in Pegboard's place.
fn reserved(name: &str, named: &[ToolView<'_>]) -> ToolError {
    let names: Vec<String> = named
        .iter()
        .take(CANDIDATES)
        .map(|view| view.exposed().to_string())
        .collect();
    let message = format!("`{name}` is the name of one of Pegboard's own tools");
    let error = ToolError::new(Reason::NameReserved, message).at_tool(name);
    match names.first() {
        Some(first) => error
            .with_remedy(format!(
                "Call a server's tool of that name by its full name, for example `{first}`."
            ))
            .with_nearest(names),
        None => error,
    }
}

fn excerpt(text: &str) -> String {
    UntrustedText::new(text)
        .shortened(EXCERPT_CHARS)
        .to_string()
}
