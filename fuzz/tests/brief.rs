//! Runs every fuzz target over its seeds and over mutations of them. The mutations are the same in every run.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use pegboard_fuzz::{TARGETS, Target};

/// Mutations for each target. `PEGBOARD_FUZZ_INPUTS` replaces the number, for a longer run.
const INPUTS: usize = 400;

/// The part of all inputs, in percent, that must get past the first parser of a target. With fewer, the mutations would
/// test little more than the rejection of garbage.
const MIN_PASSED: usize = 25;

/// Values that are likely to break something.
const SPECIAL: &[&str] = &[
    "0",
    "-1",
    "1e400",
    "18446744073709551616",
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "..",
    "%2e%2e",
    "${",
    "${CANARY}",
    "${A:-b}",
    "{session}",
    "$ref",
    "#/$defs/node",
    "\u{202e}",
    "\u{feff}",
    "é",
    "\t",
    "\r",
    "\n",
    "\n\n",
    ":",
    "=",
    "\\",
    "'",
    "\"\"\"",
    "&a",
    "*a",
    "<<: *a",
    "__",
    "id",
    "method",
    "name",
    "\u{0}",
];

/// A pseudo-random generator (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Number,
    Text,
    Other,
}

fn class(token: &str) -> Class {
    match token.chars().next() {
        Some('"') if token.len() > 1 => Class::Text,
        Some(c) if c.is_ascii_digit() => Class::Number,
        Some(c) if c.is_alphanumeric() || c == '_' => Class::Word,
        _ => Class::Other,
    }
}

/// Splits a text into words, numbers, quoted strings and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if first == '"' {
            let close = rest[1..].find(['"', '\n']).map(|at| at + 2);
            close.filter(|end| rest[..*end].ends_with('"')).unwrap_or(1)
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Applies a few changes. Most replace a token by another of its kind, which keeps the syntax valid.
fn mutate(random: &mut Random, seeds: &[String]) -> Vec<u8> {
    let seed = &seeds[random.below(seeds.len())];
    let other = &seeds[random.below(seeds.len())];
    let donors = tokens(other);
    let mut parts = tokens(seed);
    for _ in 0..1 + random.below(3) {
        let at = random.below(parts.len());
        match random.below(20) {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, random.pick(SPECIAL)),
            2 => {
                let end = (at + random.below(12)).min(parts.len());
                let copy = parts[at..end].to_vec();
                parts.splice(at..at, copy);
            }
            3 => {
                let end = (at + random.below(6)).min(parts.len());
                parts.drain(at..end);
            }
            4 => {
                let with = random.below(parts.len());
                parts.swap(at, with);
            }
            _ => {
                let from = match random.below(3) {
                    0 => SPECIAL,
                    _ => &donors,
                };
                let alike = |wanted: Class| {
                    let alike = from.iter().filter(|token| class(token) == wanted);
                    alike.copied().collect::<Vec<&str>>()
                };
                // Punctuation is left alone, so look for the next token that can be replaced.
                let found = (at..parts.len()).find(|at| class(parts[*at]) != Class::Other);
                if let Some(at) = found {
                    let alike = alike(class(parts[at]));
                    if !alike.is_empty() {
                        parts[at] = random.pick(&alike);
                    }
                }
            }
        }
        if parts.is_empty() {
            break;
        }
    }
    let mut bytes = parts.concat().into_bytes();
    match random.below(24) {
        0 if !bytes.is_empty() => {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        1 => bytes.truncate(random.below(bytes.len() + 1)),
        _ => {}
    }
    bytes
}

fn seeds(target: &Target) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target.name);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let read = |file| std::fs::read_to_string(file).unwrap();
    files.into_iter().map(read).collect()
}

fn run(target: &Target, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).unwrap_or_else(|_| {
        let shown = input.escape_ascii();
        panic!("target `{}` fails on this input:\n{shown}", target.name)
    })
}

fn check(target: &Target, inputs: usize) {
    let seeds = seeds(target);
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    let mut passed = 0;
    for seed in &seeds {
        passed += usize::from(run(target, seed.as_bytes()));
    }
    assert!(passed > 0, "no seed of `{}` is accepted", target.name);
    let mut random = Random(target.name.bytes().map(u64::from).sum());
    for _ in 0..inputs {
        passed += usize::from(run(target, &mutate(&mut random, &seeds)));
    }
    let share = 100 * passed / (inputs + seeds.len());
    println!("{:16} {share:3} % of inputs passed", target.name);
    assert!(
        share >= MIN_PASSED,
        "only {share} % of the inputs of `{}` got past its first parser",
        target.name
    );
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let inputs = std::env::var("PEGBOARD_FUZZ_INPUTS").ok();
            let inputs = inputs.map_or(INPUTS, |number| number.parse().unwrap());
            check(pegboard_fuzz::find(stringify!($name)).unwrap(), inputs);
        })*

        #[test]
        fn every_target_is_run() {
            let run = [$(stringify!($name)),*];
            assert!(TARGETS.iter().map(|target| target.name).eq(run));
        }
    };
}

targets! {
    server_lines client_lines sse sse_endpoint login_challenge login_metadata jsonrpc client_message tools scanner
    arguments config_toml config_yaml config_json client_file client_import server_url resource_uri sealed_id
    http_request
}
