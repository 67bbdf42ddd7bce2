//! Servers whose tools are missing from an answer.

use crate::snapshot::Catalog;
use pegboard_model::DiscoveryStatus;

/// Servers that are named; the others are counted.
const NAMED: usize = 5;

/// Lines that name the servers whose tools are missing, each after a line break.
pub(crate) fn missing(catalog: &Catalog) -> String {
    let lines = [being_discovered(catalog), not_available(catalog)];
    let lines = lines.into_iter().flatten();
    lines.map(|line| format!("\n{line}")).collect()
}

/// A line that names the servers whose tools are not known yet.
pub(crate) fn being_discovered(catalog: &Catalog) -> Option<String> {
    let names = without_tools(catalog, |status| status != DiscoveryStatus::Failed);
    names.map(|names| format!("still being discovered: {names} (ask again)"))
}

/// A line that names the servers that could not be asked.
pub(crate) fn not_available(catalog: &Catalog) -> Option<String> {
    let names = without_tools(catalog, |status| status == DiscoveryStatus::Failed);
    names.map(|names| format!("not available: {names}"))
}

fn without_tools(catalog: &Catalog, wanted: impl Fn(DiscoveryStatus) -> bool) -> Option<String> {
    let mut missing = catalog
        .servers()
        .filter(|entry| entry.is_offered() && !entry.record.is_known() && wanted(entry.status()))
        .map(|entry| entry.name().as_str());
    let named: Vec<&str> = missing.by_ref().take(NAMED).collect();
    let more = missing.count();
    match (named.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(named.join(", ")),
        (false, more) => Some(format!("{} and {more} more", named.join(", "))),
    }
}
