//! Pegboard's own HTTP surface.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Home, Running, http, mcp};
use crate::table::Row;

const LIMITS: &str = "gateway/tests/http/limits.rs";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "J03",
        input: "no token, a wrong one, one in the query, one in another header",
        required: "401; the token is in no log",
        run: &[tokens_in_wrong_places],
        tests: &[(
            "gateway/src/http/access.rs",
            "r_sec_03_only_the_current_token_is_accepted",
        )],
        pending: None,
    },
    Row {
        id: "J05",
        input: "default credentials",
        required: "there are none: each first start makes a random token",
        run: &[no_default_token],
        tests: &[(
            "gateway/src/http/token.rs",
            "r_sec_03_the_token_is_minted_once_even_when_many_start_at_once",
        )],
        pending: None,
    },
    Row {
        id: "J06",
        input: "bodies and batches that are too large",
        required: "413 or 400, with bounded memory",
        run: &[large_bodies],
        tests: &[
            (
                LIMITS,
                "r_sec_03_a_message_that_is_too_large_is_refused_in_the_protocols_words",
            ),
            ("gateway/src/batch.rs", "invalid_batches_get_the_right_code"),
        ],
        pending: None,
    },
    Row {
        id: "J07",
        input: "idle connections, slow heads and slow bodies",
        required: "they are bounded and given up, and clients go on",
        run: &[],
        tests: &[
            (
                LIMITS,
                "r_sec_03_idle_unauthenticated_connections_do_not_lock_out_clients",
            ),
            (
                LIMITS,
                "r_sec_03_a_head_that_never_ends_and_one_that_is_too_large_are_given_up",
            ),
            (
                LIMITS,
                "r_sec_03_a_connection_that_sends_no_request_is_closed_soon",
            ),
            (
                "gateway/src/http/body.rs",
                "r_sec_03_a_stalled_body_times_out",
            ),
        ],
        pending: None,
    },
    Row {
        id: "J08",
        input: "a header that names another tool than the body",
        required: "400 with -32020",
        run: &[header_and_body_differ],
        tests: &[(
            "gateway/src/http/headers.rs",
            "r_gate_01_modern_headers_must_repeat_the_body",
        )],
        pending: None,
    },
    Row {
        id: "J09",
        input: "two clients that use the same ids at the same time",
        required: "each gets only its own answers",
        run: &[the_same_ids],
        tests: &[],
        pending: None,
    },
    Row {
        id: "J12",
        input: "a request state that was changed, or that belongs to another tool",
        required: "it is refused",
        run: &[],
        tests: &[
            (
                "gateway/tests/core/input.rs",
                "r_gate_03_a_modern_client_answers_a_modern_server_and_the_state_is_sealed",
            ),
            (
                "gateway/src/seal.rs",
                "only_sealed_values_open_and_only_for_their_purpose",
            ),
        ],
        pending: None,
    },
    Row {
        id: "J13",
        input: "paths out of the folder of the dashboard's files",
        required: "no file of the machine is served",
        run: &[paths_outwards],
        tests: &[],
        pending: None,
    },
    Row {
        id: "J14",
        input: "a form of another page that answers an approval",
        required: "it is refused",
        run: &[forged_forms],
        tests: &[(
            "web/tests/api/login.rs",
            "r_sec_03_a_login_changes_things_only_for_our_own_pages",
        )],
        pending: None,
    },
    Row {
        id: "J15",
        input: "limits out of range, a broken cursor, a query of 1 MiB",
        required: "400 with the field; pages are bounded",
        run: &[queries_out_of_range],
        tests: &[(
            "web/tests/api/reading.rs",
            "r_api_04_unknown_names_give_404_and_bad_input_400_each_with_its_code",
        )],
        pending: None,
    },
    Row {
        id: "J16",
        input: "searches of 1 MiB, of 10,000 words, of patterns, control characters or emoji",
        required: "an answer soon and no panic",
        run: &[strange_searches],
        tests: &[],
        pending: None,
    },
    Row {
        id: "J17",
        input: "very many servers and tools in the metrics",
        required: "the number of series is bounded",
        run: &[],
        tests: &[(
            "trace/tests/trace/metrics.rs",
            "the_number_of_series_is_bounded_whatever_servers_are_called",
        )],
        pending: None,
    },
];

