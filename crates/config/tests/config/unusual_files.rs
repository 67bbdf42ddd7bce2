//! Files without content, and what is not a file at all.

use crate::world::{World, short};

#[test]
fn r_cfg_04_a_file_without_content_is_reported() {
    for (file, text) in [
        ("config.toml", ""),
        ("config.json", " \n\t"),
        ("config.yaml", "\u{feff}\n"),
    ] {
        let loaded = World::with(file, text).load();
        assert!(
            loaded.problems[0].message.ends_with("is empty"),
            "{file}: {:?}",
            loaded.problems
        );
        assert_eq!(loaded.empty_files.len(), 1, "{file}");
        assert!(!loaded.contents.has_text(&loaded.empty_files[0]));
    }
    for (file, text) in [("config.toml", "# nothing yet\n"), ("config.json", "{}")] {
        let loaded = World::with(file, text).load();
        assert_eq!(short(&loaded), [""; 0], "{file}");
        assert!(loaded.empty_files.is_empty());
    }
}

#[cfg(unix)]
#[test]
fn r_cfg_04_what_is_not_a_regular_file_is_named_and_never_waited_for() {
    let pipe = |path: &std::path::Path| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
    };
    #[track_caller]
    fn check(world: &World, name: &str, kind: &str) {
        let loaded = world.load();
        let said = loaded.problems.iter().map(|p| p.message.as_str());
        let said: Vec<&str> = said.filter(|text| text.contains(name)).collect();
        assert!(
            said.iter().any(|text| text.contains(kind)),
            "{:?}",
            loaded.problems
        );
    }
    for name in ["config.toml", "config.yaml"] {
        let world = World::new();
        pipe(&world.paths().config_dir.join(name));
        check(&world, name, "is a named pipe");
    }
    let world = World::new();
    pipe(&world.env.working_dir.join(".mcp.json"));
    check(&world, ".mcp.json", "is a named pipe");

    let world = World::new();
    std::fs::create_dir_all(world.paths().config_dir.join("config.json")).unwrap();
    check(&world, "config.json", "is a folder");

    let mut world = World::new();
    world.options.config_file = Some("/dev/zero".into());
    check(&world, "/dev/zero", "is a device");

    let world = World::with("config.toml", "[servers.a]\ncommand = '${secret:x}'\n");
    pipe(&world.paths().state_dir.join("secrets.json"));
    check(&world, "secrets.json", "is a named pipe");

    let world = World::new().project(".mcp.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    pipe(&world.paths().state_dir.join("agreements.json"));
    check(&world, "agreements.json", "is a named pipe");
}
