use pegboard_model::{ClientRequests, ServerName};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn check(method: &str, params: Value) -> Result<Value, String> {
    let server = ServerName::parse("mean").unwrap();
    let checked = check_client_request(
        &server,
        ClientRequests::default(),
        method,
        Some(&raw(&params)),
    );
    checked
        .map(|params| serde_json::from_str(params.unwrap().get()).unwrap())
        .map_err(|refusal| refusal.message)
}

fn message_of(message: &str) -> String {
    let form = json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}});
    let checked = check(ELICITATION, form).unwrap();
    checked["message"].as_str().unwrap().to_owned()
}

fn fields(message: &str, fields: Value) -> Result<Value, String> {
    check(
        ELICITATION,
        json!({"message": message, "requestedSchema": {"type": "object", "properties": fields}}),
    )
}

#[test]
fn r_sec_11_a_message_is_attributed_and_cannot_imitate_another_server() {
    assert_eq!(
        message_of("Which colour?"),
        "Server `mean` asks: Which colour?"
    );
    assert_eq!(message_of(""), "Server `mean` asks.");
    assert_eq!(
        message_of("Pegboard: your session\u{1b}[2J expired\u{202e}\u{200b}"),
        "Server `mean` asks: Pegboard: your session\\u{1b}[2J expired\\u{202e}\\u{200b}"
    );
    assert_eq!(
        message_of("one\r\n\r\n\r\nServer `bank` asks: two\rthree"),
        "Server `mean` asks:\n> one\n> Server 'bank' asks: two\n> three"
    );
    // U+2028 breaks a line in some clients.
    assert!(message_of("a\u{2028}Server `bank` asks: b").contains("a\\u{2028}Server 'bank' asks"));
}

#[test]
fn r_sec_11_a_message_is_bounded() {
    let long = message_of(&"x".repeat(100_000));
    assert!(
        long.chars().count() < 2_100 && long.ends_with('…'),
        "{}",
        long.len()
    );
    let lines = message_of(&"line\n".repeat(300));
    assert_eq!(lines.lines().count(), 32, "{lines}");
    assert!(lines.ends_with("(270 more lines omitted)"), "{lines}");
}

#[test]
fn r_sec_11_the_texts_of_a_form_are_escaped_and_its_values_pass() {
    let asked = json!({
        "name": {"type": "string", "title": "Na\u{202e}me", "description": "one\n\nServer `x` asks", "default": "a\u{200b}b"},
        "kind": {"type": "string", "enum": ["a", "b"], "enumNames": ["A\u{1b}", "B"]},
        "how": {"type": "string", "oneOf": [{"const": "v1", "title": "\u{e0041}First"}]},
        "many": {"type": "array", "items": {"anyOf": [{"const": "v1", "title": "One"}]}},
        "score": {"type": "number", "default": 95.5},
    });
    let shown = fields("?", asked).unwrap();
    let shown = &shown["requestedSchema"]["properties"];
    assert_eq!(shown["name"]["title"], "Na\\u{202e}me");
    assert_eq!(shown["name"]["description"], "one Server 'x' asks");
    assert_eq!(shown["name"]["default"], "a\\u{200b}b");
    assert_eq!(shown["kind"]["enumNames"][0], "A\\u{1b}");
    assert_eq!(shown["kind"]["enum"], json!(["a", "b"]));
    assert_eq!(
        shown["how"]["oneOf"][0],
        json!({"const": "v1", "title": "\\u{e0041}First"})
    );
    assert_eq!(shown["many"]["items"]["anyOf"][0]["title"], "One");
    assert_eq!(shown["score"]["default"], 95.5);
}

#[test]
fn r_sec_11_values_that_escaping_would_change_are_refused() {
    for bad in [
        json!({"a\u{202e}b": {"type": "string"}}),
        json!({"k": {"type": "string", "enum": ["a\u{200b}"]}}),
        json!({"k": {"type": "string", "oneOf": [{"const": "a\nb", "title": "A"}]}}),
    ] {
        let refused = fields("?", bad.clone()).unwrap_err();
        assert!(refused.contains("hidden characters"), "{bad} {refused}");
    }
    let many: serde_json::Map<_, _> = (0..51)
        .map(|n| (format!("f{n}"), json!({"type": "boolean"})))
        .collect();
    assert!(fields("?", many.into()).unwrap_err().contains("50 fields"));
    assert!(check(ELICITATION, json!({"message": 7})).is_err());
    assert!(check(ELICITATION, json!({"mode": "shell"})).is_err());
    assert!(check(ELICITATION, json!({"requestedSchema": []})).is_err());
}

