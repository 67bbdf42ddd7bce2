//! The vector of a text.

use std::fmt;

use crate::shape::DIMENSIONS;

/// The embedding of a text: a vector of length 1.
#[derive(Clone, PartialEq)]
pub struct Vector(Box<[f32; DIMENSIONS]>);

impl Vector {
    /// Normalizes `sum`. A sum without a direction (zero or NaN) becomes the first unit vector, so that the length is
    /// always 1.
    pub(crate) fn from_direction(mut sum: Box<[f32; DIMENSIONS]>) -> Self {
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length.is_normal() {
            sum.iter_mut().for_each(|value| *value /= length);
        } else {
            let [first, rest @ ..] = sum.as_mut();
            *first = 1.0;
            rest.fill(0.0);
        }
        Self(sum)
    }

    /// Normalizes a slice to a vector; `None` if it does not have [`DIMENSIONS`] numbers.
    pub fn from_slice(numbers: &[f32]) -> Option<Self> {
        let numbers: Box<[f32; DIMENSIONS]> = Box::<[f32]>::from(numbers).try_into().ok()?;
        Some(Self::from_direction(numbers))
    }

    /// The components.
    pub fn as_slice(&self) -> &[f32] {
        self.0.as_slice()
    }

    pub(crate) fn values(&self) -> &[f32; DIMENSIONS] {
        &self.0
    }

    /// The cosine between two vectors: 1 for texts of the same meaning, about 0 for unrelated texts.
    pub fn dot(&self, other: &Self) -> f32 {
        self.0.iter().zip(other.0.iter()).map(|(a, b)| a * b).sum()
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, ..] = *self.0;
        write!(formatter, "Vector({a:.4}, {b:.4}, {c:.4}, …)")
    }
}
