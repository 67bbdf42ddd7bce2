//! Parses JSON with comments and trailing commas.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use pegboard_model::Limits;

use crate::node::{Entry, Node, Value};
use crate::text::SyntaxError;

/// Accepts only comments and trailing commas beyond standard JSON. A more lenient parser would hide mistakes.
pub(crate) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

pub(crate) fn read(text: &str, limits: &Limits) -> Result<Node, SyntaxError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).map_err(|error| {
        let at = error.range().start;
        SyntaxError {
            help: help(error.kind(), text.as_bytes().get(at)),
            ..SyntaxError::new(at, error.kind().to_string())
        }
    })?;
    match parsed.value {
        Some(value) => convert(value, limits.json_depth),
        None => Ok(Node::new(0, 0, Value::Null)),
    }
}

fn help(kind: &ParseErrorKind, found: Option<&u8>) -> Option<&'static str> {
    Some(match (kind, found) {
        (_, Some(b'#')) => "write the comment as `// …`",
        (_, Some(b',')) => "remove this `,`",
        (ParseErrorKind::ExpectedComma, _) => "put a `,` at the marked place",
        (ParseErrorKind::ExpectedColonAfterObjectKey, _) => "put a `:` after the key",
        (ParseErrorKind::SingleQuotedStringsNotAllowed, _)
        | (ParseErrorKind::ExpectedStringObjectProperty, _)
        | (ParseErrorKind::UnexpectedWord, _) => "write the text in double quotes",
        (ParseErrorKind::UnterminatedObject, _) => "add the missing `}` of this `{`",
        (ParseErrorKind::UnterminatedArray, _) => "add the missing `]` of this `[`",
        (ParseErrorKind::UnterminatedCommentBlock, _) => "end the comment with `*/`",
        (ParseErrorKind::MultipleRootJsonValues, _) => "remove everything after the first value",
        _ => return None,
    })
}

fn convert(value: ast::Value<'_>, depth: usize) -> Result<Node, SyntaxError> {
    let range = value.range();
    let Some(depth) = depth.checked_sub(1) else {
        return Err(SyntaxError::too_large(
            range.start,
            "the values are nested too deeply",
        ));
    };
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::StringLit(literal) => Value::Text(literal.value.into_owned()),
        ast::Value::NumberLit(literal) => match literal.value.parse::<i64>() {
            Ok(integer) => Value::Integer(integer),
            Err(_) => Value::Float(
                literal
                    .value
                    .parse()
                    .map_err(|_| SyntaxError::new(literal.range.start, "this is not a number"))?,
            ),
        },
        ast::Value::Array(array) => {
            let items = array.elements.into_iter().map(|item| convert(item, depth));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let entries = object.properties.into_iter().map(|property| {
                let key_start = property.name.range().start;
                let node = convert(property.value, depth)?;
                Ok(Entry {
                    key: property.name.into_string(),
                    key_start,
                    node,
                })
            });
            Value::Map(entries.collect::<Result<_, _>>()?)
        }
    };
    Ok(Node::new(range.start, range.end, value))
}
