//! Limits how many problems one file can produce.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pegboard_model::{Limits, Reason};

use crate::file::ConfigFile;
use crate::load::LoadedConfig;
use crate::problem::{Problem, Severity, shown_path};

/// Counters for one file's problems.
#[derive(Default)]
struct FileProblems {
    errors: usize,
    kept: usize,
    left_out: usize,
    worst: Option<Severity>,
    /// Index of the problem that summarizes those left out.
    summary: Option<usize>,
}

/// Keeps at most `config_problems` problems of each file, errors before warnings, and adds one that counts the
/// others.
pub(crate) fn limit_problems(loaded: &mut LoadedConfig, files: &[ConfigFile], limits: &Limits) {
    let limit = limits.config_problems;
    let mut shares: BTreeMap<PathBuf, FileProblems> = BTreeMap::new();
    for problem in &loaded.problems {
        if let Some(file) = &problem.file {
            let share = share_of(&mut shares, file);
            share.kept += 1;
            share.errors += usize::from(problem.severity == Severity::Error);
        }
    }
    // Warnings beyond the limit were only counted.
    for file in files {
        let left_out = file.source.left_out();
        if left_out > 0 {
            let share = share_of(&mut shares, &file.source.path);
            share.left_out = left_out;
            share.worst = Some(Severity::Warning);
        }
    }
    if shares
        .values()
        .all(|share| share.kept <= limit && share.left_out == 0)
    {
        return;
    }
    let mut room: BTreeMap<PathBuf, (usize, usize)> = shares
        .iter()
        .map(|(file, share)| {
            let errors = share.errors.min(limit);
            (file.clone(), (errors, limit - errors))
        })
        .collect();
    let mut kept = Vec::new();
    // For each old index the new one, or the file whose summary replaces it.
    let mut places: Vec<Result<usize, PathBuf>> = Vec::with_capacity(loaded.problems.len());
    for problem in loaded.problems.drain(..) {
        let left = problem.file.as_ref().and_then(|file| room.get_mut(file));
        let is_error = problem.severity == Severity::Error;
        let may_stay = match left {
            Some((errors, _)) if is_error => take(errors),
            Some((_, others)) => take(others),
            None => true,
        };
        if may_stay {
            places.push(Ok(kept.len()));
            kept.push(problem);
        } else if let Some(file) = problem.file {
            let share = share_of(&mut shares, &file);
            share.left_out += 1;
            share.worst = share.worst.max(Some(problem.severity));
            places.push(Err(file));
        }
    }
    for (file, share) in shares.iter_mut().filter(|(_, share)| share.left_out > 0) {
        share.summary = Some(kept.len());
        let (more, file_name) = (share.left_out, shown_path(file));
        let message = format!("`{file_name}` has {more} more problems, which are not shown");
        let severity = share.worst.unwrap_or(Severity::Warning);
        let summary = Problem::new(severity, Reason::ConfigTooLarge, message)
            .help("fix the problems that are shown, then check the file again")
            .in_file(file);
        kept.push(summary);
    }
    loaded.problems = kept;
    for problems in loaded.broken.values_mut() {
        for place in problems.iter_mut() {
            let moved = match places.get(*place) {
                Some(Ok(moved)) => Some(*moved),
                Some(Err(file)) => shares.get(file).and_then(|share| share.summary),
                None => None,
            };
            *place = moved.unwrap_or(*place);
        }
        problems.dedup();
    }
}

fn share_of<'s>(
    shares: &'s mut BTreeMap<PathBuf, FileProblems>,
    file: &std::path::Path,
) -> &'s mut FileProblems {
    shares.entry(file.to_owned()).or_default()
}

fn take(room: &mut usize) -> bool {
    let is_left = *room > 0;
    *room = room.saturating_sub(1);
    is_left
}
