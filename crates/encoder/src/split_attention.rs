//! Where two threads that compute one text meet. Once a layer, each shows the other what its tokens are found by and
//! what they have to say.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::OnceLock;

use crate::shape::{DIMENSIONS, LAYERS};

/// Turns to wait before the system is asked to wake this thread: about as long as that takes.
const TURNS: usize = 2_000;

/// A layer's keys and values of some tokens.
type KeysAndValues = Vec<[f32; DIMENSIONS]>;

/// What both have shown so far.
#[derive(Default)]
pub(crate) struct SplitAttention {
    first: [OnceLock<KeysAndValues>; LAYERS],
    second: [OnceLock<KeysAndValues>; LAYERS],
}

/// A thread's place at a meeting.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'a> {
    mine: &'a [OnceLock<KeysAndValues>; LAYERS],
    other: &'a [OnceLock<KeysAndValues>; LAYERS],
}

impl SplitAttention {
    /// For the thread with the first tokens, and for the one with the rest.
    pub(crate) fn exchanges(&self) -> [Exchange<'_>; 2] {
        let (first, second) = (&self.first, &self.second);
        [
            Exchange {
                mine: first,
                other: second,
            },
            Exchange {
                mine: second,
                other: first,
            },
        ]
    }
}

impl Exchange<'_> {
    /// Shows the keys and values of this thread's tokens, and fills in the others when they are there.
    pub(crate) fn share(
        self,
        layer: usize,
        own: &Range<usize>,
        keys: &mut [[f32; DIMENSIONS]],
        values: &mut [[f32; DIMENSIONS]],
    ) {
        let (Some(mine), Some(other)) = (self.mine.get(layer), self.other.get(layer)) else {
            return;
        };
        mine.get_or_init(|| {
            let parts = [&*keys, &*values].map(|all| all.get(own.clone()).unwrap_or_default());
            parts.concat()
        });
        let shown = awaited(other);
        let (other_keys, other_values) = shown.split_at(shown.len() / 2);
        let others = if own.start == 0 {
            own.end..keys.len()
        } else {
            0..own.start
        };
        for (all, shown) in [(keys, other_keys), (values, other_values)] {
            let places = all.get_mut(others.clone()).unwrap_or_default();
            for (place, token) in places.iter_mut().zip(shown) {
                *place = *token;
            }
        }
    }
}

fn awaited(shown: &OnceLock<KeysAndValues>) -> &KeysAndValues {
    for _ in 0..TURNS {
        if let Some(shown) = shown.get() {
            return shown;
        }
        spin_loop();
    }
    shown.wait()
}
