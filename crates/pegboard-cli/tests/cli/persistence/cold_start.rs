//! A cold process lists everything and starts no server.

use std::net::TcpListener;

use pegboard_testkit::{Script, starts_in};

use crate::support::Home;

#[test]
fn r_store_02_r_disc_01_after_a_refresh_a_cold_process_lists_everything_and_starts_nothing() {
    let home = Home::new();
    let count = home.path("count");
    for (name, more) in [
        ("one", ""),
        ("two", "ttl = \"0s\""),
        ("three", "ttl = \"1ms\""),
    ] {
        home.add_script(
            name,
            &Script::new().tools(["work", "rest"]).count_in(&count),
            more,
        );
    }
    let server = Script::new().tools(["open"]).serve_http();
    let port = server.port();
    home.write(
        "config/config.toml",
        &format!(
            "{}[servers.web]\nurl = \"{}\"\nttl = \"0s\"\n",
            home.config(),
            server.url()
        ),
    );
    home.run(&["refresh", "--all"]).ok();
    let starts = starts_in(&count);
    assert_eq!(starts.len(), 3);
    drop(server);
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free again");
    listener
        .set_nonblocking(true)
        .expect("a listener that does not wait");

    let tools = home.run(&["tools", "--json"]).ok();
    assert_eq!(tools.json()["total"], 7);
    for read in [
        &["list"][..],
        &["tools"],
        &["tools", "web"],
        &["show", "two"],
        &["describe", "web/open"],
        &["search", "work"],
        &["config", "explain"],
        &["logs", "one"],
    ] {
        home.run(read).ok();
    }
    assert_eq!(starts_in(&count), starts, "a read started a server");
    let connection = listener.accept().map(|(_, from)| from);
    assert!(
        connection.is_err(),
        "a read connected to a server: {connection:?}"
    );
}

#[test]
fn r_disc_05_only_a_changed_definition_is_discovered_again() {
    let home = Home::new();
    let (changed, same) = (home.path("changed"), home.path("same"));
    home.add_script(
        "changed",
        &Script::new().tools(["old"]).count_in(&changed),
        "",
    );
    home.add_script("same", &Script::new().tools(["work"]).count_in(&same), "");
    home.run(&["tools"]).ok();
    assert_eq!((starts_in(&changed).len(), starts_in(&same).len()), (1, 1));
    home.write("config/config.toml", "");
    home.add_script(
        "changed",
        &Script::new().tools(["new"]).count_in(&changed),
        "",
    );
    home.add_script(
        "same",
        &Script::new().tools(["work"]).count_in(&same),
        "ttl = \"1h\"",
    );
    let tools = home.run(&["tools", "--json"]).ok().json();
    assert_eq!(tools["tools"][0]["name"], "changed__new");
    assert_eq!(tools["total"], 2);
    assert_eq!((starts_in(&changed).len(), starts_in(&same).len()), (2, 1));
}
