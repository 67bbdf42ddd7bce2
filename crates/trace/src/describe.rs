//! From what the rooms tell to spans, under the names of the conventions for MCP and generative models.

use std::time::Duration;

use pegboard_model::{
    CacheUse, CallFacts, DiscoveryFacts, LookupFacts, PolicyFacts, RequestFacts, RunFacts,
    SearchFacts, ServerName, SpanContext, TransportKind, TurnFacts,
};

use crate::keys;
use crate::redactor::Redactor;
use crate::span::{Draft, Kind, Observation, Span};

/// Most names of tools or servers in one span. The number of tools is always recorded.
const NAMES_MAX: usize = 200;

/// Writes spans.
#[derive(Clone, Copy)]
pub(crate) struct Describer<'a> {
    pub(crate) redactor: &'a Redactor,
    /// Whether contents are kept.
    pub(crate) capture: bool,
}

impl<'a> Describer<'a> {
    fn draft(
        self,
        context: &SpanContext,
        kind: Kind,
        observation: Observation,
        took: Duration,
    ) -> Draft<'a> {
        Draft::new(
            context,
            kind,
            observation,
            took,
            self.redactor,
            self.capture,
        )
    }

    pub(crate) fn lookup(self, context: &SpanContext, facts: &LookupFacts) -> Span {
        let mut draft = self.draft(context, Kind::Internal, Observation::Span, facts.took);
        draft.name("catalog");
        draft.whole(keys::CACHE_HITS, facts.hits);
        draft.whole(keys::CACHE_MISSES, facts.misses);
        draft.text(keys::CACHE, if facts.misses == 0 { "hit" } else { "miss" });
        draft.span
    }

    pub(crate) fn discovery(self, context: &SpanContext, facts: &DiscoveryFacts<'_>) -> Span {
        let mut draft = self.draft(context, Kind::Client, Observation::Span, facts.took);
        draft.name(&format!("tools/list {}", facts.server));
        draft.text(keys::METHOD, "tools/list");
        draft.text(keys::SERVER, facts.server.as_str());
        transport(&mut draft, facts.transport);
        protocol(&mut draft, facts.protocol);
        draft.whole(keys::TOOL_COUNT, facts.tools.len());
        let names = facts
            .tools
            .iter()
            .take(NAMES_MAX)
            .map(|tool| tool.name.as_str());
        draft.texts(keys::TOOL_NAMES, names);
        let cache = match facts.cache {
            CacheUse::Hit => "hit",
            CacheUse::Miss => "miss",
            CacheUse::Shared => "shared",
        };
        draft.text(keys::CACHE, cache);
        draft.outcome(facts.outcome);
        draft.span
    }

    pub(crate) fn search(self, context: &SpanContext, facts: &SearchFacts<'_>) -> Span {
        let mut draft = self.draft(context, Kind::Internal, Observation::Retriever, facts.took);
        draft.name("search tools");
        draft.text(keys::OPERATION, "retrieval");
        draft.whole(keys::FOUND, facts.found);
        let names = (facts.names)();
        draft.texts(
            keys::TOOL_NAMES,
            names.iter().take(NAMES_MAX).map(String::as_str),
        );
        draft.input(keys::QUERY, Some(facts.query));
        draft.span
    }

    pub(crate) fn policy(self, context: &SpanContext, facts: &PolicyFacts<'_>) -> Span {
        let mut draft = self.draft(context, Kind::Internal, Observation::Guardrail, facts.took);
        draft.name(&format!("policy {}", facts.tool));
        draft.text(keys::EXPOSED, facts.tool);
        draft.text(keys::DECISION, facts.decision);
        draft.text(keys::RULE, facts.rule);
        draft.outcome(facts.outcome);
        draft.span
    }

    pub(crate) fn call(self, context: &SpanContext, facts: &CallFacts<'_>) -> Span {
        let kind = match facts.transport {
            TransportKind::InProcess => Kind::Internal,
            TransportKind::Stdio | TransportKind::Http => Kind::Client,
        };
        let mut draft = self.draft(context, kind, Observation::Tool, facts.took);
        match facts.server {
            Some(server) => {
                draft.name(&format!("tools/call {}", facts.tool));
                draft.text(keys::METHOD, "tools/call");
                draft.text(keys::SERVER, server.as_str());
            }
            None => draft.name(&format!("execute_tool {}", facts.tool)),
        }
        draft.text(keys::OPERATION, "execute_tool");
        draft.text(keys::TOOL, facts.tool);
        draft.text(keys::TOOL_TYPE, "function");
        draft.text(keys::EXPOSED, facts.exposed);
        transport(&mut draft, facts.transport);
        protocol(&mut draft, facts.protocol);
        draft.flag(keys::STARTED, facts.started);
        draft.input(keys::ARGUMENTS, facts.arguments);
        draft.output(keys::RESULT, facts.result);
        draft.outcome(facts.outcome);
        draft.span
    }

    pub(crate) fn request(self, context: &SpanContext, facts: &RequestFacts<'_>) -> Span {
        let mut draft = self.draft(context, Kind::Server, Observation::Span, facts.took);
        draft.name(facts.method);
        draft.text(keys::METHOD, facts.method);
        if let Some(name) = facts.name {
            draft.name(&format!("{} {name}", facts.method));
            let key = match facts.method {
                "prompts/get" => keys::PROMPT,
                _ => keys::TOOL,
            };
            draft.text(key, name);
        }
        if facts.method == "tools/call" {
            draft.text(keys::OPERATION, "execute_tool");
        }
        transport(&mut draft, facts.transport);
        protocol(&mut draft, facts.protocol);
        draft.outcome(facts.outcome);
        draft.span
    }

    pub(crate) fn turn(self, context: &SpanContext, facts: &TurnFacts<'_>) -> Span {
        let mut draft = self.draft(context, Kind::Client, Observation::Generation, facts.took);
        draft.name(&format!("chat {}", facts.model));
        draft.text(keys::OPERATION, "chat");
        draft.text(keys::PROVIDER, facts.provider);
        draft.text(keys::MODEL, facts.model);
        for (key, value) in [
            (keys::RESPONSE_MODEL, facts.response_model),
            (keys::RESPONSE_ID, facts.id),
        ] {
            if let Some(value) = value {
                draft.text(key, value);
            }
        }
        draft.texts(keys::FINISH, facts.finish.into_iter());
        draft.whole(keys::INPUT_TOKENS, facts.input_tokens);
        draft.whole(keys::OUTPUT_TOKENS, facts.output_tokens);
        draft.whole(keys::CACHED_TOKENS, facts.cached_tokens);
        draft.whole(keys::CALLS, facts.tool_calls);
        draft.input(keys::INPUT_MESSAGES, facts.input);
        draft.output(keys::OUTPUT_MESSAGES, facts.output);
        draft.outcome(facts.outcome);
        draft.span
    }

    pub(crate) fn run(self, context: &SpanContext, facts: &RunFacts<'_>) -> Span {
        let mut draft = self.draft(context, Kind::Internal, Observation::Agent, facts.took);
        draft.name(&format!("invoke_agent {}", facts.agent));
        draft.text(keys::OPERATION, "invoke_agent");
        draft.text(keys::AGENT, facts.agent);
        let servers = facts.servers.iter().take(NAMES_MAX);
        draft.texts(keys::MCP_SERVERS, servers.map(ServerName::as_str));
        draft.flag(keys::NEEDS_DISCOVERY, facts.needs_discovery);
        draft.whole(keys::TURNS, facts.turns);
        draft.whole(keys::CALLS, facts.calls);
        draft.input(keys::INPUT_MESSAGES, facts.input);
        draft.output(keys::OUTPUT_MESSAGES, facts.output);
        draft.outcome(facts.outcome);
        draft.span
    }
}

fn transport(draft: &mut Draft<'_>, transport: TransportKind) {
    match transport {
        TransportKind::Stdio => draft.text(keys::TRANSPORT, "pipe"),
        TransportKind::Http => {
            draft.text(keys::TRANSPORT, "tcp");
            draft.text(keys::PROTOCOL_NAME, "http");
        }
        TransportKind::InProcess => {}
    }
}

fn protocol(draft: &mut Draft<'_>, protocol: Option<&str>) {
    if let Some(protocol) = protocol {
        draft.text(keys::PROTOCOL, protocol);
    }
}
