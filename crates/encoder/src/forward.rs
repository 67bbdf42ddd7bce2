//! The model: six layers of attention and a feed-forward part, then the mean of all tokens.

use crate::kernel::{Inputs, Processor};
use crate::shape::{DIMENSIONS, Group, LANES, PAIRS, WIDE, WIDE_PAIRS};
use crate::vector::Vector;
use crate::weights::{Layer, Table, Weights};

/// The values of a text's tokens. The last group may have lanes without a token; they hold numbers
/// that nobody looks at.
type Groups<const WIDTH: usize> = Vec<Group<WIDTH>>;

/// The vector of a text's token ids.
pub(crate) fn forward(weights: &Weights, processor: Processor, ids: &[u16]) -> Vector {
    let mut text = Text {
        tokens: ids.len(),
        hidden: embed(weights, ids),
        room: Room::new(ids.len().div_ceil(LANES)),
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
    tokens: usize,
    hidden: Groups<DIMENSIONS>,
    room: Room,
    processor: Processor,
}

/// Where results between the steps lie; made once for a text, used by every layer.
struct Room {
    inputs: Vec<Inputs<PAIRS>>,
    query: Groups<DIMENSIONS>,
    key: Groups<DIMENSIONS>,
    value: Groups<DIMENSIONS>,
    wide: Groups<WIDE>,
    wide_inputs: Vec<Inputs<WIDE_PAIRS>>,
    change: Groups<DIMENSIONS>,
}

impl Room {
    fn new(groups: usize) -> Self {
        let narrow = || vec![[[0.0; LANES]; DIMENSIONS]; groups];
        Self {
            inputs: vec![Inputs::zero(); groups],
            query: narrow(),
            key: narrow(),
            value: narrow(),
            wide: vec![[[0.0; LANES]; WIDE]; groups],
            wide_inputs: vec![Inputs::zero(); groups],
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
        self.processor
            .attend(self.tokens, query, key, value, change);
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
        for (index, group) in self.hidden.iter().enumerate() {
            let tokens = self.tokens - index * LANES;
            for (sum, lanes) in sum.iter_mut().zip(group) {
                *sum += lanes.iter().take(tokens).sum::<f32>();
            }
        }
        sum
    }
}

/// Word, position and kind of each token. Every text is of the first kind.
fn embed(weights: &Weights, ids: &[u16]) -> Groups<DIMENSIONS> {
    let mut groups = vec![[[0.0; LANES]; DIMENSIONS]; ids.len().div_ceil(LANES)];
    for (position, id) in ids.iter().enumerate() {
        let Some(group) = groups.get_mut(position / LANES) else {
            continue;
        };
        let lane = position % LANES;
        add_entry(group, lane, &weights.words, usize::from(*id));
        add_entry(group, lane, &weights.positions, position);
        add_entry(group, lane, &weights.kinds, 0);
    }
    groups
}

fn add_entry(group: &mut Group<DIMENSIONS>, lane: usize, table: &Table, index: usize) {
    let Some((values, scale)) = table.row(index) else {
        return;
    };
    for (lanes, value) in group.iter_mut().zip(values) {
        if let Some(sum) = lanes.get_mut(lane) {
            *sum += f32::from(value.cast_signed()) * scale;
        }
    }
}

fn add(hidden: &mut Groups<DIMENSIONS>, change: &Groups<DIMENSIONS>) {
    let hidden = hidden.as_flattened_mut().as_flattened_mut();
    let change = change.as_flattened().as_flattened();
    for (sum, value) in hidden.iter_mut().zip(change) {
        *sum += value;
    }
}
