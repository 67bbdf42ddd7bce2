//! The lists and handshake results of a profile, serialized once per snapshot.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pegboard_catalog::{Catalog, OfferView, ServerEntry, ToolView, exposed_prompt, exposed_uri};
use pegboard_jsonrpc::{Members, quoted};
use pegboard_model::{ServerName, escape_hidden, escape_hidden_values};

use crate::meta_tools;
use crate::profile::Profile;

/// How long clients may cache the fixed surface, which only changes with the program or its configuration.
const FIXED_TTL_MS: u64 = 300_000;
/// How long clients may cache a list that depends on the servers.
const LIVE_TTL_MS: u64 = 60_000;

/// The capabilities of every profile that does not pass through a single server. These bytes never change.
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}}"#;

/// Bytes of definitions per hundred tokens, measured over 527 real definitions. Counting exactly would take longer
/// than building the list.
const BYTES_PER_HUNDRED_TOKENS: usize = 427;

/// The server capabilities that a pass-through profile declares as its own.
const PASSED_CAPABILITIES: [&str; 5] = ["tools", "prompts", "resources", "completions", "logging"];

/// The lists of a profile over one snapshot. Each list is built at its first use.
pub(crate) struct Surface {
    /// The snapshot the surface was built from.
    pub(crate) source: Arc<Catalog>,
    /// The part of the snapshot that the profile contains.
    pub(crate) catalog: Arc<Catalog>,
    profile: Arc<Profile>,
    tools: OnceLock<Bytes>,
    prompts: OnceLock<Bytes>,
    resources: OnceLock<Bytes>,
    templates: OnceLock<Bytes>,
}

impl Surface {
    /// Creates the surface over a snapshot. Reuses the lists of `former` if nothing in them changed.
    pub(crate) fn new(source: Arc<Catalog>, profile: Arc<Profile>, former: Option<&Self>) -> Self {
        let catalog = match profile.holds_all() {
            true => source.clone(),
            false => Arc::new(profile.restrict(&source)),
        };
        let same = former.filter(|former| {
            Arc::ptr_eq(&former.profile, &profile) && same_lists(&former.catalog, &catalog)
        });
        let reuse = |list: fn(&Self) -> &OnceLock<Bytes>| {
            same.map_or_else(OnceLock::new, |former| list(former).clone())
        };
        Self {
            tools: reuse(|s| &s.tools),
            prompts: reuse(|s| &s.prompts),
            resources: reuse(|s| &s.resources),
            templates: reuse(|s| &s.templates),
            source,
            catalog,
            profile,
        }
    }

    /// The result of `tools/list`.
    pub(crate) fn tools(&self) -> Bytes {
        let list = self.tools.get_or_init(|| {
            let profile = &self.profile;
            let listed = || self.catalog.tools().filter(|tool| profile.lists(tool));
            let size = listed().map(|tool| tool.definition().len() + tool.exposed().as_str().len());
            let mut items = ListWriter::of("tools", size);
            if profile.has_meta_tools() {
                for tool in meta_tools::definitions() {
                    items.next_item().push_str(&tool.to_string());
                }
            }
            let mut is_live = !profile.has_meta_tools();
            for tool in listed() {
                is_live = true;
                write_definition(&tool, profile.prefix, items.next_item());
            }
            self.list(items, is_live)
        });
        list.clone()
    }

