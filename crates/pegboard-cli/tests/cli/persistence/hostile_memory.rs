//! Servers that together try to fill the memory, on a machine that kills what takes more than 128 MiB.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use pegboard_testkit::script::{Cursors, Moment, Noise, NoiseKind};
use pegboard_testkit::{Script, rss_kib};
use serde_json::json;

use super::thousand_servers::peak_kib;
use crate::api::client::Served;
use crate::support::{Home, mcp};

const LIMIT_KIB: u64 = 128 * 1024;
/// Callers of large results at the same time.
const CALLERS: usize = 16;
/// Bytes of each large result, below the limit of one frame.
const RESULT_BYTES: usize = 6 * 1024 * 1024;

fn noisy(when: Moment, kind: NoiseKind, times: u32) -> Script {
    let noise = Noise { when, kind, times };
    let script = Script::new().tools(["work"]);
    script.with(|script| script.noise.push(noise))
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the interval in which the memory is sampled"
)]
fn r_sec_12_k12_hostile_servers_are_discovered_within_128_mib_and_a_killed_process_restarts() {
    let home = Home::new();
    for number in 0..2 {
        let add = |kind: &str, script: Script| {
            let name = format!("{kind}_{number}");
            home.add_script(&name, &script, "discovery_timeout = \"5s\"");
        };
        let large = |script: &mut Script| script.call.result_bytes = Some(RESULT_BYTES);
        add(
            "long_line",
            noisy(Moment::List, NoiseKind::Flood(32 << 20), 1),
        );
        add("deep", noisy(Moment::List, NoiseKind::Deep(1 << 20), 4));
        add(
            "many_tools",
            Script::new().with(|script| script.list.made = 2_000),
        );
        add(
            "endless",
            Script::new().with(|script| script.list.cursors = Cursors::Endless),
        );
        add(
            "stderr",
            Script::new().with(|script| script.process.stderr_bytes = 32 << 20),
        );
        add("large_result", Script::new().tools(["work"]).with(large));
    }
    home.add_script("good", &Script::new().tools(["fine"]), "");
    let served = Served::start(&home, &[]);
    let (status, _) = served.admin("POST", "/refresh", &json!({}));
    assert_eq!(status, 200);
    let pid = served.running.pid();
    let peak = peak_kib(pid);
    assert!(peak < LIMIT_KIB, "{peak} KiB after the discovery");
    let known = home.run(&["tools", "--json"]).ok().stdout;
    assert!(known.contains("good__fine"), "{known}");

    // Sixteen results of 6 MiB at the same time may exceed the limit. Then the process is killed, as the system does it.
    let url = format!("{}/mcp", served.url);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (url, token) = (&url, &served.call);
                scope.spawn(move || {
                    let name = format!("large_result_{}__work", caller % 2);
                    let arguments = json!({"name": name, "arguments": {}});
                    let params = json!({"name": "call_tool", "arguments": arguments});
                    mcp(url, token, "tools/call", params)
                })
            })
            .collect();
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                match rss_kib(pid) {
                    Some(kib) if kib > LIMIT_KIB => served.running.signal("-KILL"),
                    Some(_) => thread::sleep(Duration::from_millis(5)),
                    None => break,
                }
            }
        });
        for caller in callers {
            // A caller of a killed process has no response.
            let _ = caller.join();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    served.running.signal("-KILL");
    drop(served);

    let after = home.run(&["tools", "--json"]).ok().stdout;
    assert_eq!(after, known, "the catalog of the killed process");
    home.run(&["call", "good/fine"]).ok();
}
