//! Names and texts that are made to cost as much as possible.

use pegboard_catalog::Catalog;
use pegboard_metatools::{ListRequest, context_summary, describe_text, list_json, list_text};

use super::{catalog_of, tokens};
use crate::fixture::{configured, name, spec};
use serde_json::{Value, json};

/// A little generator, so that every run sees the same texts.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn text(&mut self, letters: &[char], length: usize) -> String {
        (0..length)
            .map(|_| letters[self.roll(letters.len())])
            .collect()
    }
}

fn range(from: u32, to: u32) -> Vec<char> {
    (from..=to).filter_map(char::from_u32).collect()
}

/// Alphabets that names may use, and those that only descriptions may.
fn alphabets() -> Vec<(&'static str, Vec<char>, bool)> {
    let ascii = |text: &str| text.chars().collect::<Vec<char>>();
    vec![
        ("lower", ascii("abcdefghijklmnopqrstuvwxyz"), true),
        ("consonants", ascii("bcdfghjklmnpqrstvwxz"), true),
        ("upper", ascii("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), true),
        (
            "base64",
            ascii("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
            true,
        ),
        ("digits", ascii("0123456789"), true),
        ("short words", ascii("abcdefghijklmnopqrstuvwxyz____"), true),
        ("code", ascii("(){}[]<>=+*/&|^%$#@!~;:,.?'\"\\ab"), false),
        ("quotes", ascii("\"\\/ "), false),
        ("accents", range(0xc0, 0x17f), false),
        ("Greek", range(0x3b1, 0x3c9), false),
        ("Cyrillic", range(0x430, 0x44f), false),
        ("Arabic", range(0x621, 0x64a), false),
        ("Devanagari", range(0x905, 0x939), false),
        ("Thai", range(0xe01, 0xe2e), false),
        ("Ethiopic", range(0x1200, 0x1248), false),
        ("kana", range(0x3041, 0x3096), false),
        ("ideographs", range(0x4e00, 0x9fa0), false),
        ("rare ideographs", range(0x3400, 0x4db0), false),
        ("Hangul", range(0xac00, 0xd7a3), false),
        ("emoji", range(0x1f300, 0x1f64f), false),
        ("cuneiform", range(0x12000, 0x12399), false),
    ]
}

/// The texts of a catalog that have to stay below 500 tokens.
fn texts(catalog: &Catalog) -> Vec<String> {
    let requests = [None, Some("server_0"), Some("nothing like it")];
    let requests = requests.map(|category| ListRequest {
        category,
        include_disabled: true,
    });
    let lists = requests
        .iter()
        .flat_map(|request| [list_text(catalog, request), list_json(catalog, request)]);
    let all = ["*".to_owned()];
    lists
        .chain([
            context_summary(catalog, &[]),
            context_summary(catalog, &all),
        ])
        .collect()
}

#[track_caller]
fn check(what: &str, catalog: &Catalog) {
    for text in texts(catalog) {
        let count = tokens(&text);
        assert!(count < 500, "{what}: {count} tokens\n{text}");
    }
    for tool in catalog.all_tools().step_by(7).take(6) {
        let text = describe_text(&tool, true);
        let count = tokens(&text);
        assert!(count < 600, "{what}: {count} tokens\n{text}");
    }
}

#[test]
fn r_ctx_02_no_alphabet_breaks_the_limits() {
    for (what, letters, in_names) in alphabets() {
        for (servers, tools, length) in [(1, 8, 60), (3, 14, 30), (1, 200, 100), (40, 12, 12)] {
            let mut dice = Dice(length as u64);
            let names: Vec<String> = (0..servers * tools)
                .map(|number| {
                    let random = if in_names {
                        dice.text(&letters, length)
                    } else {
                        "tool".to_owned()
                    };
                    format!("{random}{number}")
                })
                .collect();
            let words: Vec<String> = (0..servers * tools)
                .map(|_| dice.text(&letters, 200))
                .collect();
            let catalog = catalog_of(servers, tools, |server, tool| {
                let at = server * tools + tool;
                (names[at].clone(), words[at].clone())
            });
            check(&format!("{what}, {servers} × {tools}"), &catalog);
        }
    }
}

#[test]
fn r_ctx_02_words_that_look_like_words_do_not_break_the_limits() {
    // Syllables make words that read well and that no tokenizer has seen.
    const SYLLABLES: [&str; 12] = [
        "ta", "re", "no", "li", "son", "ka", "mer", "du", "vel", "ri", "gan", "tos",
    ];
    let mut dice = Dice(5);
    let mut word = || (0..3).map(|_| SYLLABLES[dice.roll(12)]).collect::<String>();
    let names: Vec<String> = (0..600)
        .map(|number| format!("{}_{}_{number}", word(), word()))
        .collect();
    let texts: Vec<String> = (0..600)
        .map(|_| [word(), word(), word(), word(), word()].join(" "))
        .collect();
    for (servers, tools) in [(1, 12), (1, 30), (1, 600), (20, 30)] {
        let catalog = catalog_of(servers, tools, |server, tool| {
            (
                names[server * tools + tool].clone(),
                texts[server * tools + tool].clone(),
            )
        });
        check("syllables", &catalog);
    }
}

#[test]
fn r_ctx_02_names_of_servers_and_categories_do_not_break_the_limits() {
    let letters: Vec<char> = "abcdefghijklmnopqrstuvwxyz0123456789".chars().collect();
    let mut dice = Dice(9);
    let mut server = || {
        format!(
            "{}{}",
            dice.text(&letters[..26], 1),
            dice.text(&letters, 23)
        )
    };
    let entries = (0..2000).map(|number| {
        let mut spec = spec(&server());
        if number % 2 == 0 {
            spec.category = Some("分類\u{202e}\u{1f600}/\"".repeat(30) + &number.to_string());
        }
        configured(spec, &[json!({"name": format!("tool{number}")})])
    });
    let catalog: Catalog = entries.collect();
    check("servers", &catalog);
    let longest = "分".repeat(4000);
    let request = ListRequest {
        category: Some(&longest),
        include_disabled: false,
    };
    assert!(tokens(&list_text(&catalog, &request)) < 500);
}

#[test]
fn r_ctx_03_hostile_schemas_stay_short() {
    let letters: Vec<char> = "bcdfghjklmnpqrstvwxz".chars().collect();
    let mut dice = Dice(3);
    let mut deep = json!({"type": "string"});
    for _ in 0..12 {
        deep = json!({"type": "object", "properties": {dice.text(&letters, 60): deep.clone(), "b": deep["type"]}});
    }
    let wide: serde_json::Map<String, Value> = (0..300)
        .map(|number| {
            (
                format!("{}{number}", dice.text(&letters, 80)),
                json!({"enum": [dice.text(&letters, 200), 1, 2]}),
            )
        })
        .collect();
    let tools = [
        json!({"name": "deep", "description": "x".repeat(9000), "inputSchema": {"type": "object", "properties": {"a": deep}}}),
        json!({"name": "wide", "inputSchema": {"type": "object", "properties": wide}}),
        json!({"name": "cycle", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#"}}}}),
    ];
    let catalog = Catalog::default()
        .with_server(configured(spec("hostile"), &tools))
        .0;
    assert!(catalog.server(&name("hostile")).is_some());
    for tool in catalog.tools() {
        let text = describe_text(&tool, true);
        assert!(
            tokens(&text) < 600,
            "{}: {}\n{text}",
            tool.name(),
            tokens(&text)
        );
    }
}
