//! Derives categories from tool names. Nothing is parsed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::words::{stem, topic_at, word_line};

/// A server with at most this many tools is one category.
const SMALL_SERVER: usize = 12;
/// Tools that make a topic a category of its own.
const TOPIC_SIZE: usize = 2;
/// A topic with more tools than this is divided again.
const LARGE_TOPIC: usize = 24;

/// Returns the category of each tool of a server, in the order of the names. A small server is one category;
/// a large one is divided by what its tools operate on: `github/issues`.
pub(crate) fn categories<'a>(
    server: &str,
    names: impl ExactSizeIterator<Item = &'a str>,
) -> Vec<Arc<str>> {
    let whole: Arc<str> = Arc::from(server);
    if names.len() <= SMALL_SERVER {
        return names.map(|_| whole.clone()).collect();
    }
    let lines: Vec<String> = names.map(word_line).collect();
    // A name without letters and digits has no words.
    let names: Vec<Vec<&str>> = lines
        .iter()
        .map(|line| line.split_ascii_whitespace().collect())
        .collect();
    let start = shared_prefix(&names);
    let topics = Topics::of(names.iter().map(|words| (words.as_slice(), start, 0)));
    let is_large = |place: &TopicPosition| topics.size(place.group) > LARGE_TOPIC;
    let parts = Topics::of(
        names
            .iter()
            .zip(&topics.places)
            .map(|(words, place)| match place {
                Some(place) if is_large(place) => (words.as_slice(), place.at + 1, place.group),
                _ => (words.as_slice(), usize::MAX, 0),
            }),
    );
    let mut made: HashMap<(usize, Option<usize>), Arc<str>> = HashMap::new();
    let mut category = |topic: Option<TopicPosition>, part: Option<TopicPosition>| {
        let topic = topic
            .map(|place| place.group)
            .filter(|at| topics.size(*at) >= TOPIC_SIZE)?;
        let part = part
            .map(|place| place.group)
            .filter(|at| parts.size(*at) >= TOPIC_SIZE);
        let group = topics.groups.get(topic)?;
        let make = || match part.and_then(|at| parts.groups.get(at)) {
            Some(inner) => format!("{server}/{}_{}", group.form, inner.form),
            None => format!("{server}/{}", group.name()),
        };
        Some(
            made.entry((topic, part))
                .or_insert_with(|| Arc::from(make()))
                .clone(),
        )
    };
    let places = topics.places.iter().zip(&parts.places);
    places
        .map(|(topic, part)| category(*topic, *part).unwrap_or_else(|| whole.clone()))
        .collect()
}

/// A tool's group, and the position of the group's word in the tool's name.
#[derive(Clone, Copy)]
struct TopicPosition {
    group: usize,
    at: usize,
}

/// Tools grouped by one of the words in their names.
struct Topics<'a> {
    /// One for each tool; `None` if its name has no such word.
    places: Vec<Option<TopicPosition>>,
    groups: Vec<Group<'a>>,
}

struct Group<'a> {
    tools: usize,
    /// The longest form of the word among the names, which is the plural if there is one.
    form: &'a str,
    /// The word that follows in every name, as in `pull_requests`, in its longest form.
    follower: Option<&'a str>,
}

