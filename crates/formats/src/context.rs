//! What is carried along while a schema is rewritten: the place, the losses, and how much may still be copied.

use crate::limits::{COPIED_NODES_MAX, LOSSES_MAX};
use crate::loss::{Loss, LossKind};

/// The notes of one conversion.
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

    /// Does something one step further down.
    pub(crate) fn at<R>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        self.path.push(step.to_owned());
        let result = work(self);
        self.path.pop();
        result
    }

    /// The same two steps down, as for a property or an alternative.
    pub(crate) fn at2<R>(&mut self, a: &str, b: &str, work: impl FnOnce(&mut Self) -> R) -> R {
        self.at(a, |notes| notes.at(b, work))
    }

    pub(crate) fn depth(&self) -> usize {
        self.path.len()
    }

    /// Whether the place is below `not` or `if`, where a keyword that is left out makes the whole schema narrower.
    pub(crate) fn is_reversed(&self) -> bool {
        self.path.iter().any(|step| step == "not" || step == "if")
    }

    pub(crate) fn lose(&mut self, kind: LossKind, detail: impl Into<String>) {
        if self.losses.len() >= LOSSES_MAX {
            self.more += 1;
            return;
        }
        let loss = Loss {
            path: self.pointer(),
            kind,
            detail: detail.into(),
        };
        // Alternatives that share a part would otherwise tell of it once each.
        if self.losses.last() != Some(&loss) {
            self.losses.push(loss);
        }
    }

    /// Takes so many nodes from what may be copied; `false` when that is used up.
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
