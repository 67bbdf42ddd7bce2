//! The reading side of a stdio connection: turns lines into messages and handles lines that are not messages.

use std::str::Utf8Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pegboard_jsonrpc::{Message, MessageError, Request, RpcResponse, parse, parse_batch};
use pegboard_model::Reason;
use tokio::io::AsyncRead;
use tokio::time::timeout;

use crate::callers::MessageSource;
use crate::flood::FloodControl;
use crate::frame::{LineFault, LineReader};
use crate::inbound::RequestAction;
use crate::malformed::{
    Continuation, Diagnosis, PartialMessage, diagnose, is_wide_encoding, split_first_object,
    trim_bom,
};
use crate::outbox::WriteMode;
use crate::stdio_rpc::{ReadEnd, StdioRpc};
use crate::token_bucket::TokenBucket;

/// How long the rest of a response may take that was cut off by a line end.
const REST_TIME: Duration = Duration::from_secs(1);

impl StdioRpc {
    /// Reads until the stream ends or the server violates a limit.
    pub(crate) async fn read_all<R: AsyncRead + Unpin>(self: &Arc<Self>, source: R) -> ReadEnd {
        let mut lines = LineReader::new(source);
        let mut partial = None;
        let limits = &self.limits;
        let mut noise = TokenBucket::new(limits.stdout_noise_lines, limits.stdout_noise_rate);
        let mut useless = 0;
        let mut flood = FloodControl::new(limits.messages_per_second);
        loop {
            if !lines.has_line() {
                self.inbound.flush();
                flood.pause(&mut lines).await;
            }
            match self.next_line(&mut lines, &mut partial).await {
                Ok(true) => {}
                Ok(false) => return ReadEnd::Closed,
                Err(fault) => return self.line_fault(fault),
            }
            let line = lines.line();
            if let Some(list) = flood.repeated(line) {
                self.inbound.changed(list);
                continue;
            }
            if is_wide_encoding(line) {
                let what = "writes UTF-16 to its standard output instead of UTF-8, and was stopped";
                return ReadEnd::Broken(self.errors.error(Reason::FrameInvalid, what));
            }
            self.handle_line(line, &mut partial);
            let more = self.inbound.useless_lines().saturating_sub(useless);
            useless += more;
            let unsolicited = self.inbound.take_unsolicited().saturating_add(more);
            flood.record(line, unsolicited, self.inbound.take_last_change());
            if more > 0 && !noise.take(more) {
                let what =
                    "writes too much to its standard output that is not MCP, and was stopped";
                return ReadEnd::Broken(self.errors.error(Reason::StdoutPollution, what));
            }
        }
    }

    /// Reads the next line. The wait is short while a response with a known id is incomplete.
    async fn next_line<R: AsyncRead + Unpin>(
        &self,
        lines: &mut LineReader<R>,
        partial: &mut Option<PartialMessage>,
    ) -> Result<bool, LineFault> {
        let cut_off = partial.as_ref().map(|start| start.traces);
        if let Some(id) = cut_off
            .filter(|traces| traces.is_response())
            .and_then(|it| it.id)
        {
            match timeout(REST_TIME, lines.advance(|| self.line_limit())).await {
                Ok(line) => return line,
                Err(_) => {
                    *partial = None;
                    self.fail(Some(id), "ends in the middle of its line");
                }
            }
        }
        lines.advance(|| self.line_limit()).await
    }

    fn line_fault(&self, fault: LineFault) -> ReadEnd {
        let (reason, what) = match fault {
            LineFault::Io => return ReadEnd::Closed,
            LineFault::TooLong(limit) => (
                Reason::FrameTooLarge,
                format!("wrote a message larger than {limit} bytes and was stopped"),
            ),
            LineFault::CarriageReturns => (
                Reason::FrameInvalid,
                "ends its messages with a carriage return alone, and was stopped; \
                 each must end with a line feed"
                    .to_owned(),
            ),
        };
        ReadEnd::Broken(self.errors.error(reason, what))
    }

    fn line_limit(&self) -> usize {
        match self.large_responses.load(Ordering::Relaxed) {
            0 => self.limits.frame_bytes,
            _ => self.limits.result_bytes.max(self.limits.frame_bytes),
        }
    }

    fn handle_line(self: &Arc<Self>, line: &[u8], partial: &mut Option<PartialMessage>) {
        let text = match std::str::from_utf8(line) {
            Ok(text) => text,
            Err(error) => return self.handle_undecodable(line, error),
        };
        let text = trim_bom(text);
        if text.starts_with('[') {
            match parse_batch(text) {
                Ok(messages) => messages
                    .iter()
                    .for_each(|message| self.handle_message(message.get(), &mut None)),
                Err(error) => self.count_error(error),
            }
        } else if !text.is_empty() {
            self.handle_message(text, partial);
        }
    }

