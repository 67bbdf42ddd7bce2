//! Edits preserve comments and order, are atomic, and are serialized.

use std::path::PathBuf;

use pegboard_config::edit::{
    NewServer, NewTransport, add_server, remove_server, set_enabled, set_value,
};
use pegboard_config::{Problem, command_line};
use pegboard_model::{Reason, ServerName};
use serde_json::json;

use crate::fixture::{Fixture, names, server};

fn name(text: &str) -> ServerName {
    ServerName::parse(text).unwrap()
}

fn files_server() -> NewServer {
    let args = vec!["-y".to_owned(), "files@1.0.0".to_owned()];
    let mut server = NewServer::new(
        name("files"),
        NewTransport::Stdio {
            command: "npx".to_owned(),
            args,
        },
    );
    server.env.push(("TOKEN".to_owned(), "${TOKEN}".to_owned()));
    server
}

/// Edits a file and returns its new text.
fn changed(file: &str, text: &str, change: impl Fn(&PathBuf) -> Result<(), Problem>) -> String {
    let fixture = Fixture::with(file, text);
    let path = fixture.paths().config_dir.join(file);
    change(&path).unwrap_or_else(|problem| panic!("{problem}"));
    std::fs::read_to_string(path).unwrap()
}

const TOML: &str = "# top\n[settings] # mine\nttl = '1m'\n\n# about b\n[servers.b]\ncommand = \"b\" # run\nargs = [ \"1\" ]\n\n# about a\n[servers.a]\nurl = 'https://a/'\n\n# end\n";
const YAML: &str = "# top\nservers:\n  # about b\n  b:\n    command: b # run\n    args:\n      - \"1\"\n\n  # about a\n  a:\n    url: https://a/\n# end\nsettings:\n  ttl: 1m\n";
const JSON: &str = "{\n  // top\n  \"servers\": {\n    // about b\n    \"b\": {\n      \"command\": \"b\", // run\n      \"args\": [\"1\"]\n    },\n    // about a\n    \"a\": { \"url\": \"https://a/\" }\n  }\n  // end\n}\n";

