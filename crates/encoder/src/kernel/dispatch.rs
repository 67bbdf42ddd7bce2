//! Which instructions the processor has, and the calls of the code that uses them.

#![allow(
    unsafe_code,
    reason = "a function compiled for AVX2 can only be called from one that is not through `unsafe`; \
              each call here stands behind the check that the processor has AVX2"
)]
#![allow(
    clippy::redundant_closure,
    reason = "a closure is compiled for AVX2 with the function around it; the function it calls cannot be passed"
)]

use super::inputs::Inputs;
use super::{attention, gelu, inputs, norm, portable, product};
use crate::packed::{PackedQuery, PackedVector};
use crate::shape::{DIMENSIONS, WIDE};
use crate::weights::{Linear, Norm};

/// What the processor can do. Only `detected` finds that it has AVX2, so holding one proves it.
#[derive(Clone, Copy)]
pub(crate) struct Processor {
    #[cfg(target_arch = "x86_64")]
    has_avx2: bool,
}

/// Declares each step as a method, compiled once as it is and once for AVX2. Both run the same
/// code, but for the sums of products.
macro_rules! steps {
    ($($(#[$about:meta])* fn $name:ident$([$(const $size:ident),*])?($($argument:ident: $kind:ty),* $(,)?) = $sums:ident => $body:expr;)*) => {
        impl Processor {
            $($(#[$about])*
            pub(crate) fn $name$(<$(const $size: usize),*>)?(self, $($argument: $kind),*) {
                #[cfg(target_arch = "x86_64")]
                if self.has_avx2 {
                    #[target_feature(enable = "avx2")]
                    fn run$(<$(const $size: usize),*>)?($($argument: $kind),*) {
                        #[allow(unused_imports, reason = "only products differ")]
                        use super::avx2 as $sums;
                        $body
                    }
                    // SAFETY: `has_avx2` is true only if the processor was seen to have AVX2.
                    return unsafe { run($($argument),*) };
                }
                #[allow(unused_imports, reason = "only products differ")]
                use portable as $sums;
                $body
            })*
        }
    };
}

steps! {
    /// The matrix times each token.
    fn multiply[const IN, const OUT](matrix: &Linear<IN, OUT>, inputs: &[Inputs<IN>], outputs: &mut [[f32; OUT]])
        = with => product::multiply(
            matrix, inputs, outputs, with::TOKENS,
            |block, inputs, part, sums| with::add(block, inputs, part, sums),
            |sums, input, scales, biases| with::scaled(sums, input, scales, biases),
        );
    /// Values to the integers that are multiplied.
    fn quantise[const WIDTH, const PAIRS](from: &[[f32; WIDTH]], to: &mut [Inputs<PAIRS>])
        = with => inputs::quantise(from, to);
    /// What each token takes from all others.
    fn attend(query: &[[f32; DIMENSIONS]], key: &[[f32; DIMENSIONS]], value: &[[f32; DIMENSIONS]], output: &mut [[f32; DIMENSIONS]])
        = with => attention::attend(query, key, value, output);
    /// The curve between the two matrices of a feed-forward part.
    fn activate(tokens: &mut [[f32; WIDE]])
        = with => gelu::activate(tokens);
    /// Each token to mean 0 and variance 1, then scaled as learnt.
    fn normalise(norm: &Norm, tokens: &mut [[f32; DIMENSIONS]])
        = with => norm::normalise(norm, tokens);
    /// The products of a query with many vectors.
    fn score(vectors: &[PackedVector], query: &[f32; DIMENSIONS], scores: &mut [f32])
        = with => PackedQuery::new(query).score(vectors, scores, |vector, query| with::dot(vector, query));
    /// The products of a query with many pairs of vectors.
    fn score_pairs(pairs: &[[PackedVector; 2]], query: &[f32; DIMENSIONS], first: &mut [f32], second: &mut [f32])
        = with => PackedQuery::new(query).score_pairs(pairs, [first, second], |vector, query| with::dot(vector, query));
}

impl Processor {
    /// What this processor has.
    pub(crate) fn detected() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            has_avx2: std::arch::is_x86_feature_detected!("avx2"),
        }
    }

    /// What every processor has.
    pub(crate) fn portable() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            has_avx2: false,
        }
    }
}
