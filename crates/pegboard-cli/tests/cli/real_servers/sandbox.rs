//! Real servers in a sandbox: what they need works, and the rest of the machine is out of reach.

use serde_json::json;

use super::{Expected, Installed};

/// Returns whether the kernel can enforce a strict sandbox; prints the reason if not.
fn can_confine() -> bool {
    let support = pegboard_upstream::sandbox_support();
    let can = support.seccomp && support.landlock.is_some_and(|version| version >= 3);
    if !can {
        println!("skipped: the kernel cannot confine: {support:?}");
    }
    can
}

#[test]
fn the_filesystem_server_reads_only_what_its_sandbox_grants() {
    let Some(real) = Installed::here().filter(|_| can_confine()) else {
        return;
    };
    let root = real.home.path("").canonicalize().expect("its real path");
    let folder = |name: &str| {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).expect("a folder for files");
        folder.display().to_string()
    };
    // The arguments allow three folders to the server; only the kernel refuses two of them.
    let (files, outside) = (folder("files"), folder("outside"));
    let state = real.home.state().display().to_string();
    std::fs::create_dir_all(&state).expect("the state directory");
    let program = real.npm("server-filesystem");
    let words = ["--", "node", &program, &files, &outside, &state];
    real.add(
        "files",
        &words,
        &Expected::legacy(&["read_text_file", "write_file"]),
    );
    let modules = real
        .folder
        .join("npm")
        .canonicalize()
        .expect("the installed servers");
    let sandbox = json!({"mode": "strict", "read": [modules], "write": [root.join("files")], "network": "off"});
    real.home
        .run(&["edit", "files", "sandbox", &sandbox.to_string()])
        .ok();
    let inside = root.join("files/note.txt");
    real.call(
        "files/write_file",
        &json!({"path": inside, "content": "kept"}),
    );
    assert_eq!(
        std::fs::read_to_string(&inside).expect("it was written"),
        "kept"
    );
    std::fs::write(root.join("outside/secret.txt"), "canary").expect("a file outside");
    let arguments = json!({"path": root.join("outside/secret.txt")}).to_string();
    let run = real
        .home
        .run(&["call", "files/read_text_file", "--args", &arguments]);
    assert!(!run.stdout.contains("canary"), "{}", run.stdout);
    let token = json!({"path": real.home.state().join("hash.key")}).to_string();
    let run = real
        .home
        .run(&["call", "files/read_text_file", "--args", &token]);
    assert!(run.stdout.contains("EACCES"), "{}", run.stdout);
    real.home.assert_nothing_runs();
}

#[test]
fn the_git_server_works_by_default_without_network() {
    let Some(real) = Installed::here().filter(|_| can_confine()) else {
        return;
    };
    let repository = real.home.path("repo").display().to_string();
    #[expect(clippy::disallowed_methods, reason = "prepares a repository")]
    let status = std::process::Command::new("git")
        .args(["init", "-q", &repository])
        .status();
    assert!(status.is_ok_and(|status| status.success()), "git init");
    let program = real.python("mcp-server-git");
    let words = ["--", &program, "--repository", &repository];
    real.add("git", &words, &Expected::modern(&["git_status", "git_add"]));
    let sandbox = json!({"mode": "default", "network": "off", "write": [repository]});
    real.home
        .run(&["edit", "git", "sandbox", &sandbox.to_string()])
        .ok();
    let status = real.call("git/git_status", &json!({"repo_path": repository}));
    assert!(status.contains("No commits yet"), "{status}");
    real.home.assert_nothing_runs();
}

#[test]
fn a_trial_proposes_a_sandbox() {
    let Some(real) = Installed::here().filter(|_| can_confine()) else {
        return;
    };
    let program = real.npm("server-everything");
    real.add(
        "everything",
        &["--", "node", &program],
        &Expected::legacy(&["echo"]),
    );
    let trial = real
        .home
        .run(&["sandbox", "try", "everything", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&trial["ok"], &trial["sandbox"]["mode"]),
        (&json!(true), &json!("default"))
    );
    assert_eq!(trial["sandbox"]["network"], "off", "it connects to nothing");
    let show = real.home.run(&["show", "everything", "--json"]).ok().json();
    assert_eq!(show["sandbox"]["mode"], "off", "a trial changes nothing");
}
