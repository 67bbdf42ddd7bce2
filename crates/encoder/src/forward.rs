//! The forward pass: six layers of attention and feed-forward, then the mean of all tokens.

use std::ops::Range;
use std::thread;

use crate::kernel::{Inputs, Processor};
use crate::shape::{DIMENSIONS, PAIRS, WIDE, WIDE_PAIRS};
use crate::split_attention::{Exchange, SplitAttention};
use crate::vector::Vector;
use crate::weights::{Layer, Table, Weights};

/// The values of a text's tokens.
pub(crate) type Tokens<const WIDTH: usize> = Vec<[f32; WIDTH]>;

/// Encodes the token ids of a text.
pub(crate) fn forward(
    weights: &Weights,
    processor: Processor,
    ids: &[u16],
    scratch: &mut Scratch,
) -> Vector {
    scratch.run(weights, processor, ids, 0..ids.len(), None);
    Vector::from_direction(sum([&*scratch]))
}

/// Like [`forward`], computed by this thread and a second one, each with half of the tokens. `None` if no thread can be
/// started.
pub(crate) fn forward_on_two_threads(
    weights: &Weights,
    processor: Processor,
    ids: &[u16],
    [scratch, other]: [&mut Scratch; 2],
) -> Option<Vector> {
    let split_attention = SplitAttention::default();
    let [exchange, other_exchange] = split_attention.exchanges();
    let (half, all) = (ids.len() / 2, ids.len());
    thread::scope(|scope| {
        thread::Builder::new()
            .spawn_scoped(scope, || {
                other.run(weights, processor, ids, half..all, Some(other_exchange));
            })
            .ok()?;
        scratch.run(weights, processor, ids, 0..half, Some(exchange));
        Some(())
    })?;
    Some(Vector::from_direction(sum([&*scratch, &*other])))
}

/// Buffers for intermediate results. They are reused by the next layer and the next text, because fresh pages from the
/// system cost more than many of the steps.
#[derive(Default)]
pub(crate) struct Scratch {
    hidden: Tokens<DIMENSIONS>,
    inputs: Vec<Inputs<PAIRS>>,
    query: Tokens<DIMENSIONS>,
    /// `key` and `value` are for all tokens of the text, the other buffers for the tokens of this thread.
    key: Tokens<DIMENSIONS>,
    value: Tokens<DIMENSIONS>,
    wide: Tokens<WIDE>,
    wide_inputs: Vec<Inputs<WIDE_PAIRS>>,
    change: Tokens<DIMENSIONS>,
}

impl Scratch {
    /// Computes the tokens in `own`. With an `exchange`, another thread computes the others.
    fn run(
        &mut self,
        weights: &Weights,
        processor: Processor,
        ids: &[u16],
        own: Range<usize>,
        exchange: Option<Exchange<'_>>,
    ) {
        self.resize(own.len(), ids.len());
        embed(weights, ids, &own, &mut self.hidden);
        processor.normalise(&weights.norm, &mut self.hidden);
        for (number, layer) in weights.layers.iter().enumerate() {
            self.project(processor, layer, &own);
            if let Some(exchange) = exchange {
                exchange.share(number, &own, &mut self.key, &mut self.value);
            }
            self.attend(processor, layer);
            self.feed_forward(processor, layer);
        }
    }

    /// Resizes the buffers for a text. Their contents are left over from another text.
    fn resize(&mut self, own: usize, all: usize) {
        for values in [&mut self.hidden, &mut self.query, &mut self.change] {
            values.resize(own, [0.0; DIMENSIONS]);
        }
        for values in [&mut self.key, &mut self.value] {
            values.resize(all, [0.0; DIMENSIONS]);
        }
        self.inputs.resize(own, Inputs::zero());
        self.wide.resize(own, [0.0; WIDE]);
        self.wide_inputs.resize(own, Inputs::zero());
    }

    /// Computes the queries, keys and values.
    fn project(&mut self, processor: Processor, layer: &Layer, own: &Range<usize>) {
        let inputs = &mut self.inputs;
        processor.quantise(&self.hidden, inputs);
        processor.multiply(&layer.query, inputs, &mut self.query);
        let key = self.key.get_mut(own.clone()).unwrap_or_default();
        processor.multiply(&layer.key, inputs, key);
        let value = self.value.get_mut(own.clone()).unwrap_or_default();
        processor.multiply(&layer.value, inputs, value);
    }

    fn attend(&mut self, processor: Processor, layer: &Layer) {
        let Self {
            hidden,
            inputs,
            change,
            ..
        } = self;
        processor.attend(&self.query, &self.key, &self.value, change);
        processor.quantise(change, inputs);
        processor.multiply(&layer.attended, inputs, change);
        add(hidden, change);
        processor.normalise(&layer.attended_norm, hidden);
    }

    fn feed_forward(&mut self, processor: Processor, layer: &Layer) {
        let Self {
            hidden,
            inputs,
            wide,
            wide_inputs,
            change,
            ..
        } = self;
        processor.quantise(hidden, inputs);
        processor.multiply(&layer.widen, inputs, wide);
        processor.activate(wide);
        processor.quantise(wide, wide_inputs);
        processor.multiply(&layer.narrow, wide_inputs, change);
        add(hidden, change);
        processor.normalise(&layer.norm, hidden);
    }
}

/// The sum of all tokens; it has the same direction as their mean.
fn sum<'a>(scratches: impl IntoIterator<Item = &'a Scratch>) -> Box<[f32; DIMENSIONS]> {
    let mut sum = Box::new([0.0; DIMENSIONS]);
    for token in scratches.into_iter().flat_map(|scratch| &scratch.hidden) {
        for (sum, value) in sum.iter_mut().zip(token) {
            *sum += value;
        }
    }
    sum
}

/// Adds up the embeddings of word, position and type of each token. Every text has the first type.
fn embed(weights: &Weights, ids: &[u16], own: &Range<usize>, tokens: &mut Tokens<DIMENSIONS>) {
    let ids = ids.get(own.clone()).unwrap_or_default();
    for ((position, id), token) in own.clone().zip(ids).zip(tokens) {
        token.fill(0.0);
        add_entry(token, &weights.words, usize::from(*id));
        add_entry(token, &weights.positions, position);
        add_entry(token, &weights.kinds, 0);
    }
}

fn add_entry(token: &mut [f32; DIMENSIONS], table: &Table, index: usize) {
    let Some((values, scale)) = table.row(index) else {
        return;
    };
    for (sum, value) in token.iter_mut().zip(values) {
        *sum += f32::from(value.cast_signed()) * scale;
    }
}

fn add(hidden: &mut Tokens<DIMENSIONS>, change: &Tokens<DIMENSIONS>) {
    let hidden = hidden.as_flattened_mut();
    for (sum, value) in hidden.iter_mut().zip(change.as_flattened()) {
        *sum += value;
    }
}
