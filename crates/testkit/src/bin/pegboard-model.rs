//! Serves a scripted model on a free port, for clients of Anthropic, OpenAI and Gemini:
//!
//! `pegboard-model SCRIPT.json`
//!
//! Prints `LISTENING PORT` to standard output, and exits when its standard input closes.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use pegboard_testkit::{ModelScript, ModelServer};

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        let _ = writeln!(std::io::stderr(), "pegboard-model SCRIPT.json");
        return ExitCode::from(2);
    };
    let script = match std::fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let script: ModelScript = match script {
        Ok(script) => script,
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "pegboard-model: {file}: {problem}");
            return ExitCode::from(2);
        }
    };
    let server = ModelServer::start(script);
    let port = server.anthropic_url().rsplit(':').next().map(str::to_owned);
    let _ = writeln!(std::io::stdout(), "LISTENING {}", port.unwrap_or_default());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    let violations = server.violations();
    for violation in &violations {
        let _ = writeln!(std::io::stderr(), "pegboard-model: {violation}");
    }
    ExitCode::from(u8::from(!violations.is_empty()))
}
