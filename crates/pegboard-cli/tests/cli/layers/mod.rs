//! Sources of definitions: files of several formats, projects, the environment.

mod current_folder;
mod files;
mod problems;
mod trust;
