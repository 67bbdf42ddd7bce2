//! Arguments of calls, and the schemas that they are validated with.

use pegboard_guard::{
    ArgumentValidator, coerce_arguments, has_duplicate_key, parse_arguments, signature_of,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::first_line;

/// The first line is a schema, the rest are arguments. Arguments with duplicate keys are never accepted, and errors are
/// limited and consistent with the schema check. Passes if schema and arguments are usable.
pub(crate) fn validation(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let (schema, arguments) = first_line(text);
    let validator = ArgumentValidator::new(schema);
    assert!(signature_of("tool", schema).len() < 100_000);
    if ArgumentValidator::strict(schema).is_some() {
        assert!(validator.is_some(), "strict accepts less");
    }
    if let Some(example) = pegboard_catalog::generate_example(schema) {
        let errors = validator.as_ref().and_then(|one| one.errors(&example));
        assert!(errors.is_none_or(|errors| errors.is_empty()), "{example}");
    }
    pegboard_catalog::parameters(schema);
    if let Ok(raw) = serde_json::from_str::<&RawValue>(arguments)
        && let Ok(coerced) = coerce_arguments(raw)
    {
        assert!(coerced.get().starts_with('{'), "{coerced}");
    }
    let parsed = parse_arguments(arguments);
    if has_duplicate_key(arguments) {
        assert!(parsed.is_err());
    }
    let Ok(parsed) = parsed else { return false };
    assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), parsed);
    let Some(validator) = validator else {
        return false;
    };
    let errors = validator.errors(&parsed);
    assert!(errors.as_ref().is_none_or(|errors| errors.len() <= 5));
    true
}
