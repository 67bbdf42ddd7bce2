//! Limits of conversions.

/// Maximum length of a tool name: the limit of OpenAI and Bedrock, of Gemini's service (its SDK says 128), and of
/// Anthropic's `tool_reference` (tools themselves may have 128).
pub(crate) const NAME_MAX: usize = 64;

/// Maximum length of a parameter name, for providers that check it.
pub(crate) const PROPERTY_NAME_MAX: usize = 64;

/// Maximum length of a tool description. Providers no longer document a limit (OpenAI lifted its 1,024, some hosts of its
/// models keep it: see `ConvertOptions::description_max`); this keeps one tool from filling the context.
pub(crate) const DESCRIPTION_MAX: usize = 32_768;

/// Maximum nesting depth of a schema; more than twice that of real servers.
pub(crate) const DEPTH_MAX: usize = 40;

/// Maximum number of schema nodes that are copied when references are inlined and alternatives are expanded; many times
/// what the largest real schemas need.
pub(crate) const COPIED_NODES_MAX: usize = 20_000;

/// Maximum number of alternatives of one `anyOf` that are processed.
pub(crate) const ALTERNATIVES_MAX: usize = 64;

/// Maximum number of distinct references of one schema.
pub(crate) const REFERENCES_MAX: usize = 1_000;

/// Maximum number of reported losses per tool; further ones are counted.
pub(crate) const LOSSES_MAX: usize = 1_000;

/// Maximum length of a sentence that replaces a keyword.
pub(crate) const SENTENCE_MAX: usize = 600;

/// Maximum length of an untrusted value in the detail of a loss.
pub(crate) const DETAIL_MAX: usize = 80;

/// Maximum number of examples per tool.
pub(crate) const EXAMPLES_MAX: usize = 8;

/// OpenAI's documented limits for strict schemas: number of properties.
pub(crate) const STRICT_PROPERTIES_MAX: usize = 5_000;
/// Nesting depth of objects.
pub(crate) const STRICT_LEVELS_MAX: usize = 10;
/// Total number of enum values.
pub(crate) const STRICT_ENUM_VALUES_MAX: usize = 1_000;
/// Total number of characters of property names and enum values.
pub(crate) const STRICT_CHARACTERS_MAX: usize = 120_000;
/// Number of values above which `STRICT_LONG_ENUM_CHARACTERS` limits an enum.
pub(crate) const STRICT_LONG_ENUM: usize = 250;
/// Total number of characters of an enum with more than `STRICT_LONG_ENUM` values.
pub(crate) const STRICT_LONG_ENUM_CHARACTERS: usize = 15_000;
