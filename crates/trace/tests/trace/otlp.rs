//! Received OTLP messages, decoded with the official definitions.

#![allow(
    unused_imports,
    reason = "each test binary that includes this file uses a part of it"
)]

pub(crate) use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValueKind;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
pub(crate) use opentelemetry_proto::tonic::trace::v1::Span;
pub(crate) use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
pub(crate) use opentelemetry_proto::tonic::trace::v1::status::StatusCode;

/// Attributes as one JSON object, for comparing.
pub(crate) fn object(attributes: &[KeyValue]) -> serde_json::Map<String, serde_json::Value> {
    let mut object = serde_json::Map::new();
    for attribute in attributes {
        let value = attribute
            .value
            .as_ref()
            .map_or(serde_json::Value::Null, json);
        let before = object.insert(attribute.key.clone(), value);
        assert!(before.is_none(), "`{}` is there twice", attribute.key);
    }
    object
}

fn json(value: &AnyValue) -> serde_json::Value {
    match value.value.as_ref().expect("a value has a kind") {
        AnyValueKind::StringValue(text) => text.as_str().into(),
        AnyValueKind::BoolValue(flag) => (*flag).into(),
        AnyValueKind::IntValue(number) => (*number).into(),
        AnyValueKind::ArrayValue(array) => array.values.iter().map(json).collect(),
        other => panic!("unexpected value {other:?}"),
    }
}
