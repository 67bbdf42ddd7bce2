//! Extraction of texts from an input schema without building it.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::text::Field;
use crate::weights::SCHEMA_NODES;

/// Calls back with the parameter names, descriptions and enum values of a schema. Invalid JSON ends the extraction; the
/// texts before the error count.
pub(crate) fn each_text(schema: &str, mut found: impl FnMut(Field, &str)) {
    let mut left = SCHEMA_NODES;
    let mut walk = Walk {
        part: SchemaPart::Schema,
        left: &mut left,
        found: &mut found,
    };
    let mut reader = serde_json::Deserializer::from_str(schema);
    let _ = reader.deserialize_any(walk.again(SchemaPart::Schema));
}

/// What is being parsed.
#[derive(Clone, Copy)]
enum SchemaPart {
    Schema,
    Properties,
    /// Schemas by name, such as `$defs`.
    Named,
    /// One schema or a list of schemas.
    Several,
    Description,
    Choices,
}

struct Walk<'w> {
    part: SchemaPart,
    left: &'w mut usize,
    found: &'w mut dyn FnMut(Field, &str),
}

impl Walk<'_> {
    fn again(&mut self, part: SchemaPart) -> Walk<'_> {
        Walk {
            part,
            left: self.left,
            found: self.found,
        }
    }

    /// What the value of a key is; `None` if it is ignored.
    fn under(&mut self, key: &str) -> Option<SchemaPart> {
        match self.part {
            SchemaPart::Schema | SchemaPart::Several => match key {
                "properties" => Some(SchemaPart::Properties),
                "description" => Some(SchemaPart::Description),
                "enum" | "const" => Some(SchemaPart::Choices),
                "items" | "anyOf" | "oneOf" | "allOf" | "prefixItems" | "additionalProperties" => {
                    Some(SchemaPart::Several)
                }
                "$defs" | "definitions" => Some(SchemaPart::Named),
                _ => None,
            },
            SchemaPart::Properties => {
                (self.found)(Field::Parameters, key);
                Some(SchemaPart::Schema)
            }
            SchemaPart::Named => Some(SchemaPart::Schema),
            SchemaPart::Description | SchemaPart::Choices => None,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a schema")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(part) = map.next_key_seed(Key(&mut self))? {
            *self.left = self.left.saturating_sub(1);
            match part.filter(|_| *self.left > 0) {
                Some(part) => map.next_value_seed(self.again(part))?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let part = match self.part {
            SchemaPart::Several => SchemaPart::Schema,
            part => part,
        };
        while list.next_element_seed(self.again(part))?.is_some() {
            *self.left = self.left.saturating_sub(1);
            if *self.left == 0 {
                while list.next_element::<IgnoredAny>()?.is_some() {}
            }
        }
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        match self.part {
            SchemaPart::Description => (self.found)(Field::ParameterDescriptions, text),
            SchemaPart::Choices => (self.found)(Field::Choices, text),
            _ => {}
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Deserializes a key without copying it.
struct Key<'k, 'w>(&'k mut Walk<'w>);

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = Option<SchemaPart>;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_, '_> {
    type Value = Option<SchemaPart>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(if *self.0.left == 0 {
            None
        } else {
            self.0.under(key)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, expected: &[(Field, &str)]) {
        let mut found = Vec::new();
        each_text(schema, |field, text| found.push((field, text.to_owned())));
        let expected: Vec<_> = expected
            .iter()
            .map(|(f, t)| (*f, (*t).to_owned()))
            .collect();
        assert_eq!(found, expected, "{schema}");
    }

    #[test]
    fn names_descriptions_and_choices_are_extracted() {
        check(
            r#"{"type":"object","properties":{"path":{"type":"string","description":"Where \u00e4"},
               "mode":{"enum":["fast","slow",3]}},"required":["path"]}"#,
            &[
                (Field::Parameters, "path"),
                (Field::ParameterDescriptions, "Where ä"),
                (Field::Parameters, "mode"),
                (Field::Choices, "fast"),
                (Field::Choices, "slow"),
            ],
        );
    }

    #[test]
    fn nested_schemas_are_visited() {
        check(
            r#"{"properties":{"a":{"items":{"properties":{"b":true}}},"c":{"anyOf":[{"const":"x"},null]}},
               "$defs":{"Hidden":{"properties":{"d":{}}}}}"#,
            &[
                (Field::Parameters, "a"),
                (Field::Parameters, "b"),
                (Field::Parameters, "c"),
                (Field::Choices, "x"),
                (Field::Parameters, "d"),
            ],
        );
    }

    #[test]
    fn invalid_schemas_are_ignored() {
        check("", &[]);
        check("[1,2", &[]);
        check("\"text\"", &[]);
        check(
            r#"{"properties":{"a":{}, oops"#,
            &[(Field::Parameters, "a")],
        );
    }

    #[test]
    fn the_cost_of_a_huge_schema_is_bounded() {
        let many: Vec<String> = (0..10 * SCHEMA_NODES)
            .map(|n| format!("\"p{n}\":{{}}"))
            .collect();
        let mut count = 0;
        each_text(
            &format!("{{\"properties\":{{{}}}}}", many.join(",")),
            |_, _| count += 1,
        );
        assert!(count <= SCHEMA_NODES, "{count}");
    }
}
