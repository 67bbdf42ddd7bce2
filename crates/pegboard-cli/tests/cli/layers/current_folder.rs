//! The working directory of Pegboard does not change what a user's own server runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::Home;

/// Returns true if a program can be run; otherwise prints why the test is skipped.
#[expect(clippy::disallowed_methods, reason = "looks for an interpreter")]
fn is_there(home: &Home, program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    let run = command.args(args).current_dir(home.path("home")).output();
    let works = run.is_ok_and(|output| output.status.success());
    if !works {
        println!("skipped: `{program}` is not here");
    }
    works
}

fn executable(home: &Home, name: &str, text: &str) {
    let path = home.write(name, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Adds a server that writes its working directory to a file.
fn add_pwd(home: &Home, name: &str, more: &str) -> std::path::PathBuf {
    let file = home.path(&format!("{name}.pwd"));
    let script = format!("pwd > {}", file.display());
    home.add(name, "sh", &["-c", &script], more);
    file
}

fn ran_in(file: &std::path::Path) -> String {
    fs::read_to_string(file)
        .expect("the server ran")
        .trim()
        .to_owned()
}

#[test]
fn r_sec_09_an_own_server_runs_in_a_private_folder_unless_it_names_one() {
    let home = Home::new();
    let own = add_pwd(&home, "own", "");
    let other = add_pwd(&home, "other", "");
    let opted = add_pwd(&home, "opted", "cwd = '${project}'");
    home.run(&["refresh", "--all"]);
    for (name, file) in [("own", &own), ("other", &other)] {
        let folder = home.state().join("work").join(name);
        assert_eq!(ran_in(file), folder.display().to_string());
        let mode = fs::metadata(&folder)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    assert_eq!(ran_in(&opted), home.path("project").display().to_string());

    // With a project above, `${project}` is the project and not the current folder.
    home.write("project/.mcp.json", "{}");
    fs::create_dir_all(home.path("project/deep/down")).expect("a folder");
    let mut command = home.command(&["refresh", "opted"]);
    command.current_dir(home.path("project/deep/down"));
    crate::support::Run::of(command, "");
    assert_eq!(ran_in(&opted), home.path("project").display().to_string());
}

#[test]
fn r_sec_09_the_folder_brings_no_python_module() {
    let home = Home::new();
    let probe = "import sys; sys.exit(sys.version_info < (3, 11))";
    if !is_there(&home, "python3", &["-c", probe]) {
        return;
    }
    let canary = home.path("canary");
    let module = format!("open({:?}, 'w')", canary.display().to_string());
    home.write("project/mcp_server_git.py", &module);
    let add = |name: &str, more: &str| home.add(name, "python3", &["-m", "mcp_server_git"], more);
    add("plain", "");
    add("opted", "cwd = '${project}'");
    home.run(&["tools"]);
    assert!(!canary.exists(), "the folder's module ran");
    // Without the variable, the module runs.
    add("bare", "cwd = '${project}'\nenv = { PYTHONSAFEPATH = '' }");
    home.run(&["refresh", "bare"]);
    assert!(canary.exists(), "the check above could not have failed");
}

#[test]
fn r_sec_09_the_folder_brings_no_program_of_a_package() {
    let mut home = Home::new();
    if !is_there(&home, "npx", &["--version"]) {
        return;
    }
    // Nothing is downloaded: the registry is a closed port.
    for (name, value) in [
        ("npm_config_registry", "http://127.0.0.1:9"),
        ("npm_config_fetch_retries", "0"),
        ("npm_config_update_notifier", "false"),
    ] {
        home.set(name, value);
    }
    let canary = home.path("canary");
    let package = r#"{"name":"some-mcp-server","version":"1.2.3","bin":{"some-mcp-server":"run"}}"#;
    home.write("project/node_modules/some-mcp-server/package.json", package);
    let program = format!("#!/bin/sh\necho > {}\n", canary.display());
    executable(&home, "project/node_modules/some-mcp-server/run", &program);
    executable(&home, "project/node_modules/.bin/some-mcp-server", &program);
    executable(&home, "project/node_modules/.bin/node", &program);
    let needed = r#"{"name":"x","version":"1.0.0","dependencies":{"some-mcp-server":"1.2.3"}}"#;
    home.write("project/package.json", needed);
    let add =
        |name: &str, more: &str| home.add(name, "npx", &["-y", "some-mcp-server@1.2.3"], more);
    add("plain", "");
    home.run(&["tools"]);
    assert!(!canary.exists(), "the folder's program ran");
    add("opted", "cwd = '${project}'");
    let check = home.run(&["config", "check"]);
    let text = check.stdout + &check.stderr;
    assert!(
        text.contains("`npx` may run programs from its working directory"),
        "{text}"
    );
    home.run(&["tools"]);
    assert!(!canary.exists(), "the folder's program ran");
    // With a working directory in the definition, the program of that directory runs.
    add("named", &format!("cwd = {:?}", home.path("project")));
    home.run(&["refresh", "named"]);
    assert!(canary.exists(), "the checks above could not have failed");
}

#[test]
fn r_sec_09_a_relative_argument_is_a_warning_that_says_what_to_write() {
    let home = Home::new();
    home.add("script", "python3", &["server.py"], "");
    home.add("fixed", "python3", &["server.py"], "cwd = '/srv'");
    let check = home.run(&["config", "check"]);
    let text = check.stderr + &check.stdout;
    assert_eq!(text.matches("is a relative path").count(), 1, "{text}");
    assert!(text.contains("server `script`"), "{text}");
    assert!(text.contains("${project}"), "{text}");
    let project = r#"{"mcpServers":{"theirs":{"command":"python3","args":["server.py"]}}}"#;
    home.write("project/.mcp.json", project);
    let check = home.run(&["config", "check"]);
    let text = check.stderr + &check.stdout;
    assert!(!text.contains("`theirs`: the argument"), "{text}");
}