    /// Estimates how many tokens a model saves because not all tools are listed.
    pub(crate) fn saved_tokens(&self) -> u64 {
        let all: usize = self
            .catalog
            .tools()
            .map(|tool| tool.definition().len())
            .sum();
        let saved = all.saturating_sub(self.tools().len());
        let tokens = saved.saturating_mul(100) / BYTES_PER_HUNDRED_TOKENS;
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// The result of `prompts/list`.
    pub(crate) fn prompts(&self) -> Bytes {
        let list = || self.offers("prompts", self.catalog.prompts(), "name", exposed_prompt);
        self.prompts.get_or_init(list).clone()
    }

    /// The result of `resources/list`.
    pub(crate) fn resources(&self) -> Bytes {
        let list = || self.offers("resources", self.catalog.resources(), "uri", exposed_uri);
        self.resources.get_or_init(list).clone()
    }

    /// The result of `resources/templates/list`.
    pub(crate) fn templates(&self) -> Bytes {
        let list = || {
            let templates = self.catalog.templates();
            self.offers("resourceTemplates", templates, "uriTemplate", exposed_uri)
        };
        self.templates.get_or_init(list).clone()
    }

    /// The result of `server/discover`.
    pub(crate) fn discover(&self, version: &str, supported: &[&str]) -> String {
        format!(
            r#"{{"resultType":"complete","supportedVersions":{},"capabilities":{},"instructions":{},"ttlMs":{FIXED_TTL_MS},"cacheScope":"{}","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}"#,
            serde_json::json!(supported),
            self.capabilities(),
            quoted(&self.instructions()),
            self.scope(),
            info(version),
        )
    }

    /// The result of `initialize`.
    pub(crate) fn initialize(&self, version: &str, revision: &str) -> String {
        format!(
            r#"{{"protocolVersion":"{revision}","capabilities":{},"serverInfo":{},"instructions":{}}}"#,
            self.capabilities(),
            info(version),
            quoted(&self.instructions()),
        )
    }

    /// Whether the profile declares a capability.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        let capabilities = self.capabilities();
        let members = Members::of(&capabilities);
        members.is_some_and(|members| members.get(capability).is_some())
    }

    fn capabilities(&self) -> String {
        let Some(entry) = self.passthrough_entry() else {
            return CAPABILITIES.to_owned();
        };
        let declared = entry.record.capabilities.as_deref().unwrap_or(CAPABILITIES);
        let Some(mut members) = Members::of(declared) else {
            return CAPABILITIES.to_owned();
        };
        members
            .0
            .retain(|(key, _)| PASSED_CAPABILITIES.contains(&key.as_ref()));
        members.to_string()
    }

    fn instructions(&self) -> String {
        match self.passthrough_entry() {
            Some(entry) => {
                let own = entry.instructions();
                escape_hidden(own.unwrap_or_default()).into_owned()
            }
            None if !self.profile.has_meta_tools() => meta_tools::DIRECT_INSTRUCTIONS.to_owned(),
            None if self.profile.lists_servers() => {
                format!(
                    "{}{}",
                    meta_tools::INSTRUCTIONS,
                    meta_tools::LISTED_TOOLS_HINT
                )
            }
            None => meta_tools::INSTRUCTIONS.to_owned(),
        }
    }

    /// The server that a profile without prefixes passes through.
    fn passthrough_entry(&self) -> Option<&Arc<ServerEntry>> {
        self.catalog.server(&self.profile.sole_server()?)
    }

    fn offers<'a>(
        &self,
        list: &str,
        offers: impl Iterator<Item = OfferView<'a>>,
        key: &'static str,
        exposed: fn(&ServerName, &str) -> String,
    ) -> Bytes {
        let mut items = ListWriter::of(list, std::iter::empty());
        for view in offers {
            let definition = &*escape_hidden_values(&view.offer.definition);
            match Members::of(definition).filter(|_| self.profile.prefix) {
                Some(mut members) => {
                    members.set(key, quoted(&exposed(view.server, &view.offer.key)));
                    items.next_item().push_str(&members.to_string());
                }
                None => items.next_item().push_str(definition),
            }
        }
        self.list(items, true)
    }

    fn list(&self, items: ListWriter, is_live: bool) -> Bytes {
        let ttl = if is_live { LIVE_TTL_MS } else { FIXED_TTL_MS };
        let scope = if is_live { self.scope() } else { "public" };
        let mut out = items.out;
        out.push_str(&format!(r#"],"ttlMs":{ttl},"cacheScope":"{scope}"}}"#));
        out.into()
    }

    /// The cache scope. One private server makes the whole list private.
    fn scope(&self) -> &'static str {
        let lists_tools = self.profile.lists_servers();
        let is_private = lists_tools && self.catalog.servers().any(|entry| entry.record.private);
        if is_private { "private" } else { "public" }
    }
}

/// Writes a list into one buffer, so that a large catalog is copied only once.
struct ListWriter {
    out: String,
    is_empty: bool,
}

