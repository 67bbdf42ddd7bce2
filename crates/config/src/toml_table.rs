//! A TOML table while its document is parsed. A duplicate definition becomes a second entry with the same key.

use std::collections::HashMap;

use crate::node::{Entry, Node, Value};

/// How a table was created determines what may be added to it.
pub(crate) struct Table {
    start: usize,
    origin: TableOrigin,
    entries: Vec<(Key, Item)>,
    /// Last position of each key. Used only for large tables.
    index: HashMap<String, usize>,
    indexed: usize,
}

/// Tables with at most this many keys are searched linearly.
const SMALL_TABLE: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableOrigin {
    /// Part of another table's path.
    Implicit,
    /// Has its own header.
    Header,
    /// Created by a dotted key.
    Dotted,
}

enum Item {
    Value(Node),
    Table(Table),
    Tables(Vec<Table>),
}

#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) start: usize,
}

impl Table {
    pub(crate) fn new(start: usize, origin: TableOrigin) -> Self {
        Self {
            start,
            origin,
            entries: Vec::new(),
            index: HashMap::new(),
            indexed: 0,
        }
    }

    fn position(&mut self, key: &Key) -> Option<usize> {
        if self.entries.len() <= SMALL_TABLE {
            return self
                .entries
                .iter()
                .rposition(|(existing, _)| existing.text == key.text);
        }
        for (at, (existing, _)) in self.entries.iter().enumerate().skip(self.indexed) {
            self.index.insert(existing.text.clone(), at);
        }
        self.indexed = self.entries.len();
        self.index.get(&key.text).copied()
    }

    /// Sets a value at a dotted key.
    pub(crate) fn set(&mut self, path: &[Key], value: Node) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut table = self;
        for key in parents {
            let next = table.step(
                key,
                TableOrigin::Dotted,
                |item| matches!(item, Item::Table(table) if table.origin == TableOrigin::Dotted),
            );
            let Some(next) = next else { return };
            table = next;
        }
        table.entries.push((last.clone(), Item::Value(value)));
    }

    /// Adds a finished table at the path of its header.
    pub(crate) fn attach(&mut self, path: &[Key], many: bool, mut finished: Self) {
        let Some((last, parents)) = path.split_last() else {
            self.entries = finished.entries;
            return;
        };
        let mut table = self;
        for key in parents {
            let next = table.step(key, TableOrigin::Implicit, |item| {
                !matches!(item, Item::Value(_))
            });
            let Some(next) = next else { return };
            table = next;
        }
        let existing = table
            .position(last)
            .and_then(|at| table.entries.get_mut(at));
        match existing {
            Some((_, Item::Tables(tables))) if many => tables.push(finished),
            Some((key, Item::Table(existing)))
                if !many && existing.origin == TableOrigin::Implicit =>
            {
                *key = last.clone();
                finished.entries.append(&mut existing.entries);
                *existing = finished;
            }
            _ if many => table
                .entries
                .push((last.clone(), Item::Tables(vec![finished]))),
            _ => table.entries.push((last.clone(), Item::Table(finished))),
        }
    }

    /// Returns the table of a key, or a new one if there is none that may be extended.
    fn step(
        &mut self,
        key: &Key,
        origin: TableOrigin,
        may_enter: impl Fn(&Item) -> bool,
    ) -> Option<&mut Self> {
        let at = match self.position(key) {
            Some(at)
                if self
                    .entries
                    .get(at)
                    .is_some_and(|(_, item)| may_enter(item)) =>
            {
                at
            }
            _ => {
                self.entries
                    .push((key.clone(), Item::Table(Self::new(key.start, origin))));
                self.entries.len() - 1
            }
        };
        match self.entries.get_mut(at) {
            Some((_, Item::Table(table))) => Some(table),
            Some((_, Item::Tables(tables))) => tables.last_mut(),
            _ => None,
        }
    }

    pub(crate) fn into_node(self) -> Node {
        let end = self.start;
        let entries = self.entries.into_iter().map(|(key, item)| Entry {
            key_start: key.start,
            key: key.text,
            node: match item {
                Item::Value(node) => node,
                Item::Table(table) => table.into_node(),
                Item::Tables(tables) => {
                    let start = tables.first().map_or(0, |table| table.start);
                    let items = tables.into_iter().map(Self::into_node).collect();
                    Node::new(start, start, Value::List(items))
                }
            },
        });
        Node::new(self.start, end, Value::Map(entries.collect()))
    }
}
