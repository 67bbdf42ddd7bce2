//! W3C trace context.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::TraceId;

/// The `_meta` member (and HTTP header) with the caller's trace and span id.
pub const TRACEPARENT: &str = "traceparent";
/// The `_meta` member with vendor-specific trace data.
pub const TRACESTATE: &str = "tracestate";
/// The `_meta` member with arbitrary user data. It is never propagated.
pub const BAGGAGE: &str = "baggage";

/// Maximum length of a propagated `tracestate`; the standard requires no more.
const TRACESTATE_MAX: usize = 512;
/// Maximum number of members of a `tracestate`.
const TRACESTATE_MEMBERS: usize = 32;
/// Maximum length of a label. A longer one is dropped entirely, because a truncated secret is hard to redact.
const LABEL_MAX: usize = 256;
/// The defined flags: sampled and random trace id.
const KNOWN_FLAGS: u8 = 0b11;
const SAMPLED: u8 = 0b01;

/// The position of a span in a trace. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanContext {
    trace: u128,
    span: u64,
    /// Zero for the root span.
    parent: u64,
    flags: u8,
    /// Whether the trace was started by the caller.
    remote: bool,
    state: Option<Arc<str>>,
    labels: Option<Arc<TraceLabels>>,
}

/// Attributes that every span of a trace repeats, so that each span can be found by them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLabels {
    /// The name of the trace.
    pub name: String,
    /// The session id; it grants no access.
    pub session: String,
}

impl SpanContext {
    /// Creates the root span of a trace; `None` if the trace id or the span id is zero.
    pub fn root(trace: &TraceId, span: u64) -> Option<Self> {
        let trace = hex(trace.as_str(), 32)?;
        (trace != 0 && span != 0).then_some(Self {
            trace,
            span,
            parent: 0,
            flags: SAMPLED,
            remote: false,
            state: None,
            labels: None,
        })
    }

    /// Creates a child span.
    #[must_use]
    pub fn child(&self, span: u64) -> Self {
        Self {
            parent: self.span,
            span,
            ..self.clone()
        }
    }

    /// Sets the labels of the trace, unless the trace was started by the caller or already has labels.
    #[must_use]
    pub fn with_labels(mut self, name: &str, session: &str) -> Self {
        if !self.remote && self.labels.is_none() {
            let short = |text: &str| match text.len() <= LABEL_MAX {
                true => text.to_owned(),
                false => "…".to_owned(),
            };
            self.labels = Some(Arc::new(TraceLabels {
                name: short(name),
                session: short(session),
            }));
        }
        self
    }

    /// The labels of the trace, if they are set.
    pub fn labels(&self) -> Option<&TraceLabels> {
        self.labels.as_deref()
    }

    /// Parses a caller's `traceparent` and `tracestate`; `None` if `traceparent` is invalid.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.trim().split('-');
        let version = hex(parts.next()?, 2)?;
        let (trace, span) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?);
        let flags = hex(parts.next()?, 2)?;
        // Later versions may add parts; version 0 may not, and version 255 is invalid.
        let is_whole = version != 0 || parts.next().is_none();
        if version == 0xff || trace == 0 || span == 0 || !is_whole {
            return None;
        }
        Some(Self {
            trace,
            span: u64::try_from(span).ok()?,
            parent: 0,
            flags: u8::try_from(flags).ok()? & KNOWN_FLAGS,
            remote: true,
            state: tracestate.filter(|state| is_state(state)).map(Arc::from),
            labels: None,
        })
    }

    /// Extracts the context from a request's `_meta`.
    pub fn from_meta(meta: &Map<String, Value>) -> Option<Self> {
        let text = |key| meta.get(key).and_then(Value::as_str);
        Self::parse(text(TRACEPARENT)?, text(TRACESTATE))
    }

    /// Writes this context into a request's `_meta`, replacing any other context, and removes `baggage`.
    pub fn inject(&self, meta: &mut Map<String, Value>) {
        meta.insert(TRACEPARENT.to_owned(), self.traceparent().into());
        match &self.state {
            Some(state) => meta.insert(TRACESTATE.to_owned(), state.as_ref().into()),
            None => meta.remove(TRACESTATE),
        };
        meta.remove(BAGGAGE);
    }

    /// The value of `traceparent`.
    pub fn traceparent(&self) -> String {
        format!(
            "00-{:032x}-{:016x}-{:02x}",
            self.trace, self.span, self.flags
        )
    }

    /// The caller's `tracestate`, verbatim.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The trace id.
    pub fn trace_id(&self) -> TraceId {
        TraceId::from_bytes(self.trace.to_be_bytes())
    }

    /// The trace id as bytes.
    pub fn trace_bytes(&self) -> [u8; 16] {
        self.trace.to_be_bytes()
    }

    /// The span id as bytes.
    pub fn span_bytes(&self) -> [u8; 8] {
        self.span.to_be_bytes()
    }

    /// The id of the parent span, if there is one.
    pub fn parent_bytes(&self) -> Option<[u8; 8]> {
        (self.parent != 0).then(|| self.parent.to_be_bytes())
    }

    /// Whether the trace is sampled.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The trace flags of `traceparent`.
    pub fn flags(&self) -> u8 {
        self.flags
    }
}

