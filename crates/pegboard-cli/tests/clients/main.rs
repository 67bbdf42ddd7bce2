//! The gateway as real clients meet it: the official SDKs and the inspector, of both eras, over stdio and HTTP,
//! before real servers of both eras. Each test runs a small client program as a child process and checks what
//! it saw. `scripts/install-test-env` installs what they need into the folder that `PEGBOARD_TEST_ENV` names;
//! without it each test says so and passes.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on stops, with a sentence that says why"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the machine in small is the same as that of the command line's tests, which use more of it"
)]
mod support;

mod changes;
mod inspector;
mod machine;
mod one_process;
mod program;
mod restart;
mod tour;
