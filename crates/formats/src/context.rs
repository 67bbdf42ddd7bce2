//! The state of a conversion: the current path, the losses, and the remaining copy budget.

use crate::limits::{COPIED_NODES_MAX, LOSSES_MAX};
use crate::loss::{Loss, LossKind};

/// The state of one conversion.
#[derive(Clone, Debug)]
pub(crate) struct ConversionContext {
    losses: Vec<Loss>,
    more: usize,
    path: Vec<String>,
    copies_left: usize,
}

impl ConversionContext {
    pub(crate) fn new() -> Self {
        Self {
            losses: Vec::new(),
            more: 0,
            path: Vec::new(),
            copies_left: COPIED_NODES_MAX,
        }
    }

    /// Runs `work` one step deeper in the schema.
    pub(crate) fn at<R>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        self.path.push(step.to_owned());
        let result = work(self);
        self.path.pop();
        result
    }

    /// Runs `work` two steps deeper, for example at a property or an alternative.
    pub(crate) fn at2<R>(&mut self, a: &str, b: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        self.at(a, |ctx| ctx.at(b, work))
    }

    pub(crate) fn depth(&self) -> usize {
        self.path.len()
    }

    /// Whether the path is inside `not` or `if`, where dropping a keyword makes the schema narrower instead of wider.
    pub(crate) fn is_negated(&self) -> bool {
        self.path.iter().any(|step| step == "not" || step == "if")
    }

    pub(crate) fn record_loss(&mut self, kind: LossKind, detail: impl Into<String>) {
        if self.losses.len() >= LOSSES_MAX {
            self.more += 1;
            return;
        }
        let loss = Loss {
            path: self.pointer(),
            kind,
            detail: detail.into(),
        };
        // Avoids duplicates from alternatives that share a part.
        if self.losses.last() != Some(&loss) {
            self.losses.push(loss);
        }
    }

    /// Takes `nodes` from the copy budget; `false` if it is exhausted.
    pub(crate) fn may_copy(&mut self, nodes: usize) -> bool {
        match self.copies_left.checked_sub(nodes) {
            Some(left) => {
                self.copies_left = left;
                true
            }
            None => false,
        }
    }

    pub(crate) fn into_losses(mut self) -> Vec<Loss> {
        if self.more > 0 {
            self.losses.push(Loss {
                path: String::new(),
                kind: LossKind::More,
                detail: format!("{} more", self.more),
            });
        }
        self.losses
    }

    fn pointer(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            text.push('/');
            text.push_str(&step.replace('~', "~0").replace('/', "~1"));
        }
        text
    }
}
