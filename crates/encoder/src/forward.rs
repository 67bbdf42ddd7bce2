//! The model: six layers of attention and a feed-forward part, then the mean of all tokens.

use crate::kernel::{Inputs, Processor};
use crate::shape::{DIMENSIONS, PAIRS, WIDE, WIDE_PAIRS};
use crate::vector::Vector;
use crate::weights::{Layer, Table, Weights};

/// The values of a text's tokens.
type Tokens<const WIDTH: usize> = Vec<[f32; WIDTH]>;

/// The vector of a text's token ids.
pub(crate) fn forward(weights: &Weights, processor: Processor, ids: &[u16]) -> Vector {
    let mut text = Text {
        hidden: embed(weights, ids),
        room: Room::new(ids.len()),
        processor,
    };
    processor.normalise(&weights.norm, &mut text.hidden);
    for layer in &weights.layers {
        text.attend(layer);
        text.feed_forward(layer);
    }
    Vector::from_direction(text.sum())
}

struct Text {
    hidden: Tokens<DIMENSIONS>,
    room: Room,
    processor: Processor,
}

/// Where results between the steps lie; made once for a text, used by every layer.
struct Room {
    inputs: Vec<Inputs<PAIRS>>,
    query: Tokens<DIMENSIONS>,
    key: Tokens<DIMENSIONS>,
    value: Tokens<DIMENSIONS>,
    wide: Tokens<WIDE>,
    wide_inputs: Vec<Inputs<WIDE_PAIRS>>,
    change: Tokens<DIMENSIONS>,
}

impl Room {
    fn new(tokens: usize) -> Self {
        let narrow = || vec![[0.0; DIMENSIONS]; tokens];
        Self {
            inputs: vec![Inputs::zero(); tokens],
            query: narrow(),
            key: narrow(),
            value: narrow(),
            wide: vec![[0.0; WIDE]; tokens],
            wide_inputs: vec![Inputs::zero(); tokens],
            change: narrow(),
        }
    }
}

impl Text {
    fn attend(&mut self, layer: &Layer) {
        let Room {
            inputs,
            query,
            key,
            value,
            change,
            ..
        } = &mut self.room;
        self.processor.quantise(&self.hidden, inputs);
        self.processor.multiply(&layer.query, inputs, query);
        self.processor.multiply(&layer.key, inputs, key);
        self.processor.multiply(&layer.value, inputs, value);
        self.processor.attend(query, key, value, change);
        self.processor.quantise(change, inputs);
        self.processor.multiply(&layer.attended, inputs, change);
        add(&mut self.hidden, change);
        self.processor
            .normalise(&layer.attended_norm, &mut self.hidden);
    }

    fn feed_forward(&mut self, layer: &Layer) {
        let Room {
            inputs,
            wide,
            wide_inputs,
            change,
            ..
        } = &mut self.room;
        self.processor.quantise(&self.hidden, inputs);
        self.processor.multiply(&layer.widen, inputs, wide);
        self.processor.activate(wide);
        self.processor.quantise(wide, wide_inputs);
        self.processor.multiply(&layer.narrow, wide_inputs, change);
        add(&mut self.hidden, change);
        self.processor.normalise(&layer.norm, &mut self.hidden);
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
fn embed(weights: &Weights, ids: &[u16]) -> Tokens<DIMENSIONS> {
    let entries = ids.iter().enumerate();
    entries
        .map(|(position, id)| {
            let mut token = [0.0; DIMENSIONS];
            add_entry(&mut token, &weights.words, usize::from(*id));
            add_entry(&mut token, &weights.positions, position);
            add_entry(&mut token, &weights.kinds, 0);
            token
        })
        .collect()
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
