//! The full listing as JSON, written in one pass.

use std::io::{self, Write};

use pegboard_model::{ServerName, TrustState, escape_hidden_json};

use crate::snapshot::Catalog;
use crate::view::ToolView;

/// Which tools a listing holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListingFilter {
    /// Only those of one server.
    pub server: Option<ServerName>,
    /// Only those of one category; `github` holds `github/issues` too.
    pub category: Option<String>,
    /// Also those that are not offered.
    pub include_disabled: bool,
}

impl ListingFilter {
    /// Whether a tool belongs into the listing.
    pub fn admits(&self, tool: &ToolView<'_>) -> bool {
        (self.include_disabled || tool.enabled())
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

/// Writes `{"tools":[…],"total":n,"servers":{…}}`. Definitions are copied as the servers wrote them,
/// with hidden characters as JSON escapes.
/// Many small writes: hand in a buffer.
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
        let approval = match entry.spec.approval {
            TrustState::Granted => "granted",
            TrustState::Pending => "pending",
            TrustState::Changed => "changed",
        };
        write!(
            out,
            "{comma}\"{}\":{{\"status\":\"{}\",\"stale\":{},\"enabled\":{},\"approval\":\"{approval}\",\"tools\":{}}}",
            entry.name(),
            entry.status().as_str(),
            entry.stale,
            entry.spec.enabled,
            entry.record.tools.len(),
        )?;
    }
    out.write_all(b"}}")
}

/// Everything up to the definition itself. Names of servers, exposed names and policies need no
/// escapes; what people and servers wrote does.
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
    let (policy, status) = (tool.policy().as_str(), tool.status().as_str());
    write!(
        out,
        ",\"policy\":\"{policy}\",\"status\":\"{status}\",\"stale\":{},\"tokens\":{},\"definition\":",
        tool.stale(),
        tool.tokens(),
    )
}
