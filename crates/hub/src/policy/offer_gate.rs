//! The policy gate for prompts and resources. The rules are those of tools, applied to a prompt's name or a
//! resource's URI.

use std::sync::Arc;

use pegboard_catalog::{ServerEntry, exposed_prompt, exposed_uri};
use pegboard_guard::{PolicySubject, decide, effective_policy, fingerprint};
use pegboard_model::{
    Annotations, Fingerprint, Offer, Policy, Reason, ServerName, ServerSpec, ToolError, ToolResult,
    ToolVersion,
};
use serde_json::value::RawValue;

use super::gate::{GateSubject, RequiredFreshness, refused};
use crate::calls::CallRequest;
use crate::calls::{COMPLETE, ForwardRequest, OfferRef};
use crate::hub::{Hub, Inner};
use crate::telemetry::TraceScope;

/// Permission to send a request about a prompt or resource, with the version that a person approved, if an approval
/// was required.
pub(crate) struct OfferPass {
    approved: Option<Fingerprint>,
    /// The resource, if it is known only by a link that this session received.
    linked: Option<Arc<Offer>>,
}

impl Hub {
    /// Whether a request about a prompt or resource may require an approval.
    pub fn needs_approval_for(&self, server: &ServerName, about: &OfferRef) -> bool {
        let catalog = self.catalog();
        catalog.server(server).is_some_and(|entry| {
            let exposed = exposed(&entry.spec, about);
            effective_policy(subject(&entry.spec, about, &exposed)).policy == Policy::Ask
        })
    }
}

impl Inner {
    /// Decides whether a request about a prompt or resource may be sent.
    pub(crate) async fn gate_offer(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        request: &ForwardRequest,
        trace: &TraceScope,
    ) -> ToolResult<OfferPass> {
        let about = &request.about;
        // A link that this session received is sufficient. Waiting for the list would refuse it for a while.
        let linked = match (find(entry, about), about) {
            (None, OfferRef::Resource(uri)) => {
                let server = &entry.spec.name;
                self.sessions.links().find(&request.session, server, uri)
            }
            _ => None,
        };
        let entry = match &linked {
            Some(_) => entry.clone(),
            None => self.listing(entry, about, trace).await?,
        };
        let offer = linked.as_deref().or_else(|| find(&entry, about));
        let offer = offer.ok_or_else(|| unlisted(&entry.spec, about))?;
        let (spec, exposed) = (&entry.spec, exposed(&entry.spec, about));
        let decision = decide(subject(spec, about, &exposed));
        if decision.policy == Policy::Allow {
            return Ok(OfferPass {
                approved: None,
                linked,
            });
        }
        // A person approves reading a resource, not completing its name.
        if decision.policy == Policy::Ask && request.method == COMPLETE {
            let message = format!("`{exposed}` needs an approval, so it cannot be completed");
            return Err(refused(
                &exposed,
                Some(&spec.name),
                Reason::PolicyDenied,
                message,
            ));
        }
        let arguments = RawValue::from_string(format!("{{{}}}", request.members));
        let arguments = arguments.map_err(|error| {
            let message = format!("the request cannot be shown for approval: {error}");
            ToolError::new(Reason::ArgsInvalid, message).at_server(&spec.name)
        })?;
        let asked = CallRequest {
            caller: request.caller.clone(),
            input: request.input.clone(),
            client: request.client.clone(),
            is_lasting: false,
            ..CallRequest::new(request.session.clone(), exposed.clone(), arguments)
        };
        let print = print_of(offer);
        let subject = GateSubject {
            exposed: &exposed,
            version: ToolVersion {
                server: Some(spec.name.clone()),
                config: spec.hash,
                tool: key_of(about),
                fingerprint: print,
            },
            definition: &offer.definition,
            decision,
        };
        let passed = Box::pin(self.gate_subject(&asked, &subject, trace)).await?;
        Ok(OfferPass {
            approved: passed.approved.map(|_| print),
            linked,
        })
    }

    /// Decides whether a session may watch a resource. A watch needs no approval; reading the changed resource does.
    pub(crate) async fn gate_watch(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        uri: &str,
        trace: &TraceScope,
    ) -> ToolResult<()> {
        let about = OfferRef::Resource(uri.to_owned());
        let entry = self.listing(entry, &about, trace).await?;
        if find(&entry, &about).is_none() {
            return Err(unlisted(&entry.spec, &about));
        }
        let exposed = exposed(&entry.spec, &about);
        let decision = decide(subject(&entry.spec, &about, &exposed));
        match decision.policy {
            Policy::Allow | Policy::Ask => Ok(()),
            Policy::Deny | Policy::Disable => {
                let message = format!("`{exposed}` may not be watched ({})", decision.rule);
                let reason = Reason::PolicyDenied;
                Err(refused(&exposed, Some(&entry.spec.name), reason, message))
            }
        }
    }

