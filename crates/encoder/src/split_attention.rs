//! Attention split between two threads that encode one text. In each layer they exchange the keys and values of their
//! tokens.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::OnceLock;

use crate::shape::{DIMENSIONS, LAYERS};

/// Number of spins before the thread blocks; about as long as waking a thread takes.
const SPINS: usize = 2_000;

/// The keys of some tokens in one layer, followed by their values.
type KeysAndValues = Vec<[f32; DIMENSIONS]>;

/// The keys and values that both threads have published so far.
#[derive(Default)]
pub(crate) struct SplitAttention {
    first: [OnceLock<KeysAndValues>; LAYERS],
    second: [OnceLock<KeysAndValues>; LAYERS],
}

/// One thread's side of the exchange.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'a> {
    mine: &'a [OnceLock<KeysAndValues>; LAYERS],
    other: &'a [OnceLock<KeysAndValues>; LAYERS],
}

impl SplitAttention {
    /// The sides of the thread with the first tokens and of the thread with the others.
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
    /// Publishes the keys and values of this thread's tokens, then waits for the other thread's and copies them.
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
        let received = wait_for(other);
        let (other_keys, other_values) = received.split_at(received.len() / 2);
        let others = if own.start == 0 {
            own.end..keys.len()
        } else {
            0..own.start
        };
        for (all, received) in [(keys, other_keys), (values, other_values)] {
            let places = all.get_mut(others.clone()).unwrap_or_default();
            for (place, token) in places.iter_mut().zip(received) {
                *place = *token;
            }
        }
    }
}

fn wait_for(published: &OnceLock<KeysAndValues>) -> &KeysAndValues {
    for _ in 0..SPINS {
        if let Some(values) = published.get() {
            return values;
        }
        spin_loop();
    }
    published.wait()
}
