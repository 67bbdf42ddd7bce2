//! Verbs of requests and tool names, grouped by what they do.

use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::stems::stem;

/// One action per line: its name, the actions that a request for it must not find first, and its verbs.
const TABLE: &str = include_str!("actions.txt");

static ACTIONS: LazyLock<Actions> = LazyLock::new(|| Actions::of(TABLE));

/// Number of words after a verb in which its particle is looked for.
const PARTICLE_WORDS: usize = 6;

/// A set of actions, one bit each.
pub(crate) type ActionSet = u64;

#[derive(Default)]
struct Actions {
    of_stem: HashMap<String, ActionSet, RandomState>,
    /// The particles of the phrases that begin with a verb.
    of_phrase: HashMap<&'static str, Vec<(&'static str, ActionSet)>, RandomState>,
    /// The opposites of each action.
    opposites: Vec<ActionSet>,
    /// The stems of each action's verbs.
    stems: Vec<Vec<String>>,
    /// The actions that say nothing about a tool.
    without_kind: ActionSet,
}

impl Actions {
    fn of(table: &'static str) -> Self {
        let rows: Vec<Row> = table.lines().filter_map(Row::parse).collect();
        let bit = |name: &str| {
            let at = rows.iter().position(|row| row.name == name);
            at.map_or(0, |at| 1_u64 << at)
        };
        let mut all = Self {
            without_kind: bit("other"),
            ..Self::default()
        };
        for row in &rows {
            let own = bit(row.name);
            let opposites = row.opposites.split_whitespace();
            all.opposites
                .push(opposites.fold(0, |set, name| set | bit(name)));
            let mut stems = Vec::new();
            for verb in row.verbs.split_whitespace() {
                if let Some((verb, particle)) = verb.split_once('_') {
                    all.of_phrase.entry(verb).or_default().push((particle, own));
                } else {
                    let stem = stem(verb).into_owned();
                    *all.of_stem.entry(stem.clone()).or_default() |= own;
                    stems.push(stem);
                }
            }
            all.stems.push(stems);
        }
        all
    }
}

struct Row {
    name: &'static str,
    opposites: &'static str,
    verbs: &'static str,
}

impl Row {
    fn parse(line: &'static str) -> Option<Self> {
        let line = line.split('#').next()?.trim();
        let mut cells = line.split('|').map(str::trim);
        let (name, opposites, verbs) = (cells.next()?, cells.next()?, cells.next()?);
        Some(Self {
            name,
            opposites,
            verbs,
        })
    }
}

/// Whether a word is a verb of the table.
pub(crate) fn is_action(word: &str) -> bool {
    ACTIONS.of_stem.contains_key(&*stem(word))
}

/// The action that a request asks for: that of its first verb. A verb may stand for several actions.
pub(crate) fn of_request(words: &[String]) -> ActionSet {
    let mut rest = words;
    while let Some((first, following)) = rest.split_first() {
        let of_phrase = ACTIONS.of_phrase.get(first.as_str()).into_iter().flatten();
        // The particle may follow the object: `take the label off`.
        let near = following.get(..PARTICLE_WORDS).unwrap_or(following);
        let phrase = of_phrase
            .filter(|(particle, _)| near.iter().any(|word| word == particle))
            .fold(0, |set, (_, actions)| set | actions);
        let known = || ACTIONS.of_stem.get(&*stem(first)).copied().unwrap_or(0);
        let found = if phrase == 0 { known() } else { phrase };
        if found & !ACTIONS.without_kind != 0 {
            return found;
        }
        rest = following;
    }
    0
}

/// The opposites of some actions.
pub(crate) fn opposites(actions: ActionSet) -> ActionSet {
    let all = ACTIONS.opposites.iter().enumerate();
    let of = all.filter(|(at, _)| actions & (1 << at) != 0);
    of.fold(0, |set, (_, opposites)| set | opposites) & !actions
}

/// Calls back with the stems of the verbs of some actions.
pub(crate) fn each_stem(actions: ActionSet, mut found: impl FnMut(&'static str)) {
    let all = ACTIONS.stems.iter().enumerate();
    let of = all.filter(|(at, _)| actions & (1 << at) != 0);
    of.flat_map(|(_, stems)| stems).for_each(|stem| found(stem));
}
