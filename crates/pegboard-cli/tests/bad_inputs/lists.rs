//! Handshakes, revisions and paged lists.

use pegboard_testkit::Script;
use pegboard_testkit::script::{Cursors, Era, Moment, Probe, ResponseShape};
use serde_json::json;

use crate::scripted::{discover, fails, gives};
use crate::support::Home;
use crate::table::Row;

const PAGES: &str = "testkit/tests/hostile_upstream/pages.rs";
const HANDSHAKE: &str = "testkit/tests/hostile_upstream/handshake.rs";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "D01",
        input: "servers of the legacy era, of the modern era, and of both",
        required: "all are discovered, whatever error the probe gets",
        run: &[every_era],
        tests: &[(
            "testkit/tests/hostile_upstream/http.rs",
            "r_disc_02_d01_every_era_is_discovered_over_http",
        )],
        pending: None,
    },
    Row {
        id: "D02",
        input: "a legacy server that never answers the probe",
        required: "it gets a legacy handshake soon, and its era is stored",
        run: &[silent_probe],
        tests: &[
            (
                HANDSHAKE,
                "r_disc_02_d02_a_server_that_ignores_the_probe_is_probed_again_soon",
            ),
            (
                HANDSHAKE,
                "r_disc_02_a_known_legacy_server_is_not_probed_again",
            ),
        ],
        pending: None,
    },
    Row {
        id: "D03",
        input: "revisions from the past and the future, empty, or of 10 KiB",
        required: "VERSION_UNSUPPORTED with the revisions that are supported",
        run: &[unknown_revisions],
        tests: &[],
        pending: None,
    },
    Row {
        id: "D04",
        input: "an error in place of the list",
        required: "DISCOVERY_FAILED; the tools that were known stay, marked stale",
        run: &[error_in_place_of_the_list],
        tests: &[(
            "hub/tests/discovery.rs",
            "r_disc_03_a_failed_discovery_keeps_the_known_tools_and_marks_them_stale",
        )],
        pending: None,
    },
    Row {
        id: "D05",
        input: "a cursor that comes again",
        required: "PAGINATION_LOOP; no part of the list replaces the known one",
        run: &[repeated_cursor],
        tests: &[(
            "hub/tests/hostile.rs",
            "r_disc_03_r_sec_01_endless_pages_keep_what_is_known",
        )],
        pending: None,
    },
    Row {
        id: "D06",
        input: "ever new cursors",
        required: "LIST_TOO_LARGE at a limit",
        run: &[endless_pages],
        tests: &[(
            "upstream/src/pager.rs",
            "r_disc_02_ever_new_cursors_end_at_the_page_limit",
        )],
        pending: None,
    },
    Row {
        id: "D07",
        input: "cursors that are empty, of 1 MiB, or numbers",
        required: "an empty one is not the end, a huge one is refused, and no half list is used",
        run: &[strange_cursors],
        tests: &[],
        pending: None,
    },
    Row {
        id: "D08",
        input: "one page of several that fails",
        required: "the whole list fails, and no half list is used",
        run: &[failing_page],
        tests: &[],
        pending: None,
    },
    Row {
        id: "D09",
        input: "cache hints that are negative, zero, huge, missing or texts",
        required: "invalid hints are ignored, and a hint counts for at most one day",
        run: &[],
        tests: &[
            (
                PAGES,
                "r_disc_12_d09_cache_hints_are_clamped_and_nonsense_is_no_hint",
            ),
            (
                "hub/src/discovery/freshness.rs",
                "r_disc_12_a_positive_hint_counts_and_zero_does_not",
            ),
        ],
        pending: None,
    },
    Row {
        id: "D11",
        input: "cache scopes that differ between pages",
        required: "the list counts as private",
        run: &[],
        tests: &[(
            PAGES,
            "r_disc_12_d11_scopes_that_differ_between_pages_count_as_private",
        )],
        pending: None,
    },
];

fn paged(cursors: Cursors) -> Script {
    Script::new().tools(["a", "b", "c"]).with(|script| {
        script.list.page_size = Some(1);
        script.list.cursors = cursors;
    })
}

fn every_era() {
    for era in [Era::Legacy, Era::Modern, Era::Both] {
        gives(&Script::new().tools(["a"]).era(era), 1);
    }
    for probe in [Probe::MethodNotFound, Probe::InvalidParams, Probe::Exit] {
        gives(&Script::new().tools(["a"]).era(Era::Legacy).probe(probe), 1);
    }
}

fn silent_probe() {
    let script = Script::new()
        .tools(["a"])
        .era(Era::Legacy)
        .probe(Probe::Silent);
    gives(&script, 1);
}

fn unknown_revisions() {
    let long = "v".repeat(10_240);
    for revision in ["1999-01-01", "", "9999-12-31", &long] {
        let script = Script::new().tools(["a"]).era(Era::Legacy).with(|script| {
            script.protocol_version = Some(revision.to_owned());
        });
        let failed = fails(&script, &["VERSION_UNSUPPORTED"]);
        assert!(failed.message.contains("2026-07-28"), "{failed:?}");
        assert!(failed.message.len() < 4_096, "{}", failed.message.len());
    }
}

fn error_in_place_of_the_list() {
    let script = Script::new()
        .tools(["a"])
        .answer(Moment::List, ResponseShape::Error(-32603));
    fails(&script, &["DISCOVERY_FAILED"]);
}

fn repeated_cursor() {
    fails(&paged(Cursors::Repeated), &["PAGINATION_LOOP"]);
}

fn endless_pages() {
    fails(&paged(Cursors::Endless), &["LIST_TOO_LARGE"]);
    fails(&paged(Cursors::EndlessEmpty), &["LIST_TOO_LARGE"]);
}

fn strange_cursors() {
    gives(&paged(Cursors::EmptyText), 3);
    gives(&paged(Cursors::Huge(50_000)), 3);
    fails(
        &paged(Cursors::Huge(1 << 20)),
        &["LIST_TOO_LARGE", "DISCOVERY_FAILED"],
    );
    let number = discover(&paged(Cursors::Number));
    assert!(
        number.tools == Some(3) || number.reason == "DISCOVERY_FAILED",
        "{number:?}"
    );
}

fn failing_page() {
    let home = Home::new();
    let sound = paged(Cursors::Sound);
    let failing = paged(Cursors::Sound).with(|script| script.list.fail_page = Some(3));
    home.add_script("s", &sound, "");
    home.run(&["refresh", "s"]).ok();
    // The same server now fails at its third page.
    let (_, before) = sound.stdio_command();
    let (_, after) = failing.stdio_command();
    let (before, after) = (json!(before).to_string(), json!(after).to_string());
    let config = home.config().replace(&before, &after);
    assert_ne!(config, home.config());
    home.write("config/config.toml", &config);
    let failed = home.run(&["refresh", "s", "--json"]).exits(3).json();
    assert_eq!(failed["servers"][0]["error"]["reason"], "DISCOVERY_FAILED");
    let tools = home.run(&["tools", "--json"]).ok().json();
    assert_eq!(
        tools["tools"].as_array().map(Vec::len),
        Some(0),
        "no half list: {tools}"
    );
}
