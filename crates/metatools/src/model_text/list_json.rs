//! Lists tools as JSON, with the same limit as the text.

use pegboard_catalog::{Catalog, ToolView};

use super::budgeted_text::{BudgetedText, LIST_TOKENS};
use super::instructions;
use super::list::ListRequest;
use super::selection::{Group, Selection, largest_first, narrower_example, without_count};
use super::status::failed_servers;

/// Token limit of the categories when not everything fits; the tools get the rest.
const CATEGORY_TOKENS: u64 = 280;
/// Servers with a failed refresh that are listed.
const STALE_SERVERS: usize = 5;

/// Returns `{"tools":[{name,summary,category,enabled}],"total":…,"categories":[…]}` in less than 500 tokens. If
/// not every tool fits, `shown` and `more` say how many are left and how to see them, and `counts` has the number of
/// tools of each category. `stale` lists the servers of these tools whose last refresh failed, and `instructions`
/// holds the instructions of the requested server.
pub fn list_json(catalog: &Catalog, request: &ListRequest<'_>) -> String {
    let selection = Selection::of(catalog, request);
    let categories = selection.categories();
    let wanted = request.category.map(without_count);
    let end = format!("{}}}", stale(&selection));
    let whole = whole(&selection, &categories, &end);
    let mut text = whole.unwrap_or_else(|| part(&selection, &categories, wanted, &end));
    if let Some((entry, instructions)) = instructions::for_request(catalog, request) {
        text.pop();
        let (server, instructions) = (json(entry.name().as_str()), json(&instructions));
        text.push_str(&format!(
            ",\"instructions\":{{\"from_server\":{server},\"text\":{instructions}}}}}"
        ));
    }
    text
}

/// Returns the member that lists the first servers whose last refresh failed, or an empty string.
fn stale(selection: &Selection<'_>) -> String {
    let failed = failed_servers(selection.tools.iter().copied());
    let names: Vec<String> = failed
        .iter()
        .take(STALE_SERVERS)
        .map(|server| json(server.as_str()))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(",\"stale\":[{}]", names.join(",")),
    }
}

fn whole(selection: &Selection<'_>, categories: &[Group<'_>], end: &str) -> Option<String> {
    let mut out = BudgetedText::of(LIST_TOKENS);
    let mut fits = out.add("{\"tools\":[");
    for (at, tool) in selection.tools.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        fits = fits && out.add(&format!("{comma}{}", entry(tool)));
        if !fits {
            return None;
        }
    }
    let names: Vec<String> = categories.iter().map(|(name, _)| json(name)).collect();
    let end = format!(
        "],\"total\":{},\"categories\":[{}]{end}",
        selection.tools.len(),
        names.join(",")
    );
    (fits && out.add(&end)).then(|| out.ending_with(""))
}

fn part(
    selection: &Selection<'_>,
    categories: &[Group<'_>],
    wanted: Option<&str>,
    end: &str,
) -> String {
    let total = selection.tools.len();
    let servers = selection.servers();
    let all = Groups::all(categories).or_else(|| Groups::all(&servers));
    let groups = all.unwrap_or_else(|| Groups::largest(&servers, categories));
    let narrower = if servers.len() > 1 {
        &servers
    } else {
        categories
    };
    let how = match narrower_example(narrower, wanted) {
        Some(name) => {
            format!("list_available_tools(category=\"{name}\", format=\"json\") or search_tools")
        }
        None => "search_tools".to_owned(),
    };
    let cut = match groups.left_out {
        0 => String::new(),
        left_out => format!(",\"more_categories\":{left_out}"),
    };
    let Groups { names, counts, .. } = groups;
    let tail = |shown: usize| {
        let more = json(&format!("{} more: {how}", total - shown));
        format!(
            "],\"total\":{total},\"categories\":[{names}],\"counts\":[{counts}]{cut},\"shown\":{shown},\"more\":{more}{end}"
        )
    };
    let mut out = BudgetedText::of(LIST_TOKENS)
        .reserving(&tail(0))
        .reserving("0000000");
    let mut written = 0;
    let mut fits = out.add("{\"tools\":[");
    for tool in &selection.tools {
        let comma = if written > 0 { "," } else { "" };
        fits = fits && out.add(&format!("{comma}{}", entry(tool)));
        if !fits {
            break;
        }
        written += 1;
    }
    if written == 0 {
        return format!("{{\"tools\":[{}", tail(0));
    }
    out.ending_with(&tail(written))
}

/// The categories or servers that fit, as elements of two JSON arrays.
#[derive(Default)]
struct Groups {
    names: String,
    /// The number of tools of each of `names`, in the same order.
    counts: String,
    /// The number of groups that did not fit.
    left_out: usize,
}

impl Groups {
    fn all(groups: &[Group<'_>]) -> Option<Self> {
        let fitting = Self::fitting(groups);
        (fitting.left_out == 0).then_some(fitting)
    }

    /// Returns the largest servers, or the largest categories of a single server.
    fn largest(servers: &[Group<'_>], categories: &[Group<'_>]) -> Self {
        let groups = match servers.len() > 1 {
            true => servers,
            false => categories,
        };
        Self::fitting(&largest_first(groups.to_vec()))
    }

    fn fitting(groups: &[Group<'_>]) -> Self {
        let mut out = BudgetedText::of(CATEGORY_TOKENS);
        let mut fitting = Self::default();
        for (at, (name, tools)) in groups.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let (name, count) = (format!("{comma}{}", json(name)), format!("{comma}{tools}"));
            if !out.add(&name) || !out.add(&count) {
                fitting.left_out = groups.len() - at;
                break;
            }
            fitting.names.push_str(&name);
            fitting.counts.push_str(&count);
        }
        fitting
    }
}

fn entry(tool: &ToolView<'_>) -> String {
    let note = tool.note().map(|note| format!(",\"note\":{}", json(note)));
    format!(
        "{{\"name\":{},\"summary\":{},\"category\":{},\"enabled\":{}{}}}",
        json(tool.exposed().as_str()),
        json(tool.summary()),
        json(tool.category()),
        tool.enabled(),
        note.unwrap_or_default()
    )
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
