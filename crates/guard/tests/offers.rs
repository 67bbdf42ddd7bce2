//! Prompts, resources and templates are checked independently.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a broken fixture must fail its test"
)]

use pegboard_guard::{OfferKey, admit_offers};
use pegboard_model::{Limits, Reason};
use proptest::prelude::*;
use serde_json::value::RawValue;

fn raw(definitions: &[&str]) -> Vec<Box<RawValue>> {
    let raw = |text: &&str| RawValue::from_string((*text).to_owned()).unwrap();
    definitions.iter().map(raw).collect()
}

#[test]
fn r_gate_03_valid_offers_are_stored_byte_for_byte_and_sorted() {
    let list = [
        r#"{"uri":"test://b",  "name":"B", "x-vendor":1.0}"#,
        r#"{"name":"A","uri":"test://a"}"#,
    ];
    let (offers, rejections) = admit_offers(OfferKey::Uri, &raw(&list), &Limits::default());
    let keys: Vec<&str> = offers.iter().map(|offer| offer.key.as_str()).collect();
    assert_eq!(keys, ["test://a", "test://b"]);
    assert_eq!(&*offers[1].definition, list[0]);
    assert_eq!(rejections, []);
    let templates = raw(&[r#"{"uriTemplate":"test://{id}","name":"T"}"#]);
    let (offers, _) = admit_offers(OfferKey::UriTemplate, &templates, &Limits::default());
    assert_eq!(offers[0].key, "test://{id}");
}

#[track_caller]
fn check(definition: &str, shown: &str, reason: Reason) {
    let list = raw(&[definition, r#"{"name":"good"}"#]);
    let limits = Limits {
        tool_bytes: 4_000,
        offer_key_bytes: 100,
        json_depth: 16,
        ..Limits::default()
    };
    let (offers, rejections) = admit_offers(OfferKey::Name, &list, &limits);
    assert_eq!(offers.len(), 1, "a bad one costs only itself: {definition}");
    assert_eq!(
        (rejections[0].tool.as_str(), rejections[0].reason),
        (format!("prompt {shown}").as_str(), reason),
        "{definition}"
    );
    assert!(!rejections[0].detail.chars().any(char::is_control));
}

#[test]
fn r_sec_01_an_invalid_offer_does_not_affect_the_others() {
    check("7", "#1", Reason::ToolMalformed);
    check("[]", "#1", Reason::ToolMalformed);
    check("{}", "#1", Reason::ToolRejectedName);
    check(r#"{"name":7}"#, "#1", Reason::ToolRejectedName);
    check(r#"{"name":""}"#, "#1", Reason::ToolRejectedName);
    check(
        r#"{"name":"a\u001b[2J"}"#,
        "a\\u{1b}[2J",
        Reason::ToolRejectedName,
    );
    check(r#"{"name":"a\r\nb"}"#, "a\\r\\nb", Reason::ToolRejectedName);
    check(r#"{"name":"a","name":"b"}"#, "#1", Reason::ToolMalformed);
    check(
        r#"{"name":"a","_meta":{"b":1,"b":2}}"#,
        "a",
        Reason::ToolMalformed,
    );
    let deep = format!(r#"{{"name":"a","x":{}{}}}"#, "[".repeat(50), "]".repeat(50));
    check(&deep, "a", Reason::ToolMalformed);
    let large = format!(r#"{{"name":"a","x":"{}"}}"#, "x".repeat(5_000));
    check(&large, "a", Reason::ToolTooLarge);
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(101));
    check(
        &long,
        &format!("{}…", "x".repeat(80)),
        Reason::ToolRejectedName,
    );
}

#[test]
fn of_duplicate_keys_the_first_is_admitted() {
    let list = raw(&[r#"{"name":"a","n":1}"#, r#"{"name":"a","n":2}"#]);
    let (offers, rejections) = admit_offers(OfferKey::Name, &list, &Limits::default());
    assert_eq!(&*offers[0].definition, r#"{"name":"a","n":1}"#);
    assert_eq!(rejections[0].reason, Reason::ToolDuplicate);
}

#[test]
fn r_sec_01_an_endless_list_is_truncated_and_reported() {
    let limits = Limits {
        offers_per_list: 3,
        ..Limits::default()
    };
    let many: Vec<String> = (0..10).map(|n| format!(r#"{{"name":"{n}"}}"#)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (offers, rejections) = admit_offers(OfferKey::Name, &raw(&many), &limits);
    assert_eq!(offers.len(), 3);
    assert_eq!(rejections.len(), 1);
    assert_eq!(rejections[0].reason, Reason::ListTooLarge);
    assert!(rejections[0].detail.contains('7'), "{rejections:?}");
}

proptest! {
    #[test]
    fn r_sec_01_any_definition_gets_a_result(name in "\\PC{0,40}", other in "[\\[\\]{}\",:a0]{0,40}") {
        let definition = serde_json::json!({"name": name, "other": other}).to_string();
        let (offers, rejections) = admit_offers(OfferKey::Name, &raw(&[&definition]), &Limits::default());
        prop_assert_eq!(offers.len() + rejections.len(), 1);
        prop_assert!(offers.iter().all(|offer| *offer.definition == *definition));
    }
}
