//! A long run under load and faults: memory, open files and threads stay flat.
//!
//! The default takes seconds. `scripts/soak HOURS` runs it for hours.

use std::fs;
use std::time::{Duration, Instant};

use pegboard_testkit::script::{Crash, Moment, Noise, NoiseKind};
use pegboard_testkit::{Script, rss_kib};
use serde_json::{Value, json};

use crate::api::client::Served;
use crate::support::{Home, mcp};

const DEFAULT_SECONDS: u64 = 20;
/// The samples of a run; the first half is the warm-up.
const SAMPLES: u32 = 40;
/// How much more of something a flat process may hold in the end: 5 % and a few, because a call or a connection may
/// be under way in the moment of the sample.
const GROWTH: (u64, u64) = (5, 6);
/// KiB that the allocator may keep besides.
const ALLOCATOR_KIB: u64 = 8 * 1024;

#[derive(Clone, Copy, Debug)]
struct Sample {
    rss_kib: u64,
    files: u64,
    threads: u64,
}

impl Sample {
    fn of(pid: u32) -> Self {
        let entries = |folder: &str| {
            let entries = fs::read_dir(format!("/proc/{pid}/{folder}"));
            entries.expect("the process runs").count() as u64
        };
        Self {
            rss_kib: rss_kib(pid).expect("the process runs"),
            files: entries("fd"),
            threads: entries("task"),
        }
    }
}

fn median(samples: &[Sample], part: impl Fn(&Sample) -> u64) -> u64 {
    let mut values: Vec<u64> = samples.iter().map(part).collect();
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the quiet part of the load, not a wait for a condition"
)]
fn r_sec_12_l06_memory_files_and_threads_stay_flat_under_load_with_faults() {
    let seconds = std::env::var("PEGBOARD_SOAK_SECONDS").ok();
    let seconds = seconds.map_or(DEFAULT_SECONDS, |text| text.parse().expect("whole seconds"));
    let home = Home::new();
    let crash = |when, mid_line| Crash {
        when,
        code: 1,
        mid_line,
    };
    home.add_script("good", &Script::new().tools(["work"]), "");
    home.add_script(
        "large",
        &Script::new()
            .tools(["work"])
            .with(|script| script.call.result_bytes = Some(200_000)),
        "",
    );
    home.add_script(
        "dies",
        &Script::new()
            .tools(["work"])
            .with(|script| script.crash = Some(crash(Moment::Call, true))),
        "",
    );
    home.add_script(
        "hangs",
        &Script::new().tools(["work"]).hang(Moment::Call),
        "call_timeout = \"1s\"",
    );
    let noise = Noise {
        when: Moment::Call,
        kind: NoiseKind::Random(7),
        times: 50,
    };
    home.add_script(
        "noisy",
        &Script::new()
            .tools(["work"])
            .with(|script| script.noise.push(noise)),
        "",
    );
    home.add("missing", "/no/such/program", &[], "");
    let served = Served::start(&home, &[]);
    served.admin("POST", "/refresh", &json!({}));

    let url = format!("{}/mcp", served.url);
    let step = Duration::from_secs(seconds) / SAMPLES;
    let (mut samples, mut requests, mut answered) = (Vec::new(), 0u64, 0u64);
    for sample in 0..SAMPLES {
        let end = Instant::now() + step;
        // Every fourth sample has little load, so that idle resources can be released.
        let is_busy = sample % 4 != 3;
        while Instant::now() < end {
            requests += 1;
            let (status, response) = request(&served, &url, requests);
            assert!(status < 500, "{status}: {response}");
            answered += u64::from(status == 200);
            if !is_busy {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        samples.push(Sample::of(served.running.pid()));
    }
    assert!(answered > u64::from(SAMPLES), "{answered} of {requests}");
    let (warm, late) = (
        &samples[samples.len() / 2..samples.len() * 3 / 4],
        &samples[samples.len() * 3 / 4..],
    );
    for (what, part, more) in [
        (
            "open files",
            (|s: &Sample| s.files) as fn(&Sample) -> u64,
            GROWTH.1,
        ),
        ("threads", |s| s.threads, GROWTH.1),
        ("KiB of memory", |s| s.rss_kib, ALLOCATOR_KIB),
    ] {
        let (before, after) = (median(warm, part), median(late, part));
        let most = before + before * GROWTH.0 / 100 + more;
        assert!(
            after <= most,
            "{what}: {before} grew to {after} in {requests} requests: {samples:?}"
        );
    }
    served.end(&home);
}

/// One request of the mix; which one depends on its number alone.
fn request(served: &Served, url: &str, number: u64) -> (u16, Value) {
    let call = |server: &str| {
        let arguments = json!({"name": format!("{server}__work"), "arguments": {}});
        mcp(
            url,
            &served.call,
            "tools/call",
            json!({"name": "call_tool", "arguments": arguments}),
        )
    };
    match number % 97 {
        13 => call("hangs"),
        29 | 61 => call("dies"),
        31 => served.admin("POST", "/refresh", &json!({})),
        37 => call("missing"),
        41 => call("noisy"),
        43 | 71 => call("large"),
        rest if rest % 3 == 0 => {
            let search = json!({"name": "search_tools", "arguments": {"query": "do some work"}});
            mcp(url, &served.call, "tools/call", search)
        }
        rest if rest % 3 == 1 => mcp(url, &served.call, "tools/list", json!({})),
        _ => call("good"),
    }
}
