//! The scanner: finds texts in definitions that try to steer a model or to deceive a person.
//!
//! It reads exactly what models would read, every string and key of a definition, after revealing hidden text. The
//! rules are one table ([`RULES`]); they describe arrangements of meaning classes, not wordings. Everything is linear
//! in the length of the text, and all of it is bounded.

mod classes;
mod encoded;
mod lexicon;
mod matching;
mod page;
mod places;
mod reveal;
mod rules;
mod scanner;
mod shadowing;
mod texts;
mod words;

pub use page::rules_page;
pub use rules::{RULES, Rule, rule};
pub use scanner::{SCANNER_VERSION, ScanContext, scan_definition, scan_text};
pub use shadowing::{PeerTool, Peers};
