//! HTTP servers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::support::Home;
use crate::table::Row;

const FAULTS: &str = "testkit/tests/hostile_upstream/http_faults.rs";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "I01",
        input: "a body of 10 GiB by its header, and one without end",
        required: "HTTP_BODY_TOO_LARGE at the limit, with memory bounded by it",
        run: &[],
        tests: &[
            (FAULTS, "r_sec_01_i01_i03_bodies_without_end_are_cut_off"),
            (
                "testkit/tests/hostile_memory.rs",
                "r_sec_01_i01_i03_endless_bodies_over_http_cost_one_limit",
            ),
        ],
        pending: None,
    },
    Row {
        id: "I02",
        input: "a compressed body that grows without end",
        required: "nothing is decompressed: no compression is requested, and such a body is refused",
        run: &[compressed_bodies],
        tests: &[],
        pending: None,
    },
    Row {
        id: "I03",
        input: "an event of 1 GiB without an end",
        required: "it is cut off at the limit",
        run: &[],
        tests: &[
            (
                "upstream/src/http/sse.rs",
                "r_sec_01_an_endless_event_is_stopped_at_the_limit",
            ),
            (FAULTS, "r_sec_01_i01_i03_bodies_without_end_are_cut_off"),
        ],
        pending: None,
    },
    Row {
        id: "I07",
        input: "redirects to other hosts, other schemes, metadata services, and in a loop",
        required: "HTTP_REDIRECT_REFUSED, and no credentials are sent there",
        run: &[],
        tests: &[
            (FAULTS, "r_sec_01_i07_redirects_to_other_places_are_refused"),
            (FAULTS, "r_sec_01_i07_a_token_does_not_follow_a_redirect"),
            (
                FAULTS,
                "r_sec_01_i07_a_redirect_within_the_same_place_keeps_the_request",
            ),
        ],
        pending: None,
    },
    Row {
        id: "I09",
        input: "addresses in decimal, octal, hexadecimal, mapped, with a login or a trailing dot",
        required: "they are normalised, and unsafe ones are refused with a reason",
        run: &[],
        tests: &[
            (
                "upstream/src/http/target.rs",
                "r_sec_01_i09_this_machine_is_known_in_every_form",
            ),
            (
                "upstream/tests/http.rs",
                "r_sec_01_i09_an_address_that_cannot_be_read_says_why_and_how_to_write_it",
            ),
        ],
        pending: None,
    },
    Row {
        id: "I10",
        input: "certificates that are expired, of another host or self-signed, and old versions of TLS",
        required: "TLS_FAILED with the reason, and nothing is sent in the clear",
        run: &[],
        tests: &[(
            FAULTS,
            "r_sec_01_i10_a_server_without_tls_behind_https_is_a_tls_failure",
        )],
        pending: Some(
            "the test servers have no certificates yet; only a server without TLS is covered",
        ),
    },
    Row {
        id: "I12",
        input: "an authorization endpoint with shell characters",
        required: "only https, opened without a shell and shown escaped",
        run: &[],
        tests: &[],
        pending: Some("logins by OAuth are not built yet"),
    },
    Row {
        id: "I14",
        input: "a page, a batch, or nothing in place of an answer",
        required: "HTTP_PROTOCOL with the first characters, escaped",
        run: &[],
        tests: &[
            (
                FAULTS,
                "r_sec_01_i14_a_response_outside_the_protocol_is_reported_as_such",
            ),
            (
                FAULTS,
                "r_sec_01_i14_the_error_shows_the_first_words_escaped",
            ),
        ],
        pending: None,
    },
    Row {
        id: "I15",
        input: "a busy server that asks to wait for a negative, huge or malformed time",
        required: "the time is honoured within bounds",
        run: &[],
        tests: &[
            (
                "upstream/src/http/retry_after.rs",
                "r_sec_01_i15_retry_after_is_read_in_every_form_and_clamped",
            ),
            (
                "testkit/tests/hostile_upstream/http.rs",
                "r_disc_02_i15_busy_servers_are_reported_after_a_bounded_wait",
            ),
        ],
        pending: None,
    },
    Row {
        id: "I16",
        input: "a connection that breaks at every byte of the response",
        required: "the server is unavailable, and no call is sent twice",
        run: &[],
        tests: &[
            (
                FAULTS,
                "r_sec_01_i16_a_connection_that_breaks_at_any_byte_is_unavailable",
            ),
            (FAULTS, "r_sec_01_i16_a_call_is_never_sent_twice"),
        ],
        pending: None,
    },
];

fn compressed_bodies() {
    for coding in ["gzip", "br", "zstd", "deflate"] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::new(Mutex::new(String::new()));
        let seen = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut head = [0; 16 * 1024];
                let read = stream.read(&mut head).unwrap_or(0);
                seen.lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&head[..read]));
                // The first bytes of an endless gzip stream.
                let body = [&[0x1f, 0x8b, 8, 0][..], &[0; 60]].concat();
                let response = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: {coding}\r\n\
                     Content-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(response.as_bytes());
                let _ = stream.write_all(&body);
            }
        });
        let home = Home::new();
        let server = format!(
            "[servers.packed]\nurl = \"http://127.0.0.1:{port}/mcp\"\ndiscovery_timeout = \"5s\"\n"
        );
        home.write("config/config.toml", &server);
        let run = home.run(&["refresh", "packed", "--json"]).exits(3).json();
        let error = &run["servers"][0]["error"];
        assert_eq!(error["reason"], "HTTP_PROTOCOL", "{coding}: {error}");
        let heads = heads.lock().unwrap().to_lowercase();
        assert!(
            heads.contains("post /mcp"),
            "the server received the request: {heads}"
        );
        assert!(
            !heads.contains(&format!("accept-encoding: {coding}")),
            "{heads}"
        );
    }
}