    /// The last check before a request is sent: the server, its rules and the approved version are unchanged.
    pub(crate) async fn check_offer(
        self: &Arc<Self>,
        spec: &Arc<ServerSpec>,
        about: &OfferRef,
        pass: &OfferPass,
        trace: &TraceScope,
    ) -> ToolResult<()> {
        if pass.approved.is_some() {
            self.renew(spec, RequiredFreshness::Current, trace).await?;
        }
        let exposed = exposed(spec, about);
        let refuse = |reason: Reason, why: &str| {
            let message = format!("`{exposed}` {why}");
            Err(refused(&exposed, Some(&spec.name), reason, message))
        };
        let present = self.usable(&spec.name)?;
        if present.spec.hash != spec.hash {
            let why = "belongs to a server whose definition has changed since";
            return refuse(Reason::ToolChanged, why);
        }
        let offer = find(&present, about).or(pass.linked.as_deref());
        let Some(offer) = offer else {
            return refuse(Reason::ToolChanged, "is no longer in its server's list");
        };
        if pass
            .approved
            .is_some_and(|approved| approved != print_of(offer))
        {
            return refuse(Reason::ToolChanged, "has changed since it was approved");
        }
        match effective_policy(subject(&present.spec, about, &exposed)).policy {
            Policy::Allow => Ok(()),
            Policy::Ask if pass.approved.is_some() => Ok(()),
            Policy::Ask => refuse(Reason::ToolChanged, "now needs an approval"),
            Policy::Deny | Policy::Disable => {
                refuse(Reason::PolicyDenied, "is now forbidden by a policy")
            }
        }
    }

    /// Returns the server's entry, after a new discovery if `about` is not listed and the list is stale.
    async fn listing(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        about: &OfferRef,
        trace: &TraceScope,
    ) -> ToolResult<Arc<ServerEntry>> {
        if find(entry, about).is_some() || self.is_fresh(entry) || self.failed_recently(entry) {
            return Ok(entry.clone());
        }
        self.renew(&entry.spec, RequiredFreshness::Current, trace)
            .await?;
        self.usable(&entry.spec.name)
    }
}

/// Returns the prompt, the listed resource, or the template that matches the URI.
fn find<'a>(entry: &'a ServerEntry, about: &OfferRef) -> Option<&'a Offer> {
    match about {
        OfferRef::Prompt(name) => entry.prompt(name),
        OfferRef::Resource(uri) => entry.resource(uri),
        OfferRef::Template(uri) => entry.template(uri),
    }
}

fn subject<'a>(spec: &'a ServerSpec, about: &'a OfferRef, exposed: &'a str) -> PolicySubject<'a> {
    PolicySubject::named(spec, about.key(), exposed, Annotations::default())
}

fn exposed(spec: &ServerSpec, about: &OfferRef) -> String {
    match about {
        OfferRef::Prompt(name) => exposed_prompt(&spec.name, name),
        OfferRef::Resource(uri) | OfferRef::Template(uri) => exposed_uri(&spec.name, uri),
    }
}

/// The key of an approval. It differs from a tool's key, so that an approval of a tool never covers a prompt of the
/// same name.
fn key_of(about: &OfferRef) -> String {
    match about {
        OfferRef::Prompt(name) => format!("prompt {name}"),
        OfferRef::Resource(uri) | OfferRef::Template(uri) => format!("resource {uri}"),
    }
}

fn print_of(offer: &Offer) -> Fingerprint {
    fingerprint(&offer.definition).unwrap_or(Fingerprint([0; 32]))
}

fn unlisted(spec: &ServerSpec, about: &OfferRef) -> ToolError {
    let (server, shown) = (&spec.name, exposed(spec, about));
    let shown = pegboard_model::UntrustedText::new(&shown).shortened(200);
    let (reason, message) = match about {
        OfferRef::Prompt(_) => (
            Reason::PromptUnknown,
            format!("server `{server}` lists no prompt `{shown}`"),
        ),
        OfferRef::Resource(_) | OfferRef::Template(_) => (
            Reason::ResourceUnknown,
            format!(
                "server `{server}` lists no resource `{shown}` and no template that matches it"
            ),
        ),
    };
    ToolError::new(reason, message).at_server(server)
}
