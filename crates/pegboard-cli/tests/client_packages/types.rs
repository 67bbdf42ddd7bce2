//! The types of the clients, checked by the compilers of their languages together with those of the SDKs.

use crate::guides::program;
use crate::packages::{Machine, repository};
use crate::support::Run;

const PROGRAMS: &str = "crates/pegboard-cli/tests/client_packages/programs";

#[test]
fn r_lib_02_the_typescript_types_are_strict_and_fit_the_sdks() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let guide = program("typescript.md", "ts");
    let guide = machine.home.write("project/guide.mts", &guide);
    let uses = std::fs::read_to_string(repository(PROGRAMS).join("types.mts")).expect("a program");
    let uses = machine.home.write("project/types.mts", &uses);
    let mut command = machine.command(&machine.installed("js_sdks/node_modules/.bin/tsc"));
    command
        .args(["--noEmit", "--strict", "--exactOptionalPropertyTypes"])
        .args([
            "--target", "es2022", "--module", "nodenext", "--types", "node",
        ])
        .args([guide, uses]);
    Run::of(command, "").ok();
}

#[test]
fn r_lib_02_the_python_types_are_strict() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let guide = program("python.md", "python");
    let guide = machine.home.write("project/guide.py", &guide);
    let mut command = machine.command(&machine.installed("mypy/bin/mypy"));
    command
        .args(["--strict", "--python-version", "3.10", "--no-incremental"])
        .args(["--warn-unused-ignores", "--cache-dir=/dev/null"])
        .arg("--python-executable")
        .arg(machine.installed("sdks/bin/python"))
        .arg(guide)
        .arg(repository(PROGRAMS).join("types_of_client.py"))
        .arg(repository("packaging/python/src/pegboard"));
    command.env_remove("PYTHONPATH");
    command.env("MYPYPATH", repository("packaging/python/src"));
    Run::of(command, "").ok();
}
