//! What a profile shows of a catalog, as bytes that are ready to be sent.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pegboard_catalog::{Catalog, OfferView, ServerEntry, ToolView, exposed_prompt, exposed_uri};
use pegboard_model::{ServerName, escape_hidden, escape_hidden_values};

use crate::members::{Members, quoted};
use crate::meta_tools;
use crate::profile::Profile;

/// How long a client may keep the fixed surface, which changes with the program or its configuration alone.
const FIXED_TTL_MS: u64 = 300_000;
/// How long it may keep a list that follows the servers.
const LIVE_TTL_MS: u64 = 60_000;

/// What everybody may ask of a gateway, whatever is configured: these bytes never change.
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}}"#;

/// Bytes of definitions that make a hundred tokens, as 527 real ones showed. Counting exactly would take longer
/// than everything else that is done for a list.
const BYTES_PER_HUNDRED_TOKENS: usize = 427;

/// The capabilities that a server may declare and that are passed through.
const PASSED_CAPABILITIES: [&str; 5] = ["tools", "prompts", "resources", "completions", "logging"];

/// The lists of a profile over one snapshot. Each is made when it is first asked for.
pub(crate) struct Surface {
    /// The snapshot it was made from.
    pub(crate) source: Arc<Catalog>,
    /// The part of it that belongs to the profile.
    pub(crate) catalog: Arc<Catalog>,
    profile: Arc<Profile>,
    tools: OnceLock<Bytes>,
    prompts: OnceLock<Bytes>,
    resources: OnceLock<Bytes>,
    templates: OnceLock<Bytes>,
}

impl Surface {
    /// The surface over a snapshot; what did not change since the former one is taken over.
    pub(crate) fn new(source: Arc<Catalog>, profile: Arc<Profile>, former: Option<&Self>) -> Self {
        let catalog = match profile.holds_all() {
            true => source.clone(),
            false => Arc::new(profile.restrict(&source)),
        };
        let same = former.filter(|former| {
            Arc::ptr_eq(&former.profile, &profile) && same_lists(&former.catalog, &catalog)
        });
        let kept = |list: fn(&Self) -> &OnceLock<Bytes>| {
            same.map_or_else(OnceLock::new, |former| list(former).clone())
        };
        Self {
            tools: kept(|s| &s.tools),
            prompts: kept(|s| &s.prompts),
            resources: kept(|s| &s.resources),
            templates: kept(|s| &s.templates),
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

    /// About how many tokens a model does not have to read because the tools are not all listed.
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
        let list = self.prompts.get_or_init(|| {
            let prompts = self.catalog.prompts();
            self.offers("prompts", prompts, "name", exposed_prompt)
        });
        list.clone()
    }

    /// The result of `resources/list`.
    pub(crate) fn resources(&self) -> Bytes {
        let list = self.resources.get_or_init(|| {
            let resources = self.catalog.resources();
            self.offers("resources", resources, "uri", exposed_uri)
        });
        list.clone()
    }

    /// The result of `resources/templates/list`.
    pub(crate) fn templates(&self) -> Bytes {
        let list = self.templates.get_or_init(|| {
            let templates = self.catalog.templates();
            self.offers("resourceTemplates", templates, "uriTemplate", exposed_uri)
        });
        list.clone()
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

    /// Whether a capability is declared.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        let capabilities = self.capabilities();
        let members = Members::of(&capabilities);
        members.is_some_and(|members| members.get(capability).is_some())
    }

    fn capabilities(&self) -> String {
        let Some(entry) = self.passed_through() else {
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
        match self.passed_through() {
            Some(entry) => {
                let own = entry.record.instructions.as_deref();
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

    /// The one server that a profile without prefixes stands for.
    fn passed_through(&self) -> Option<&Arc<ServerEntry>> {
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

    /// What one server calls private makes the whole list so.
    fn scope(&self) -> &'static str {
        let lists_tools = self.profile.lists_servers();
        let is_private = lists_tools && self.catalog.servers().any(|entry| entry.record.private);
        if is_private { "private" } else { "public" }
    }
}

/// A list while it is written, item after item into one buffer: a large catalog is copied once.
struct ListWriter {
    out: String,
    is_empty: bool,
}

impl ListWriter {
    /// Room for everything around the items, and for the fixed tools.
    const ENVELOPE_BYTES: usize = 4096;

    /// An empty list under a key, with room for items of these sizes.
    fn of(key: &str, sizes: impl Iterator<Item = usize>) -> Self {
        let mut out =
            String::with_capacity(sizes.map(|size| size + 1).sum::<usize>() + Self::ENVELOPE_BYTES);
        out.push_str(&format!(r#"{{"resultType":"complete","{key}":["#));
        Self {
            out,
            is_empty: true,
        }
    }

    /// Where the next item is written.
    fn next_item(&mut self) -> &mut String {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(',');
        }
        &mut self.out
    }
}

/// Writes a tool as it is listed: the server's own words under our name, with the user's description if
/// there is one. Hidden characters are written out, since a model would read what nobody sees.
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
        // An exposed name has no character that JSON would escape.
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

/// What follows the name in a definition that begins with it, as nearly all do. No second name can follow:
/// a definition that has a key twice is refused when it is received.
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

/// Whether two catalogs give the same lists. Marks such as "being discovered" change nothing in them.
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
    fn a_name_is_cut_out_only_where_it_stands_first_and_unescaped() {
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
