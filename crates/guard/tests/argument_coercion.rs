//! Arguments in the forms that models actually send.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a broken fixture must fail its test"
)]

use pegboard_guard::{ARGUMENTS_BYTES_MAX, coerce_arguments};
use pegboard_model::Reason;
use serde_json::value::RawValue;

#[track_caller]
fn check(sent: &str, expected: Result<&str, &str>) {
    let raw = RawValue::from_string(sent.to_owned()).unwrap();
    let got = coerce_arguments(&raw);
    match (&got, expected) {
        (Ok(got), Ok(expected)) => assert_eq!(got.get(), expected, "{sent}"),
        (Err(error), Err(part)) => {
            assert_eq!(error.reason, Reason::ArgsInvalid);
            assert!(error.message.contains(part), "{sent}: {}", error.message);
        }
        _ => panic!("{sent}: {got:?}"),
    }
}

#[test]
fn r_reg_06_arguments_in_every_usual_form_become_an_object() {
    check("{}", Ok("{}"));
    check(
        r#"{"a" :  1.0, "b":"\u00e9"}"#,
        Ok(r#"{"a" :  1.0, "b":"\u00e9"}"#),
    );
    check("null", Ok("{}"));
    check(r#""""#, Ok("{}"));
    check(r#"" ""#, Ok("{}"));
    check(r#""null""#, Ok("{}"));
    check(r#""{\"a\": 1.0}""#, Ok(r#"{"a": 1.0}"#));
    check(r#""  {\"a\":\"\\u00e9\"}\n""#, Ok(r#"{"a":"\u00e9"}"#));
}

#[test]
fn r_reg_05_other_values_are_rejected_with_a_clear_message() {
    check("[1]", Err("not an array"));
    check("7", Err("not a number"));
    check("-1", Err("not a number"));
    check("true", Err("not a boolean"));
    check(r#""[1]""#, Err("contains JSON other than an object"));
    check(r#""\"{}\"""#, Err("contains JSON other than an object"));
    check(r#""a=1""#, Err("not JSON"));
    check(r#""{\"a\": 1""#, Err("not JSON"));
}

#[test]
fn r_sec_01_deep_and_large_arguments_do_not_break_parsing() {
    let deep = format!(r#""{}""#, "[".repeat(200_000));
    check(&deep, Err("not JSON"));
    let nested = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    check(&nested, Ok(&nested));
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(ARGUMENTS_BYTES_MAX));
    check(&large, Err("larger than the allowed"));
}
