//! Where something happens within a trace, as W3C trace context has it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::TraceId;

/// The member of `_meta` (and the HTTP header) that names the caller's span.
pub const TRACEPARENT: &str = "traceparent";
/// The member of `_meta` that holds what tracing systems want to find again.
pub const TRACESTATE: &str = "tracestate";
/// The member of `_meta` that may hold anything, and therefore is never handed on.
pub const BAGGAGE: &str = "baggage";

/// Longest `tracestate` that is handed on; the standard asks for no more.
const TRACESTATE_MAX: usize = 512;
/// Most members of a `tracestate`.
const TRACESTATE_MEMBERS: usize = 32;
/// Longest name of a trace or a session; a longer one is left out whole, because what is cut is hard to redact.
const LABEL_MAX: usize = 256;
/// Flags that are understood: sampled, and that the trace id is random.
const KNOWN_FLAGS: u8 = 0b11;
const SAMPLED: u8 = 0b01;

/// One span's place in a trace. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanContext {
    trace: u128,
    span: u64,
    /// Zero when the span is the first of its trace.
    parent: u64,
    flags: u8,
    /// Whether the trace was begun by somebody else.
    foreign: bool,
    state: Option<Arc<str>>,
    about: Option<Arc<TraceLabels>>,
}

/// What every span of one trace repeats, so that each can be found by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLabels {
    /// What the trace is called.
    pub name: String,
    /// Whose trace it is: the session's id, which opens nothing.
    pub session: String,
}

impl SpanContext {
    /// The first span of a trace; `None` when the trace id or the span id is not one.
    pub fn root(trace: &TraceId, span: u64) -> Option<Self> {
        let trace = hex(trace.as_str(), 32)?;
        (trace != 0 && span != 0).then_some(Self {
            trace,
            span,
            parent: 0,
            flags: SAMPLED,
            foreign: false,
            state: None,
            about: None,
        })
    }

    /// A span below this one.
    #[must_use]
    pub fn child(&self, span: u64) -> Self {
        Self {
            parent: self.span,
            span,
            ..self.clone()
        }
    }

    /// Says what the trace is about. The words of a trace that somebody else began are theirs to choose, and the
    /// first words stay.
    #[must_use]
    pub fn with_labels(mut self, name: &str, session: &str) -> Self {
        if !self.foreign && self.about.is_none() {
            let short = |text: &str| match text.len() <= LABEL_MAX {
                true => text.to_owned(),
                false => "…".to_owned(),
            };
            self.about = Some(Arc::new(TraceLabels {
                name: short(name),
                session: short(session),
            }));
        }
        self
    }

    /// What every span of this trace repeats.
    pub fn labels(&self) -> Option<&TraceLabels> {
        self.about.as_deref()
    }

    /// Reads what a caller sent; `None` when it is missing or not as the standard says.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.trim().split('-');
        let version = hex(parts.next()?, 2)?;
        let (trace, span) = (hex(parts.next()?, 32)?, hex(parts.next()?, 16)?);
        let flags = hex(parts.next()?, 2)?;
        // A later version may add parts; this one has none, and 255 is no version.
        let is_whole = version != 0 || parts.next().is_none();
        if version == 0xff || trace == 0 || span == 0 || !is_whole {
            return None;
        }
        Some(Self {
            trace,
            span: u64::try_from(span).ok()?,
            parent: 0,
            flags: u8::try_from(flags).ok()? & KNOWN_FLAGS,
            foreign: true,
            state: tracestate.filter(|state| is_state(state)).map(Arc::from),
            about: None,
        })
    }

    /// Reads the context in a request's `_meta`.
    pub fn from_meta(meta: &Map<String, Value>) -> Option<Self> {
        let text = |key| meta.get(key).and_then(Value::as_str);
        Self::parse(text(TRACEPARENT)?, text(TRACESTATE))
    }

    /// Puts this context into a request's `_meta` in place of whatever was there, and takes `baggage` out.
    pub fn inject(&self, meta: &mut Map<String, Value>) {
        meta.insert(TRACEPARENT.to_owned(), self.traceparent().into());
        match &self.state {
            Some(state) => meta.insert(TRACESTATE.to_owned(), state.as_ref().into()),
            None => meta.remove(TRACESTATE),
        };
        meta.remove(BAGGAGE);
    }

    /// The context as `traceparent` has it.
    pub fn traceparent(&self) -> String {
        format!(
            "00-{:032x}-{:016x}-{:02x}",
            self.trace, self.span, self.flags
        )
    }

    /// What tracing systems want to find again, as it came.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The trace's id.
    pub fn trace_id(&self) -> TraceId {
        TraceId::from_bytes(self.trace.to_be_bytes())
    }

    /// The trace's id as bytes.
    pub fn trace_bytes(&self) -> [u8; 16] {
        self.trace.to_be_bytes()
    }

    /// The span's id as bytes.
    pub fn span_bytes(&self) -> [u8; 8] {
        self.span.to_be_bytes()
    }

    /// The id of the span above, if there is one.
    pub fn parent_bytes(&self) -> Option<[u8; 8]> {
        (self.parent != 0).then(|| self.parent.to_be_bytes())
    }

    /// Whether the caller wants the trace to be kept.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The flags, as `traceparent` has them.
    pub fn flags(&self) -> u8 {
        self.flags
    }
}

/// Lower-case hex digits of exactly one length.
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
    fn r_obs_02_a_callers_trace_context_is_read_as_the_standard_says() {
        let good = format!("00-{TRACE}-00f067aa0ba902b7-01");
        check(&good, Some(&good));
        let unsampled = format!("00-{TRACE}-00f067aa0ba902b7-00");
        check(&unsampled, Some(&unsampled));
        assert!(!SpanContext::parse(&unsampled, None).unwrap().is_sampled());
        // Unknown flags are not handed on; a later version is read as far as it is known.
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
    fn r_obs_02_the_context_is_handed_on_and_baggage_is_not() {
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let meta = json!({"traceparent": parent, "tracestate": "a=1,b=2", "baggage": "user=ada", "own": 1});
        let mut meta = meta.as_object().cloned().unwrap();
        let context = SpanContext::from_meta(&meta).unwrap();
        let below = context.child(7);
        below.inject(&mut meta);
        let handed_on = json!({
            "traceparent": format!("00-{TRACE}-0000000000000007-01"), "tracestate": "a=1,b=2", "own": 1,
        });
        assert_eq!(Value::Object(meta), handed_on);
        assert_eq!(below.parent_bytes(), Some(context.span_bytes()));
        assert_eq!(below.trace_id(), context.trace_id());
    }

    #[test]
    fn a_state_that_is_too_long_or_not_printable_is_left_out() {
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
    fn the_words_of_a_foreign_trace_are_not_ours() {
        let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let foreign = SpanContext::parse(&parent, None).unwrap();
        assert_eq!(foreign.child(1).with_labels("call", "s").labels(), None);
        let own = SpanContext::root(&TraceId::from_bytes([1; 16]), 5).unwrap();
        let own = own
            .with_labels("call", "s")
            .with_labels("later", "t")
            .child(6);
        assert_eq!(own.labels().map(|words| words.name.as_str()), Some("call"));
        assert_eq!(SpanContext::root(&TraceId::from_bytes([0; 16]), 5), None);
    }
}
