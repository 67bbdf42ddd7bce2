//! Resolves a tool name written by a user or a model to one tool.

use std::sync::Arc;

use pegboard_guard::{PolicySubject, decide};
use pegboard_model::{
    Reason, SEPARATOR, ServerName, ToolError, ToolRef, ToolResult, TrustState, UntrustedText,
};

use crate::entry::ServerEntry;
use crate::reserved::is_meta_tool;
use crate::snapshot::Catalog;
use crate::view::ToolView;

/// Characters of a name that are quoted in an error message.
const EXCERPT_CHARS: usize = 100;
/// Candidates that an error message lists.
const CANDIDATES: usize = 5;

impl Catalog {
    /// Finds a tool by its exposed name, by `server__tool` or `server/tool`, or by its bare name if only one
    /// server has it.
    ///
    /// # Errors
    ///
    /// The error says why the name does not resolve to an offered tool, and suggests similar names.
    pub fn find(&self, written: &str) -> ToolResult<ToolView<'_>> {
        let written = written.trim();
        if let Some(tool) = self.static_tool(written) {
            return self.require_offered(ToolView::of_static(tool));
        }
        if let Some(view) = self.find_exact(written) {
            return Ok(view);
        }
        match ToolRef::parse(written) {
            None => Err(ToolError::new(
                Reason::ToolNameInvalid,
                format!("`{}` is not a valid tool name", excerpt(written)),
            )),
            Some(ToolRef::Bare(name)) => self.find_bare(name),
            // A name with a server part never resolves to another server's tool, whatever that tool is called.
            Some(ToolRef::Qualified { server, tool }) => match self.server(&server) {
                Some(entry) => self.find_on_server(entry, tool, written),
                None => Err(self.unknown_server(server.as_str(), written)),
            },
        }
    }

    /// Fast path without allocation: an offered tool, written as it is listed or as `server/tool`. Server names
    /// cannot contain a separator, so the first separator decides.
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
            Some(view) => self.require_offered(view),
            None => Err(self.unknown_tool(entry, tool, written)),
        }
    }

    fn find_bare(&self, name: &str) -> ToolResult<ToolView<'_>> {
        // A separator makes a name qualified. Here the part before it cannot be a server name.
        if let Some((server, _)) = name.split_once(SEPARATOR).or_else(|| name.split_once('/')) {
            return Err(self.unknown_server(server, name));
        }
        // A static tool of this name has been found already.
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
            ([], [one]) => self.require_offered(*one),
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

    /// Returns the tool, or the error that explains why it is not offered.
    pub(crate) fn require_offered<'a>(&self, view: ToolView<'a>) -> ToolResult<ToolView<'a>> {
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
        if view.is_held() {
            let message = format!("tool `{name}` awaits review");
            let error = ToolError::new(Reason::ReviewPending, message);
            return Err(error.at_server(entry.name()).at_tool(name));
        }
        if !view.enabled() {
            let subject = PolicySubject::of_server(&entry.spec, tool);
            return Err(disabled(&decide(subject).rule).at_server(entry.name()));
        }
        if self.static_tool(name).is_some() {
            let message = format!(
                "`{name}` of server `{}` is hidden by a static tool of the same name",
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
                "Run `pegboard refresh {server}` to discover its tools."
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
        // The name may be a tool's own name that contains a separator.
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

/// Returns the error for a server that is not offered, or `None` if it is offered.
pub(crate) fn refusal(entry: &ServerEntry) -> Option<ToolError> {
    let server = entry.name();
    let (reason, message) = match entry.spec.trust_state {
        TrustState::Pending => (
            Reason::ServerPending,
            format!("server `{server}` is not trusted yet"),
        ),
        TrustState::Changed => (
            Reason::ConfigChanged,
            format!("server `{server}` changed since it was trusted"),
        ),
        TrustState::Granted if !entry.spec.enabled => return Some(entry.spec.disabled_error()),
        TrustState::Granted => return None,
    };
    Some(ToolError::new(reason, message).at_server(server))
}

/// The names of meta tools never resolve to a server's tool, so that no server can impersonate Pegboard.
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
