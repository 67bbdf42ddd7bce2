//! The bounds, each with its reason.

/// A tool's name: what OpenAI and Bedrock take, what Gemini's service enforces (its SDK says 128), and what
/// Anthropic's `tool_reference` still takes where tools themselves may have 128.
pub(crate) const NAME_MAX: usize = 64;

/// A parameter's name, for the providers that look at it.
pub(crate) const PROPERTY_NAME_MAX: usize = 64;

/// A tool's description. No provider says a number any more (OpenAI's 1,024 was lifted, some hosts of its
/// models keep it: see `ConvertOptions::description_max`); this keeps one tool from filling a model's context.
pub(crate) const DESCRIPTION_MAX: usize = 32_768;

/// How deep a schema may nest. Schemas of real servers stay under half of it.
pub(crate) const DEPTH_MAX: usize = 40;

/// How many schema nodes may be copied while references are put in place and alternatives are spread: many
/// times what the largest schemas of real servers need.
pub(crate) const COPIED_NODES_MAX: usize = 20_000;

/// How many alternatives one `anyOf` may have where each is looked into.
pub(crate) const ALTERNATIVES_MAX: usize = 64;

/// How many different references one schema may have.
pub(crate) const REFERENCES_MAX: usize = 1_000;

/// How many losses one tool reports; the rest is counted.
pub(crate) const LOSSES_MAX: usize = 1_000;

/// How long a sentence may be that says in words what a keyword said.
pub(crate) const SENTENCE_MAX: usize = 600;

/// How long a piece of a foreign value may be in a loss's detail.
pub(crate) const DETAIL_MAX: usize = 80;

/// How many examples one tool shows.
pub(crate) const EXAMPLES_MAX: usize = 8;

/// OpenAI's published bounds for strict schemas.
pub(crate) const STRICT_PROPERTIES_MAX: usize = 5_000;
/// Levels of objects in a strict schema.
pub(crate) const STRICT_LEVELS_MAX: usize = 10;
/// Enum values of a strict schema, all together.
pub(crate) const STRICT_ENUM_VALUES_MAX: usize = 1_000;
/// Characters of property names and enum values of a strict schema, all together.
pub(crate) const STRICT_CHARACTERS_MAX: usize = 120_000;
/// An enum of more values than this…
pub(crate) const STRICT_LONG_ENUM: usize = 250;
/// …may have so many characters in all.
pub(crate) const STRICT_LONG_ENUM_CHARACTERS: usize = 15_000;
