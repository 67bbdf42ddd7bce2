//! The table: its rows, and the tests that run them.

use std::collections::BTreeSet;
use std::panic::catch_unwind;

use crate::named_tests::check_named;
use crate::{
    approvals, configuration, disk, frames, http_servers, lists, load, names, own_surface,
    processes, schemas, texts,
};

/// One bad input.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    /// The input.
    pub(crate) input: &'static str,
    /// The required outcome.
    pub(crate) required: &'static str,
    /// Functions that send the input and panic on a wrong outcome.
    pub(crate) run: &'static [fn()],
    /// Tests that prove the row, or the part not covered by `run`: the file below `crates`, and the function.
    pub(crate) tests: &'static [(&'static str, &'static str)],
    /// Why the row, or a part of it, cannot be tested yet.
    pub(crate) pending: Option<&'static str>,
}

/// The ids of all rows. A missing row fails the test.
const IDS: &str = "\
    A02 A04 A05 A07 A11 A12 A14 A15 A18 A19 \
    B01 B02 B05 B06 B07 B10 B11 B12 B14 B15 B16 \
    C01 C02 C03 C07 C08 C10 C12 C13 C14 C17 \
    D01 D02 D03 D04 D05 D06 D07 D08 D09 D11 \
    E02 E03 E04 E05 E06 E07 E08 E09 E10 E14 \
    F01 F02 F03 F05 F06 F07 F08 F09 F12 F13 F14 F15 F16 F17 F18 \
    G01 G02 G03 G04 G05 G06 G07 G08 G09 G10 G11 G13 G14 G15 G16 \
    H01 H02 H03 H07 H08 H10 H11 H13 H14 H15 \
    I01 I02 I03 I07 I09 I10 I12 I14 I15 I16 \
    J03 J05 J06 J07 J08 J09 J12 J13 J14 J15 J16 J17 \
    K01 K02 K03 K04 K07 K08 K09 K10 K11 K12 \
    L02 L03 L05 L06 L07 L08";

const GROUPS: &[&[Row]] = &[
    configuration::ROWS,
    processes::ROWS,
    frames::ROWS,
    lists::ROWS,
    names::ROWS,
    texts::ROWS,
    schemas::ROWS,
    approvals::ROWS,
    http_servers::ROWS,
    own_surface::ROWS,
    disk::ROWS,
    load::ROWS,
];

#[test]
fn r_sec_12_every_bad_input_is_run_or_pending() {
    let rows: Vec<&Row> = GROUPS.iter().flat_map(|group| group.iter()).collect();
    let expected: BTreeSet<&str> = IDS.split_whitespace().collect();
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
    assert_eq!(ids, expected);
    assert_eq!(rows.len(), expected.len(), "an id is there twice");
    let (mut run, mut partly, mut pending) = (0, 0, 0);
    for row in &rows {
        let is_proven = !row.run.is_empty() || !row.tests.is_empty();
        match (is_proven, row.pending) {
            (true, None) => run += 1,
            (true, Some(_)) => partly += 1,
            (false, Some(_)) => pending += 1,
            (false, None) => panic!("{} is neither run nor pending", row.id),
        }
        assert!(
            !row.input.is_empty() && !row.required.is_empty(),
            "{}",
            row.id
        );
        if let Some(why) = row.pending {
            println!("{} pending: {why}", row.id);
        }
    }
    let total = rows.len();
    println!("{total} bad inputs: {run} run, {partly} run in part, {pending} pending");
}

#[test]
fn r_sec_12_tests_that_rows_name_exist_and_are_compiled_in() {
    let faults: Vec<String> = GROUPS
        .iter()
        .flat_map(|group| group.iter())
        .flat_map(|row| row.tests.iter().map(move |test| (row.id, test)))
        .filter_map(|(id, (file, name))| {
            let fault = check_named(file, name).err()?;
            Some(format!("{id}: {file}: {name}: {fault}"))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Runs all rows of a group, even after a failure.
fn run_all(rows: &[Row]) {
    let mut failed = Vec::new();
    for row in rows {
        for run in row.run {
            if catch_unwind(run).is_err() {
                failed.push(format!(
                    "{}: {} must give: {}",
                    row.id, row.input, row.required
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

macro_rules! groups {
    ($($test:ident: $group:ident;)*) => {
        $(
            #[test]
            fn $test() {
                run_all($group::ROWS);
            }
        )*
    };
}

groups! {
    r_sec_12_a_configuration: configuration;
    r_sec_12_b_processes: processes;
    r_sec_12_c_frames: frames;
    r_sec_12_d_lists: lists;
    r_sec_12_e_names: names;
    r_sec_12_f_texts: texts;
    r_sec_12_g_schemas: schemas;
    r_sec_12_h_approvals: approvals;
    r_sec_12_i_http_servers: http_servers;
    r_sec_12_j_own_surface: own_surface;
    r_sec_12_k_disk: disk;
    r_sec_12_l_load: load;
}
