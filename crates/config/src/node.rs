//! The syntax tree that all three formats are parsed into. Each node has its offset in the file.

/// A value with its byte offsets.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Offset of the first byte.
    pub(crate) start: usize,
    /// Offset after the last byte. Equal to `start` for blocks without an end of their own.
    pub(crate) end: usize,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// Entries in order. A duplicate key appears twice.
    Map(Vec<Entry>),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_start: usize,
    pub(crate) node: Node,
}

/// Offsets are ignored in comparisons.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.node == other.node
    }
}

impl Node {
    pub(crate) fn new(start: usize, end: usize, value: Value) -> Self {
        Self { start, end, value }
    }

    /// The type's name for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a table",
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the entry of a key; the first one if it is duplicated.
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// Whether the node is equivalent to an empty file.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.value {
            Value::Null => true,
            Value::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }

    /// Counts the values. If there are more than `limit`, returns the offset of the first one beyond it as the error.
    pub(crate) fn count_values(&self, limit: usize) -> Result<usize, usize> {
        let mut left = limit;
        self.take_from(&mut left)?;
        Ok(limit - left)
    }

    fn take_from(&self, left: &mut usize) -> Result<(), usize> {
        *left = left.checked_sub(1).ok_or(self.start)?;
        match &self.value {
            Value::List(items) => items.iter().try_for_each(|item| item.take_from(left)),
            Value::Map(entries) => entries.iter().try_for_each(|e| e.node.take_from(left)),
            _ => Ok(()),
        }
    }

    /// Offset of the end of the last nested value.
    pub(crate) fn last_end(&self) -> usize {
        let inner = match &self.value {
            Value::List(items) => items.iter().map(Self::last_end).max(),
            Value::Map(entries) => entries
                .iter()
                .map(|e| e.node.last_end().max(e.key_start + e.key.len()))
                .max(),
            _ => None,
        };
        inner.map_or(self.end, |inner| inner.max(self.end))
    }

    /// Converts to JSON. A duplicate key keeps its last value.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.clone().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => entries
                .iter()
                .map(|e| (e.key.clone(), e.node.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}
