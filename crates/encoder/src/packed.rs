//! Vectors as they are kept and searched: a byte for each number, and their products with a query.

use crate::kernel::{Processor, most, rounded};
use crate::shape::DIMENSIONS;
use crate::vector::Vector;

/// A vector in 388 bytes: `values[i] * scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedVector {
    scale: f32,
    values: [u8; DIMENSIONS],
}

impl PackedVector {
    /// The length of the form that is stored.
    pub const BYTES: usize = size_of::<f32>() + DIMENSIONS;

    /// The scale, little-endian, then the values.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let all = self.scale.to_le_bytes().into_iter().chain(self.values);
        bytes
            .iter_mut()
            .zip(all)
            .for_each(|(place, byte)| *place = byte);
        bytes
    }

    /// What `to_bytes` wrote; nothing if the length or the scale cannot be of a vector.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (scale, values) = bytes.split_first_chunk()?;
        let scale = f32::from_le_bytes(*scale);
        let values = *<&[u8; DIMENSIONS]>::try_from(values).ok()?;
        let is_sound = (0.0..=1.0).contains(&scale);
        is_sound.then_some(Self { scale, values })
    }

    /// The numbers, as far as they were kept.
    pub fn numbers(&self) -> impl Iterator<Item = f32> {
        self.values
            .iter()
            .map(|value| f32::from(value.cast_signed()) * self.scale)
    }

    /// The cosine with a query's vector, as `scores` gives it.
    pub fn dot(&self, query: &Vector) -> f32 {
        scores(std::slice::from_ref(self), query)
            .first()
            .copied()
            .unwrap_or_default()
    }
}

impl From<&Vector> for PackedVector {
    fn from(vector: &Vector) -> Self {
        let most = f32::from(i8::MAX);
        let sizes = vector.as_slice().iter().map(|value| value.abs());
        let largest = sizes.fold(f32::MIN_POSITIVE, f32::max);
        let round = |value: f32| ((value / largest * most).round() as i8).cast_unsigned();
        Self {
            scale: largest / most,
            values: vector.values().map(round),
        }
    }
}

/// The cosine of each vector with the query's.
pub fn scores(vectors: &[PackedVector], query: &Vector) -> Vec<f32> {
    let mut scores = vec![0.0; vectors.len()];
    score_each(vectors, query.as_slice(), &mut scores);
    scores
}

/// Writes the cosine of each vector with a query's, which is given as its numbers. They are of a [`Vector`], so their
/// length is 1; where they are not as many as those of one, nothing is written.
pub fn score_each(vectors: &[PackedVector], query: &[f32], scores: &mut [f32]) {
    if let Ok(query) = query.try_into() {
        Processor::detected().score(vectors, query, scores);
    }
}

/// Writes the cosines of a query's vector with two vectors of each thing, which lie side by side so that memory is
/// read in one go.
pub fn score_pairs(
    pairs: &[[PackedVector; 2]],
    query: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    if let Ok(query) = query.try_into() {
        Processor::detected().score_pairs(pairs, query, first, second);
    }
}

/// A query's vector in integers that are finer than those of the vectors it meets.
pub(crate) struct PackedQuery {
    scale: f32,
    values: [i16; DIMENSIONS],
}

impl PackedQuery {
    #[inline(always)]
    pub(crate) fn new(query: &[f32; DIMENSIONS]) -> Self {
        let factor = most(DIMENSIONS);
        let mut values = [0; DIMENSIONS];
        for (place, value) in values.iter_mut().zip(query) {
            *place = rounded(value * factor);
        }
        Self {
            scale: 1.0 / factor,
            values,
        }
    }

    /// `dot` sums the products of integers.
    #[inline(always)]
    pub(crate) fn score(
        &self,
        vectors: &[PackedVector],
        scores: &mut [f32],
        dot: impl Fn(&[u8; DIMENSIONS], &[i16; DIMENSIONS]) -> i32,
    ) {
        for (vector, score) in vectors.iter().zip(scores) {
            *score = self.cosine(vector, &dot);
        }
    }

    /// The same for two vectors of each thing.
    #[inline(always)]
    pub(crate) fn score_pairs(
        &self,
        pairs: &[[PackedVector; 2]],
        [first, second]: [&mut [f32]; 2],
        dot: impl Fn(&[u8; DIMENSIONS], &[i16; DIMENSIONS]) -> i32,
    ) {
        for (([one, other], first), second) in pairs.iter().zip(first).zip(second) {
            *first = self.cosine(one, &dot);
            *second = self.cosine(other, &dot);
        }
    }

    #[inline(always)]
    fn cosine(
        &self,
        vector: &PackedVector,
        dot: impl Fn(&[u8; DIMENSIONS], &[i16; DIMENSIONS]) -> i32,
    ) -> f32 {
        dot(&vector.values, &self.values) as f32 * (vector.scale * self.scale)
    }
}