#[test]
fn r_cfg_06_add_keeps_comments_and_order() {
    let add = |path: &PathBuf| add_server(path, &files_server(), false);
    insta::assert_snapshot!(changed("config.toml", TOML, add), @r#"
    # top
    [settings] # mine
    ttl = '1m'

    # about b
    [servers.b]
    command = "b" # run
    args = [ "1" ]

    # about a
    [servers.a]
    url = 'https://a/'

    [servers.files]
    command = "npx"
    args = ["-y", "files@1.0.0"]
    env = { TOKEN = "${TOKEN}" }

    # end
    "#);
    insta::assert_snapshot!(changed("config.yaml", YAML, add), @r##"
    # top
    servers:
      # about b
      b:
        command: b # run
        args:
          - "1"

      # about a
      a:
        url: https://a/
      files:
        command: "npx"
        args: ["-y", "files@1.0.0"]
        env: {"TOKEN": "${TOKEN}"}
    # end
    settings:
      ttl: 1m
    "##);
    insta::assert_snapshot!(changed("config.json", JSON, add), @r#"
    {
      // top
      "servers": {
        // about b
        "b": {
          "command": "b", // run
          "args": ["1"]
        },
        // about a
        "a": { "url": "https://a/" },
        "files": {
          "command": "npx",
          "args": ["-y", "files@1.0.0"],
          "env": {
            "TOKEN": "${TOKEN}"
          }
        }
      }
      // end
    }
    "#);
}

#[test]
fn r_cfg_06_remove_takes_the_server_and_nothing_else() {
    for (file, text) in [
        ("config.toml", TOML),
        ("config.yaml", YAML),
        ("config.json", JSON),
    ] {
        for (gone, stays, comment) in [("b", "a", "about a"), ("a", "b", "# run")] {
            let after = changed(file, text, |path| remove_server(path, &name(gone)));
            let loaded = Fixture::with(file, &after).load();
            assert_eq!(names(&loaded), [stays], "{after}");
            let comment = if file == "config.json" {
                comment.replace('#', "//")
            } else {
                comment.to_owned()
            };
            assert!(
                after.contains(&comment) && after.contains("top") && after.contains("end"),
                "{after}"
            );
            let empty = changed(file, &after, |path| remove_server(path, &name(stays)));
            let loaded = Fixture::with(file, &empty).load();
            assert!(
                loaded.servers.is_empty() && loaded.problems.is_empty(),
                "{empty}"
            );
            let again = changed(file, &empty, |path| {
                add_server(path, &files_server(), false)
            });
            assert_eq!(
                names(&Fixture::with(file, &again).var("TOKEN", "t").load()),
                ["files"],
                "{again}"
            );
        }
    }
}

#[test]
fn r_cfg_06_enable_and_disable_change_one_word() {
    for (file, text) in [
        ("config.toml", TOML),
        ("config.yaml", YAML),
        ("config.json", JSON),
    ] {
        let off = changed(file, text, |path| set_enabled(path, &name("b"), false));
        assert!(
            !server(&Fixture::with(file, &off).load(), "b").enabled,
            "{off}"
        );
        assert!(off.contains("run") && off.contains("about a"), "{off}");
        let on = changed(file, &off, |path| set_enabled(path, &name("b"), true));
        assert_eq!(on, off.replace("false", "true"), "{file}");
        assert_eq!(
            changed(file, text, |path| set_enabled(path, &name("b"), true)),
            text,
            "nothing to do"
        );
    }
    let foreign =
        "{ \"mcpServers\": { \"My-Server\": { \"command\": \"x\", \"disabled\": true } } }\n";
    let on = changed("config.json", foreign, |path| {
        set_enabled(path, &name("my_server"), true)
    });
    assert_eq!(on, foreign.replace("true", "false"));
}

#[test]
fn r_cfg_06_edit_sets_and_removes_single_values() {
    for (file, text) in [
        ("config.toml", TOML),
        ("config.yaml", YAML),
        ("config.json", JSON),
    ] {
        let set = |text: &str, key: &str, value: serde_json::Value| {
            changed(file, text, |path| set_value(path, &name("b"), key, &value))
        };
        let after = set(text, "command", json!("new"));
        assert_eq!(
            after,
            text.replace("command: b", "command: \"new\"")
                .replace("command = \"b\"", "command = \"new\"")
                .replace("\"command\": \"b\"", "\"command\": \"new\"")
        );
        let after = set(&after, "env.KEY", json!("v"));
        let after = set(&after, "env.OTHER", json!("w"));
        let after = set(&after, "args", json!(["x", "y z"]));
        let after = set(&after, "ttl", json!("9s"));
        let loaded = Fixture::with(file, &after).load();
        let b = server(&loaded, "b");
        assert_eq!(command_line(&b.transport), "new x 'y z'", "{after}");
        assert_eq!(b.ttl.as_secs(), 9);
        let pegboard_model::Transport::Stdio { env, .. } = &b.transport else {
            panic!()
        };
        assert_eq!(env.keys().collect::<Vec<_>>(), ["KEY", "OTHER"], "{after}");
        assert!(
            after.contains("run") && after.contains("about a"),
            "{after}"
        );
        let after = set(&after, "env", json!(null));
        let after = set(&after, "args", json!(null));
        let after = set(&after, "ttl", json!(null));
        assert_eq!(
            command_line(&server(&Fixture::with(file, &after).load(), "b").transport),
            "new",
            "{after}"
        );
    }
}

#[test]
fn r_cfg_06_replacing_is_asked_for_and_keeps_the_place() {
    for (file, text) in [
        ("config.toml", TOML),
        ("config.yaml", YAML),
        ("config.json", JSON),
    ] {
        let fixture = Fixture::with(file, text);
        let path = fixture.paths().config_dir.join(file);
        let mut new = files_server();
        new.name = name("b");
        let problem = add_server(&path, &new, false).unwrap_err();
        assert_eq!(problem.reason, Reason::ConfigDuplicate);
        assert!(problem.line.is_some());
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            text,
            "nothing was written"
        );
        add_server(&path, &new, true).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        assert!(after.find("npx") < after.find("https://a/"), "{after}");
        assert!(after.contains("about a"), "{after}");
        assert_eq!(
            command_line(&server(&fixture.var("TOKEN", "t").load(), "b").transport),
            "npx -y files@1.0.0"
        );
    }
}

#[test]
fn r_cfg_06_a_new_file_is_created_for_its_owner_alone() {
    for file in ["config.toml", "config.yaml", "config.json", ".mcp.json"] {
        let fixture = Fixture::new().var("TOKEN", "t");
        let path = fixture.paths().config_dir.join(file);
        add_server(&path, &files_server(), false).unwrap();
        let mut fixture = fixture;
        fixture.options.config_file = Some(path.clone());
        assert_eq!(
            names(&fixture.load()),
            ["files"],
            "{}",
            std::fs::read_to_string(&path).unwrap()
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &std::path::Path| {
                std::fs::metadata(path).unwrap().permissions().mode() & 0o777
            };
            assert_eq!(mode(&path), 0o600);
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            set_enabled(&path, &name("files"), false).unwrap();
            assert_eq!(
                mode(&path),
                0o640,
                "the mode of a file that was there stays"
            );
        }
    }
}

#[test]
fn r_cfg_06_windows_line_ends_and_byte_order_mark_stay() {
    for (file, text) in [
        ("config.toml", TOML),
        ("config.yaml", YAML),
        ("config.json", JSON),
    ] {
        let text = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let after = changed(file, &text, |path| add_server(path, &files_server(), false));
        assert!(after.starts_with('\u{feff}'));
        assert_eq!(
            after.matches('\n').count(),
            after.matches("\r\n").count(),
            "{after:?}"
        );
        assert_eq!(
            Fixture::with(file, &after)
                .var("TOKEN", "t")
                .load()
                .servers
                .len(),
            3
        );
    }
}

#[track_caller]
fn check_refusal(
    file: &str,
    text: &str,
    change: impl Fn(&PathBuf) -> Result<(), Problem>,
    reason: Reason,
) {
    let fixture = Fixture::with(file, text);
    let path = fixture.paths().config_dir.join(file);
    let problem = change(&path).unwrap_err();
    assert_eq!(problem.reason, reason, "{problem}");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        text,
        "nothing was written"
    );
}

#[test]
fn r_cfg_06_an_edit_that_is_not_safe_is_refused_and_changes_nothing() {
    let add = |path: &PathBuf| add_server(path, &files_server(), false);
    check_refusal("config.toml", "[servers", add, Reason::ConfigParse);
    check_refusal("config.json", "[1]", add, Reason::ConfigInvalid);
    check_refusal(
        "config.yaml",
        "servers: { a: { command: x } }\n",
        add,
        Reason::ConfigInvalid,
    );
    check_refusal(
        "config.yaml",
        "{ servers: { a: { command: x } } }\n",
        add,
        Reason::ConfigInvalid,
    );
    check_refusal(
        "config.toml",
        TOML,
        |path| remove_server(path, &name("none")),
        Reason::ServerUnknown,
    );
    check_refusal(
        "config.toml",
        TOML,
        |path| set_value(path, &name("b"), "ttl", &json!("soon")),
        Reason::ConfigInvalid,
    );
    check_refusal(
        "config.toml",
        TOML,
        |path| set_value(path, &name("b"), "url", &json!("https://x/")),
        Reason::ConfigInvalid,
    );
    check_refusal(
        "config.toml",
        TOML,
        |path| set_value(path, &name("b"), "a..b", &json!("x")),
        Reason::ConfigInvalid,
    );
    let twice = "{\"servers\":{\"b\":{\"command\":\"x\"},\"b\":{\"command\":\"y\"}}}";
    check_refusal(
        "config.json",
        twice,
        |path| remove_server(path, &name("b")),
        Reason::ConfigDuplicate,
    );
    let merged = "base: &base\n  command: x\nservers:\n  b:\n    <<: *base\n";
    check_refusal(
        "config.yaml",
        merged,
        |path| set_value(path, &name("b"), "command", &json!("y")),
        Reason::ConfigInvalid,
    );
}

#[test]
fn r_cfg_06_inline_tables_and_dotted_keys_can_be_edited() {
    let inline = "servers = { a = { command = \"x\" } } # mine\n";
    let after = changed("config.toml", inline, |path| {
        add_server(path, &files_server(), false)
    });
    assert_eq!(
        Fixture::with("config.toml", &after)
            .var("TOKEN", "t")
            .load()
            .servers
            .len(),
        2,
        "{after}"
    );
    assert!(after.contains("# mine"));
    let dotted = "servers.a.command = \"x\" # mine\n";
    let after = changed("config.toml", dotted, |path| {
        set_value(path, &name("a"), "args", &json!(["1"]))
    });
    assert_eq!(
        command_line(&server(&Fixture::with("config.toml", &after).load(), "a").transport),
        "x 1",
        "{after}"
    );
    let after = changed("config.toml", dotted, |path| {
        add_server(path, &files_server(), false)
    });
    assert_eq!(
        Fixture::with("config.toml", &after)
            .var("TOKEN", "t")
            .load()
            .servers
            .len(),
        2,
        "{after}"
    );
}

#[cfg(unix)]
#[test]
fn r_cfg_06_a_linked_file_stays_a_link() {
    let fixture = Fixture::with("real.toml", TOML);
    let real = fixture.paths().config_dir.join("real.toml");
    let link = fixture.paths().config_dir.join("config.toml");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    set_enabled(&link, &name("b"), false).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(
        std::fs::read_to_string(&real)
            .unwrap()
            .contains("enabled = false")
    );
}

#[test]
fn r_cfg_06_editors_at_once_lose_nothing_and_readers_never_see_a_part() {
    const EDITORS: usize = 4;
    const EACH: usize = 12;
    for file in ["config.toml", "config.yaml", "config.json"] {
        let fixture = Fixture::new();
        let path = fixture.paths().config_dir.join(file);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let editors: Vec<_> = (0..EDITORS)
                .map(|editor| {
                    let path = &path;
                    scope.spawn(move || {
                        for at in 0..EACH {
                            let transport = NewTransport::Stdio {
                                command: "x".to_owned(),
                                args: Vec::new(),
                            };
                            let server =
                                NewServer::new(name(&format!("s{editor}_{at}")), transport);
                            add_server(path, &server, false).unwrap();
                        }
                    })
                })
                .collect();
            let reader = scope.spawn(|| {
                let mut most = 0;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let loaded = fixture.load();
                    assert!(loaded.problems.is_empty(), "{:#?}", loaded.problems);
                    assert!(loaded.servers.len() >= most, "a server was lost");
                    most = loaded.servers.len();
                }
            });
            for editor in editors {
                editor.join().unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            reader.join().unwrap();
        });
        assert_eq!(fixture.load().servers.len(), EDITORS * EACH, "{file}");
    }
}
