//! Integer products with AVX2: one instruction multiplies sixteen 16-bit values and adds the products of each pair.

use std::arch::x86_64::{
    __m256, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm_set_epi64x,
    _mm256_add_epi32, _mm256_add_ps, _mm256_castps_si256, _mm256_castsi256_si128,
    _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps, _mm256_extract_epi32, _mm256_extracti128_si256,
    _mm256_madd_epi16, _mm256_mul_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setr_epi16,
    _mm256_setr_epi32, _mm256_setr_ps, _mm256_setzero_si256,
};

use super::inputs::{Inputs, Pair};
use super::product::Sums;
use crate::shape::{LANES, Lanes, PAIRS, ROWS};
use crate::weights::Block;

/// Number of tokens whose sums are in registers at the same time. With two registers each they use twelve of sixteen.
pub(super) const TOKENS: usize = 6;

#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn add<const IN: usize>(
    block: &Block,
    inputs: &[Inputs<IN>],
    part: usize,
    sums: &mut [Sums],
) {
    // The number of tokens is a constant in each arm, so that all sums stay in registers.
    match inputs {
        [a] => add_products(block, [a], part, sums),
        [a, b] => add_products(block, [a, b], part, sums),
        [a, b, c] => add_products(block, [a, b, c], part, sums),
        [a, b, c, d] => add_products(block, [a, b, c, d], part, sums),
        [a, b, c, d, e] => add_products(block, [a, b, c, d, e], part, sums),
        [a, b, c, d, e, f] => add_products(block, [a, b, c, d, e, f], part, sums),
        _ => (),
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn add_products<const IN: usize, const COUNT: usize>(
    block: &Block,
    inputs: [&Inputs<IN>; COUNT],
    part: usize,
    sums: &mut [Sums],
) {
    let parts = inputs.map(|inputs| inputs.part(part).unwrap_or(const { &[[0; 2]; PAIRS] }));
    let mut registers = [[_mm256_setzero_si256(); 2]; COUNT];
    for step in 0..PAIRS {
        let Some([low, high]) = block.get(step).map(halves) else {
            continue;
        };
        let (low, high) = (widened(low), widened(high));
        for (registers, pairs) in registers.iter_mut().zip(parts) {
            let Some(pair) = pairs.get(step) else {
                continue;
            };
            let pair = in_all_lanes(*pair);
            let [first, second] = registers;
            *first = _mm256_add_epi32(*first, _mm256_madd_epi16(low, pair));
            *second = _mm256_add_epi32(*second, _mm256_madd_epi16(high, pair));
        }
    }
    for (sums, [first, second]) in sums.iter_mut().zip(registers) {
        let added = stored(first).into_iter().chain(stored(second));
        for (sum, added) in sums.iter_mut().zip(added) {
            *sum = sum.wrapping_add(added);
        }
    }
}

/// Converts sums to floats. Written with intrinsics, because the compiler would vectorize over tokens, which are far
/// apart in memory.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn scaled(
    sums: &Sums,
    input: f32,
    scales: &[f32; ROWS],
    biases: &[f32; ROWS],
) -> [f32; ROWS] {
    let mut values = [0.0; ROWS];
    let input = _mm256_set1_ps(input);
    let rows = sums.as_chunks().0.iter();
    let rows = rows.zip(scales.as_chunks().0).zip(biases.as_chunks().0);
    for (values, ((sums, scales), biases)) in values.as_chunks_mut().0.iter_mut().zip(rows) {
        let sums = _mm256_cvtepi32_ps(integers(sums));
        let scaled = _mm256_mul_ps(sums, _mm256_mul_ps(floats(scales), input));
        let bits = stored(_mm256_castps_si256(_mm256_add_ps(scaled, floats(biases))));
        *values = bits.map(|bits| f32::from_bits(bits.cast_unsigned()));
    }
    values
}

/// Compiles to one load, like the next function.
#[target_feature(enable = "avx2")]
#[inline]
fn integers(values: &[i32; LANES]) -> __m256i {
    let [a, b, c, d, e, f, g, h] = *values;
    _mm256_setr_epi32(a, b, c, d, e, f, g, h)
}

#[target_feature(enable = "avx2")]
#[inline]
fn floats(values: &Lanes) -> __m256 {
    let [a, b, c, d, e, f, g, h] = *values;
    _mm256_setr_ps(a, b, c, d, e, f, g, h)
}

/// The weights of the first and of the last eight rows.
#[inline(always)]
fn halves(step: &[u8; 32]) -> [&[u8; 16]; 2] {
    let (halves, _) = step.as_chunks();
    let half = |number: usize| halves.get(number).unwrap_or(&[0; 16]);
    [half(0), half(1)]
}

/// The dot product of two rows.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn dot<const COUNT: usize>(weights: &[u8; COUNT], values: &[i16; COUNT]) -> i32 {
    let mut sums = _mm256_setzero_si256();
    for (weights, values) in weights.as_chunks().0.iter().zip(values.as_chunks::<16>().0) {
        let products = _mm256_madd_epi16(widened(weights), loaded(values));
        sums = _mm256_add_epi32(sums, products);
    }
    let low = _mm256_castsi256_si128(sums);
    let four = _mm_add_epi32(low, _mm256_extracti128_si256::<1>(sums));
    let two = _mm_hadd_epi32(four, four);
    _mm_cvtsi128_si32(_mm_hadd_epi32(two, two))
}

/// Compiles to one load.
#[target_feature(enable = "avx2")]
#[inline]
fn loaded(values: &[i16]) -> __m256i {
    let &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = values else {
        return _mm256_setzero_si256();
    };
    _mm256_setr_epi16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
}

/// Compiles to one store.
#[target_feature(enable = "avx2")]
#[inline]
fn stored(sums: __m256i) -> [i32; LANES] {
    [
        _mm256_extract_epi32::<0>(sums),
        _mm256_extract_epi32::<1>(sums),
        _mm256_extract_epi32::<2>(sums),
        _mm256_extract_epi32::<3>(sums),
        _mm256_extract_epi32::<4>(sums),
        _mm256_extract_epi32::<5>(sums),
        _mm256_extract_epi32::<6>(sums),
        _mm256_extract_epi32::<7>(sums),
    ]
}

#[target_feature(enable = "avx2")]
#[inline]
fn in_all_lanes([first, second]: Pair) -> __m256i {
    let low = i32::from(first.cast_unsigned());
    _mm256_set1_epi32(low | (i32::from(second) << 16))
}

/// Sixteen int8 values as 16-bit ones.
#[target_feature(enable = "avx2")]
#[inline]
fn widened(bytes: &[u8; 16]) -> __m256i {
    let bits = u128::from_le_bytes(*bytes);
    _mm256_cvtepi8_epi16(_mm_set_epi64x((bits >> 64) as i64, bits as i64))
}
