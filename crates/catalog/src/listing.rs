//! Writes the full listing as JSON in one pass.

use std::io::{self, Write};

use pegboard_model::{ServerName, TrustState, escape_hidden_json};

use crate::snapshot::Catalog;
use crate::view::ToolView;

/// Selects the tools of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListingFilter {
    /// Only tools of this server.
    pub server: Option<ServerName>,
    /// Only tools of this category; `github` includes `github/issues`.
    pub category: Option<String>,
    /// Also tools that are not offered.
    pub include_disabled: bool,
    /// Also tools that await a review, for people; they are marked.
    pub include_held: bool,
}

impl ListingFilter {
    /// Returns whether the listing includes a tool.
    pub fn admits(&self, tool: &ToolView<'_>) -> bool {
        (self.include_disabled || tool.enabled() || (self.include_held && tool.is_held()))
            && self
                .server
                .as_ref()
                .is_none_or(|server| tool.server() == Some(server))
            && self.category.as_deref().is_none_or(|wanted| {
                let rest = tool.category().strip_prefix(wanted);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }
}

/// Writes `{"tools":[…],"total":n,"servers":{…}}`. Definitions are copied as the servers sent them, with hidden
/// characters as JSON escapes. Makes many small writes, so pass a buffered writer.
///
/// # Errors
///
/// Fails if writing to `out` fails.
pub fn write_listing(
    catalog: &Catalog,
    filter: &ListingFilter,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut total = 0_usize;
    let mut head = Vec::with_capacity(512);
    out.write_all(b"{\"tools\":[")?;
    for tool in catalog.all_tools().filter(|tool| filter.admits(tool)) {
        head.clear();
        if total > 0 {
            head.push(b',');
        }
        total += 1;
        write_head(&tool, &mut head)?;
        match std::str::from_utf8(&head) {
            Ok(head) => out.write_all(escape_hidden_json(head).as_bytes())?,
            Err(_) => out.write_all(&head)?,
        }
        out.write_all(escape_hidden_json(tool.definition()).as_bytes())?;
        out.write_all(b"}")?;
    }
    write!(out, "],\"total\":{total},\"servers\":{{")?;
    let wanted = |name: &ServerName| filter.server.as_ref().is_none_or(|server| server == name);
    for (position, entry) in catalog
        .servers()
        .filter(|entry| wanted(entry.name()))
        .enumerate()
    {
        let comma = if position > 0 { "," } else { "" };
        let trust_state = match entry.spec.trust_state {
            TrustState::Granted => "granted",
            TrustState::Pending => "pending",
            TrustState::Changed => "changed",
        };
        write!(
            out,
            "{comma}\"{}\":{{\"status\":\"{}\",\"stale\":{},\"enabled\":{},\"trust_state\":\"{trust_state}\",\"tools\":{}}}",
            entry.name(),
            entry.status().as_str(),
            entry.stale,
            entry.spec.enabled,
            entry.record.tools.len(),
        )?;
    }
    out.write_all(b"}}")
}

/// Writes everything up to the definition. Server names, exposed names and policies need no escaping; texts of
/// users and servers do.
fn write_head(tool: &ToolView<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    let text = |out: &mut Vec<u8>, key: &str, value: &str| -> io::Result<()> {
        out.extend_from_slice(key.as_bytes());
        serde_json::to_writer(out, value).map_err(io::Error::from)
    };
    out.extend_from_slice(b"{\"name\":\"");
    out.extend_from_slice(tool.exposed().as_str().as_bytes());
    out.extend_from_slice(b"\"");
    if let Some(server) = tool.server() {
        out.extend_from_slice(b",\"server\":\"");
        out.extend_from_slice(server.as_str().as_bytes());
        out.extend_from_slice(b"\"");
    }
    text(out, ",\"tool\":", tool.name())?;
    text(out, ",\"summary\":", tool.summary())?;
    text(out, ",\"category\":", tool.category())?;
    let enabled: &[u8] = if tool.enabled() { b"true" } else { b"false" };
    out.extend_from_slice(b",\"enabled\":");
    out.extend_from_slice(enabled);
    if let Some(message) = tool.deprecated() {
        text(out, ",\"deprecated\":", message)?;
    }
    if let Some(note) = tool.note() {
        text(out, ",\"note\":", note)?;
    }
    if let Some(review) = tool.review() {
        let (state, held) = (review.state().as_str(), review.is_held());
        write!(out, ",\"review\":\"{state}\",\"held\":{held}")?;
    }
    let (policy, status) = (tool.policy().as_str(), tool.status().as_str());
    write!(
        out,
        ",\"policy\":\"{policy}\",\"status\":\"{status}\",\"stale\":{},\"tokens\":{},\"definition\":",
        tool.stale(),
        tool.tokens(),
    )
}
