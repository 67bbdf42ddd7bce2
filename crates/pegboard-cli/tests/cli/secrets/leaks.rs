//! Secrets next to configuration errors.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use super::{assert_clean, assert_state_is_clean, canary};
use crate::support::Home;

/// Checks that an error next to a secret shows the line without the secret.
#[track_caller]
fn check(name: &str, text: &str) {
    let home = Home::new();
    let file = home.write(name, text).display().to_string();
    for args in [
        &["config", "check"][..],
        &["config", "explain"],
        &["list"],
        &["show", "a"],
        &["doctor"],
    ] {
        for more in [&[][..], &["--json"]] {
            let args = [&["--config", &file], args, more].concat();
            let run = home.run(&args);
            assert_clean(&run, &format!("{} over\n{text}", args.join(" ")));
        }
    }
    let run = home.run(&["--config", &file, "config", "check"]).exits(2);
    assert!(
        run.stdout.contains(name),
        "the error is reported:\n{}",
        run.stdout
    );
}

#[test]
fn r_cfg_08_a_mistake_in_a_file_does_not_show_the_secret_beside_it() {
    let token = canary(0);
    check(
        "a.toml",
        &format!("[servers.a]\ncommand = \"x\"\nenv = {{ TOKEN = \"{token}\", OTHER = [] }}\n"),
    );
    check(
        "b.toml",
        &format!("[servers.a]\ncommand = \"x\"\nenv = \"{token}\"\n"),
    );
    check(
        "c.toml",
        &format!("[servers.a]\ncommand = \"x\"\nenv.TOKEN = \"{token}\n"),
    );
    check(
        "d.toml",
        &format!("[servers.a]\nurl = \"ftp://user:{token}@host?key={token}\"\n"),
    );
    check("e.toml", &format!("[servers.a]\nbearer = \"{token}\"\n"));
    check(
        "f.toml",
        &format!("[servers.a]\ncommand = \"x\"\nargs = [\"--token\", \"{token}\", {{}}]\n"),
    );
    check(
        "g.json",
        &format!(
            "{{\"servers\": {{\"a\": {{\"command\": \"x\", \"env\": {{\"T\": \"{token}\" \"U\": 1}}}}}}}}"
        ),
    );
    check(
        "h.yaml",
        &format!("servers:\n  a:\n    command: x\n    env:\n      T: {token}\n     U: [\n"),
    );
    check(
        "i.json",
        &format!(
            "{{\"servers\": {{\"a\": {{\"url\": \"https://h\", \"headers\": [\"{token}\"]}}}}}}"
        ),
    );
}

#[test]
fn r_obs_03_a_remote_server_echoing_its_request_leaks_nothing() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || echo_requests(&listener));
    let (bearer, header, query) = (canary(0), canary(1), canary(2));
    let text = format!(
        "[servers.echo]\nurl = \"http://127.0.0.1:{port}/mcp?key={query}\"\nbearer = \"{bearer}\"\nheaders = {{ X-Key = \"{header}\" }}\n"
    );
    home.write("config/config.toml", &text);
    for args in [
        &["refresh", "echo"][..],
        &["doctor", "echo"],
        &["show", "echo"],
        &["logs", "echo"],
        &["call", "echo/x"],
    ] {
        let run = home.run(args);
        assert_clean(&run, &args.join(" "));
    }
    let printed = home.run(&["refresh", "echo"]).exits(3).stdout;
    assert!(printed.contains("500"), "{printed}");
    assert_state_is_clean(&home);
}

/// Responds to every request with an error that repeats all headers.
fn echo_requests(listener: &TcpListener) {
    for mut stream in listener.incoming().flatten() {
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
        while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            head.push_str(&line);
            line.clear();
        }
        let _ = reader.read_exact(&mut vec![0; length]);
        let size = head.len();
        let response = format!(
            "HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n{head}"
        );
        let _ = stream.write_all(response.as_bytes());
    }
}

#[test]
fn r_cfg_08_a_key_among_the_arguments_is_printed_nowhere_and_gives_advice() {
    let home = Home::new();
    let script = home
        .write(
            "say.sh",
            "echo \"cannot log in with $1 and $2\" | sed 's/--id=//' >&2\nexit 3\n",
        )
        .display()
        .to_string();
    let keys = ["ghp_Canary0123456789abcdef", "AKIACANARY0123456789"];
    let id = format!("--id={}", keys[1]);
    let added = home
        .run(&["add", "git", "--", "sh", &script, keys[0], &id])
        .exits(3);
    assert!(
        added
            .stderr
            .contains("warning: `args[2]`: it looks like a secret")
            && added.stderr.contains("write `--id=${secret:git_id}`"),
        "{}",
        added.stderr
    );
    let mut runs = vec![("add", added)];
    for args in [
        &["show", "git"][..],
        &["show", "git", "--json"],
        &["config", "explain", "--json"],
        &["config", "check"],
        &["refresh", "git", "--force"],
        &["call", "git/work"],
        &["logs", "git"],
        &["list", "--json"],
        &["activity", "--json"],
    ] {
        runs.push((args[0], home.run(args)));
    }
    for (what, run) in &runs {
        for key in keys {
            let text = format!("{}{}", run.stdout, run.stderr);
            assert!(!text.contains(key), "`{what}` shows {key}:\n{text}");
        }
    }
    let said = |what: &str, part: &str| {
        let mut found = runs.iter().filter(|(name, _)| *name == what);
        assert!(
            found.any(|(_, run)| run.stdout.contains(part)),
            "{what}: {part}"
        );
    };
    said("show", "pegboard secret set git_id");
    said("config", "SECRET_WRITTEN");
    said("logs", "cannot log in with ***");
}

#[test]
fn r_sec_07_add_warns_of_variables_that_change_what_runs() {
    let home = Home::new();
    let run = home.run(&[
        "add",
        "a",
        "--no-discover",
        "-e",
        "LD_PRELOAD=/tmp/x.so",
        "-e",
        "MODE=fast",
        "--",
        "true",
    ]);
    let stderr = run.ok().stderr;
    assert!(
        stderr.contains("warning: `env.LD_PRELOAD`: the dynamic linker"),
        "{stderr}"
    );
    assert!(!stderr.contains("MODE"), "{stderr}");
    let shown = home.run(&["show", "a", "--json"]).ok().json();
    assert_eq!(shown["warnings"][0]["key"], "env.LD_PRELOAD");
}
