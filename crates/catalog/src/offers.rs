//! Prompts, resources and resource templates of servers, and their lookup.

use std::sync::Arc;

use pegboard_guard::{PolicySubject, effective_policy};
use pegboard_model::{
    Annotations, Offer, Offers, Policy, Reason, ReviewKind, SEPARATOR, ServerName, ToolError,
    ToolRef, ToolResult, UntrustedText,
};

use crate::entry::ServerEntry;
use crate::find::refusal;
use crate::snapshot::Catalog;
use crate::suggest::suggestions;
use crate::uri_template;

/// Scheme of resource URIs in lists of several servers. The server's name and its own URI follow.
const SCHEME: &str = "pegboard://";
/// Characters of a name or URI that are quoted in an error message.
const EXCERPT_CHARS: usize = 200;
/// Candidates that an error message lists.
const CANDIDATES: usize = 5;

/// A prompt, resource or template in a catalog, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub struct OfferView<'a> {
    /// The server that provides it.
    pub server: &'a ServerName,
    /// The server's entry.
    pub entry: &'a Arc<ServerEntry>,
    /// The item as the server sent it.
    pub offer: &'a Offer,
}

/// Returns the URI under which a resource or URI template is listed with those of other servers. It ends with the
/// server's own URI, unchanged.
pub fn exposed_uri(server: &ServerName, uri: &str) -> String {
    format!("{SCHEME}{server}/{uri}")
}

/// Returns the name under which a prompt is listed with those of other servers.
pub fn exposed_prompt(server: &ServerName, name: &str) -> String {
    format!("{server}{SEPARATOR}{name}")
}

impl Catalog {
    /// Returns all offered prompts, sorted by server, then by name.
    pub fn prompts(&self) -> impl Iterator<Item = OfferView<'_>> {
        self.offers(ReviewKind::Prompt, |offers| &offers.prompts, exposed_prompt)
    }

    /// Returns all offered resources, sorted by server, then by URI.
    pub fn resources(&self) -> impl Iterator<Item = OfferView<'_>> {
        self.offers(
            ReviewKind::Resource,
            |offers| &offers.resources,
            exposed_uri,
        )
    }

    /// Returns all offered resource templates, sorted by server, then by template.
    pub fn templates(&self) -> impl Iterator<Item = OfferView<'_>> {
        self.offers(
            ReviewKind::Template,
            |offers| &offers.templates,
            exposed_uri,
        )
    }

    /// Items that a policy disables or that await a review are left out, as with tools.
    fn offers(
        &self,
        kind: ReviewKind,
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
                    && !entry.reviews().holds(kind, &offer.key)
            };
            let offers = list(&entry.record.offers).iter();
            offers.filter(is_enabled).map(view)
        })
    }

    /// Finds a prompt by `server__prompt`, by `server/prompt`, or by its bare name if only one server has it.
    ///
    /// # Errors
    ///
    /// The error says why the name does not resolve to an offered prompt, and suggests similar names.
    pub fn find_prompt(&self, written: &str) -> ToolResult<OfferView<'_>> {
        let written = written.trim();
        if let Some(ToolRef::Qualified { server, tool }) = ToolRef::parse(written) {
            let Some(entry) = self.server(&server) else {
                // A name with a server part never resolves to another server's prompt.
                let message = format!("no server is called `{server}`");
                return Err(self.unknown_prompt(message, written));
            };
            if let Some(refusal) = refusal(entry) {
                return Err(refusal);
            }
            let found = by_key(&entry.record.offers.prompts, tool);
            if found.is_some() && entry.reviews().holds(ReviewKind::Prompt, tool) {
                let message = format!("prompt `{}` awaits review", excerpt(written));
                return Err(ToolError::new(Reason::ReviewPending, message).at_server(&server));
            }
            return found.map(|offer| view(entry, offer)).ok_or_else(|| {
                let message = format!("server `{server}` has no prompt `{}`", excerpt(tool));
                self.unknown_prompt(message, written).at_server(&server)
            });
        }
        // The part before a separator is a server name, even if it is not a valid one.
        let parts = written
            .split_once(SEPARATOR)
            .or_else(|| written.split_once('/'));
        if let Some((server, _)) = parts.filter(|(server, _)| !server.is_empty()) {
            let message = format!("no server is called `{}`", excerpt(server));
            return Err(self.unknown_prompt(message, written));
        }
        let mut named = self
            .offered_with(|offers| by_key(&offers.prompts, written))
            .filter(|view| {
                !view
                    .entry
                    .reviews()
                    .holds(ReviewKind::Prompt, &view.offer.key)
            });
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
                    list_names(&names)
                );
                let error = ToolError::new(Reason::PromptUnknown, message);
                Err(error.with_nearest(names.into_iter().take(CANDIDATES).collect()))
            }
        }
    }

    /// Returns the server of a resource, and the server's own URI. An exposed URI names its server. A server's own
    /// URI is accepted if exactly one server lists it or, when none does, exactly one has a matching template.
    ///
    /// # Errors
    ///
    /// Fails if the server or resource is unknown or ambiguous, or if the server is not offered.
    pub fn find_resource(&self, uri: &str) -> ToolResult<(&Arc<ServerEntry>, String)> {
        if let Some(rest) = uri.strip_prefix(SCHEME) {
            return self.exposed_resource(rest, uri);
        }
        let unknown = |message: String| ToolError::new(Reason::ResourceUnknown, message);
        let listing: Vec<_> = self
            .offered_with(|offers| by_key(&offers.resources, uri))
            .collect();
        let candidates = if listing.is_empty() {
            // A template that matches everything does not identify a server.
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
                    list_names(&uris)
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
        // Whether the server lists the URI is checked by the read itself, which may renew the list first.
        match refusal(entry) {
            Some(refusal) => Err(refusal),
            None => Ok((entry, own.to_owned())),
        }
    }

    /// Returns one item for each offered server, if `pick` finds one.
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
    /// Returns a prompt that the server lists.
    pub fn prompt(&self, name: &str) -> Option<&Offer> {
        let prompt = by_key(&self.record.offers.prompts, name);
        prompt.filter(|_| !self.reviews().holds(ReviewKind::Prompt, name))
    }

    /// Returns a resource that the server lists, or the template that matches a URI.
    pub fn resource(&self, uri: &str) -> Option<&Offer> {
        let offers = &self.record.offers;
        let reviews = self.reviews();
        // A resource that awaits a review is not reached through a template either.
        if reviews.holds(ReviewKind::Resource, uri) {
            return None;
        }
        let fits = |offer: &&Offer| {
            !reviews.holds(ReviewKind::Template, &offer.key)
                && uri_template::matches(&offer.key, uri)
        };
        by_key(&offers.resources, uri).or_else(|| offers.templates.iter().find(fits))
    }

    /// Returns a template that the server lists. Completion may also be requested for a resource.
    pub fn template(&self, template: &str) -> Option<&Offer> {
        let listed = by_key(&self.record.offers.templates, template);
        let listed = listed.filter(|_| !self.reviews().holds(ReviewKind::Template, template));
        listed.or_else(|| self.resource(template))
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

fn list_names(names: &[String]) -> String {
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