/// Parses exactly `length` lower-case hex digits.
fn hex(text: &str, length: usize) -> Option<u128> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != length || !text.bytes().all(is_hex) {
        return None;
    }
    u128::from_str_radix(text, 16).ok()
}

fn is_state(state: &str) -> bool {
    let is_printable = |byte: u8| (0x20..0x7f).contains(&byte);
    !state.trim().is_empty()
        && state.len() <= TRACESTATE_MAX
        && state.bytes().all(is_printable)
        && state.split(',').count() <= TRACESTATE_MEMBERS
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[track_caller]
    fn check(traceparent: &str, expected: Option<&str>) {
        let parsed = SpanContext::parse(traceparent, None);
        let shown = parsed.map(|context| context.traceparent());
        assert_eq!(shown.as_deref(), expected, "{traceparent:?}");
    }

    #[test]
    fn r_obs_02_a_callers_trace_context_is_parsed_as_the_standard_says() {
        let good = format!("00-{TRACE}-00f067aa0ba902b7-01");
        check(&good, Some(&good));
        let unsampled = format!("00-{TRACE}-00f067aa0ba902b7-00");
        check(&unsampled, Some(&unsampled));
        assert!(!SpanContext::parse(&unsampled, None).unwrap().is_sampled());
        // Unknown flags are not propagated; a later version is parsed as far as it is known.
        check(
            &format!("00-{TRACE}-00f067aa0ba902b7-ff"),
            Some(&format!("00-{TRACE}-00f067aa0ba902b7-03")),
        );
        check(&format!("cc-{TRACE}-00f067aa0ba902b7-01-what"), Some(&good));
        for bad in [
            "",
            "00",
            "00-x-y-01",
            &format!("00-{TRACE}-00f067aa0ba902b7"),
            &format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            &format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            &format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            &format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            &format!("00-{TRACE}-0000000000000000-01"),
            &format!("00-{TRACE}-+0f067aa0ba902b7-01"),
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn r_obs_02_the_context_is_propagated_and_baggage_is_not() {
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let meta = json!({"traceparent": parent, "tracestate": "a=1,b=2", "baggage": "user=ada", "own": 1});
        let mut meta = meta.as_object().cloned().unwrap();
        let context = SpanContext::from_meta(&meta).unwrap();
        let below = context.child(7);
        below.inject(&mut meta);
        let propagated = json!({
            "traceparent": format!("00-{TRACE}-0000000000000007-01"), "tracestate": "a=1,b=2", "own": 1,
        });
        assert_eq!(Value::Object(meta), propagated);
        assert_eq!(below.parent_bytes(), Some(context.span_bytes()));
        assert_eq!(below.trace_id(), context.trace_id());
    }

    #[test]
    fn a_state_that_is_too_long_or_not_printable_is_dropped() {
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let state = |text: &str| {
            let context = SpanContext::parse(&parent, Some(text)).unwrap();
            context.tracestate().map(str::to_owned)
        };
        assert_eq!(state("a=1"), Some("a=1".into()));
        assert_eq!(state(" "), None);
        assert_eq!(state(&"a=1,".repeat(200)), None);
        assert_eq!(state("a=1\nb"), None);
    }

    #[test]
    fn a_remote_trace_gets_no_labels() {
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let remote = SpanContext::parse(&parent, None).unwrap();
        assert_eq!(remote.child(1).with_labels("call", "s").labels(), None);
        let own = SpanContext::root(&TraceId::from_bytes([1; 16]), 5).unwrap();
        let own = own
            .with_labels("call", "s")
            .with_labels("later", "t")
            .child(6);
        assert_eq!(
            own.labels().map(|labels| labels.name.as_str()),
            Some("call")
        );
        assert_eq!(SpanContext::root(&TraceId::from_bytes([0; 16]), 5), None);
    }
}