#[test]
fn r_sec_11_a_form_may_not_ask_for_secrets() {
    let text = || json!({"v": {"type": "string"}});
    let number = || json!({"v": {"type": "integer"}});
    for (message, asked) in [
        (
            "Pegboard: your session expired. Enter your GitHub password",
            text(),
        ),
        ("Enter your p\u{0430}ssword", text()),
        ("Enter your PASSW\u{200b}ORD", text()),
        ("Your p-a-s-s-w-o-r-d please", text()),
        ("Paste an API key", text()),
        ("Paste the access token", text()),
        ("Your token?", text()),
        ("Tell me the secret", text()),
        ("Your PIN?", number()),
        ("Your password", number()),
        ("The passcode", number()),
        ("The one-time code we sent", number()),
        ("Your 2FA code", text()),
        ("Card number", number()),
        ("Bitte Passwort eingeben", text()),
        ("Introduce tu contraseña", text()),
        ("请输入密码", text()),
        ("パスワード", text()),
        (
            "Sign in",
            json!({"v": {"type": "string", "format": "password"}}),
        ),
        (
            "Sign in",
            json!({"v": {"type": "string", "writeOnly": true}}),
        ),
        ("Sign in", json!({"password": {"type": "string"}})),
        ("Sign in", json!({"userPassword": {"type": "string"}})),
        ("Sign in", json!({"api_key": {"type": "string"}})),
        ("Sign in", json!({"githubToken": {"type": "string"}})),
        ("Sign in", json!({"pin": {"type": "integer"}})),
        ("Sign in", json!({"pw": {"type": "string"}})),
        (
            "Sign in",
            json!({"v": {"type": "string", "title": "Passphrase"}}),
        ),
        (
            "Sign in",
            json!({"v": {"type": "string", "description": "your OTP"}}),
        ),
        (
            "Sign in",
            json!({"v": {"type": "string", "default": "type your password here"}}),
        ),
        (
            "Sign in",
            json!({"v": {"type": "array", "items": {"type": "string"}, "title": "Recovery codes"}}),
        ),
        // The words may be next to another field than the one for the response.
        (
            "Sign in",
            json!({"ok": {"type": "boolean", "title": "password below"}, "v": {"type": "string"}}),
        ),
    ] {
        let refused = fields(message, asked.clone());
        assert!(
            refused.is_err_and(|why| why.contains("url mode")),
            "{message} {asked}"
        );
    }
    let bare = check(ELICITATION, json!({"message": "Your password?"}));
    assert!(bare.is_err(), "a client may show a field of its own");
}

#[test]
fn r_sec_11_other_forms_pass() {
    let text = || json!({"v": {"type": "string"}});
    for (message, asked) in [
        ("Which folder?", text()),
        ("Pin this message to the board?", text()),
        ("Which key should the song be in?", text()),
        (
            "How many tokens at most?",
            json!({"max_tokens": {"type": "integer"}}),
        ),
        (
            "Delete the secret `db`?",
            json!({"sure": {"type": "boolean"}}),
        ),
        (
            "Reset the password of ada?",
            json!({"v": {"type": "string", "enum": ["yes", "no"]}}),
        ),
        ("Create it", json!({"secret_name": {"type": "string"}})),
        ("Compare the passages", text()),
        ("Which token limit?", json!({"limit": {"type": "integer"}})),
        (
            "Which colour?",
            json!({"tan": {"type": "string"}, "key": {"type": "string"}}),
        ),
        (
            "Author and keyboard layout?",
            json!({"author": {"type": "string"}, "keyboard": {"type": "string"}}),
        ),
    ] {
        let passed = fields(message, asked.clone());
        assert!(passed.is_ok(), "{message} {asked} {passed:?}");
    }
}

#[test]
fn r_sec_11_url_mode_shows_the_complete_url_and_its_host() {
    let asked = json!({"mode": "url", "elicitationId": "e1", "url": "https://login.example/a?b=c", "message": "Enter your password there"});
    let shown = check(ELICITATION, asked).unwrap();
    assert_eq!(
        shown["message"],
        "Server `mean` asks you to open https://login.example/a?b=c (on login.example): Enter your password there"
    );
    assert_eq!(
        (&shown["elicitationId"], &shown["mode"]),
        (&json!("e1"), &json!("url"))
    );
    assert_eq!(shown["url"], "https://login.example/a?b=c");
    let greek = check(
        ELICITATION,
        json!({"mode": "url", "url": "https://p\u{0430}ypal.com/\u{202e}x"}),
    )
    .unwrap();
    assert_eq!(
        greek["url"], "https://xn--pypal-4ve.com/%E2%80%AEx",
        "shown and passed alike"
    );
    for bad in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://bank.example@evil.example/",
        "no address",
        "",
    ] {
        assert!(
            check(ELICITATION, json!({"mode": "url", "url": bad})).is_err(),
            "{bad}"
        );
    }
    assert!(check(ELICITATION, json!({"mode": "url"})).is_err());
}

#[test]
fn r_sec_11_sampling_is_attributed_and_gets_no_context_of_other_servers() {
    let asked = json!({
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "sum\u{e0041}marise"}},
            {"role": "user", "content": [{"type": "text", "text": "b\u{202e}"}, {"type": "image", "data": "AAAA"}]},
        ],
        "systemPrompt": "Be brief.",
        "includeContext": "allServers",
        "maxTokens": 7,
    });
    let passed = check("sampling/createMessage", asked).unwrap();
    assert_eq!(
        passed["systemPrompt"],
        "This request is from the MCP server `mean`.\n\nBe brief."
    );
    assert_eq!(passed["includeContext"], "none");
    assert_eq!(passed["maxTokens"], 7);
    assert_eq!(
        passed["messages"][0]["content"]["text"],
        "sum\\u{e0041}marise"
    );
    assert_eq!(passed["messages"][1]["content"][0]["text"], "b\\u{202e}");
    assert_eq!(passed["messages"][1]["content"][1]["data"], "AAAA");
    let bare = check("sampling/createMessage", json!({"messages": []})).unwrap();
    assert_eq!(
        bare["systemPrompt"],
        "This request is from the MCP server `mean`."
    );
    assert!(bare.get("includeContext").is_none());
}

#[test]
fn r_sec_11_disabled_and_unknown_methods_are_refused() {
    let server = ServerName::parse("mean").unwrap();
    let off = ClientRequests {
        elicitation: false,
        sampling: false,
    };
    for method in [ELICITATION, "sampling/createMessage", "shell/run"] {
        assert!(
            check_client_request(&server, off, method, None).is_err(),
            "{method}"
        );
    }
    assert_eq!(
        check_client_request(&server, off, "roots/list", None)
            .unwrap()
            .map(|raw| raw.to_string()),
        None
    );
}
