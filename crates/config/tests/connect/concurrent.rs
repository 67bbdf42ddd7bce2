//! Several writers at once.

use std::sync::Barrier;

use crate::machine::{Machine, stdio, with_profile};

#[test]
fn r_cfg_07_of_two_connects_at_once_one_wins_and_both_can_be_undone() {
    let text = b"{\n  \"theme\": \"dark\"\n}\n";
    for _ in 0..20 {
        let machine = Machine::with("cursor", text);
        let barrier = Barrier::new(2);
        let results: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = ["one", "two"]
                .into_iter()
                .map(|profile| {
                    let (machine, barrier) = (&machine, &barrier);
                    scope.spawn(move || {
                        let plan = machine.plan("cursor", &with_profile(profile)).unwrap();
                        barrier.wait();
                        plan.apply().is_ok()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert_eq!(results.iter().filter(|won| **won).count(), 1);
        let winner = if results[0] { "\"one\"" } else { "\"two\"" };
        assert!(machine.text("cursor").contains(winner));
        machine.disconnect("cursor");
        assert_eq!(machine.read("cursor"), text);
    }
}

#[test]
fn r_cfg_07_connects_of_different_clients_at_once_are_all_recorded() {
    let machine = Machine::new();
    let keys = ["cursor", "codex", "goose", "zed", "kiro", "amp"];
    std::thread::scope(|scope| {
        for key in keys {
            let machine = &machine;
            scope.spawn(move || drop(machine.connect(key, &stdio())));
        }
    });
    for key in keys {
        assert!(machine.status_of(key).has_record, "{key}");
        machine.disconnect(key);
        assert!(!machine.file(key).exists(), "{key}");
    }
}
