//! The OTLP messages that are sent and received, and the encoding of spans.
//!
//! The messages are defined here rather than with `opentelemetry-proto`, which depends on the OpenTelemetry SDK: it would
//! add nine crates, 14 s of compile time and 18 kB to the program. The tests decode the requests with that crate.

use prost::Message;

use crate::keys;
use crate::langfuse::{self, CommonAttributes, redacted};
use crate::plan::Flavour;
use crate::redactor::Redactor;
use crate::span::{Kind, Span, Value};

/// The name of the instrumentation scope.
const SCOPE: &str = "pegboard";

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(crate) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(crate) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(crate) scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) spans: Vec<WireSpan>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Scope {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WireSpan {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    pub(crate) trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(crate) name: String,
    #[prost(int32, tag = "6")]
    pub(crate) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(crate) start: u64,
    #[prost(fixed64, tag = "8")]
    pub(crate) end: u64,
    #[prost(message, repeated, tag = "9")]
    pub(crate) attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    pub(crate) status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    pub(crate) flags: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Status {
    #[prost(string, tag = "2")]
    pub(crate) message: String,
    #[prost(int32, tag = "3")]
    pub(crate) code: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AnyValue {
    #[prost(oneof = "AnyValueKind", tags = "1, 2, 3, 5")]
    pub(crate) kind: Option<AnyValueKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum AnyValueKind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(message, tag = "5")]
    Array(ArrayValue),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    pub(crate) values: Vec<AnyValue>,
}

/// A collector's response.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) partial: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(crate) rejected: i64,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}

/// Encodes spans for one destination.
pub(crate) struct SpanEncoder {
    pub(crate) flavour: Flavour,
    pub(crate) resource: Vec<(String, String)>,
    pub(crate) common: CommonAttributes,
}

impl SpanEncoder {
    /// Encodes the body of a request. Every text is redacted here.
    pub(crate) fn encode<'a>(
        &self,
        spans: impl Iterator<Item = &'a Span>,
        redactor: &Redactor,
    ) -> Vec<u8> {
        let attributes = self.resource.iter().map(|(key, value)| {
            let value = Value::Text(redactor.clean(value).into_owned());
            attribute(key, &value)
        });
        let request = ExportRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource {
                    attributes: attributes.collect(),
                }),
                scope_spans: vec![ScopeSpans {
                    scope: Some(Scope {
                        name: SCOPE.to_owned(),
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                    }),
                    spans: spans.map(|span| self.span(span, redactor)).collect(),
                }],
            }],
        };
        request.encode_to_vec()
    }

    fn span(&self, span: &Span, redactor: &Redactor) -> WireSpan {
        let context = &span.context;
        let known = span.attributes.iter();
        let mut attributes: Vec<KeyValue> = known
            .map(|(key, value)| attribute(key, &redacted(value, redactor)))
            .collect();
        for (key, content) in [&span.input, &span.output].into_iter().flatten() {
            attributes.push(attribute(key, &Value::Text(content.cleaned(redactor))));
        }
        if let Some(labels) = context.labels() {
            let session = self.common.session(labels);
            let session = Value::Text(redactor.clean(&session).into_owned());
            attributes.push(attribute(keys::SESSION, &session));
        }
        if self.flavour == Flavour::Langfuse {
            langfuse::add(span, &self.common, redactor, &mut attributes);
        }
        let status = span.failure.as_ref().map(|message| Status {
            message: redactor.clean(message).into_owned(),
            code: 2,
        });
        WireSpan {
            trace_id: context.trace_bytes().to_vec(),
            span_id: context.span_bytes().to_vec(),
            trace_state: redactor
                .clean(context.tracestate().unwrap_or_default())
                .into_owned(),
            parent_span_id: context
                .parent_bytes()
                .map(|id| id.to_vec())
                .unwrap_or_default(),
            name: redactor.clean(&span.name).into_owned(),
            kind: match span.kind {
                Kind::Internal => 1,
                Kind::Server => 2,
                Kind::Client => 3,
            },
            start: span.start,
            end: span.end,
            attributes,
            status,
            flags: u32::from(context.flags()),
        }
    }
}

/// Encodes an attribute.
pub(crate) fn attribute(key: &str, value: &Value) -> KeyValue {
    let text = |text: &String| AnyValueKind::Text(text.clone());
    let kind = match value {
        Value::Text(value) => text(value),
        Value::Int(whole) => AnyValueKind::Int(*whole),
        Value::Bool(flag) => AnyValueKind::Bool(*flag),
        Value::TextList(texts) => {
            let values = texts.iter().map(|value| AnyValue {
                kind: Some(text(value)),
            });
            AnyValueKind::Array(ArrayValue {
                values: values.collect(),
            })
        }
    };
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { kind: Some(kind) }),
    }
}
