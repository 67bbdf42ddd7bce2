//! Where definitions come from: files of several kinds, projects, the environment.

mod agreements;
mod files;
mod problems;
