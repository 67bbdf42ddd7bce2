//! Log levels of the protocol.

/// Log levels, from least to most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

const ALL: [(Level, &str); 8] = [
    (Level::Debug, "debug"),
    (Level::Info, "info"),
    (Level::Notice, "notice"),
    (Level::Warning, "warning"),
    (Level::Error, "error"),
    (Level::Critical, "critical"),
    (Level::Alert, "alert"),
    (Level::Emergency, "emergency"),
];

impl Level {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        ALL.iter()
            .find(|(_, name)| *name == word)
            .map(|(level, _)| *level)
    }

    pub(crate) fn of_number(number: u8) -> Option<Self> {
        ALL.get(usize::from(number)).map(|(level, _)| *level)
    }

    pub(crate) fn as_str(self) -> &'static str {
        ALL.get(self as usize).map_or("info", |(_, name)| name)
    }
}
