//! Empty files, and paths that are not regular files.

use crate::fixture::{Fixture, short};

#[test]
fn r_cfg_04_a_file_without_content_is_reported() {
    for (file, text) in [
        ("config.toml", ""),
        ("config.json", " \n\t"),
        ("config.yaml", "\u{feff}\n"),
    ] {
        let loaded = Fixture::with(file, text).load();
        assert!(
            loaded.problems[0].message.ends_with("is empty"),
            "{file}: {:?}",
            loaded.problems
        );
        assert_eq!(loaded.empty_files.len(), 1, "{file}");
        assert!(!loaded.contents.has_text(&loaded.empty_files[0]));
    }
    for (file, text) in [("config.toml", "# nothing yet\n"), ("config.json", "{}")] {
        let loaded = Fixture::with(file, text).load();
        assert_eq!(short(&loaded), [""; 0], "{file}");
        assert!(loaded.empty_files.is_empty());
    }
}

#[cfg(unix)]
#[test]
fn r_cfg_04_special_files_are_reported_and_never_waited_for() {
    let pipe = |path: &std::path::Path| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    };
    #[track_caller]
    fn check(fixture: &Fixture, name: &str, kind: &str) {
        let loaded = fixture.load();
        let messages = loaded.problems.iter().map(|p| p.message.as_str());
        let messages: Vec<&str> = messages.filter(|text| text.contains(name)).collect();
        assert!(
            messages.iter().any(|text| text.contains(kind)),
            "{:?}",
            loaded.problems
        );
    }
    for name in ["config.toml", "config.yaml"] {
        let fixture = Fixture::new();
        pipe(&fixture.paths().config_dir.join(name));
        check(&fixture, name, "is a named pipe");
    }
    let fixture = Fixture::new();
    pipe(&fixture.env.working_dir.join(".mcp.json"));
    check(&fixture, ".mcp.json", "is a named pipe");

    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.paths().config_dir.join("config.json")).unwrap();
    check(&fixture, "config.json", "is a folder");

    let mut fixture = Fixture::new();
    fixture.options.config_file = Some("/dev/zero".into());
    check(&fixture, "/dev/zero", "is a device");

    let fixture = Fixture::with("config.toml", "[servers.a]\ncommand = '${secret:x}'\n");
    pipe(&fixture.paths().state_dir.join("secrets.json"));
    check(&fixture, "secrets.json", "is a named pipe");

    let fixture = Fixture::new().project(".mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    pipe(&fixture.paths().state_dir.join("trust.json"));
    check(&fixture, "trust.json", "is a named pipe");
}
