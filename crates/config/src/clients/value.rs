//! A value of a client's file, in parts that can be written in Pegboard's notation.

use std::fmt;

use pegboard_model::Secret;

/// A value as a list of parts. `Debug` prints no text, because any of it may be a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct ImportValue(pub(super) Vec<ValuePart>);

/// One part of a value.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ValuePart {
    /// Text that means itself.
    Literal(String),
    /// A reference in Pegboard's notation.
    Reference(String),
    /// Text that looks like a secret, with the words that its name is made of.
    Secret { value: Secret, hint: String },
    /// A value that only the user knows: a prompt, or a secret that the client stores.
    Prompt { name: String, from: String },
}

/// How secrets are written.
pub(super) enum SecretForm<'a> {
    /// As literal text.
    Literal,
    /// As references with the name of each secret.
    Reference(&'a dyn Fn(&Secret, &str) -> String),
}

impl fmt::Debug for ImportValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl ImportValue {
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self(vec![ValuePart::Literal(text.into())])
    }

    pub(super) fn reference(text: impl Into<String>) -> Self {
        Self(vec![ValuePart::Reference(text.into())])
    }

    /// Returns the text of a value without references.
    pub(super) fn plain(&self) -> Option<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                ValuePart::Literal(literal) => text.push_str(literal),
                _ => return None,
            }
        }
        Some(text)
    }

    /// Returns the literal text at the start.
    pub(super) fn start(&self) -> &str {
        match self.0.first() {
            Some(ValuePart::Literal(text)) => text,
            _ => "",
        }
    }

    pub(super) fn starts_with_reference(&self) -> bool {
        matches!(self.0.first(), Some(ValuePart::Reference(_)))
    }

    /// Puts text before the value.
    pub(super) fn prefixed(mut self, part: ValuePart) -> Self {
        self.0.insert(0, part);
        self
    }

    /// Writes the value in Pegboard's notation. Returns `None` if a `$` directly before a reference would make it
    /// literal text.
    pub(super) fn written(&self, form: &SecretForm<'_>) -> Option<String> {
        let mut text = String::new();
        // Literal text is escaped as a whole, because `$` and `{` may come from two parts.
        let mut literal = String::new();
        let flush = |literal: &mut String, text: &mut String| {
            text.push_str(&escaped(literal));
            literal.clear();
        };
        for part in &self.0 {
            let reference = match part {
                ValuePart::Literal(part) => {
                    literal.push_str(part);
                    continue;
                }
                ValuePart::Secret { value, hint } => match form {
                    SecretForm::Literal => {
                        literal.push_str(value.reveal());
                        continue;
                    }
                    SecretForm::Reference(name) => secret_reference(&name(value, hint)),
                },
                ValuePart::Reference(reference) => reference.clone(),
                ValuePart::Prompt { name, .. } => secret_reference(name),
            };
            if literal.ends_with('$') {
                return None;
            }
            flush(&mut literal, &mut text);
            text.push_str(&reference);
        }
        flush(&mut literal, &mut text);
        Some(text)
    }
}

pub(super) fn secret_reference(name: &str) -> String {
    format!("${{secret:{name}}}")
}

/// Escapes text that Pegboard would take as a reference.
pub(super) fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

/// Makes a name of lower-case words joined by `_`.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        match character {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.is_empty() || slug.ends_with('_') => {}
            _ => slug.push('_'),
        }
    }
    slug.truncate(SLUG_MAX);
    slug.trim_end_matches('_').to_owned()
}

/// Longest name of words; a secret's name may have 64 characters.
const SLUG_MAX: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_07_literal_text_stays_literal_in_pegboards_notation() {
        let written =
            |parts: &[ValuePart]| ImportValue(parts.to_vec()).written(&SecretForm::Literal);
        let literal = |text: &str| ValuePart::Literal(text.to_owned());
        let reference = ValuePart::Reference("${X}".to_owned());
        for (text, expected) in [
            ("${amount} USD", "$${amount} USD"),
            ("$${a}", "$$${a}"),
            ("costs $5", "costs $5"),
            ("$", "$"),
        ] {
            assert_eq!(written(&[literal(text)]).unwrap(), expected);
        }
        assert_eq!(written(&[literal("$"), literal("{a}")]).unwrap(), "$${a}");
        assert_eq!(
            written(&[literal("a"), reference.clone()]).unwrap(),
            "a${X}"
        );
        assert_eq!(written(&[literal("$"), reference]), None);
    }

    #[test]
    fn names_are_made_of_lower_case_words() {
        assert_eq!(slug("X-Api-Key"), "x_api_key");
        assert_eq!(slug("--token="), "token");
        assert_eq!(slug("日本"), "");
        assert_eq!(slug(&"a".repeat(100)).len(), SLUG_MAX);
    }
}
