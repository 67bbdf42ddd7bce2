//! Selection of the code for the instructions that the processor supports.

#![allow(
    unsafe_code,
    reason = "calling a function compiled for AVX2 from other code is unsafe; \
              each call here is guarded by a check that the processor supports AVX2"
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

/// The supported instructions. Only `detected` can set `has_avx2`, so a value with it proves the support.
#[derive(Clone, Copy)]
pub(crate) struct Processor {
    #[cfg(target_arch = "x86_64")]
    has_avx2: bool,
}

/// Declares each operation as a method, compiled once for any processor and once for AVX2. Both run the same code
/// except for the integer products.
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
                    // SAFETY: `has_avx2` is true only if AVX2 was detected.
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
    /// Multiplies the matrix with each token.
    fn multiply[const IN, const OUT](matrix: &Linear<IN, OUT>, inputs: &[Inputs<IN>], outputs: &mut [[f32; OUT]])
        = with => product::multiply(
            matrix, inputs, outputs, with::TOKENS,
            |block, inputs, part, sums| with::add(block, inputs, part, sums),
            |sums, input, scales, biases| with::scaled(sums, input, scales, biases),
        );
    /// Quantizes values to integers.
    fn quantise[const WIDTH, const PAIRS](from: &[[f32; WIDTH]], to: &mut [Inputs<PAIRS>])
        = with => inputs::quantise(from, to);
    /// Computes the attention of each token to all others.
    fn attend(query: &[[f32; DIMENSIONS]], key: &[[f32; DIMENSIONS]], value: &[[f32; DIMENSIONS]], output: &mut [[f32; DIMENSIONS]])
        = with => attention::attend(query, key, value, output);
    /// Applies GELU between the two matrices of the feed-forward part.
    fn activate(tokens: &mut [[f32; WIDE]])
        = with => gelu::activate(tokens);
    /// Applies layer normalization to each token.
    fn normalise(norm: &Norm, tokens: &mut [[f32; DIMENSIONS]])
        = with => norm::normalise(norm, tokens);
    /// Computes the cosines of a query with many vectors.
    fn score(vectors: &[PackedVector], query: &[f32; DIMENSIONS], scores: &mut [f32])
        = with => PackedQuery::new(query).score(vectors, scores, |vector, query| with::dot(vector, query));
    /// Computes the cosines of a query with many pairs of vectors.
    fn score_pairs(pairs: &[[PackedVector; 2]], query: &[f32; DIMENSIONS], first: &mut [f32], second: &mut [f32])
        = with => PackedQuery::new(query).score_pairs(pairs, [first, second], |vector, query| with::dot(vector, query));
}

impl Processor {
    /// Detects the instructions of this processor.
    pub(crate) fn detected() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            has_avx2: std::arch::is_x86_feature_detected!("avx2"),
        }
    }

    /// Uses only instructions that every processor has.
    pub(crate) fn portable() -> Self {
        Self {
            #[cfg(target_arch = "x86_64")]
            has_avx2: false,
        }
    }
}
