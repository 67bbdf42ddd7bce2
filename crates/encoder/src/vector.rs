//! What a text becomes.

use std::fmt;

use crate::shape::DIMENSIONS;

/// The meaning of a text as a direction: a vector of length 1.
#[derive(Clone, PartialEq)]
pub struct Vector(Box<[f32; DIMENSIONS]>);

impl Vector {
    /// The direction of `sum`. A sum without a direction (zero, or not a number) becomes the first
    /// axis, so that the length is 1 whatever the weights are.
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

    /// The vector with the direction of these numbers; nothing if they are not as many as it needs.
    pub fn from_slice(numbers: &[f32]) -> Option<Self> {
        let numbers: Box<[f32; DIMENSIONS]> = Box::<[f32]>::from(numbers).try_into().ok()?;
        Some(Self::from_direction(numbers))
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[f32] {
        self.0.as_slice()
    }

    pub(crate) fn values(&self) -> &[f32; DIMENSIONS] {
        &self.0
    }

    /// The cosine between two texts: 1 for the same meaning, about 0 for unrelated ones.
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