impl<'a> Topics<'a> {
    /// Groups names by the first topic word at or after a position. Names of different families are kept apart.
    fn of<'w>(names: impl Iterator<Item = (&'w [&'a str], usize, usize)>) -> Self
    where
        'a: 'w,
    {
        let mut by_stem: HashMap<(usize, Cow<'a, str>), usize> = HashMap::new();
        let mut groups: Vec<Group<'a>> = Vec::new();
        let mut place = |words: &[&'a str], from: usize, family: usize| {
            let at = topic_at(words, from)?;
            let (word, follower) = (*words.get(at)?, words.get(at + 1).copied());
            let group = *by_stem.entry((family, stem(word))).or_insert(groups.len());
            match groups.get_mut(group) {
                None => groups.push(Group {
                    tools: 1,
                    form: word,
                    follower,
                }),
                Some(known) => known.add(word, follower),
            }
            Some(TopicPosition { group, at })
        };
        let places = names
            .map(|(words, from, family)| place(words, from, family))
            .collect();
        Self { places, groups }
    }

    fn size(&self, group: usize) -> usize {
        self.groups.get(group).map_or(0, |group| group.tools)
    }
}

impl<'a> Group<'a> {
    fn add(&mut self, word: &'a str, follower: Option<&'a str>) {
        self.tools += 1;
        self.form = longer(self.form, word);
        self.follower = match (self.follower, follower) {
            (Some(one), Some(other)) if stem(one) == stem(other) => Some(longer(one, other)),
            _ => None,
        };
    }

    fn name(&self) -> String {
        match self.follower {
            Some(follower) => format!("{}_{follower}", self.form),
            None => self.form.to_owned(),
        }
    }
}

fn longer<'a>(one: &'a str, other: &'a str) -> &'a str {
    if other.len() > one.len() { other } else { one }
}

/// Returns how many leading words all names share, as in `slack_post_message` and `slack_list_users`.
fn shared_prefix(names: &[Vec<&str>]) -> usize {
    let Some((first, others)) = names.split_first() else {
        return 0;
    };
    let shared = |other: &Vec<&str>| first.iter().zip(other).take_while(|(a, b)| a == b).count();
    others.iter().map(shared).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &str, expected: &[(&str, &str)]) {
        let names: Vec<&str> = names.split(' ').collect();
        let found = categories("hub", names.iter().copied());
        for (name, category) in expected {
            let at = names.iter().position(|n| n == name).unwrap();
            assert_eq!(&*found[at], *category, "{name}");
        }
    }

    #[test]
    fn r_reg_09_small_servers_are_one_category() {
        check(
            "create_issue list_issues read_file",
            &[("create_issue", "hub"), ("read_file", "hub")],
        );
    }

    #[test]
    fn r_reg_09_large_servers_are_divided_by_topic() {
        let names = "create_issue list_issues close_issue create_pull_request merge_pull_request \
                     list_pull_requests get_file_contents create_or_update_file push_files whoami search \
                     list_branches create_branch";
        check(
            names,
            &[
                ("create_issue", "hub/issues"),
                ("list_issues", "hub/issues"),
                ("merge_pull_request", "hub/pull_requests"),
                ("create_or_update_file", "hub/files"),
                ("push_files", "hub/files"),
                ("create_branch", "hub/branches"),
                ("whoami", "hub"),
                ("search", "hub"),
            ],
        );
    }

    #[test]
    fn names_without_words_belong_to_the_whole_server() {
        let names = "__ -- _ a b c d e f g h i j";
        check(names, &[("__", "hub"), ("--", "hub"), ("a", "hub")]);
    }

    #[test]
    fn words_that_all_names_share_are_not_topics() {
        let names: Vec<String> = [
            "post_message",
            "delete_message",
            "list_users",
            "get_user",
            "a",
            "b",
            "c",
            "d",
            "e",
            "f",
            "g",
            "h",
            "i",
        ]
        .iter()
        .map(|rest| format!("slack_{rest}"))
        .collect();
        let found = categories("slack", names.iter().map(String::as_str));
        assert_eq!(&*found[0], "slack/message");
        assert_eq!(&*found[2], "slack/users");
    }

    #[test]
    fn large_topics_are_divided_again() {
        let mut names: Vec<String> = (0..20).map(|n| format!("jira_get_issue_{n}")).collect();
        names.extend((0..8).map(|n| format!("jira_list_sprints_{n}")));
        names.extend(["wiki_read_page", "wiki_list_pages", "jira_whoami"].map(str::to_owned));
        let found = categories("hub", names.iter().map(String::as_str));
        assert_eq!(&*found[0], "hub/jira_issue");
        assert_eq!(&*found[25], "hub/jira_sprints");
        assert_eq!(&*found[28], "hub/wiki");
        assert_eq!(&*found[30], "hub/jira");
    }
}