/// A running Pegboard with the example server.
struct Served {
    home: Home,
    running: Running,
    url: String,
    token: String,
}

impl Served {
    fn start() -> Self {
        let home = Home::with_example();
        let running = home.start(&["serve", "--port", "0", "--log-level", "debug"]);
        running.wait_for("/mcp\"");
        let printed = running.output();
        let url = printed
            .lines()
            .find_map(|line| line.strip_prefix("MCP endpoint  "));
        let url = url
            .and_then(|url| url.strip_suffix("/mcp"))
            .expect("the address is printed");
        Self {
            url: url.to_owned(),
            token: home.run(&["token"]).ok().stdout.trim().to_owned(),
            running,
            home,
        }
    }

    fn get(&self, path: &str) -> (u16, String) {
        let bearer = format!("Bearer {}", self.token);
        http(
            &format!("{}{path}", self.url),
            "GET",
            &[("Authorization", &bearer)],
            "",
        )
    }

    fn end(mut self) {
        self.running.signal("-TERM");
        assert!(self.running.wait().success());
        self.home.assert_nothing_runs();
    }
}

fn tokens_in_wrong_places() {
    let served = Served::start();
    let token = &served.token;
    let wrong = format!("Bearer {}x", &token[1..]);
    let right = format!("Bearer {token}");
    let in_query = format!("/api/v1/servers?token={token}");
    for (path, headers) in [
        ("/api/v1/servers", &[][..]),
        ("/api/v1/servers", &[("Authorization", wrong.as_str())]),
        ("/api/v1/servers", &[("Authorization", token.as_str())]),
        (in_query.as_str(), &[]),
        ("/api/v1/servers", &[("X-Authorization", right.as_str())]),
        ("/mcp", &[]),
    ] {
        let (status, body) = http(&format!("{}{path}", served.url), "GET", headers, "");
        assert_eq!(status, 401, "{path} {headers:?}: {body}");
        assert!(!body.contains(token), "{body}");
    }
    assert_eq!(served.get("/api/v1/servers").0, 200);
    let printed = served.running.output();
    assert!(!printed.contains(token), "the token is in the log");
    served.end();
}

fn no_default_token() {
    let tokens: Vec<String> = (0..2)
        .map(|_| Home::new().run(&["token"]).ok().stdout.trim().to_owned())
        .collect();
    assert_ne!(tokens[0], tokens[1]);
    assert!(
        tokens.iter().all(|token| token.len() >= 32),
        "long enough to guess nothing"
    );
}

fn large_bodies() {
    let served = Served::start();
    let bearer = format!("Bearer {}", served.token);
    let send = |body: &str| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        http(&format!("{}/mcp", served.url), "POST", &headers, body)
    };
    assert_eq!(status_of_announced(&served, (4 << 20) + 1), 413);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let batch = format!("[{}]", vec![ping; 101].join(","));
    assert_eq!(send(&batch).0, 400);
    let many = format!("[{}]", vec!["1"; 1_000_000].join(","));
    let started = Instant::now();
    assert_eq!(send(&many).0, 400);
    assert!(started.elapsed() < Duration::from_secs(10));
    served.end();
}

/// Returns the status of a request that announces a body of this size and never sends it.
fn status_of_announced(served: &Served, bytes: usize) -> u16 {
    let address = served.url.strip_prefix("http://").expect("a plain address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n",
        served.token
    );
    stream.write_all(head.as_bytes()).expect("a head");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("an answer");
    let status = response
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok());
    status.expect("a status")
}

fn header_and_body_differ() {
    let served = Served::start();
    let bearer = format!("Bearer {}", served.token);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "example__note_add", "arguments": {"text": "x"}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "example__note_list"),
    ];
    let (status, response) = http(
        &format!("{}/mcp", served.url),
        "POST",
        &headers,
        &body.to_string(),
    );
    let response: Value = serde_json::from_str(&response).expect("an answer");
    assert_eq!(
        (status, &response["error"]["code"]),
        (400, &json!(-32020)),
        "{response}"
    );
    served.end();
}

