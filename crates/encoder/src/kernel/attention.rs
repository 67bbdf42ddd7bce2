//! Attention: each token takes a mean of all tokens' values, weighted by how well its query fits
//! their keys; twelve heads do it side by side.

use super::exponential::exp;
use crate::shape::{DIMENSIONS, Group, HEAD, HEADS, LANES, Lanes};

/// A head's part of a group of tokens.
type Part = [Lanes; HEAD];

#[inline(always)]
pub(super) fn attend(
    tokens: usize,
    query: &[Group<DIMENSIONS>],
    key: &[Group<DIMENSIONS>],
    value: &[Group<DIMENSIONS>],
    output: &mut [Group<DIMENSIONS>],
) {
    // For each key, how well it fits the queries in the lanes.
    let mut fits = vec![[0.0; LANES]; tokens];
    for head in 0..HEADS {
        for (query, output) in query.iter().zip(output.iter_mut()) {
            let query = part(query, head);
            for (fits, key) in fits.chunks_mut(LANES).zip(key) {
                let key = part(key, head);
                for (lane, fits) in fits.iter_mut().enumerate() {
                    *fits = fit(query, key, lane);
                }
            }
            let sums = soften(&mut fits);
            let Some(output) = output.as_chunks_mut::<HEAD>().0.get_mut(head) else {
                continue;
            };
            for (dimension, output) in output.iter_mut().enumerate() {
                *output = mix(&fits, value, head * HEAD + dimension, &sums);
            }
        }
    }
}

#[inline(always)]
fn part(group: &Group<DIMENSIONS>, head: usize) -> &Part {
    group
        .as_chunks()
        .0
        .get(head)
        .unwrap_or(&[[0.0; LANES]; HEAD])
}

/// The queries of a group times the key in one lane of another.
#[inline(always)]
fn fit(queries: &Part, keys: &Part, lane: usize) -> Lanes {
    let mut fits = [0.0; LANES];
    for (queries, keys) in queries.iter().zip(keys) {
        let Some(key) = keys.get(lane) else { continue };
        for (fit, query) in fits.iter_mut().zip(queries) {
            *fit += query * key;
        }
    }
    fits
}

/// Turns fits into weights and returns the weights' sums.
#[inline(always)]
fn soften(fits: &mut [Lanes]) -> Lanes {
    let scale = 1.0 / (HEAD as f32).sqrt();
    let mut best = [f32::MIN; LANES];
    for fits in fits.iter() {
        for (best, fit) in best.iter_mut().zip(fits) {
            *best = if *fit > *best { *fit } else { *best };
        }
    }
    for fits in fits.iter_mut() {
        for (fit, best) in fits.iter_mut().zip(best) {
            *fit = (*fit - best) * scale;
        }
    }
    for fit in fits.as_flattened_mut() {
        *fit = exp(*fit);
    }
    let mut sums = [0.0; LANES];
    for fits in fits.iter() {
        for (sum, fit) in sums.iter_mut().zip(fits) {
            *sum += fit;
        }
    }
    sums
}

/// One dimension of the weighted mean of all tokens' values.
#[inline(always)]
fn mix(weights: &[Lanes], values: &[Group<DIMENSIONS>], dimension: usize, sums: &Lanes) -> Lanes {
    let mut mixed = [0.0; LANES];
    for (weights, values) in weights.chunks(LANES).zip(values) {
        let Some(values) = values.get(dimension) else {
            continue;
        };
        for (weights, value) in weights.iter().zip(values) {
            for (mixed, weight) in mixed.iter_mut().zip(weights) {
                *mixed += weight * value;
            }
        }
    }
    for (mixed, sum) in mixed.iter_mut().zip(sums) {
        *mixed /= sum;
    }
    mixed
}
