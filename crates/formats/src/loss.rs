//! What a conversion cost, in words that stay the same.

use std::fmt;

use serde::Serialize;

/// One difference between the source and what the provider gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// Where in the input schema, as a JSON pointer; the empty pointer is the tool itself. Where a reference
    /// was put in place, the pointer leads through the place that referred.
    pub path: String,
    /// What happened.
    pub kind: LossKind,
    /// The keyword or value, short and without control characters.
    pub detail: String,
}

/// What a loss means for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing: [`crate::Restore`] undoes it before the call.
    Undone,
    /// The model reads it in a description instead of a keyword.
    InWords,
    /// The model may send what the tool refuses; the check with the original schema tells it so.
    Wider,
    /// The model cannot say all that the tool would take.
    Narrower,
    /// The model no longer sees a text.
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
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// The code, which stays the same between versions.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$kind => $code,)+
                }
            }

            /// What it means for a call.
            pub fn effect(self) -> Effect {
                match self {
                    $(Self::$kind => Effect::$effect,)+
                }
            }

            /// One sentence about it.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$kind => concat!($($doc),+),)+
                }
            }
        }
    };
}

loss_kinds! {
    /// The tool has another name, because the provider does not take its own.
    NameChanged = "name-changed", Undone;
    /// A parameter has another name, because the provider does not take its own.
    PropertyRenamed = "property-renamed", Undone;
    /// An optional parameter is required and may be `null`, which is taken out again.
    OptionalAsNull = "optional-as-null", Undone;
    /// Alternatives or conditions at the root became one object with all parameters.
    RootMerged = "root-merged", InWords;
    /// A constraint is said in the description.
    ConstraintInWords = "constraint-in-words", InWords;
    /// A default is said in the description.
    DefaultInWords = "default-in-words", InWords;
    /// The permitted values are said in the description.
    EnumInWords = "enum-in-words", InWords;
    /// Examples are said in the description.
    ExampleInWords = "example-in-words", InWords;
    /// A constraint is gone.
    ConstraintDropped = "constraint-dropped", Wider;
    /// A condition (`if`, `dependentRequired`, `not`, …) is gone.
    ConditionDropped = "condition-dropped", Wider;
    /// Whether further properties are permitted, and of which kind, is no longer said.
    OpennessDropped = "openness-dropped", Wider;
    /// Exactly one alternative became at least one.
    OneOfAsAnyOf = "one-of-as-any-of", Wider;
    /// A tuple became a list whose items may be any of the tuple's.
    TupleWidened = "tuple-widened", Wider;
    /// A reference leads nowhere, or outside; anything is taken there.
    ReferenceUnresolved = "reference-unresolved", Wider;
    /// A schema that contains itself is described for one level; below it anything of its type is taken.
    RecursionCut = "recursion-cut", Wider;
    /// The schema nests too deep or is too large; anything is taken at this place.
    SizeCut = "size-cut", Wider;
    /// A keyword's value is not what the keyword takes; it is left out.
    KeywordInvalid = "keyword-invalid", Wider;
    /// The schema could not be read, or is none for an object; any object is taken.
    SchemaReplaced = "schema-replaced", Wider;
    /// An alternative that cannot be expressed is gone.
    AlternativeDropped = "alternative-dropped", Narrower;
    /// A permitted value that the provider does not take is gone.
    EnumValueDropped = "enum-value-dropped", Narrower;
    /// A missing type was guessed from the other keywords.
    TypeGuessed = "type-guessed", Narrower;
    /// Any value is taken there, which the provider can only say as a list of types.
    AnyAsTypes = "any-as-types", Narrower;
    /// An object that says nothing about further properties takes none.
    ObjectClosed = "object-closed", Narrower;
    /// A property whose schema permits no value is gone.
    PropertyDropped = "property-dropped", Narrower;
    /// The schema does not fit the strict mode, so the tool is offered without it.
    NotStrict = "not-strict", Wider;
    /// A keyword that no draft of JSON Schema knows is gone.
    KeywordUnknown = "keyword-unknown", Unseen;
    /// A text for readers (title, `examples`, `deprecated`, …) is gone.
    AnnotationDropped = "annotation-dropped", Unseen;
    /// An example that the provider would refuse is gone.
    ExampleDropped = "example-dropped", Unseen;
    /// A description was cut; a mark shows where.
    DescriptionCut = "description-cut", Unseen;
    /// There were more losses than are listed.
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
    fn r_reg_07_loss_kinds_have_codes_of_their_own() {
        let codes: BTreeSet<_> = LossKind::ALL.iter().map(|k| k.code()).collect();
        assert_eq!(codes.len(), LossKind::ALL.len());
        for kind in LossKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
            assert!(kind.meaning().ends_with('.'), "{kind}");
        }
    }
}
