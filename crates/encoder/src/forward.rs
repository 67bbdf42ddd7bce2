//! The model: six layers of attention and a feed-forward part, then the mean of all tokens.

use crate::kernel::{Inputs, Processor};
use crate::shape::{DIMENSIONS, PAIRS, WIDE, WIDE_PAIRS};
use crate::vector::Vector;
use crate::weights::{Layer, Table, Weights};

/// The values of a text's tokens.
type Tokens<const WIDTH: usize> = Vec<[f32; WIDTH]>;

/// The vector of a text's token ids.
pub(crate) fn forward(
    weights: &Weights,
    processor: Processor,
    ids: &[u16],
    room: &mut Room,
) -> Vector {
    room.fit(ids.len());
    embed(weights, ids, &mut room.hidden);
    processor.normalise(&weights.norm, &mut room.hidden);
    for layer in &weights.layers {
        room.attend(processor, layer);
        room.feed_forward(processor, layer);
    }
    Vector::from_direction(room.sum())
}

/// Where results between the steps lie. It is used again by the next layer and the next text, because pages that the
/// system has to give anew cost more than many a step.
#[derive(Default)]
pub(crate) struct Room {
    hidden: Tokens<DIMENSIONS>,
    inputs: Vec<Inputs<PAIRS>>,
    query: Tokens<DIMENSIONS>,
    key: Tokens<DIMENSIONS>,
    value: Tokens<DIMENSIONS>,
    wide: Tokens<WIDE>,
    wide_inputs: Vec<Inputs<WIDE_PAIRS>>,
    change: Tokens<DIMENSIONS>,
}

impl Room {
    /// Makes it as long as a text; what is in it is left over from another.
    fn fit(&mut self, tokens: usize) {
        let narrow = [
            &mut self.hidden,
            &mut self.query,
            &mut self.key,
            &mut self.value,
            &mut self.change,
        ];
        for values in narrow {
            values.resize(tokens, [0.0; DIMENSIONS]);
        }
        self.inputs.resize(tokens, Inputs::zero());
        self.wide.resize(tokens, [0.0; WIDE]);
        self.wide_inputs.resize(tokens, Inputs::zero());
    }

    fn attend(&mut self, processor: Processor, layer: &Layer) {
        let Self {
            hidden,
            inputs,
            query,
            key,
            value,
            change,
            ..
        } = self;
        processor.quantise(hidden, inputs);
        processor.multiply(&layer.query, inputs, query);
        processor.multiply(&layer.key, inputs, key);
        processor.multiply(&layer.value, inputs, value);
        processor.attend(query, key, value, change);
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

    /// The sum of all tokens, which has the direction of their mean.
    fn sum(&self) -> Box<[f32; DIMENSIONS]> {
        let mut sum = Box::new([0.0; DIMENSIONS]);
        for token in &self.hidden {
            for (sum, value) in sum.iter_mut().zip(token) {
                *sum += value;
            }
        }
        sum
    }
}

/// Word, position and kind of each token. Every text is of the first kind.
fn embed(weights: &Weights, ids: &[u16], tokens: &mut Tokens<DIMENSIONS>) {
    for (position, (id, token)) in ids.iter().zip(tokens).enumerate() {
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
