//! Vectors in the form that is stored and searched, with one byte per number.

use crate::kernel::{Processor, max_input, round_to_i16};
use crate::shape::DIMENSIONS;
use crate::vector::Vector;

/// A vector quantized to 388 bytes: `values[i] * scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedVector {
    scale: f32,
    values: [u8; DIMENSIONS],
}

impl PackedVector {
    /// The number of bytes of the stored form.
    pub const BYTES: usize = size_of::<f32>() + DIMENSIONS;

    /// Serializes the scale, little-endian, followed by the values.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let all = self.scale.to_le_bytes().into_iter().chain(self.values);
        bytes
            .iter_mut()
            .zip(all)
            .for_each(|(place, byte)| *place = byte);
        bytes
    }

    /// Parses the output of `to_bytes`; `None` if the length or the scale is invalid.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (scale, values) = bytes.split_first_chunk()?;
        let scale = f32::from_le_bytes(*scale);
        let values = *<&[u8; DIMENSIONS]>::try_from(values).ok()?;
        let is_valid = (0.0..=1.0).contains(&scale);
        is_valid.then_some(Self { scale, values })
    }

    /// The dequantized numbers.
    pub fn numbers(&self) -> impl Iterator<Item = f32> {
        self.values
            .iter()
            .map(|value| f32::from(value.cast_signed()) * self.scale)
    }

    /// The cosine with a query vector, the same as [`scores`] computes.
    pub fn dot(&self, query: &Vector) -> f32 {
        scores(std::slice::from_ref(self), query)
            .first()
            .copied()
            .unwrap_or_default()
    }
}

impl From<&Vector> for PackedVector {
    fn from(vector: &Vector) -> Self {
        let max = f32::from(i8::MAX);
        let sizes = vector.as_slice().iter().map(|value| value.abs());
        let largest = sizes.fold(f32::MIN_POSITIVE, f32::max);
        let round = |value: f32| ((value / largest * max).round() as i8).cast_unsigned();
        Self {
            scale: largest / max,
            values: vector.values().map(round),
        }
    }
}

/// The cosine of each vector with the query vector.
pub fn scores(vectors: &[PackedVector], query: &Vector) -> Vec<f32> {
    let mut scores = vec![0.0; vectors.len()];
    score_each(vectors, query.as_slice(), &mut scores);
    scores
}

/// Writes the cosine of each vector with the query, given as the numbers of a [`Vector`]. Nothing is written if the
/// query has the wrong number of dimensions.
pub fn score_each(vectors: &[PackedVector], query: &[f32], scores: &mut [f32]) {
    if let Ok(query) = query.try_into() {
        Processor::detected().score(vectors, query, scores);
    }
}

/// Writes the cosines of the query with pairs of vectors. The two vectors of a pair are adjacent, so that memory is
/// read sequentially.
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

/// A query vector in integers with a finer resolution than the stored vectors.
pub(crate) struct PackedQuery {
    scale: f32,
    values: [i16; DIMENSIONS],
}

impl PackedQuery {
    #[inline(always)]
    pub(crate) fn new(query: &[f32; DIMENSIONS]) -> Self {
        let factor = max_input(DIMENSIONS);
        let mut values = [0; DIMENSIONS];
        for (place, value) in values.iter_mut().zip(query) {
            *place = round_to_i16(value * factor);
        }
        Self {
            scale: 1.0 / factor,
            values,
        }
    }

    /// Writes the cosines; `dot` is the integer dot product.
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

    /// Writes the cosines for pairs of vectors.
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
