//! Completion in a real shell: names of servers and tools come from the configuration and the stored catalog.

use std::path::Path;
use std::process::Command;

use pegboard_testkit::Script;

use crate::support::{Home, PEGBOARD, Run};

/// Completes the last word of a command line with bash, as the tab key does.
fn complete(home: &Home, words: &[&str]) -> Vec<String> {
    let script = home.run(&["completions", "bash"]).ok().stdout;
    let script = home.write("completion.bash", &script);
    let last = words.last().expect("a word");
    let before = words
        .len()
        .checked_sub(2)
        .map_or("pegboard", |at| words[at]);
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let program = format!(
        "source '{}'\nCOMP_WORDS=(pegboard {})\nCOMP_CWORD={}\nCOMP_TYPE=9\n\
         _clap_complete_pegboard pegboard '{last}' '{before}' 2>&1\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        script.display(),
        quoted.join(" "),
        words.len(),
    );
    let run = Run::of(bash(home, &program), "").ok();
    let lines = run.stdout.lines().map(|line| line.trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns false and says so if bash is not installed.
fn has_bash() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("bash").is_file());
    if !found {
        println!("skipped: bash is not installed");
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "the shell under test")]
fn bash(home: &Home, program: &str) -> Command {
    let folder = Path::new(PEGBOARD).parent().expect("the build directory");
    let path = format!(
        "{}:{}",
        folder.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut command = Command::new("bash");
    command
        .args(["--norc", "-c", program])
        .env_clear()
        .envs(home.environment())
        .env("PATH", path)
        .current_dir(home.path("project"));
    command
}

#[test]
fn r_dist_03_completions_complete_commands_servers_and_tools() {
    if !has_bash() {
        return;
    }
    let home = Home::with_example();
    let count = home.path("count");
    let script = Script::new().tools(["open_it", "close.it"]);
    home.add_script("other", &script, "");
    home.run(&["refresh", "other"]).ok();
    home.add_script("counted", &Script::new().tools(["x"]).count_in(&count), "");
    let all = |words: &[&str]| complete(&home, words);

    assert_eq!(all(&["sta"]), ["status"]);
    assert_eq!(all(&["show", "ex"]), ["example"]);
    assert_eq!(all(&["logs", "example", "ot"]), ["other"]);
    assert_eq!(all(&["policy", "set", "--server", "ot"]), ["other"]);
    assert_eq!(all(&["call", "other/o"]), ["other/open_it"]);
    assert_eq!(all(&["call", "other__o"]), ["other__open_it"]);
    assert_eq!(all(&["call", "other.o"]), ["other.open_it"]);
    let tools = all(&["describe", "example/note"]);
    assert_eq!(tools.len(), 2, "{tools:?}");
    assert_eq!(all(&["policy", "test", "other/c"]), ["other/close.it"]);
    assert_eq!(all(&["tools", "no-such-server"]), Vec::<String>::new());
    assert!(
        all(&["add", "exam"]).is_empty(),
        "a new name is not completed"
    );
    assert!(!count.exists(), "completion started a server");
}

#[test]
fn r_dist_03_completion_is_silent_if_the_configuration_cannot_be_read() {
    if !has_bash() {
        return;
    }
    let mut home = Home::new();
    home.write("config/config.toml", "this is = not [ toml");
    assert_eq!(complete(&home, &["show", "x"]), Vec::<String>::new());
    let file = home.write("in-the-way", "");
    home.set("PEGBOARD_STATE_DIR", &file.display().to_string());
    home.set("PEGBOARD_COMPLETE", "bash");
    home.set("_CLAP_COMPLETE_INDEX", "2");
    let run = home.run(&["--", "pegboard", "call", "x"]).ok();
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

#[test]
fn r_dist_03_completion_reads_the_config_file_of_the_command_line() {
    if !has_bash() {
        return;
    }
    let home = Home::with_example();
    let other = home.write("other.toml", "[servers.elsewhere]\ncommand = \"x\"\n");
    let other = other.display().to_string();
    assert_eq!(
        complete(&home, &["-c", &other, "show", "el"]),
        ["elsewhere"]
    );
}

#[test]
fn r_dist_03_every_shell_has_a_script() {
    let home = Home::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = home.run(&["completions", shell]).ok().stdout;
        assert!(script.contains("PEGBOARD_COMPLETE"), "{shell}: {script}");
    }
    home.run(&["completions", "no-shell"]).exits(2);
}
