//! Where two threads that compute one text meet. Once a layer, each shows the other what its tokens are found by and
//! what they have to say.

use std::hint::spin_loop;
use std::ops::Range;
use std::sync::OnceLock;

use crate::shape::{DIMENSIONS, LAYERS};

/// Turns to wait before the system is asked to wake this thread: about as long as that takes.
const TURNS: usize = 2_000;

/// A layer's keys and values of some tokens.
type Shown = Vec<[f32; DIMENSIONS]>;

/// What both have shown so far.
#[derive(Default)]
pub(crate) struct Meeting {
    first: [OnceLock<Shown>; LAYERS],
    second: [OnceLock<Shown>; LAYERS],
}

/// A thread's place at a meeting.
#[derive(Clone, Copy)]
pub(crate) struct Seat<'a> {
    mine: &'a [OnceLock<Shown>; LAYERS],
    other: &'a [OnceLock<Shown>; LAYERS],
}

impl Meeting {
    /// For the thread with the first tokens, and for the one with the rest.
    pub(crate) fn seats(&self) -> [Seat<'_>; 2] {
        let (first, second) = (&self.first, &self.second);
        [
            Seat {
                mine: first,
                other: second,
            },
            Seat {
                mine: second,
                other: first,
            },
        ]
    }
}

impl Seat<'_> {
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

fn awaited(shown: &OnceLock<Shown>) -> &Shown {
    for _ in 0..TURNS {
        if let Some(shown) = shown.get() {
            return shown;
        }
        spin_loop();
    }
    shown.wait()
}
