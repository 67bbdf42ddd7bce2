//! Tests of the screens over a catalog in memory.

mod fixture;
mod screens;
