//! One run of a client, from its prompt to its end.

use pegboard_metatools::SEARCH;
use pegboard_testkit::{ModelRequest, ModelScript, ModelServer, is_alive};
use serde_json::{Value, json};

use crate::client::Client;
use crate::machine::Machine;
use crate::support::Running;
use crate::transcript;

/// The final text of the scripted model.
const FINAL_TEXT: &str = "That was all.";

/// A running client with a scripted model.
pub(crate) struct Session<'a> {
    machine: &'a Machine,
    client: Client,
    model: ModelServer,
    running: Running,
}

/// The transcript of a finished client.
pub(crate) struct Ended {
    /// The printed output.
    printed: String,
    /// The requests to the model, without auxiliary ones such as titles.
    requests: Vec<ModelRequest>,
}

impl<'a> Session<'a> {
    /// Starts a client whose model makes these calls, one list per turn.
    pub(crate) fn start(machine: &'a Machine, client: Client, turns: &[Vec<Value>]) -> Self {
        let mut ids = 0..;
        let calls = turns.iter().map(|calls| {
            let with_id = |(call, id): (&Value, usize)| {
                let mut call = call.clone();
                call["id"] = Value::from(id_of(id));
                call
            };
            let calls: Vec<Value> = calls.iter().zip(ids.by_ref()).map(with_id).collect();
            json!({"calls": calls})
        });
        let turns: Vec<Value> = calls.chain([json!({"text": FINAL_TEXT})]).collect();
        let script = json!({"turns": turns, "main_tool": SEARCH});
        let model = ModelServer::start(ModelScript::of(script));
        let running = Running::of((client.set_up)(machine, &model));
        Self {
            machine,
            client,
            model,
            running,
        }
    }

    /// Runs a client until it exits.
    pub(crate) fn run(machine: &'a Machine, client: Client, turns: &[Vec<Value>]) -> Ended {
        Self::start(machine, client, turns).end()
    }

    /// Asserts that the client is still running.
    #[track_caller]
    pub(crate) fn assert_running(&self) {
        if is_alive(self.running.pid()) {
            return;
        }
        let requests = self.model.requests();
        let main = requests.iter().rev().find(|request| !request.is_side);
        let results = main.map(transcript::results);
        panic!(
            "{} ended early with the results {results:#?}:\n{}",
            self.client.name,
            self.running.output()
        );
    }

    /// Waits for the client to exit. It must succeed, use the whole script and leave no process.
    pub(crate) fn end(mut self) -> Ended {
        let status = self.running.wait();
        let ended = Ended {
            printed: self.running.output(),
            requests: self.model.requests(),
        };
        assert!(
            status.success(),
            "{} ended with {status}:\n{}",
            self.client.name,
            ended.printed
        );
        assert_eq!(
            (self.model.turns_left(), self.model.violations()),
            (0, Vec::new()),
            "{} did not play the script to its end:\n{}",
            self.client.name,
            ended.printed
        );
        self.machine.home.assert_nothing_runs();
        ended
    }
}

impl Ended {
    /// Returns the first request of the conversation.
    pub(crate) fn first_request(&self) -> &ModelRequest {
        let mut main = self.requests.iter().filter(|request| !request.is_side);
        main.next().expect("a request with Pegboard's tools")
    }

    /// The result of every call of the script, in the order of the script.
    pub(crate) fn results(&self) -> Vec<String> {
        let mut main = self.requests.iter().rev();
        let last = main.find(|request| !request.is_side);
        let mut results = transcript::results(last.expect("a request with Pegboard's tools"));
        let ordered = (0..).map_while(|number| results.remove(&id_of(number)));
        let ordered: Vec<String> = ordered.collect();
        assert!(results.is_empty(), "results of unknown calls: {results:#?}");
        ordered
    }
}

/// The id of the script's call with this number.
fn id_of(number: usize) -> String {
    format!("call_{number}")
}
