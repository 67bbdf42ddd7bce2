//! What servers offer beside tools: prompts, resources and resource templates, and who has which.

use std::sync::Arc;

use pegboard_guard::{PolicySubject, effective_policy};
use pegboard_model::{
    Annotations, Offer, Offers, Policy, Reason, SEPARATOR, ServerName, ToolError, ToolRef,
    ToolResult, UntrustedText,
};

use crate::entry::ServerEntry;
use crate::find::refusal;
use crate::snapshot::Catalog;
use crate::suggest::suggestions;
use crate::uri_template;

/// What stands before a server's name and its own uri where many servers' resources are listed together.
const SCHEME: &str = "pegboard://";
/// Characters of a written name or uri in a message.
const EXCERPT_CHARS: usize = 200;
/// Candidates that a message names.
const CANDIDATES: usize = 5;

/// A prompt, resource or template in a catalog, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub struct OfferView<'a> {
    /// The server that has it.
    pub server: &'a ServerName,
    /// The server's entry.
    pub entry: &'a Arc<ServerEntry>,
    /// The thing itself, as the server wrote it.
    pub offer: &'a Offer,
}

/// The uri under which a server's resource (or uri template) is listed among those of other servers: the
/// server's own uri follows unchanged.
pub fn exposed_uri(server: &ServerName, uri: &str) -> String {
    format!("{SCHEME}{server}/{uri}")
}

/// The name under which a server's prompt is listed among those of other servers.
pub fn exposed_prompt(server: &ServerName, name: &str) -> String {
    format!("{server}{SEPARATOR}{name}")
}

impl Catalog {
    /// Every prompt that is offered, sorted by server, then by name.
    pub fn prompts(&self) -> impl Iterator<Item = OfferView<'_>> {
        self.offers(|offers| &offers.prompts, exposed_prompt)
    }

    /// Every resource that is offered, sorted by server, then by uri.
    pub fn resources(&self) -> impl Iterator<Item = OfferView<'_>> {
        self.offers(|offers| &offers.resources, exposed_uri)
    }

    /// Every resource template that is offered, sorted by server, then by template.
    pub fn templates(&self) -> impl Iterator<Item = OfferView<'_>> {
        self.offers(|offers| &offers.templates, exposed_uri)
    }

    /// What a policy disables is not listed, as with tools.
    fn offers(
        &self,
        list: impl Fn(&Offers) -> &[Offer] + Copy,
        exposed: impl Fn(&ServerName, &str) -> String + Copy,
    ) -> impl Iterator<Item = OfferView<'_>> {
        let offered = self.servers().filter(|entry| entry.is_offered());
        offered.flat_map(move |entry| {
            let view = move |offer| OfferView {
                server: entry.name(),
                entry,
                offer,
            };
            let is_enabled = move |offer: &&Offer| {
                let exposed = exposed(entry.name(), &offer.key);
                let hints = Annotations::default();
                let subject = PolicySubject::named(&entry.spec, &offer.key, &exposed, hints);
                effective_policy(subject).policy != Policy::Disable
            };
            let offers = list(&entry.record.offers).iter();
            offers.filter(is_enabled).map(view)
        })
    }

    /// Finds a prompt by `server__prompt`, by `server/prompt`, or by its bare name when only one server has
    /// it. An error says why not, and names what may have been meant.
    pub fn find_prompt(&self, written: &str) -> ToolResult<OfferView<'_>> {
        let written = written.trim();
        if let Some(ToolRef::Qualified { server, tool }) = ToolRef::parse(written) {
            let Some(entry) = self.server(&server) else {
                // A name with a server part never means another server's prompt.
                let message = format!("no server is called `{server}`");
                return Err(self.unknown_prompt(message, written));
            };
            if let Some(refusal) = refusal(entry) {
                return Err(refusal);
            }
            let found = by_key(&entry.record.offers.prompts, tool);
            return found.map(|offer| view(entry, offer)).ok_or_else(|| {
                let message = format!("server `{server}` has no prompt `{}`", excerpt(tool));
                self.unknown_prompt(message, written).at_server(&server)
            });
        }
        // The part before a separator names a server even if no server can have that name.
        let parts = written
            .split_once(SEPARATOR)
            .or_else(|| written.split_once('/'));
        if let Some((server, _)) = parts.filter(|(server, _)| !server.is_empty()) {
            let message = format!("no server is called `{}`", excerpt(server));
            return Err(self.unknown_prompt(message, written));
        }
        let mut named = self.offered_with(|offers| by_key(&offers.prompts, written));
        match (named.next(), named.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => {
                let message = format!("no prompt is called `{}`", excerpt(written));
                Err(self.unknown_prompt(message, written))
            }
            (Some(one), Some(other)) => {
                let all = [one, other].into_iter().chain(named);
                let names: Vec<String> = all
                    .map(|view| exposed_prompt(view.server, &view.offer.key))
                    .collect();
                let message = format!(
                    "`{}` is the name of {} prompts: {}",
                    excerpt(written),
                    names.len(),
                    listed(&names)
                );
                let error = ToolError::new(Reason::PromptUnknown, message);
                Err(error.with_nearest(names.into_iter().take(CANDIDATES).collect()))
            }
        }
    }

    /// Finds the server of a resource and the server's own uri for it. The exposed form names its server;
    /// a server's own uri is taken when exactly one server lists it, or, when none does, exactly one has a
    /// template that it fits.
    pub fn find_resource(&self, uri: &str) -> ToolResult<(&Arc<ServerEntry>, String)> {
        if let Some(rest) = uri.strip_prefix(SCHEME) {
            return self.exposed_resource(rest, uri);
        }
        let unknown = |message: String| ToolError::new(Reason::ResourceUnknown, message);
        let listing: Vec<_> = self
            .offered_with(|offers| by_key(&offers.resources, uri))
            .collect();
        let candidates = if listing.is_empty() {
            // A template for everything says nothing about whose a uri is.
            let fits = |offer: &&Offer| {
                uri_template::names_scheme(&offer.key) && uri_template::matches(&offer.key, uri)
            };
            self.offered_with(|offers| offers.templates.iter().find(fits))
                .collect()
        } else {
            listing
        };
        match candidates.as_slice() {
            [one] => Ok((one.entry, uri.to_owned())),
            [] => Err(unknown(format!(
                "no server lists the resource `{}` or has a template that it fits",
                excerpt(uri)
            ))),
            several => {
                let uris: Vec<String> = several
                    .iter()
                    .map(|view| exposed_uri(view.server, uri))
                    .collect();
                let message = format!(
                    "`{}` is a resource of {} servers: {}",
                    excerpt(uri),
                    several.len(),
                    listed(&uris)
                );
                let nearest = uris.into_iter().take(CANDIDATES).collect();
                Err(unknown(message).with_nearest(nearest))
            }
        }
    }

    fn exposed_resource(&self, rest: &str, uri: &str) -> ToolResult<(&Arc<ServerEntry>, String)> {
        let split = rest.split_once('/').filter(|(_, own)| !own.is_empty());
        let Some((server, own)) = split else {
            let message = format!("`{}` is not of the form `{SCHEME}SERVER/URI`", excerpt(uri));
            return Err(ToolError::new(Reason::ResourceUnknown, message));
        };
        let Some(entry) = self.server_named(server) else {
            let message = format!("no server is called `{}`", excerpt(server));
            let error = ToolError::new(Reason::ServerUnknown, message);
            return Err(error.with_nearest(self.suggest_servers(server)));
        };
        // Whether the server lists it is looked at when it is read: its list may have to be renewed first.
        match refusal(entry) {
            Some(refusal) => Err(refusal),
            None => Ok((entry, own.to_owned())),
        }
    }

    /// The first thing that each offered server has, where it has one.
    fn offered_with<'a>(
        &'a self,
        pick: impl Fn(&'a Offers) -> Option<&'a Offer>,
    ) -> impl Iterator<Item = OfferView<'a>> {
        let offered = self.servers().filter(|entry| entry.is_offered());
        offered.filter_map(move |entry| Some(view(entry, pick(&entry.record.offers)?)))
    }

    fn unknown_prompt(&self, message: String, written: &str) -> ToolError {
        let names = self.prompts().map(|view| {
            let exposed = exposed_prompt(view.server, &view.offer.key);
            (exposed, view.offer.key.as_str())
        });
        let nearest = suggestions(written, names);
        ToolError::new(Reason::PromptUnknown, message).with_nearest(nearest)
    }
}

