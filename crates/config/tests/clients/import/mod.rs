//! Importing servers from clients' files.

mod machine;
mod plans;
mod safety;