    fn handle_message(self: &Arc<Self>, text: &str, partial: &mut Option<PartialMessage>) {
        let error = match parse(text, self.limits.json_depth) {
            Ok(message) => {
                *partial = None;
                return self.dispatch(message);
            }
            Err(error) => error,
        };
        match error {
            MessageError::NotRpc => self.inbound.count_invalid(),
            MessageError::NotJson => match split_first_object(text) {
                Some((first, rest)) => {
                    self.handle_message(first, partial);
                    self.handle_rest(rest, partial);
                }
                None => self.handle_malformed(text, partial),
            },
        }
    }

    /// Handles what follows the first object of a line, one object at a time, because a line may hold many.
    fn handle_rest(self: &Arc<Self>, mut rest: &str, partial: &mut Option<PartialMessage>) {
        while let Some((first, more)) = split_first_object(rest) {
            self.handle_message(first, partial);
            rest = more;
        }
        self.handle_message(rest, partial);
    }

    fn dispatch(self: &Arc<Self>, message: Message<'_>) {
        self.inbound.mark_protocol_seen();
        match message {
            Message::Response { id, response } => self.deliver(id, response),
            Message::UnaddressedError(error) => self.inbound.handle_unaddressed_error(&error),
            Message::Notification { method, params } => {
                self.inbound
                    .handle_notification(&method, params, MessageSource::Shared);
            }
            Message::Request(request) => self.handle_server_request(&request),
        }
    }

    /// Handles a line that is not UTF-8. It cannot be repaired, because the meaning of its bytes is unknown.
    fn handle_undecodable(&self, line: &[u8], error: Utf8Error) {
        let text = String::from_utf8_lossy(line);
        let text = trim_bom(&text);
        let at = error.valid_up_to();
        let why = format!("is not valid UTF-8 (at byte {at})");
        match diagnose(text) {
            Diagnosis::Whole(traces)
            | Diagnosis::PartialMessage(traces)
            | Diagnosis::Broken(traces, _)
                if traces.is_response() =>
            {
                self.fail(traces.id, &why);
            }
            Diagnosis::Whole(_) => self.inbound.count_invalid(),
            _ => self.inbound.count_noise(),
        }
    }

    /// Handles a line that is not JSON: noise, or a response that can be read in part.
    fn handle_malformed(&self, text: &str, partial: &mut Option<PartialMessage>) {
        self.inbound.note_noise(text);
        if let Some(start) = partial.take() {
            let before = start.traces;
            match start.next(text) {
                Continuation::Split(traces) => {
                    return self.fail(traces.id, "is split over several lines");
                }
                Continuation::More(start) => {
                    *partial = Some(start);
                    return self.inbound.count_noise();
                }
                Continuation::Unrelated if before.is_response() && before.id.is_some() => {
                    self.fail(before.id, "ends in the middle of its line");
                }
                Continuation::Unrelated => {}
            }
        }
        match diagnose(text) {
            Diagnosis::Broken(traces, error) if traces.is_response() => {
                self.fail(traces.id, &format!("is not valid JSON: {error}"));
            }
            Diagnosis::PartialMessage(traces) if text.starts_with('{') => {
                *partial = Some(PartialMessage::new(text, traces));
                self.inbound.count_noise();
            }
            _ => self.inbound.count_noise(),
        }
    }

    /// Fails the caller whose response was malformed. If the response does not name its request, every caller fails:
    /// one of them would wait in vain, and it is unknown which.
    fn fail(&self, id: Option<u64>, why: &str) {
        self.inbound.count_invalid();
        let waiting = match id {
            Some(id) => self.lock().waiting.remove(&id).into_iter().collect(),
            None => std::mem::take(&mut self.lock().waiting)
                .into_values()
                .collect::<Vec<_>>(),
        };
        let error = match id {
            Some(_) => format!("sent a response that {why}"),
            None => format!("sent a response that {why}; the request it belongs to is unknown"),
        };
        for caller in waiting {
            let _ = caller.send(Err(self.errors.error(Reason::FrameInvalid, &error)));
        }
    }

    fn handle_server_request(self: &Arc<Self>, request: &Request<'_>) {
        let is_modern = self.modern.load(Ordering::Relaxed);
        match self
            .inbound
            .handle_request(request, is_modern, MessageSource::Shared)
        {
            // A server that sends requests without reading our responses loses them; reading never waits for writing.
            RequestAction::Respond(frame) => self.outgoing.try_send(frame),
            later => {
                let outgoing = Arc::clone(&self.outgoing);
                tokio::spawn(async move {
                    if let Some(frame) = later.frame().await {
                        outgoing.send(frame, WriteMode::Immediate).await;
                    }
                });
            }
        }
    }