impl ServerEntry {
    /// A prompt that the server lists.
    pub fn prompt(&self, name: &str) -> Option<&Offer> {
        by_key(&self.record.offers.prompts, name)
    }

    /// A resource that the server lists, or the template that a uri fits.
    pub fn resource(&self, uri: &str) -> Option<&Offer> {
        let offers = &self.record.offers;
        let fits = |offer: &&Offer| uri_template::matches(&offer.key, uri);
        by_key(&offers.resources, uri).or_else(|| offers.templates.iter().find(fits))
    }

    /// A template that the server lists, as it wrote it; completion may also be asked for a resource.
    pub fn template(&self, template: &str) -> Option<&Offer> {
        by_key(&self.record.offers.templates, template).or_else(|| self.resource(template))
    }
}

fn view<'a>(entry: &'a Arc<ServerEntry>, offer: &'a Offer) -> OfferView<'a> {
    OfferView {
        server: entry.name(),
        entry,
        offer,
    }
}

fn by_key<'a>(sorted: &'a [Offer], key: &str) -> Option<&'a Offer> {
    let at = sorted
        .binary_search_by(|offer| offer.key.as_str().cmp(key))
        .ok()?;
    sorted.get(at)
}

fn listed(names: &[String]) -> String {
    let excerpt: Vec<String> = names
        .iter()
        .take(CANDIDATES)
        .map(|name| format!("`{}`", excerpt(name)))
        .collect();
    excerpt.join(", ")
}

fn excerpt(text: &str) -> String {
    UntrustedText::new(text)
        .shortened(EXCERPT_CHARS)
        .to_string()
}
