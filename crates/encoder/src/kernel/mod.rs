//! The steps that take the time, each written once and compiled for each kind of processor.
//!
//! Products are sums of integers, which have one result in whatever order they are added. All other
//! steps add `f32` in one written order and never fuse a product with a sum, so that the processor
//! with wide instructions and the one without give the same bytes.

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
pub(crate) use inputs::{Inputs, most, rounded};
