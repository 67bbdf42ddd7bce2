//! The texts that are indexed, and positions of tools in the index.

use std::borrow::Cow;

/// The indexed texts of a tool.
#[derive(Clone, Debug)]
pub struct ToolText<'a> {
    /// The name that the server uses.
    pub name: &'a str,
    /// The exposed name, such as `server__tool`.
    pub exposed: &'a str,
    /// The description.
    pub description: Cow<'a, str>,
    /// The input schema as JSON text. Invalid JSON is ignored from the first error on.
    pub input_schema: &'a str,
    /// Additional names given by the user; they count like the name.
    pub aliases: &'a [String],
}

/// The indexed texts of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerText<'a> {
    /// The configured name.
    pub name: &'a str,
    /// The description; may be empty.
    pub description: &'a str,
}

/// The position of a tool in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolPosition {
    /// The segment, in the order in which the index got them.
    pub segment: usize,
    /// The tool, in the order in which the segment got them.
    pub tool: usize,
}

/// A field of a tool that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The tool's name and aliases.
    Name,
    /// The tool's description.
    Description,
    /// The server's name.
    Server,
    /// The server's description.
    ServerDescription,
    /// Parameter names.
    Parameters,
    /// Parameter descriptions.
    ParameterDescriptions,
    /// Enum values of parameters.
    Choices,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 7] = [
        Self::Name,
        Self::Description,
        Self::Server,
        Self::ServerDescription,
        Self::Parameters,
        Self::ParameterDescriptions,
        Self::Choices,
    ];

    /// The display name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::Server => "server",
            Self::ServerDescription => "server description",
            Self::Parameters => "parameters",
            Self::ParameterDescriptions => "parameter descriptions",
            Self::Choices => "choices",
        }
    }

    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The fields whose bits are set.
    pub(crate) fn of_bits(bits: u8) -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|field| bits & field.bit() != 0)
            .collect()
    }
}