    fn deliver(&self, id: u64, response: Result<RpcResponse, &'static str>) {
        let Some(caller) = self.lock().waiting.remove(&id) else {
            return self.inbound.count_dropped();
        };
        let response = response.map_err(|why| {
            self.inbound.count_invalid();
            self.errors.error(
                Reason::FrameInvalid,
                format_args!("sent a response that {why}"),
            )
        });
        let _ = caller.send(response);
    }

    fn count_error(&self, error: MessageError) {
        match error {
            MessageError::NotJson => self.inbound.count_noise(),
            MessageError::NotRpc => self.inbound.count_invalid(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pegboard_model::Limits;

    use super::*;
    use crate::stdio_rpc::call_tool;
    use crate::testing::{pair, pair_with};

    /// Returns the text of the response or the message of the error, and the elapsed time. Time is paused.
    async fn damaged(lines: &[u8]) -> (String, Duration) {
        let (rpc, reading, mut peer) = pair();
        let begun = tokio::time::Instant::now();
        let script = async {
            let id = peer.request().await.0;
            assert_eq!(id, 1);
            peer.write_bytes(lines).await;
            peer
        };
        let watch = async {
            if let Ok(ReadEnd::Broken(error)) = reading.end.await {
                rpc.finish(error);
            }
            std::future::pending::<()>().await;
        };
        let asking = async {
            let (response, _peer) = tokio::join!(call_tool(&rpc), script);
            response
        };
        let response = tokio::select! {
            response = tokio::time::timeout(Duration::from_secs(60), asking) => response.expect("an answer"),
            () = watch => unreachable!(),
        };
        let shown = match response {
            Ok(RpcResponse::Result(result)) => result.get().to_owned(),
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert_eq!(error.reason, Reason::FrameInvalid, "{error}");
                error.into_details().message
            }
        };
        (shown, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn r_sec_01_an_answer_in_an_unusual_frame_is_still_read() {
        let response = r#"{"jsonrpc":"2.0","id":1,"result":{"ok":1}}"#;
        let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
        for lines in [
            format!("{note}{response}\n"),
            format!("{note} {note}\t{response}\n"),
            format!("{response}{note}\n"),
            format!("\u{feff}{response}\n"),
            format!("{note}\n \u{feff}{response}\n"),
            format!("{note}\u{feff}{response}\n"),
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\n{response}\n"),
            format!("{{\n  name: 'x',\n}}\n{response}\n"),
        ] {
            let (shown, after) = damaged(lines.as_bytes()).await;
            assert_eq!(shown, r#"{"ok":1}"#, "{lines:?}");
            assert_eq!(after, Duration::ZERO, "{lines:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn r_sec_01_a_damaged_answer_fails_its_caller_at_once_with_the_cause() {
        let utf16: Vec<u8> = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let cases: [(&[u8], &str); 11] = [
            (&utf16, "UTF-16"),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\xe9\"}}\n",
                "UTF-8 (at byte 39)",
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"result\":{\"t\":\"\xe9\"},\"id\":1}\n",
                "UTF-8",
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":NaN}}\n",
                "not valid JSON",
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"result\":{\"t\":NaN},\"id\":1}\n",
                "belongs to is unknown",
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\n\"result\":{}}\n",
                "several lines",
            ),
            (
                b"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {}\n}\n",
                "several lines",
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"a\nb\"}}\n",
                "several lines",
            ),
            (
                b"{\"result\":{\n\"t\":1},\n\"jsonrpc\":\"2.0\",\"id\":1}\n",
                "several lines",
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"a\nlog line\n",
                "several lines",
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}{\"jsonrpc\":\"2.0\",\"id\":1,\n",
                "{}",
            ),
        ];
        for (lines, expected) in cases {
            let (shown, after) = damaged(lines).await;
            assert!(shown.contains(expected), "{expected}: {shown}");
            assert_eq!(after, Duration::ZERO, "{expected}");
        }
        let truncate: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n";
        let (shown, after) = damaged(truncate).await;
        assert!(shown.contains("in the middle of its line"), "{shown}");
        assert_eq!(after, REST_TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn r_sec_01_noise_over_days_does_not_end_a_server_that_a_burst_ends() {
        let limits = Limits {
            stdout_noise_lines: 10,
            stdout_noise_rate: 1,
            ..Limits::default()
        };
        let (rpc, reading, mut peer) = pair_with(&limits);
        for round in 1..=50 {
            peer.write(&"noise\n".repeat(5)).await;
            while rpc.inbound.noise() < 5 * round {
                tokio::task::yield_now().await;
            }
            tokio::time::advance(Duration::from_secs(5)).await;
        }
        peer.write(&"noise\n".repeat(16)).await;
        let ReadEnd::Broken(error) = reading.end.await.unwrap() else {
            panic!("not broken")
        };
        assert_eq!(error.reason, Reason::StdoutPollution);
    }
}
