//! Lines on a server's standard output.

use pegboard_testkit::Script;
use pegboard_testkit::script::{Era, Moment, NoiseKind, ResponseShape};

use crate::scripted::{discover, fails, gives};
use crate::table::Row;

const FRAMING: &str = "testkit/tests/hostile_upstream/framing.rs";
const CALLS: &str = "testkit/tests/hostile_upstream/calls.rs";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "C01",
        input: "600 MB without a line break",
        required: "FRAME_TOO_LARGE at the limit, with memory bounded by it",
        run: &[endless_line],
        tests: &[(
            "testkit/tests/hostile_memory.rs",
            "r_sec_01_c01_600_megabytes_without_a_line_break_cost_one_limit",
        )],
        pending: None,
    },
    Row {
        id: "C02",
        input: "a line of exactly the limit, and of one byte more",
        required: "accepted, and FRAME_TOO_LARGE",
        run: &[],
        tests: &[
            (
                FRAMING,
                "r_sec_01_c02_a_line_of_exactly_the_limit_is_accepted_and_one_byte_more_is_not",
            ),
            (
                "upstream/src/frame.rs",
                "r_sec_01_a_line_of_exactly_the_limit_is_the_longest",
            ),
        ],
        pending: None,
    },
    Row {
        id: "C03",
        input: "a banner before the protocol",
        required: "it is counted, and the discovery succeeds",
        run: &[banner],
        tests: &[(
            FRAMING,
            "r_sec_01_c03_the_banner_is_reported_with_the_handshake",
        )],
        pending: None,
    },
    Row {
        id: "C07",
        input: "lines that end in CRLF, lines parted by CR alone, NUL bytes",
        required: "CRLF is accepted; others are not taken for messages",
        run: &[line_ends],
        tests: &[
            (
                FRAMING,
                "r_sec_01_c07_carriage_returns_at_the_end_are_accepted",
            ),
            (
                "upstream/src/frame.rs",
                "r_sec_01_c07_messages_parted_by_carriage_returns_alone_are_seen_at_once",
            ),
        ],
        pending: None,
    },
    Row {
        id: "C08",
        input: "JSON of 100,000 levels",
        required: "it is refused without a deep stack",
        run: &[deep_json],
        tests: &[
            (
                "jsonrpc/src/envelope.rs",
                "r_sec_01_deep_nesting_uses_no_stack",
            ),
            (
                FRAMING,
                "r_sec_01_c08_a_deeply_nested_entry_is_left_for_admission_to_reject",
            ),
        ],
        pending: None,
    },
    Row {
        id: "C10",
        input: "a key that is there twice, or in another case",
        required: "duplicates are refused; keys are case-sensitive",
        run: &[duplicate_keys],
        tests: &[(
            "jsonrpc/src/envelope.rs",
            "r_sec_01_ambiguous_messages_are_refused",
        )],
        pending: None,
    },
    Row {
        id: "C12",
        input: "responses with an unknown id, an id that was answered, or another request's id",
        required: "they are dropped and counted, and reach no other caller",
        run: &[foreign_ids],
        tests: &[
            (FRAMING, "r_sec_01_c12_unsolicited_responses_are_dropped"),
            (FRAMING, "r_sec_01_c12_the_second_of_two_answers_is_dropped"),
            (
                CALLS,
                "r_sec_01_c12_concurrent_calls_get_their_own_answers_in_any_order",
            ),
        ],
        pending: None,
    },
    Row {
        id: "C13",
        input: "a response with both result and error, or with neither",
        required: "FRAME_INVALID at once, not after the timeout",
        run: &[ambiguous_responses],
        tests: &[(
            FRAMING,
            "r_sec_01_c13_both_or_neither_of_result_and_error_is_invalid_at_once",
        )],
        pending: None,
    },
    Row {
        id: "C14",
        input: "requests of a server on a modern connection",
        required: "they are refused and logged, and the call continues",
        run: &[],
        tests: &[
            (
                CALLS,
                "r_sec_01_c14_requests_of_the_server_are_answered_and_the_call_goes_on",
            ),
            (
                "upstream/src/inbound.rs",
                "r_sec_01_c14_a_refused_request_is_logged_and_a_flood_of_them_is_not",
            ),
        ],
        pending: None,
    },
    Row {
        id: "C17",
        input: "random lines from fixed seeds",
        required: "no panic and no hang",
        run: &[random_lines],
        tests: &[
            (FRAMING, "r_sec_01_c17_random_lines_are_survived"),
            ("upstream/src/stdio_rpc.rs", "random_bytes_do_no_harm"),
        ],
        pending: None,
    },
];

fn listing(shape: ResponseShape) -> Script {
    Script::new().tools(["a"]).answer(Moment::List, shape)
}

fn endless_line() {
    let flood = NoiseKind::Flood(600 << 20);
    let script = Script::new().tools(["a"]).noise(Moment::List, flood, 1);
    fails(&script, &["FRAME_TOO_LARGE"]);
}

fn banner() {
    let script = Script::new()
        .tools(["a"])
        .noise(Moment::Start, NoiseKind::Text, 3);
    gives(&script, 1);
}

fn line_ends() {
    gives(&listing(ResponseShape::CrLf), 1);
    // Binary data contains NUL bytes and is not a message.
    let binary = Script::new()
        .tools(["a"])
        .noise(Moment::List, NoiseKind::Binary, 3);
    gives(&binary, 1);
}

fn deep_json() {
    let noise = Script::new()
        .tools(["a"])
        .noise(Moment::List, NoiseKind::Deep(100_000), 1);
    gives(&noise, 1);
    for era in [Era::Modern, Era::Legacy] {
        let deep = Script::new()
            .era(era)
            .answer(Moment::List, ResponseShape::Deep(100_000));
        assert_eq!(discover(&deep).tools, Some(0), "the deep tool is left out");
    }
}

fn duplicate_keys() {
    let failed = fails(&listing(ResponseShape::DuplicateKey), &["FRAME_INVALID"]);
    assert!(failed.took < 5_000, "{failed:?}");
}

fn foreign_ids() {
    for shape in [ResponseShape::WrongId, ResponseShape::TextId] {
        let failed = discover(&listing(shape));
        assert_eq!(failed.tools, None, "{failed:?}");
    }
    gives(&listing(ResponseShape::Twice), 1);
}

fn ambiguous_responses() {
    for shape in [
        ResponseShape::Both,
        ResponseShape::Neither,
        ResponseShape::NoVersion,
    ] {
        let failed = fails(&listing(shape), &["FRAME_INVALID"]);
        assert!(failed.took < 5_000, "{failed:?}");
    }
}

fn random_lines() {
    let script = Script::new()
        .tools(["a"])
        .noise(Moment::Start, NoiseKind::Random(11), 2_000)
        .noise(Moment::List, NoiseKind::Random(12), 2_000);
    gives(&script, 1);
}
