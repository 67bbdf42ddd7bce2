//! What a profile shows of a catalog, as bytes that are ready to be sent.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use pegboard_catalog::{Catalog, OfferView, ServerEntry, ToolView, exposed_prompt, exposed_uri};
use pegboard_model::ServerName;

use crate::members::{Members, quoted};
use crate::meta_tools;
use crate::profile::Profile;

/// How long a client may keep the fixed surface, which changes with the program or its configuration alone.
const FIXED_TTL_MS: u64 = 300_000;
/// How long it may keep a list that follows the servers.
const LIVE_TTL_MS: u64 = 60_000;

/// What everybody may ask of a gateway, whatever is configured: these bytes never change.
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}}"#;

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
            let fixed = meta_tools::definitions().map(|tool| tool.to_string());
            let fixed = fixed.into_iter().filter(|_| profile.has_meta_tools());
            let listed = self.catalog.tools().filter(|tool| profile.lists(tool));
            let mut is_live = false;
            let listed = listed.map(|tool| {
                is_live = true;
                definition(&tool, profile.prefix)
            });
            let items: Vec<String> = fixed.chain(listed).collect();
            self.list("tools", &items, is_live || !profile.has_meta_tools())
        });
        list.clone()
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
            Some(entry) => entry.record.instructions.clone().unwrap_or_default(),
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
        let item = |view: OfferView<'_>| {
            let definition = &view.offer.definition;
            match Members::of(definition).filter(|_| self.profile.prefix) {
                Some(mut members) => {
                    members.set(key, quoted(&exposed(view.server, &view.offer.key)));
                    members.to_string()
                }
                None => definition.to_string(),
            }
        };
        let items: Vec<String> = offers.map(item).collect();
        self.list(list, &items, true)
    }

    fn list(&self, key: &str, items: &[String], is_live: bool) -> Bytes {
        let ttl = if is_live { LIVE_TTL_MS } else { FIXED_TTL_MS };
        let scope = if is_live { self.scope() } else { "public" };
        let mut out =
            String::with_capacity(items.iter().map(|item| item.len() + 1).sum::<usize>() + 100);
        out.push_str(&format!(r#"{{"resultType":"complete","{key}":["#));
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(item);
        }
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

/// A tool as it is listed: the server's own words under our name, with the user's description if there is one.
fn definition(tool: &ToolView<'_>, prefix: bool) -> String {
    let own = tool
        .user_words()
        .and_then(|user| user.description.as_deref());
    if !prefix && own.is_none() {
        return tool.definition().to_owned();
    }
    let Some(mut members) = Members::of(tool.definition()) else {
        return tool.definition().to_owned();
    };
    if prefix {
        members.set("name", quoted(tool.exposed().as_str()));
    }
    if let Some(own) = own {
        members.set("description", quoted(own));
    }
    members.to_string()
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
