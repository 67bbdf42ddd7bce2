//! Simple ranking methods to compare Pegboard's search with.

use std::collections::HashMap;

/// An index for plain BM25 and for substring search.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    texts: Vec<String>,
    lengths: Vec<f64>,
    postings: HashMap<String, Vec<(usize, f64)>>,
}

/// The usual constants of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

impl Baseline {
    /// Indexes names and descriptions.
    pub(crate) fn new<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut index = Self::default();
        for (number, (name, description)) in tools.into_iter().enumerate() {
            let text = format!("{name}\n{description}").to_lowercase();
            let mut counts: HashMap<&str, f64> = HashMap::new();
            let mut length = 0.0;
            for word in words(&text) {
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

    /// The tools that contain the whole query, in catalog order.
    pub(crate) fn substring(&self, query: &str, limit: usize) -> Vec<usize> {
        let query = query.to_lowercase();
        let contains = |(_, text): &(usize, &String)| text.contains(query.trim());
        let found = self.texts.iter().enumerate().filter(contains);
        found.map(|(number, _)| number).take(limit).collect()
    }

    /// The best tools by BM25; ties are in catalog order.
    pub(crate) fn bm25(&self, query: &str, limit: usize) -> Vec<usize> {
        let query = query.to_lowercase();
        let tools = self.lengths.len() as f64;
        let mean_length = self.lengths.iter().sum::<f64>() / tools.max(1.0);
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for word in words(&query) {
            let postings = self.postings.get(word).map_or(&[][..], Vec::as_slice);
            let frequency = postings.len() as f64;
            let idf = ((tools - frequency + 0.5) / (frequency + 0.5)).ln_1p();
            for (number, count) in postings {
                let length = self.lengths.get(*number).copied().unwrap_or(mean_length);
                let norm = 1.0 - B + B * length / mean_length.max(1.0);
                let weight = count * (K1 + 1.0) / (count + K1 * norm);
                *scores.entry(*number).or_default() += idf * weight;
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|(one, a), (other, b)| b.total_cmp(a).then_with(|| one.cmp(other)));
        ranked.truncate(limit);
        ranked.into_iter().map(|(number, _)| number).collect()
    }
}

/// Words of letters, digits and `_`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_methods_rank_as_described() {
        let index = Baseline::new([
            ("read_file", "Reads a file"),
            ("send", "Sends an e-mail to a person"),
        ]);
        assert_eq!(index.substring("A Person", 5), [1]);
        assert_eq!(index.bm25("file person", 5), [0, 1]);
        assert_eq!(index.bm25("files", 5), [0_usize; 0]);
    }
}
