//! Real servers that change or are killed.

use pegboard_testkit::wait_until;
use serde_json::json;

use super::Installed;
use crate::running::{call, pid_of};
use crate::support::{TIMEOUT, kill};

#[test]
fn r_disc_08_a_new_server_version_with_the_same_definition_gives_a_delta() {
    let Some(real) = Installed::here() else {
        return;
    };
    let home = &real.home;
    let install = |program: &str| {
        let script = format!("exec node '{program}' /tmp\n");
        home.write("server.sh", &script).display().to_string()
    };
    let script = install(&real.npm("server-memory"));
    home.add("s", "sh", &[&script], "");
    home.run(&["refresh", "s"]).ok();
    install(&real.npm("server-filesystem"));
    let refreshed = home.run(&["refresh", "s", "--json"]).ok().json();
    let delta = &refreshed["servers"][0]["delta"];
    let names = |key: &str| delta[key].to_string();
    assert!(names("added").contains("read_text_file"), "{delta}");
    assert!(names("removed").contains("read_graph"), "{delta}");
    assert_eq!(delta["unchanged"], 0, "{delta}");
    let tools = home.run(&["tools", "s", "--json"]).ok().stdout;
    assert!(
        tools.contains("s__read_text_file") && !tools.contains("s__read_graph"),
        "{tools}"
    );
    home.assert_nothing_runs();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_server_that_is_killed_is_started_again_by_the_next_call() {
    let Some(real) = Installed::here() else {
        return;
    };
    let memory = real.home.path("memory.jsonl").display().to_string();
    let variables = format!("env = {{ MEMORY_FILE_PATH = {} }}", json!(memory));
    real.home
        .add("memory", "node", &[&real.npm("server-memory")], &variables);
    real.home.run(&["refresh", "--all"]).ok();

    let pegboard = real.home.open().await;
    let ann = json!({"entities": [{"name": "Ann", "entityType": "person", "observations": []}]});
    call(&pegboard, "memory/create_entities", &ann.to_string())
        .await
        .expect("the first call");
    let first = pid_of(&pegboard, "memory").expect("it runs");
    kill("-KILL", first);
    wait_until("the hub notices", TIMEOUT, || {
        pid_of(&pegboard, "memory").is_none()
    })
    .await;
    let graph = call(&pegboard, "memory/read_graph", "{}")
        .await
        .expect("a call after the death");
    assert!(graph.contains("Ann"), "{graph}");
    assert_ne!(pid_of(&pegboard, "memory"), Some(first));
    pegboard.close().await;
    real.home.assert_nothing_runs();
}
