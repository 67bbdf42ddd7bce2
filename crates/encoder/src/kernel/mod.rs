//! The performance-critical operations, each written once and compiled for each kind of processor.
//!
//! Matrix products are integer sums, which do not depend on the order of addition. All other operations add `f32` in a
//! fixed order and never fuse a multiplication with an addition, so that all processors give the same bytes.

mod attention;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod dispatch;
mod exponential;
mod gelu;
mod inputs;
mod lanes;
mod norm;
mod portable;
mod product;

pub(crate) use dispatch::Processor;
pub(crate) use inputs::{Inputs, max_input, round_to_i16};
