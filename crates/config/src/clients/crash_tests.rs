//! Crashes at every step: the client's file is the old or the new one, and the record fits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use super::write::{AfterStep, Step};
use super::*;
use crate::environment::Environment;
use crate::problem::Problem;

const STEPS: [Step; 4] = [Step::BackedUp, Step::Recorded, Step::Staged, Step::Replaced];

const BEFORE: &str = "{\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"fs\"}\n  }\n}\n";

struct Machine {
    folder: tempfile::TempDir,
    env: Environment,
    before: Option<&'static str>,
}

impl Machine {
    fn new(before: Option<&'static str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let env = Environment {
            home: root.join("home"),
            working_dir: root.join("project"),
            ..Environment::default()
        };
        let machine = Self {
            folder,
            env,
            before,
        };
        if let Some(text) = before {
            let file = machine.file();
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        machine
    }

    fn file(&self) -> PathBuf {
        self.env.home.join(".cursor/mcp.json")
    }

    fn content(&self) -> Option<String> {
        std::fs::read_to_string(self.file()).ok()
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn plan(&self, profile: Option<&str>) -> ConnectPlan {
        let launch = Launch {
            command: "/bin/pegboard".to_owned(),
            ..Launch::default()
        };
        let mut options = ConnectOptions::new(EntryTransport::Stdio {
            launch,
            profile: profile.map(str::to_owned),
        });
        options.take_over = TakeOver::All;
        let client = client("cursor").unwrap();
        let known = |_: &str, _: &serde_json::Value| true;
        ConnectPlan::new(
            &Places::new(&self.env),
            &self.state(),
            client,
            &options,
            &known,
        )
        .unwrap()
    }

    fn disconnect_plans(&self) -> Vec<DisconnectPlan> {
        let client = client("cursor").unwrap();
        DisconnectPlan::all(&Places::new(&self.env), &self.state(), client, None).unwrap()
    }

    fn disconnect(&self) {
        for plan in self.disconnect_plans() {
            plan.apply().unwrap();
        }
        assert_eq!(self.content().as_deref(), self.before);
        let folder = self.env.home.join(".cursor");
        let left = std::fs::read_dir(folder).into_iter().flatten();
        assert_eq!(left.count(), usize::from(self.before.is_some()));
        assert!(self.disconnect_plans().is_empty());
    }
}

/// Runs a change that crashes after a step. Returns whether the step was reached.
fn crash(step: Step, apply: impl FnOnce(AfterStep<'_>) -> Result<(), Problem>) -> bool {
    let crashed = catch_unwind(AssertUnwindSafe(|| {
        apply(&mut |reached| assert_ne!(reached, step, "the crash of this test"))
    }));
    if let Ok(result) = &crashed {
        result.as_ref().unwrap();
    }
    crashed.is_err()
}

#[test]
fn r_cfg_07_a_crash_of_connect_leaves_the_old_or_the_new_file() {
    for before in [Some(BEFORE), None] {
        for step in STEPS {
            let machine = Machine::new(before);
            let plan = machine.plan(None);
            assert!(crash(step, |after_step| plan.apply_with(after_step)));
            let content = machine.content();
            let is_new = content.as_deref() == Some(plan.text());
            assert!(is_new || content.as_deref() == before, "{step:?}");
            assert_eq!(is_new, step == Step::Replaced);
            // What was written can be undone, also after the client has rewritten it.
            if is_new && before.is_some() {
                let rewritten = content.unwrap().replace("  \"mcp", "  \"a\": 1,\n  \"mcp");
                std::fs::write(machine.file(), rewritten).unwrap();
                machine.disconnect_plans()[0].apply().unwrap();
                let expected = BEFORE.replace("  \"mcp", "  \"a\": 1,\n  \"mcp");
                assert_eq!(machine.content().unwrap(), expected);
                continue;
            }
            // Connecting again works as if nothing had happened.
            machine.plan(None).apply().unwrap();
            assert_eq!(machine.content().as_deref(), Some(plan.text()));
            machine.disconnect();
        }
    }
}

#[test]
fn r_cfg_07_a_crash_of_a_second_connect_keeps_the_way_back() {
    for step in STEPS {
        let machine = Machine::new(Some(BEFORE));
        let first = machine.plan(None);
        first.apply().unwrap();
        let second = machine.plan(Some("work"));
        assert!(crash(step, |after_step| second.apply_with(after_step)));
        let expected = match step {
            Step::Replaced => second.text(),
            _ => first.text(),
        };
        assert_eq!(machine.content().as_deref(), Some(expected), "{step:?}");
        machine.disconnect();
    }
}

#[test]
fn r_cfg_07_a_crash_of_disconnect_leaves_the_old_or_the_new_file() {
    for before in [Some(BEFORE), None] {
        for step in [Step::Staged, Step::Replaced] {
            let machine = Machine::new(before);
            let connected = machine.plan(None);
            connected.apply().unwrap();
            let plan = machine.disconnect_plans().remove(0);
            assert!(crash(step, |after_step| plan.apply_with(after_step)));
            let content = machine.content();
            match step {
                Step::Replaced => assert_eq!(content.as_deref(), before),
                _ => assert_eq!(content.as_deref(), Some(connected.text())),
            }
            for plan in machine.disconnect_plans() {
                plan.apply().unwrap();
            }
            assert_eq!(machine.content().as_deref(), before);
            assert!(machine.disconnect_plans().is_empty());
        }
    }
}
