//! Multi-head attention: each token gets the mean of all tokens' values, weighted by how well its query matches their
//! keys.

use super::exponential::exp;
use super::lanes::{highest, total};
use crate::shape::{DIMENSIONS, HEAD, HEADS, LANES, Lanes};

/// Number of registers for one head of a token.
const REGISTERS: usize = HEAD / LANES;

/// One head of eight keys: a register for each dimension, a key in each lane.
type Keys = [Lanes; HEAD];

/// One head of a token.
type Part = [Lanes; REGISTERS];

#[inline(always)]
pub(super) fn attend(
    query: &[[f32; DIMENSIONS]],
    key: &[[f32; DIMENSIONS]],
    value: &[[f32; DIMENSIONS]],
    output: &mut [[f32; DIMENSIONS]],
) {
    let groups = key.len().div_ceil(LANES).max(1);
    let mut keys = vec![[[0.0; LANES]; HEAD]; groups];
    let mut values = vec![[[0.0; LANES]; REGISTERS]; value.len()];
    // The scores of all keys for each query, later the weights, and their sums. Each step is done for all queries
    // together, because the steps of one query depend on each other.
    let mut scores = vec![[0.0; LANES]; groups * query.len()];
    let mut sums = vec![0.0; query.len()];
    for head in 0..HEADS {
        transpose_keys(key, head, &mut keys);
        for (value, part_of) in values.iter_mut().zip(value) {
            *value = *registers(part(part_of, head));
        }
        for (query, scores) in query.iter().zip(scores.chunks_mut(groups)) {
            for (scores, keys) in scores.iter_mut().zip(&keys) {
                *scores = score_keys(part(query, head), keys);
            }
            let weights = scores.as_flattened_mut();
            weights
                .iter_mut()
                .skip(key.len())
                .for_each(|score| *score = f32::MIN);
        }
        for (scores, sum) in scores.chunks_mut(groups).zip(&mut sums) {
            *sum = softmax(scores);
        }
        let two = scores.chunks(2 * groups).zip(sums.chunks(2));
        for ((scores, sums), output) in two.zip(output.chunks_mut(2)) {
            let (scores, others) = scores.split_at_checked(groups).unwrap_or((scores, &[]));
            let others = if others.is_empty() { scores } else { others };
            let weights = [scores.as_flattened(), others.as_flattened()];
            let summed = weighted_sum(weights, &values);
            for ((summed, sum), output) in summed.into_iter().zip(sums).zip(output) {
                if let Some(output) = output.as_chunks_mut::<HEAD>().0.get_mut(head) {
                    *output = *summed
                        .map(|lanes| lanes.map(|value| value / sum))
                        .as_flattened()
                        .first_chunk()
                        .unwrap_or(&[0.0; HEAD]);
                }
            }
        }
    }
}

#[inline(always)]
fn part(token: &[f32; DIMENSIONS], head: usize) -> &[f32; HEAD] {
    token.as_chunks().0.get(head).unwrap_or(&[0.0; HEAD])
}

/// Transposes the keys so that eight are compared with a query at once.
#[inline(always)]
fn transpose_keys(key: &[[f32; DIMENSIONS]], head: usize, keys: &mut [Keys]) {
    for (key, keys) in key.chunks(LANES).zip(keys) {
        for (lane, key) in key.iter().enumerate() {
            for (lanes, value) in keys.iter_mut().zip(part(key, head)) {
                if let Some(place) = lanes.get_mut(lane) {
                    *place = *value;
                }
            }
        }
    }
}

/// A query times eight keys. Four separate sums avoid waiting for the previous addition.
#[inline(always)]
fn score_keys(query: &[f32; HEAD], keys: &Keys) -> Lanes {
    let (mut a, mut b) = ([0.0; LANES], [0.0; LANES]);
    let (mut c, mut d) = ([0.0; LANES], [0.0; LANES]);
    for (query, keys) in query.as_chunks().0.iter().zip(keys.as_chunks().0) {
        let ([qa, qb, qc, qd], [ka, kb, kc, kd]) = (query, keys);
        add_product(&mut a, *qa, ka);
        add_product(&mut b, *qb, kb);
        add_product(&mut c, *qc, kc);
        add_product(&mut d, *qd, kd);
    }
    for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
        *a = (*a + b) + (c + d);
    }
    a
}

/// Replaces scores by unnormalized weights and returns their sum.
#[inline(always)]
fn softmax(scores: &mut [Lanes]) -> f32 {
    let scale = 1.0 / (HEAD as f32).sqrt();
    let best = highest(scores, |score| score);
    for score in scores.as_flattened_mut() {
        *score = exp((*score - best) * scale);
    }
    total(scores, |weight| weight)
}

/// One head of the weighted sum of all tokens' values, for two queries.
#[inline(always)]
fn weighted_sum([weights, others]: [&[f32]; 2], values: &[Part]) -> [Part; 2] {
    let (mut a, mut b) = ([0.0; LANES], [0.0; LANES]);
    let (mut c, mut d) = ([0.0; LANES], [0.0; LANES]);
    let (mut e, mut f) = ([0.0; LANES], [0.0; LANES]);
    let (mut g, mut h) = ([0.0; LANES], [0.0; LANES]);
    for ((weight, other), [va, vb, vc, vd]) in weights.iter().zip(others).zip(values) {
        add_product(&mut a, *weight, va);
        add_product(&mut b, *weight, vb);
        add_product(&mut c, *weight, vc);
        add_product(&mut d, *weight, vd);
        add_product(&mut e, *other, va);
        add_product(&mut f, *other, vb);
        add_product(&mut g, *other, vc);
        add_product(&mut h, *other, vd);
    }
    [[a, b, c, d], [e, f, g, h]]
}

#[inline(always)]
fn registers(part: &[f32; HEAD]) -> &Part {
    let (lanes, _) = part.as_chunks();
    lanes.first_chunk().unwrap_or(&[[0.0; LANES]; REGISTERS])
}

#[inline(always)]
fn add_product(sums: &mut Lanes, factor: f32, values: &Lanes) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += factor * value;
    }
}
