//! The screens over a catalog made of values: what they say, what they hold back, and how much of it there is.

mod fixture;
mod screens;
