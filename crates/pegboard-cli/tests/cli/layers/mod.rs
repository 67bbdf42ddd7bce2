//! Where definitions come from: files of several kinds, projects, the environment.

mod current_folder;
mod files;
mod problems;
mod trust;
