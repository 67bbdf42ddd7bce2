//! The model: six layers of attention and a feed-forward part, then the mean of all tokens.

use std::ops::Range;
use std::thread;

use crate::kernel::{Inputs, Processor};
use crate::shape::{DIMENSIONS, PAIRS, WIDE, WIDE_PAIRS};
use crate::split_attention::{Exchange, SplitAttention};
use crate::vector::Vector;
use crate::weights::{Layer, Table, Weights};

/// The values of a text's tokens.
pub(crate) type Tokens<const WIDTH: usize> = Vec<[f32; WIDTH]>;

/// The vector of a text's token ids.
pub(crate) fn forward(
    weights: &Weights,
    processor: Processor,
    ids: &[u16],
    scratch: &mut Scratch,
) -> Vector {
    scratch.run(weights, processor, ids, 0..ids.len(), None);
    Vector::from_direction(sum([&*scratch]))
}

/// The same vector, computed by this thread and another, each with half of the tokens. Nothing if the system gives
/// no other thread.
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

/// Where results between the steps lie. It is used again by the next layer and the next text, because pages that the
/// system has to give anew cost more than many a step.
#[derive(Default)]
pub(crate) struct Scratch {
    hidden: Tokens<DIMENSIONS>,
    inputs: Vec<Inputs<PAIRS>>,
    query: Tokens<DIMENSIONS>,
    /// Of all tokens of the text, as `value`; the others are of those that are computed here.
    key: Tokens<DIMENSIONS>,
    value: Tokens<DIMENSIONS>,
    wide: Tokens<WIDE>,
    wide_inputs: Vec<Inputs<WIDE_PAIRS>>,
    change: Tokens<DIMENSIONS>,
}

impl Scratch {
    /// Computes some of a text's tokens. Whoever sits at the `seat` across computes the others.
    fn run(
        &mut self,
        weights: &Weights,
        processor: Processor,
        ids: &[u16],
        own: Range<usize>,
        exchange: Option<Exchange<'_>>,
    ) {
        self.fit(own.len(), ids.len());
        embed(weights, ids, &own, &mut self.hidden);
        processor.normalise(&weights.norm, &mut self.hidden);
        for (number, layer) in weights.layers.iter().enumerate() {
            self.ask(processor, layer, &own);
            if let Some(exchange) = exchange {
                exchange.share(number, &own, &mut self.key, &mut self.value);
            }
            self.attend(processor, layer);
            self.feed_forward(processor, layer);
        }
    }

    /// Makes it as long as a text; what is in it is left over from another.
    fn fit(&mut self, own: usize, all: usize) {
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

    /// What each token looks for, what it is found by, and what it has to say.
    fn ask(&mut self, processor: Processor, layer: &Layer, own: &Range<usize>) {
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

/// The sum of all tokens, which has the direction of their mean.
fn sum<'a>(scratches: impl IntoIterator<Item = &'a Scratch>) -> Box<[f32; DIMENSIONS]> {
    let mut sum = Box::new([0.0; DIMENSIONS]);
    for token in scratches.into_iter().flat_map(|scratch| &scratch.hidden) {
        for (sum, value) in sum.iter_mut().zip(token) {
            *sum += value;
        }
    }
    sum
}

/// Word, position and kind of each token. Every text is of the first kind.
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
