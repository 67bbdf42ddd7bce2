//! Every command, with the built-in example server.

mod adding;
mod calling;
mod counting;
mod editing;
mod exit_codes;
mod keeping_secrets;
mod reading;
mod refreshing;
mod texts;
