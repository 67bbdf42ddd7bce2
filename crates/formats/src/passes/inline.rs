//! Inlining of references.

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

/// How recursive schemas are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recursion {
    /// They stay references to `$defs` of the root.
    Keep,
    /// They are expanded once; below that, any value of their type is accepted.
    Cut,
}

/// Inlines all local references and removes the definitions.
///
/// Models follow an inlined schema better than references, and several providers support no references.
pub(crate) fn inline(
    root: SchemaObject,
    recursion: Recursion,
    ctx: &mut ConversionContext,
) -> SchemaObject {
    let document = Value::Object(root.clone());
    let mut inliner = Inliner {
        recursive: recursive_references(&document),
        document,
        recursion,
        stack: Vec::new(),
        kept: BTreeMap::new(),
    };
    let mut root = inliner.node(root, ctx);
    inliner.keep_definitions(&mut root, ctx);
    root
}

struct Inliner {
    document: Value,
    recursion: Recursion,
    recursive: BTreeSet<String>,
    stack: Vec<String>,
    /// References to kept definitions, with the names of the definitions.
    kept: BTreeMap<String, String>,
}

impl Inliner {
    fn node(&mut self, mut node: SchemaObject, ctx: &mut ConversionContext) -> SchemaObject {
        drop_flags(&mut node);
        node.shift_remove("$defs");
        node.shift_remove("definitions");
        if let Some(Value::String(reference)) = node.shift_remove("$ref") {
            node = self.resolve_reference(&reference, node, ctx);
        } else {
            self.children(&mut node, ctx);
        }
        node
    }

    fn children(&mut self, node: &mut SchemaObject, ctx: &mut ConversionContext) {
        each_child(node, ctx, &mut |child, ctx| {
            if let Value::Object(schema) = child {
                let schema = std::mem::take(schema);
                *child = Value::Object(self.node(schema, ctx));
            }
        });
    }

    /// Resolves a reference. `beside` are the keywords next to it; they apply as well, and their annotations win.
    fn resolve_reference(
        &mut self,
        reference: &str,
        mut beside: SchemaObject,
        ctx: &mut ConversionContext,
    ) -> SchemaObject {
        self.children(&mut beside, ctx);
        let Some(target) = resolve(&self.document, reference)
            .and_then(Value::as_object)
            .cloned()
        else {
            ctx.record_loss(LossKind::ReferenceUnresolved, detail(&json!(reference)));
            return beside;
        };
        if self.recursive.contains(reference) && self.recursion == Recursion::Keep {
            let name = self.name_of(reference);
            beside.insert("$ref".to_owned(), json!(format!("#/$defs/{name}")));
            return beside;
        }
        if self.stack.iter().any(|outer| outer == reference) {
            ctx.record_loss(LossKind::RecursionCut, detail(&json!(reference)));
            return merge::intersect(beside, stub(&target), ctx);
        }
        let nodes = size(&Value::Object(target.clone()));
        // Chains of references nest without extending the path.
        let deep = ctx.depth() > DEPTH_MAX * 2 || self.stack.len() >= DEPTH_MAX;
        if deep || !ctx.may_copy(nodes) {
            ctx.record_loss(LossKind::SizeCut, detail(&json!(reference)));
            return merge::intersect(beside, stub(&target), ctx);
        }
        self.stack.push(reference.to_owned());
        let target = self.node(target, ctx);
        self.stack.pop();
        merge::intersect(beside, target, ctx)
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

    /// Writes the definitions that are still referenced. Each may reference further ones.
    fn keep_definitions(&mut self, root: &mut SchemaObject, ctx: &mut ConversionContext) {
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
            let body = ctx.at2("$defs", &name, |ctx| {
                self.node(target.unwrap_or_default(), ctx)
            });
            definitions.insert(name, Value::Object(body));
        }
        if !definitions.is_empty() {
            definitions.sort_keys();
            root.insert("$defs".to_owned(), Value::Object(definitions));
        }
    }
}

/// The remainder of a schema that is not expanded again.
fn stub(target: &SchemaObject) -> SchemaObject {
    ["type", "title", "description"]
        .into_iter()
        .filter_map(|keyword| Some((keyword.to_owned(), target.get(keyword)?.clone())))
        .collect()
}

/// The target of a local reference.
pub(crate) fn resolve<'a>(document: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    let pointer = percent_decode_str(pointer).decode_utf8().ok()?;
    document.pointer(&pointer)
}

/// The references that are recursive, directly or through others.
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

/// All references of a schema. Its definitions are not searched, so that a root with a recursive definition is not
/// recursive itself.
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
