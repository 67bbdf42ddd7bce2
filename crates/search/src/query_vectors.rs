//! The vectors of a query: of the whole, and of its steps.

use crate::steps::steps;

/// Words up to which a request of several steps is also encoded as a whole. Above, the mean of its steps represents it:
/// encoding is most of the cost of a search, and would take twice as long.
const WHOLE_WORDS: usize = 12;

/// The vectors of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVectors {
    /// The vector of the whole query.
    pub whole: Vec<f32>,
    /// The vectors of its steps; empty for a query with one step.
    pub steps: Vec<Vec<f32>>,
}

impl QueryVectors {
    /// Encodes a query with `encode`, which returns vectors of length 1.
    pub fn new(text: &str, encode: impl Fn(&str) -> Vec<f32>) -> Self {
        let steps = steps(text);
        if steps.len() < 2 {
            return Self {
                whole: encode(text),
                steps: Vec::new(),
            };
        }
        let steps: Vec<Vec<f32>> = steps.into_iter().map(&encode).collect();
        let is_short = text.split_whitespace().nth(WHOLE_WORDS).is_none();
        Self {
            whole: if is_short { encode(text) } else { mean(&steps) },
            steps,
        }
    }
}

/// The direction of the mean of some vectors.
fn mean(vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vectors.first().cloned().unwrap_or_default();
    for vector in vectors.iter().skip(1) {
        let pairs = sum.iter_mut().zip(vector);
        pairs.for_each(|(sum, number)| *sum += number);
    }
    let length = sum.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length.is_normal() {
        sum.iter_mut().for_each(|number| *number /= length);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_requests_are_represented_by_their_steps() {
        let encode = |text: &str| vec![text.len() as f32, 0.0];
        let one = QueryVectors::new("create an issue", encode);
        assert_eq!((one.whole, one.steps.len()), (vec![15.0, 0.0], 0));
        let short = QueryVectors::new("find the mail and send the total", encode);
        assert_eq!((short.whole, short.steps.len()), (vec![32.0, 0.0], 2));
        let long = "find the mail of the bank about my account and then send the total to Anna";
        let long = QueryVectors::new(long, encode);
        assert_eq!((long.whole, long.steps.len()), (vec![1.0, 0.0], 2));
    }
}
