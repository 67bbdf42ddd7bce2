//! Every command, with the built-in example server.

mod adding;
mod calling;
mod completing;
mod connecting;
mod counting;
mod editing;
mod exit_codes;
mod exporting;
mod importing;
mod logs;
mod manual;
mod policies;
mod raw_output;
mod reading;
mod recording;
mod refreshing;
mod searching;
mod secret;
mod service;
mod setting_up;
mod snapshots;
mod storing_secrets;
mod texts;
mod undiscovered;
