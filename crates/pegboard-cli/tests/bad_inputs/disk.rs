//! Stored files and crashes.

use crate::table::Row;

const DAMAGE: &str = "store/tests/damage.rs";
const PERSISTENCE: &str = "store/tests/persistence.rs";

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "K01",
        input: "a kill at any moment of a write",
        required: "the old or the new list is there afterwards, never a mixture",
        run: &[],
        tests: &[
            (
                "store/tests/processes.rs",
                "r_store_05_kill_9_leaves_old_or_new",
            ),
            (
                "pegboard-cli/tests/cli/persistence/crashes.rs",
                "r_store_05_r_sec_04_a_kill_at_any_moment_leaves_the_old_or_the_new_list_and_no_child",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K02",
        input: "a store that is cut at any length, or has any byte flipped",
        required: "it is set aside, reported and rebuilt",
        run: &[],
        tests: &[
            (DAMAGE, "r_store_k02_truncated_at_any_length"),
            (DAMAGE, "r_store_k02_any_byte_flipped"),
            (
                "pegboard-cli/tests/cli/persistence/damage.rs",
                "r_store_05_a_damaged_store_is_set_aside_named_and_rebuilt",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K03",
        input: "a store with a tool or an approval that another program wrote",
        required: "CACHE_UNTRUSTED; the row does not count",
        run: &[],
        tests: &[
            (
                PERSISTENCE,
                "r_store_k03_a_manipulated_row_is_ignored_with_a_notice",
            ),
            (
                PERSISTENCE,
                "r_store_k03_records_of_another_machine_are_not_trusted",
            ),
            (
                "store/tests/ledger.rs",
                "r_sec_02_a_forged_decision_does_not_count",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K04",
        input: "a store of another definition, and of a newer or older format",
        required: "it is left alone or migrated, and never serves another command",
        run: &[],
        tests: &[
            (
                PERSISTENCE,
                "r_store_k04_a_newer_store_is_refused_and_left_as_it_is",
            ),
            (
                PERSISTENCE,
                "r_store_k04_tools_are_never_given_out_under_another_definition",
            ),
            (
                "store/src/sqlite/schema.rs",
                "r_store_k04_older_files_are_migrated_step_by_step",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K07",
        input: "files and folders after a write",
        required: "only their owner can read them",
        run: &[],
        tests: &[
            (
                PERSISTENCE,
                "r_store_k07_every_file_is_0600_also_after_it_was_wider",
            ),
            (
                "store/src/state_dir.rs",
                "r_store_k07_folders_are_0700_and_the_key_0600_also_when_they_were_wider",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K08",
        input: "several processes with one store",
        required: "whole records, and none is lost",
        run: &[],
        tests: &[
            (
                "store/tests/processes.rs",
                "r_store_06_processes_save_and_load_at_once",
            ),
            (
                "pegboard-cli/tests/cli/persistence/concurrent_processes.rs",
                "r_store_06_many_processes_write_one_store_and_nothing_is_lost",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K09",
        input: "a clock that jumps ten years, back a day, or over a long sleep",
        required: "no storm of discoveries, and nothing stays wrong",
        run: &[],
        tests: &[
            (
                "hub/tests/discovery.rs",
                "r_store_01_k09_a_clock_jump_starts_no_refresh_storm_and_blocks_no_refresh",
            ),
            (
                "hub/src/discovery/freshness.rs",
                "r_store_01_k09_a_clock_set_back_a_day_makes_nothing_stale_and_years_do",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K10",
        input: "secrets in variables, headers, arguments, queries and logins",
        required: "none of 40 planted values comes out anywhere",
        run: &[],
        tests: &[
            (
                "pegboard-cli/tests/canaries/main.rs",
                "r_obs_03_forty_canaries_leak_nowhere",
            ),
            (
                "pegboard-cli/tests/canaries/main.rs",
                "the_table_has_forty_distinct_rows",
            ),
            (
                "trace/tests/trace/canaries.rs",
                "r_obs_03_forty_canaries_are_in_no_exported_byte",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K11",
        input: "a panic in each kind of task",
        required: "that server degrades, and the process lives",
        run: &[],
        tests: &[
            (
                "hub/tests/panics.rs",
                "r_sec_01_k11_a_panic_in_a_discovery_fails_that_discovery_alone",
            ),
            (
                "hub/tests/panics.rs",
                "r_sec_01_k11_a_panic_in_a_call_fails_that_call_alone",
            ),
            (
                "hub/tests/panics.rs",
                "r_sec_01_k11_a_handler_of_the_host_program_that_panics_is_a_failed_call",
            ),
        ],
        pending: None,
    },
    Row {
        id: "K12",
        input: "128 MiB of memory for everything, with hostile servers",
        required: "the limit is kept, or a restart finds the last list",
        run: &[],
        tests: &[(
            "pegboard-cli/tests/cli/persistence/hostile_memory.rs",
            "r_sec_12_k12_hostile_servers_are_discovered_within_128_mib_and_a_killed_process_restarts",
        )],
        pending: None,
    },
];