fn the_same_ids() {
    const CALLS: usize = 250;
    let served = Served::start();
    let url = format!("{}/mcp", served.url);
    std::thread::scope(|scope| {
        for client in ["one", "two"] {
            let (url, token) = (&url, &served.token);
            scope.spawn(move || {
                for number in 0..CALLS {
                    let text = format!("{client} {number}");
                    let params = json!({"name": "example__echo", "arguments": {"text": text}});
                    let (status, response) = mcp(url, token, "tools/call", params);
                    assert_eq!(status, 200, "{response}");
                    let echoed = response["result"]["content"][0]["text"]
                        .as_str()
                        .unwrap_or_default();
                    assert!(echoed.contains(&text), "{text} got {echoed}");
                }
            });
        }
    });
    served.end();
}

fn paths_outwards() {
    let served = Served::start();
    for path in [
        "/assets/../../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/assets//etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "/assets/%00",
    ] {
        let (status, body) = served.get(path);
        assert!(!body.contains("root:"), "{path}");
        assert!((400..500).contains(&status), "{path}: {status} {body}");
    }
    served.end();
}

fn forged_forms() {
    let served = Served::start();
    for (headers, body) in [
        (
            &[("Content-Type", "application/x-www-form-urlencoded")][..],
            "decision=always",
        ),
        (
            &[
                ("Content-Type", "text/plain"),
                ("Origin", "https://evil.example"),
            ],
            "{\"decision\":\"always\"}",
        ),
        (
            &[
                ("Content-Type", "application/json"),
                ("Cookie", "pegboard=x"),
            ],
            "{\"decision\":\"always\"}",
        ),
    ] {
        let url = format!("{}/api/v1/approvals/1f0c22ab", served.url);
        let (status, response) = http(&url, "POST", headers, body);
        assert!([401, 403].contains(&status), "{status} {response}");
    }
    served.end();
}

fn queries_out_of_range() {
    let served = Served::start();
    for (query, field) in [
        ("limit=-1", "limit"),
        ("limit=1000000000", "limit"),
        ("limit=0", "limit"),
        ("cursor=%2e%2e%2f", "cursor"),
        ("cursor=!!", "cursor"),
    ] {
        let (status, body) = served.get(&format!("/api/v1/tools?{query}"));
        let response: Value = serde_json::from_str(&body).unwrap_or_default();
        assert_eq!(
            (status, &response["error"]["field"]),
            (400, &json!(field)),
            "{query}: {body}"
        );
    }
    let long = format!("/api/v1/tools?q={}", "x".repeat(1 << 20));
    let (status, _) = served.get(&long);
    assert!((400..500).contains(&status), "{status}");
    assert_eq!(served.get("/api/v1/tools").0, 200, "it keeps running");
    served.end();
}

fn strange_searches() {
    let home = Home::with_example();
    let queries = [
        "x".repeat(1 << 20),
        vec!["word"; 10_000].join(" "),
        "(a+)+$ [^]* .*?".to_owned(),
        "\u{0}\u{1b}[2J\u{202e}".to_owned(),
        "🙂🙂🙂".to_owned(),
        String::new(),
    ];
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let requests = queries.iter().enumerate().map(|(id, query)| {
        let params = json!({"name": "search_tools", "arguments": {"query": query}, "_meta": meta});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        format!("{request}\n")
    });
    let input: String = requests.collect();
    let started = Instant::now();
    let run = home.run_with_input(&["stdio"], &input).ok();
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(
        run.stdout.lines().count(),
        queries.len(),
        "{}",
        run.stdout.len()
    );
    for line in run.stdout.lines() {
        let response: Value = serde_json::from_str(line).expect("an answer");
        assert!(
            response["result"]["content"][0]["text"].is_string(),
            "{line}"
        );
        assert!(line.len() < 20_000, "{}", line.len());
    }
}