impl ListWriter {
    /// Space for the envelope and the meta tools.
    const ENVELOPE_BYTES: usize = 4096;

    /// Starts a list under a key, with capacity for items of these sizes.
    fn of(key: &str, sizes: impl Iterator<Item = usize>) -> Self {
        let mut out =
            String::with_capacity(sizes.map(|size| size + 1).sum::<usize>() + Self::ENVELOPE_BYTES);
        out.push_str(&format!(r#"{{"resultType":"complete","{key}":["#));
        Self {
            out,
            is_empty: true,
        }
    }

    /// The buffer for the next item.
    fn next_item(&mut self) -> &mut String {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(',');
        }
        &mut self.out
    }
}

/// Writes a tool's definition under its exposed name, with the user's description if there is one. Hidden characters
/// are escaped, because a model would read text that people cannot see.
fn write_definition(tool: &ToolView<'_>, prefix: bool, out: &mut String) {
    let own = tool
        .user_override()
        .and_then(|user| user.description.as_deref());
    let definition = &*escape_hidden_values(tool.definition());
    if !prefix && own.is_none() {
        return out.push_str(definition);
    }
    if own.is_none()
        && let Some(rest) = after_name(definition, tool.name())
    {
        out.push_str(r#"{"name":""#);
        // Exposed names never need JSON escapes.
        out.push_str(tool.exposed().as_str());
        out.push('"');
        return out.push_str(rest);
    }
    let Some(mut members) = Members::of(definition) else {
        return out.push_str(definition);
    };
    if prefix {
        members.set("name", quoted(tool.exposed().as_str()));
    }
    if let Some(own) = own {
        members.set("description", quoted(own));
    }
    out.push_str(&members.to_string());
}

/// Returns the text after the name in a definition that begins with it, as nearly all do. There is no second name:
/// definitions with duplicate keys are rejected when they are received.
fn after_name<'a>(definition: &'a str, name: &str) -> Option<&'a str> {
    let after = |text: &'a str, mark: char| text.strip_prefix(mark).map(str::trim_ascii_start);
    let key = after(definition, '{')?.strip_prefix(r#""name""#)?;
    let value = after(key.trim_ascii_start(), ':')?;
    value
        .strip_prefix('"')?
        .strip_prefix(name)?
        .strip_prefix('"')
}

fn info(version: &str) -> String {
    format!(
        r#"{{"name":"pegboard","title":"Pegboard","version":{}}}"#,
        quoted(version)
    )
}

/// Whether two catalogs produce the same lists. States such as "being discovered" do not affect them.
fn same_lists(one: &Catalog, other: &Catalog) -> bool {
    let same_entry = |one: &Arc<ServerEntry>, other: &Arc<ServerEntry>| {
        Arc::ptr_eq(&one.record, &other.record) && Arc::ptr_eq(&one.spec, &other.spec)
    };
    one.servers().count() == other.servers().count()
        && one
            .servers()
            .zip(other.servers())
            .all(|(a, b)| same_entry(a, b))
        && one.static_tools().count() == other.static_tools().count()
        && (one.static_tools().zip(other.static_tools())).all(|(a, b)| Arc::ptr_eq(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(definition: &str, name: &str, rest: Option<&str>) {
        assert_eq!(after_name(definition, name), rest, "{definition}");
    }

    #[test]
    fn a_name_is_only_replaced_if_it_is_first_and_unescaped() {
        check(r#"{"name":"a","x":[1]}"#, "a", Some(r#","x":[1]}"#));
        check("{ \"name\" :\n\"a\" }", "a", Some(" }"));
        check(r#"{"name":"a"}"#, "a", Some("}"));
        check(r#"{"name":"ab"}"#, "a", None);
        check(r#"{"name":"a"}"#, "ab", None);
        check(r#"{"x":{"name":"a"},"name":"a"}"#, "a", None);
        check(r#"{"na\u006de":"a"}"#, "a", None);
        check(r#"{"name":"\u0061"}"#, "a", None);
        check(r#"{"name":"a\"b"}"#, r#"a"b"#, None);
        check(r#"["name","a"]"#, "a", None);
        check("", "a", None);
    }
}
