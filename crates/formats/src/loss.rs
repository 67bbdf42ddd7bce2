//! The losses of a conversion.

use std::fmt;

use serde::Serialize;

/// One difference between the source and the converted tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The location in the input schema, as a JSON pointer; empty for the tool itself. For an inlined reference the
    /// pointer goes through the location of the reference.
    pub path: String,
    /// The kind of loss.
    pub kind: LossKind,
    /// The keyword or value; short and without control characters.
    pub detail: String,
}

/// The effect of a loss on calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// None: [`crate::Restore`] undoes it before the call.
    Undone,
    /// The information moved from a keyword to a description.
    InWords,
    /// The model may send arguments that the tool rejects; validation with the original schema reports them.
    Wider,
    /// The model cannot send everything that the tool accepts.
    Narrower,
    /// The model does not see a text.
    Unseen,
}

macro_rules! loss_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $code:literal, $effect:ident;)+) => {
        /// The kinds of loss.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LossKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl LossKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// The stable code.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$kind => $code,)+
                }
            }

            /// The effect on calls.
            pub fn effect(self) -> Effect {
                match self {
                    $(Self::$kind => Effect::$effect,)+
                }
            }

            /// A one-sentence description.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$kind => concat!($($doc),+),)+
                }
            }
        }
    };
}

loss_kinds! {
    /// The tool was renamed, because the provider does not accept its name.
    NameChanged = "name-changed", Undone;
    /// A parameter was renamed, because the provider does not accept its name.
    PropertyRenamed = "property-renamed", Undone;
    /// An optional parameter became required and nullable; the `null` is removed again.
    OptionalAsNull = "optional-as-null", Undone;
    /// Alternatives or conditions at the root were merged into one object with all parameters.
    RootMerged = "root-merged", InWords;
    /// A constraint was moved to the description.
    ConstraintInWords = "constraint-in-words", InWords;
    /// A default was moved to the description.
    DefaultInWords = "default-in-words", InWords;
    /// The allowed values were moved to the description.
    EnumInWords = "enum-in-words", InWords;
    /// Examples were moved to the description.
    ExampleInWords = "example-in-words", InWords;
    /// A constraint was dropped.
    ConstraintDropped = "constraint-dropped", Wider;
    /// A condition (`if`, `dependentRequired`, `not`, …) was dropped.
    ConditionDropped = "condition-dropped", Wider;
    /// The rule for additional properties was dropped.
    OpennessDropped = "openness-dropped", Wider;
    /// `oneOf` became `anyOf`.
    OneOfAsAnyOf = "one-of-as-any-of", Wider;
    /// A tuple became an array whose items may have any of the tuple's types.
    TupleWidened = "tuple-widened", Wider;
    /// A reference is unresolved or external; any value is accepted there.
    ReferenceUnresolved = "reference-unresolved", Wider;
    /// A recursive schema is expanded for one level; below it any value of its type is accepted.
    RecursionCut = "recursion-cut", Wider;
    /// The schema is nested too deeply or too large; any value is accepted at this location.
    SizeCut = "size-cut", Wider;
    /// A keyword has an invalid value and was dropped.
    KeywordInvalid = "keyword-invalid", Wider;
    /// The schema is invalid or not for an object; any object is accepted.
    SchemaReplaced = "schema-replaced", Wider;
    /// An alternative that cannot be expressed was dropped.
    AlternativeDropped = "alternative-dropped", Narrower;
    /// An allowed value that the provider does not accept was dropped.
    EnumValueDropped = "enum-value-dropped", Narrower;
    /// A missing type was inferred from the other keywords.
    TypeGuessed = "type-guessed", Narrower;
    /// Any value is accepted, which the provider can only express as a list of types.
    AnyAsTypes = "any-as-types", Narrower;
    /// An object without a rule for additional properties was closed.
    ObjectClosed = "object-closed", Narrower;
    /// A property whose schema allows no value was dropped.
    PropertyDropped = "property-dropped", Narrower;
    /// The schema is not possible in strict mode, so the tool is sent without it.
    NotStrict = "not-strict", Wider;
    /// A keyword that no draft of JSON Schema defines was dropped.
    KeywordUnknown = "keyword-unknown", Unseen;
    /// An annotation (title, `examples`, `deprecated`, …) was dropped.
    AnnotationDropped = "annotation-dropped", Unseen;
    /// An example that the provider would reject was dropped.
    ExampleDropped = "example-dropped", Unseen;
    /// A description was truncated; `…` marks the end.
    DescriptionCut = "description-cut", Unseen;
    /// There are more losses than are listed.
    More = "more", Unseen;
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

impl Serialize for LossKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn r_reg_07_loss_kinds_have_unique_codes() {
        let codes: BTreeSet<_> = LossKind::ALL.iter().map(|k| k.code()).collect();
        assert_eq!(codes.len(), LossKind::ALL.len());
        for kind in LossKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
            assert!(kind.meaning().ends_with('.'), "{kind}");
        }
    }
}
