//! What search is given to read, and how it names what it found.

use std::borrow::Cow;

/// What search reads of one tool.
#[derive(Clone, Debug)]
pub struct ToolText<'a> {
    /// The name its server gives it.
    pub name: &'a str,
    /// The name it is called by, such as `server__tool`.
    pub exposed: &'a str,
    /// Everything that is said about it.
    pub description: Cow<'a, str>,
    /// Its input schema as raw JSON. Text that is none counts as empty.
    pub input_schema: &'a str,
    /// Other words a person gave it; they count like its name.
    pub aliases: &'a [String],
}

/// What search reads of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerText<'a> {
    /// The name it is configured under.
    pub name: &'a str,
    /// What it says about itself; may be empty.
    pub description: &'a str,
}

/// Where a tool stands: which segment of the index, and which tool of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolPosition {
    /// The number of the segment, in the order the index was given them.
    pub segment: usize,
    /// The number of the tool, in the order its segment was given them.
    pub tool: usize,
}

/// A part of a tool's definition that words are found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The tool's name and aliases.
    Name,
    /// Its description.
    Description,
    /// The name of its server.
    Server,
    /// What its server says about itself.
    ServerDescription,
    /// The names of its parameters.
    Parameters,
    /// The descriptions of its parameters.
    ParameterDescriptions,
    /// The values its parameters choose from.
    Choices,
}

impl Field {
    /// All of them, in the order of their worth as evidence.
    pub const ALL: [Self; 7] = [
        Self::Name,
        Self::Description,
        Self::Server,
        Self::ServerDescription,
        Self::Parameters,
        Self::ParameterDescriptions,
        Self::Choices,
    ];

    /// A word for people.
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
