//! The same list for programs, under the same limit.

use super::chosen::{Chosen, Group, largest_first, narrower_example, without_count};
use super::instructions;
use super::list::{ListRequest, shown};
use super::sheet::{LIST_TOKENS, Sheet};
use super::status::failed_servers;
use crate::snapshot::Catalog;
use crate::view::ToolView;

/// What the categories may take when not everything fits; the tools get the rest.
const CATEGORY_TOKENS: u64 = 280;
/// Servers that are named because their last refresh failed.
const STALE_SERVERS: usize = 5;

/// `{"tools":[{name,summary,category,enabled}],"total":…,"categories":[…]}` in less than 500 tokens. Where
/// not every tool fits, `shown` and `more` say how many are left and how to see them, and categories come
/// with counts. `stale` names the servers of these tools whose last refresh failed, and `instructions` holds what
/// the server that was asked for says to models.
pub fn list_json(catalog: &Catalog, request: &ListRequest<'_>) -> String {
    let chosen = Chosen::of(catalog, request);
    let categories = chosen.categories();
    let wanted = request.category.map(without_count);
    let end = format!("{}}}", stale(&chosen));
    let whole = whole(&chosen, &categories, &end);
    let mut text = whole.unwrap_or_else(|| part(&chosen, &categories, wanted, &end));
    if let Some((entry, said)) = instructions::asked_for(catalog, request) {
        text.pop();
        let (server, said) = (json(entry.name().as_str()), json(&said));
        text.push_str(&format!(
            ",\"instructions\":{{\"from_server\":{server},\"text\":{said}}}}}"
        ));
    }
    text
}

/// The member that names the first servers whose last refresh failed, if there are any.
fn stale(chosen: &Chosen<'_>) -> String {
    let failed = failed_servers(chosen.tools.iter().copied());
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

fn whole(chosen: &Chosen<'_>, categories: &[Group<'_>], end: &str) -> Option<String> {
    let mut sheet = Sheet::of(LIST_TOKENS);
    let mut fits = sheet.add("{\"tools\":[");
    for (at, tool) in chosen.tools.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        fits = fits && sheet.add(&format!("{comma}{}", entry(tool)));
        if !fits {
            return None;
        }
    }
    let names: Vec<String> = categories.iter().map(|(name, _)| json(name)).collect();
    let end = format!(
        "],\"total\":{},\"categories\":[{}]{end}",
        chosen.tools.len(),
        names.join(",")
    );
    (fits && sheet.add(&end)).then(|| sheet.ended_with(""))
}

fn part(chosen: &Chosen<'_>, categories: &[Group<'_>], wanted: Option<&str>, end: &str) -> String {
    let total = chosen.tools.len();
    let servers = chosen.servers();
    let all = all_groups(categories).or_else(|| all_groups(&servers));
    let (groups, more_categories) =
        all.map_or_else(|| some_groups(&servers, categories), |text| (text, 0));
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
    let cut = if more_categories > 0 {
        format!(",\"more_categories\":{more_categories}")
    } else {
        String::new()
    };
    let tail = |shown: usize| {
        let more = json(&format!("{} more: {how}", total - shown));
        format!(
            "],\"total\":{total},\"categories\":[{groups}]{cut},\"shown\":{shown},\"more\":{more}{end}"
        )
    };
    let mut sheet = Sheet::of(LIST_TOKENS)
        .keeping_room_for(&tail(0))
        .keeping_room_for("0000000");
    let mut written = 0;
    let mut fits = sheet.add("{\"tools\":[");
    for tool in &chosen.tools {
        let comma = if written > 0 { "," } else { "" };
        fits = fits && sheet.add(&format!("{comma}{}", entry(tool)));
        if !fits {
            break;
        }
        written += 1;
    }
    if written == 0 {
        return format!("{{\"tools\":[{}", tail(0));
    }
    sheet.ended_with(&tail(written))
}

fn all_groups(groups: &[Group<'_>]) -> Option<String> {
    let mut sheet = Sheet::of(CATEGORY_TOKENS);
    let fits = groups
        .iter()
        .enumerate()
        .all(|(at, group)| add_group(&mut sheet, at, group));
    fits.then(|| sheet.ended_with(""))
}

/// The largest servers, or of one server the largest categories, and how many are left out.
fn some_groups(servers: &[Group<'_>], categories: &[Group<'_>]) -> (String, usize) {
    let groups = largest_first(
        if servers.len() > 1 {
            servers
        } else {
            categories
        }
        .to_vec(),
    );
    let mut sheet = Sheet::of(CATEGORY_TOKENS);
    let fitting = groups
        .iter()
        .enumerate()
        .take_while(|(at, group)| add_group(&mut sheet, *at, group))
        .count();
    (sheet.ended_with(""), groups.len() - fitting)
}

fn add_group(sheet: &mut Sheet, at: usize, group: &Group<'_>) -> bool {
    let comma = if at > 0 { "," } else { "" };
    sheet.add(&format!("{comma}{}", json(&shown(group))))
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
