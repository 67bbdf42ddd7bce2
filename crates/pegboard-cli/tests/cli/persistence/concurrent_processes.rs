//! Several processes with one store.

use pegboard_testkit::{Script, starts_in};

use crate::support::Home;

#[test]
fn r_disc_11_processes_that_refresh_one_cold_server_at_once_start_it_once() {
    let home = Home::new();
    let count = home.path("count");
    // Slow enough that all processes start before it responds.
    let script = Script::new()
        .tools(["work"])
        .start_delay_ms(2_500)
        .count_in(&count);
    home.add_script("slow", &script, "");
    let runs: Vec<_> = std::thread::scope(|scope| {
        let run = || home.run(&["refresh", "slow", "--json"]).ok().json();
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a run ends"))
            .collect()
    });
    assert_eq!(starts_in(&count).len(), 1);
    let mut sources: Vec<_> = runs
        .iter()
        .map(|run| run["servers"][0]["source"].to_string())
        .collect();
    sources.sort();
    assert_eq!(sources, ["\"discovered\"", "\"shared\"", "\"shared\""]);
    for run in runs {
        assert_eq!(run["servers"][0]["tools"], 1);
        assert_eq!(
            run["servers"][0]["delta"]["added"],
            serde_json::json!(["work"])
        );
    }
}

#[test]
fn r_store_06_many_processes_write_one_store_and_nothing_is_lost() {
    let home = Home::new();
    let names: Vec<String> = (0..8).map(|number| format!("s{number}")).collect();
    for name in &names {
        home.add_script(name, &Script::new().tools(["work"]), "");
    }
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| home.run(&["refresh", name]).ok());
        }
    });
    let list = home.run(&["list", "--json"]).ok().json();
    for row in list["servers"].as_array().expect("all servers") {
        assert_eq!(row["tools"], 1, "{row}");
    }
}
