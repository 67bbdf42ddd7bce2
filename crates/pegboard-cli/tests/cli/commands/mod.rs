//! Every command, with the built-in example server.

mod adding;
mod calling;
mod counting;
mod editing;
mod exit_codes;
mod exporting;
mod policies;
mod raw_output;
mod reading;
mod refreshing;
mod searching;
mod secret;
mod snapshots;
mod texts;
mod undiscovered;
