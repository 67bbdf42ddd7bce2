//! Tools that change, policies and approvals.

use serde_json::{Value, json};

use crate::support::Home;
use crate::table::Row;

const POLICIES: &str = "hub/tests/policies.rs";
const DISPATCH: &str = "hub/tests/dispatch.rs";
const MACHINE: &str = "hub/tests/approval_machine.rs";
const EVERY_PATH: &str = "pegboard-cli/tests/cli/running/every_path.rs";

const REVIEW: &str = "hub/tests/review.rs";
const HELD: &str =
    "r_sec_02_a_changed_tool_is_held_if_it_was_called_and_comes_back_if_it_changes_back";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "H01",
        input: "a description that changes by one character after an approval",
        required: "the call does not run, the difference is shown, and searches leave the tool out",
        run: &[],
        tests: &[
            (
                POLICIES,
                "r_sec_02_a_tool_that_changes_after_it_was_allowed_asks_again_and_shows_the_difference",
            ),
            (
                POLICIES,
                "r_sec_02_a_tool_that_changes_while_its_server_starts_does_not_run",
            ),
            (REVIEW, HELD),
        ],
        pending: None,
    },
    Row {
        id: "H02",
        input: "schemas, annotations, titles or icons that change after an approval",
        required: "the same as for a description",
        run: &[],
        tests: &[
            ("guard/src/fingerprint.rs", "content_and_array_order_matter"),
            (
                DISPATCH,
                "r_sec_08_a_granted_tool_that_drops_its_destructive_hint_asks_again",
            ),
            (REVIEW, "r_sec_02_dropped_annotations_are_a_change"),
        ],
        pending: None,
    },
    Row {
        id: "H03",
        input: "a tool that changes back and forth",
        required: "it stays unapproved until a person approves it; the changes are counted",
        run: &[],
        tests: &[(
            MACHINE,
            "r_sec_02_no_interleaving_lets_an_unapproved_version_run",
        )],
        pending: Some("how often a tool changes is not counted yet"),
    },
    Row {
        id: "H07",
        input: "a server that is renamed, and another one that takes its name",
        required: "approvals belong to the definition, not to the name",
        run: &[],
        tests: &[
            (
                "config/src/trust_store.rs",
                "trust_is_bound_to_folder_name_and_definition",
            ),
            (
                "store/tests/persistence.rs",
                "r_store_k04_tools_are_never_given_out_under_another_definition",
            ),
        ],
        pending: None,
    },
    Row {
        id: "H08",
        input: "a first list that is poisoned already",
        required: "it is scanned before it counts",
        run: &[],
        tests: &[(
            REVIEW,
            "r_scan_03_a_flagged_tool_is_held_from_the_first_list_until_it_is_accepted",
        )],
        pending: None,
    },
    Row {
        id: "H10",
        input: "a denied tool by every path: meta tool, API, command line, name, alias, other case",
        required: "every path asks the same gate",
        run: &[],
        tests: &[
            (EVERY_PATH, "r_pol_01_denied_tools_run_by_no_path"),
            (
                EVERY_PATH,
                "r_pol_01_disabled_tools_are_hidden_on_every_path",
            ),
            (
                "gateway/tests/core/approvals.rs",
                "r_pol_01_no_path_bypasses_a_policy",
            ),
            (
                "gateway/tests/core/gate_machine.rs",
                "r_sec_08_no_sequence_runs_a_version_that_no_rule_and_no_person_allowed",
            ),
        ],
        pending: None,
    },
    Row {
        id: "H11",
        input: "two equal rules, one that allows and one that denies",
        required: "the stricter one wins, and the explanation says why",
        run: &[the_stricter_rule_wins],
        tests: &[(
            "guard/tests/policy.rs",
            "r_pol_01_among_equal_rules_the_stricter_one_decides",
        )],
        pending: None,
    },
    Row {
        id: "H13",
        input: "500 tools that change at once",
        required: "they are grouped by server and risk; none is accepted by itself",
        run: &[],
        tests: &[(REVIEW, HELD)],
        pending: Some(
            "the reviews of a server are decided together, but 500 at once are not tested",
        ),
    },
    Row {
        id: "H14",
        input: "a model that tries to approve its own call",
        required: "no tool and no call token can approve anything",
        run: &[no_tool_approves],
        tests: &[(
            "web/tests/api/openapi.rs",
            "r_sec_03_the_call_token_changes_nothing_by_any_route",
        )],
        pending: None,
    },
    Row {
        id: "H15",
        input: "approvals, refreshes and calls at once",
        required: "no call runs under a version that was not approved",
        run: &[],
        tests: &[
            (
                MACHINE,
                "r_sec_02_no_interleaving_lets_an_unapproved_version_run",
            ),
            (MACHINE, "r_sec_02_the_machine_does_run_approved_calls"),
        ],
        pending: None,
    },
];

fn the_stricter_rule_wins() {
    let home = Home::with_example();
    home.run(&["policy", "set", "ech*", "allow"]).ok();
    home.run(&["policy", "set", "*cho", "deny"]).ok();
    home.run(&["call", "example/echo", "text=x"]).exits(6);
    let printed = home.run(&["policy", "test", "example/echo"]).stdout;
    for part in ["deny", "ech*", "*cho"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

fn no_tool_approves() {
    let home = Home::with_example();
    home.run(&["policy", "set", "echo", "ask"]).ok();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = |id: u32, method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        )
    };
    let mut input = request(0, "tools/list", json!({}));
    for (id, tool) in [
        "approve",
        "approvals",
        "allow",
        "trust",
        "enable",
        "policy",
        "grant",
    ]
    .iter()
    .enumerate()
    {
        let arguments = json!({"tool_name": tool, "arguments": {"tool": "example__echo", "decision": "always"}});
        let number = u32::try_from(id).expect("a few") + 1;
        input += &request(
            number,
            "tools/call",
            json!({"name": "call_tool", "arguments": arguments}),
        );
    }
    let run = home.run_with_input(&["stdio"], &input).ok();
    for line in run.stdout.lines() {
        let response: Value = serde_json::from_str(line).expect("an answer");
        let is_list = response["id"] == 0;
        if is_list {
            let names = response["result"]["tools"].to_string();
            assert!(
                !names.contains("approv") && !names.contains("grant"),
                "{names}"
            );
        } else {
            assert_eq!(response["result"]["isError"], true, "{response}");
        }
    }
    let grants = home.run(&["policy", "grants", "--json"]).ok().stdout;
    assert!(!grants.contains("example__echo"), "{grants}");
}
