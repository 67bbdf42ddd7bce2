//! References, put in place.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, detail};
use crate::keywords::{LIST, NAMED, ONE, each_child, size};
use crate::limits::{DEPTH_MAX, REFERENCES_MAX};
use crate::loss::LossKind;
use crate::passes::clean::drop_flags;
use crate::passes::merge;

/// What happens to a schema that contains itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recursion {
    /// It stays a reference into `$defs` of the root.
    Keep,
    /// It is shown once; below that, anything of its type is taken.
    Cut,
}

/// Puts every local reference in place and takes the definitions away.
///
/// Models follow a schema that is written out better than one that refers, and several providers take no
/// reference at all.
pub(crate) fn inline(
    root: SchemaObject,
    recursion: Recursion,
    notes: &mut ConversionContext,
) -> SchemaObject {
    let document = Value::Object(root.clone());
    let mut inliner = Inliner {
        recursive: recursive_references(&document),
        document,
        recursion,
        stack: Vec::new(),
        kept: BTreeMap::new(),
    };
    let mut root = inliner.node(root, notes);
    inliner.keep_definitions(&mut root, notes);
    root
}

struct Inliner {
    document: Value,
    recursion: Recursion,
    recursive: BTreeSet<String>,
    stack: Vec<String>,
    /// Reference to the name of its kept definition.
    kept: BTreeMap<String, String>,
}

impl Inliner {
    fn node(&mut self, mut node: SchemaObject, notes: &mut ConversionContext) -> SchemaObject {
        drop_flags(&mut node);
        node.shift_remove("$defs");
        node.shift_remove("definitions");
        if let Some(Value::String(reference)) = node.shift_remove("$ref") {
            node = self.resolve_reference(&reference, node, notes);
        } else {
            self.children(&mut node, notes);
        }
        node
    }

    fn children(&mut self, node: &mut SchemaObject, notes: &mut ConversionContext) {
        each_child(node, notes, &mut |child, notes| {
            if let Value::Object(schema) = child {
                let schema = std::mem::take(schema);
                *child = Value::Object(self.node(schema, notes));
            }
        });
    }

    /// `beside` is what stands next to the reference; it holds too, and has the word in descriptions.
    fn resolve_reference(
        &mut self,
        reference: &str,
        mut beside: SchemaObject,
        notes: &mut ConversionContext,
    ) -> SchemaObject {
        self.children(&mut beside, notes);
        let Some(target) = resolve(&self.document, reference)
            .and_then(Value::as_object)
            .cloned()
        else {
            notes.lose(LossKind::ReferenceUnresolved, detail(&json!(reference)));
            return beside;
        };
        if self.recursive.contains(reference) && self.recursion == Recursion::Keep {
            let name = self.name_of(reference);
            beside.insert("$ref".to_owned(), json!(format!("#/$defs/{name}")));
            return beside;
        }
        if self.stack.iter().any(|outer| outer == reference) {
            notes.lose(LossKind::RecursionCut, detail(&json!(reference)));
            return merge::both(beside, stub(&target), notes);
        }
        let nodes = size(&Value::Object(target.clone()));
        // References that lead to references go deep without a step of the path.
        let deep = notes.depth() > DEPTH_MAX * 2 || self.stack.len() >= DEPTH_MAX;
        if deep || !notes.may_copy(nodes) {
            notes.lose(LossKind::SizeCut, detail(&json!(reference)));
            return merge::both(beside, stub(&target), notes);
        }
        self.stack.push(reference.to_owned());
        let target = self.node(target, notes);
        self.stack.pop();
        merge::both(beside, target, notes)
    }

    fn name_of(&mut self, reference: &str) -> String {
        if let Some(name) = self.kept.get(reference) {
            return name.clone();
        }
        let last = reference.rsplit('/').next().unwrap_or_default();
        let mut name: String = last
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
            .take(60)
            .collect();
        if name.is_empty() {
            "root".clone_into(&mut name);
        }
        if self.kept.values().any(|taken| *taken == name) {
            name = format!("{name}_{}", self.kept.len());
        }
        self.kept.insert(reference.to_owned(), name.clone());
        name
    }

    /// Writes the definitions that are still referred to. Each may refer to further ones.
    fn keep_definitions(&mut self, root: &mut SchemaObject, notes: &mut ConversionContext) {
        let mut definitions = Map::new();
        while let Some((reference, name)) = self
            .kept
            .iter()
            .find(|(_, name)| !definitions.contains_key(*name))
            .map(|(reference, name)| (reference.clone(), name.clone()))
        {
            let target = resolve(&self.document, &reference)
                .and_then(Value::as_object)
                .cloned();
            let body = notes.at2("$defs", &name, |notes| {
                self.node(target.unwrap_or_default(), notes)
            });
            definitions.insert(name, Value::Object(body));
        }
        if !definitions.is_empty() {
            definitions.sort_keys();
            root.insert("$defs".to_owned(), Value::Object(definitions));
        }
    }
}

/// What is left of a schema that is not shown again.
fn stub(target: &SchemaObject) -> SchemaObject {
    ["type", "title", "description"]
        .into_iter()
        .filter_map(|keyword| Some((keyword.to_owned(), target.get(keyword)?.clone())))
        .collect()
}

/// Where a local reference leads.
pub(crate) fn resolve<'a>(document: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    let pointer = percent_decode_str(pointer).decode_utf8().ok()?;
    document.pointer(&pointer)
}

/// The references whose targets contain them again, straight or through others.
fn recursive_references(document: &Value) -> BTreeSet<String> {
    let mut leads_to: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut open: Vec<String> = references_in(document).into_iter().collect();
    while let Some(reference) = open.pop() {
        if leads_to.contains_key(&reference) || leads_to.len() >= REFERENCES_MAX {
            continue;
        }
        let next = resolve(document, &reference)
            .map(references_in)
            .unwrap_or_default();
        open.extend(next.iter().cloned());
        leads_to.insert(reference, next);
    }
    leads_to
        .keys()
        .filter(|reference| comes_back(reference, &leads_to))
        .cloned()
        .collect()
}

fn comes_back(start: &str, leads_to: &BTreeMap<String, BTreeSet<String>>) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = vec![start];
    while let Some(reference) = open.pop() {
        for next in leads_to.get(reference).into_iter().flatten() {
            if next == start {
                return true;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

/// Every reference of a schema. Definitions inside it count only where something refers to them, so that a
/// root that merely holds a recursive definition is not recursive itself.
fn references_in(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    gather(value, &mut found);
    found
}

fn gather(schema: &Value, found: &mut BTreeSet<String>) {
    let Value::Object(node) = schema else {
        return;
    };
    for (keyword, value) in node {
        let keyword = keyword.as_str();
        match value {
            Value::String(reference) if keyword == "$ref" => {
                found.insert(reference.clone());
            }
            value if ONE.contains(&keyword) => gather(value, found),
            Value::Array(list) if LIST.contains(&keyword) => {
                list.iter().for_each(|schema| gather(schema, found));
            }
            Value::Object(named)
                if NAMED.contains(&keyword) && keyword != "$defs" && keyword != "definitions" =>
            {
                named.values().for_each(|schema| gather(schema, found));
            }
            _ => {}
        }
    }
}
