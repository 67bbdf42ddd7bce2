//! The ways to search that ours is compared with, so that one command measures them all.

use std::collections::HashMap;

/// A way to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Names, words, meaning and memory: the product.
    Full,
    /// The same without meaning and memory: fields, stems, synonyms, typos.
    Words,
    /// Plain BM25 over name and description.
    Bm25,
    /// The whole request as a part of name or description.
    Substring,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Full, Self::Words, Self::Bm25, Self::Substring];

    /// The word for it on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Words => "words",
            Self::Bm25 => "bm25",
            Self::Substring => "substring",
        }
    }

    /// The method of this word; `bm25f` is what others call words with fields.
    pub fn named(word: &str) -> Option<Self> {
        if word == "bm25f" {
            return Some(Self::Words);
        }
        Self::ALL.into_iter().find(|method| method.as_str() == word)
    }
}

/// An index for [`Method::Bm25`] and [`Method::Substring`].
#[derive(Debug, Default)]
pub struct Baseline {
    texts: Vec<String>,
    lengths: Vec<f64>,
    postings: HashMap<String, Vec<(usize, f64)>>,
}

/// The usual constants of BM25.
const SATURATION: f64 = 1.2;
const BY_LENGTH: f64 = 0.75;

impl Baseline {
    /// Reads names and descriptions.
    pub fn new<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut index = Self::default();
        for (number, (name, description)) in tools.into_iter().enumerate() {
            let text = format!("{name}\n{description}").to_lowercase();
            let mut counts: HashMap<&str, f64> = HashMap::new();
            let mut length = 0.0;
            for word in plain_words(&text) {
                *counts.entry(word).or_default() += 1.0;
                length += 1.0;
            }
            for (word, count) in counts {
                let postings = index.postings.entry(word.to_owned()).or_default();
                postings.push((number, count));
            }
            index.lengths.push(length);
            index.texts.push(text);
        }
        index
    }

    /// The numbers of the tools that this method finds, the best first; equal ones in their order.
    pub fn search(&self, method: Method, request: &str, limit: usize) -> Vec<usize> {
        let request = request.to_lowercase();
        if method == Method::Substring {
            let holds = |(_, text): &(usize, &String)| text.contains(request.trim());
            let found = self.texts.iter().enumerate().filter(holds);
            return found.map(|(number, _)| number).take(limit).collect();
        }
        let all = self.lengths.len() as f64;
        let usual = self.lengths.iter().sum::<f64>() / all.max(1.0);
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in plain_words(&request) {
            let postings = self.postings.get(word).map_or(&[][..], Vec::as_slice);
            let having = postings.len() as f64;
            let rare = ((all - having + 0.5) / (having + 0.5)).ln_1p();
            for (number, count) in postings {
                let length = self.lengths.get(*number).copied().unwrap_or(usual);
                let long = 1.0 - BY_LENGTH + BY_LENGTH * length / usual.max(1.0);
                let worth = count * (SATURATION + 1.0) / (count + SATURATION * long);
                *scores.entry(*number).or_default() += rare * worth;
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|(one, a), (other, b)| b.total_cmp(a).then_with(|| one.cmp(other)));
        ranked
            .into_iter()
            .map(|(number, _)| number)
            .take(limit)
            .collect()
    }
}

/// Words as they are written: letters, digits and `_` together.
fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_methods_find_what_they_are_said_to() {
        let index = Baseline::new([
            ("read_file", "Reads a file"),
            ("send", "Sends an e-mail to a person"),
        ]);
        assert_eq!(index.search(Method::Substring, "A Person", 5), [1]);
        assert_eq!(index.search(Method::Bm25, "file person", 5), [0, 1]);
        assert_eq!(index.search(Method::Bm25, "files", 5), [0_usize; 0]);
        for method in Method::ALL {
            assert_eq!(Method::named(method.as_str()), Some(method));
        }
    }
}
