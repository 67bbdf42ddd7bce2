//! Builds spans from recorded facts, named after the OpenTelemetry conventions for MCP and generative AI.

use std::time::Duration;

use pegboard_model::{
    CacheUse, CallFacts, DiscoveryFacts, LookupFacts, PolicyFacts, RequestFacts, RunFacts,
    SearchFacts, ServerName, SpanContext, TransportKind, TurnFacts,
};

use crate::keys;
use crate::redactor::Redactor;
use crate::span::{Kind, Observation, Span, SpanBuilder};

/// Maximum number of tool or server names in a span. The number of tools is always recorded.
const NAMES_MAX: usize = 200;

/// Builds spans.
#[derive(Clone, Copy)]
pub(crate) struct SpanFactory<'a> {
    pub(crate) redactor: &'a Redactor,
    /// Whether content is captured.
    pub(crate) capture: bool,
}

impl<'a> SpanFactory<'a> {
    fn builder(
        self,
        context: &SpanContext,
        kind: Kind,
        observation: Observation,
        took: Duration,
    ) -> SpanBuilder<'a> {
        SpanBuilder::new(
            context,
            kind,
            observation,
            took,
            self.redactor,
            self.capture,
        )
    }

    pub(crate) fn lookup(self, context: &SpanContext, facts: &LookupFacts) -> Span {
        let mut builder = self.builder(context, Kind::Internal, Observation::Span, facts.took);
        builder.name("catalog");
        builder.int(keys::CACHE_HITS, facts.hits);
        builder.int(keys::CACHE_MISSES, facts.misses);
        builder.text(keys::CACHE, if facts.misses == 0 { "hit" } else { "miss" });
        builder.span
    }

    pub(crate) fn discovery(self, context: &SpanContext, facts: &DiscoveryFacts<'_>) -> Span {
        let mut builder = self.builder(context, Kind::Client, Observation::Span, facts.took);
        builder.name(&format!("tools/list {}", facts.server));
        builder.text(keys::METHOD, "tools/list");
        builder.text(keys::SERVER, facts.server.as_str());
        transport(&mut builder, facts.transport);
        protocol(&mut builder, facts.protocol);
        builder.int(keys::TOOL_COUNT, facts.tools.len());
        let names = facts
            .tools
            .iter()
            .take(NAMES_MAX)
            .map(|tool| tool.name.as_str());
        builder.texts(keys::TOOL_NAMES, names);
        let cache = match facts.cache {
            CacheUse::Hit => "hit",
            CacheUse::Miss => "miss",
            CacheUse::Shared => "shared",
        };
        builder.text(keys::CACHE, cache);
        builder.outcome(facts.outcome);
        builder.span
    }

    pub(crate) fn search(self, context: &SpanContext, facts: &SearchFacts<'_>) -> Span {
        let mut builder = self.builder(context, Kind::Internal, Observation::Retriever, facts.took);
        builder.name("search tools");
        builder.text(keys::OPERATION, "retrieval");
        builder.int(keys::FOUND, facts.found);
        let names = (facts.names)();
        builder.texts(
            keys::TOOL_NAMES,
            names.iter().take(NAMES_MAX).map(String::as_str),
        );
        builder.input(keys::QUERY, Some(facts.query));
        builder.span
    }

    pub(crate) fn policy(self, context: &SpanContext, facts: &PolicyFacts<'_>) -> Span {
        let mut builder = self.builder(context, Kind::Internal, Observation::Guardrail, facts.took);
        builder.name(&format!("policy {}", facts.tool));
        builder.text(keys::EXPOSED, facts.tool);
        builder.text(keys::DECISION, facts.decision);
        builder.text(keys::RULE, facts.rule);
        builder.outcome(facts.outcome);
        builder.span
    }

    pub(crate) fn call(self, context: &SpanContext, facts: &CallFacts<'_>) -> Span {
        let kind = match facts.transport {
            TransportKind::InProcess => Kind::Internal,
            TransportKind::Stdio | TransportKind::Http => Kind::Client,
        };
        let mut builder = self.builder(context, kind, Observation::Tool, facts.took);
        match facts.server {
            Some(server) => {
                builder.name(&format!("tools/call {}", facts.tool));
                builder.text(keys::METHOD, "tools/call");
                builder.text(keys::SERVER, server.as_str());
            }
            None => builder.name(&format!("execute_tool {}", facts.tool)),
        }
        builder.text(keys::OPERATION, "execute_tool");
        builder.text(keys::TOOL, facts.tool);
        builder.text(keys::TOOL_TYPE, "function");
        builder.text(keys::EXPOSED, facts.exposed);
        transport(&mut builder, facts.transport);
        protocol(&mut builder, facts.protocol);
        builder.bool_value(keys::STARTED, facts.started);
        builder.input(keys::ARGUMENTS, facts.arguments);
        builder.output(keys::RESULT, facts.result);
        builder.outcome(facts.outcome);
        builder.span
    }

    pub(crate) fn request(self, context: &SpanContext, facts: &RequestFacts<'_>) -> Span {
        let mut builder = self.builder(context, Kind::Server, Observation::Span, facts.took);
        builder.name(facts.method);
        builder.text(keys::METHOD, facts.method);
        if let Some(name) = facts.name {
            builder.name(&format!("{} {name}", facts.method));
            let key = match facts.method {
                "prompts/get" => keys::PROMPT,
                _ => keys::TOOL,
            };
            builder.text(key, name);
        }
        if facts.method == "tools/call" {
            builder.text(keys::OPERATION, "execute_tool");
        }
        transport(&mut builder, facts.transport);
        protocol(&mut builder, facts.protocol);
        builder.outcome(facts.outcome);
        builder.span
    }

    pub(crate) fn turn(self, context: &SpanContext, facts: &TurnFacts<'_>) -> Span {
        let mut builder = self.builder(context, Kind::Client, Observation::Generation, facts.took);
        builder.name(&format!("chat {}", facts.model));
        builder.text(keys::OPERATION, "chat");
        builder.text(keys::PROVIDER, facts.provider);
        builder.text(keys::MODEL, facts.model);
        for (key, value) in [
            (keys::RESPONSE_MODEL, facts.response_model),
            (keys::RESPONSE_ID, facts.id),
        ] {
            if let Some(value) = value {
                builder.text(key, value);
            }
        }
        builder.texts(keys::FINISH, facts.finish.into_iter());
        builder.int(keys::INPUT_TOKENS, facts.input_tokens);
        builder.int(keys::OUTPUT_TOKENS, facts.output_tokens);
        builder.int(keys::CACHED_TOKENS, facts.cached_tokens);
        builder.int(keys::CALLS, facts.tool_calls);
        builder.input(keys::INPUT_MESSAGES, facts.input);
        builder.output(keys::OUTPUT_MESSAGES, facts.output);
        builder.outcome(facts.outcome);
        builder.span
    }

    pub(crate) fn run(self, context: &SpanContext, facts: &RunFacts<'_>) -> Span {
        let mut builder = self.builder(context, Kind::Internal, Observation::Agent, facts.took);
        builder.name(&format!("invoke_agent {}", facts.agent));
        builder.text(keys::OPERATION, "invoke_agent");
        builder.text(keys::AGENT, facts.agent);
        let servers = facts.servers.iter().take(NAMES_MAX);
        builder.texts(keys::MCP_SERVERS, servers.map(ServerName::as_str));
        builder.bool_value(keys::NEEDS_DISCOVERY, facts.needs_discovery);
        builder.int(keys::TURNS, facts.turns);
        builder.int(keys::CALLS, facts.calls);
        builder.input(keys::INPUT_MESSAGES, facts.input);
        builder.output(keys::OUTPUT_MESSAGES, facts.output);
        builder.outcome(facts.outcome);
        builder.span
    }
}

fn transport(builder: &mut SpanBuilder<'_>, transport: TransportKind) {
    match transport {
        TransportKind::Stdio => builder.text(keys::TRANSPORT, "pipe"),
        TransportKind::Http => {
            builder.text(keys::TRANSPORT, "tcp");
            builder.text(keys::PROTOCOL_NAME, "http");
        }
        TransportKind::InProcess => {}
    }
}

fn protocol(builder: &mut SpanBuilder<'_>, protocol: Option<&str>) {
    if let Some(protocol) = protocol {
        builder.text(keys::PROTOCOL, protocol);
    }
}
