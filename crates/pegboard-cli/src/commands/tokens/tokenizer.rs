//! Exact token counts with the tokenizer of OpenAI's models.

use std::thread;

use tiktoken_rs::o200k_base_singleton;

/// The name of the tokenizer.
pub(super) const TOKENIZER: &str = "o200k_base";

/// Counts the tokens of a text.
pub(super) fn tokens(text: &str) -> usize {
    o200k_base_singleton().encode_ordinary(text).len()
}

/// Counts the tokens of many items, on all processors.
pub(super) fn tokens_of_each<T: Sync>(
    items: &[T],
    text: impl Fn(&T) -> String + Sync,
) -> Vec<usize> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(workers).max(1);
    let text = &text;
    thread::scope(|scope| {
        let parts: Vec<_> = items
            .chunks(share)
            .map(|part| {
                scope.spawn(move || {
                    part.iter()
                        .map(|item| tokens(&text(item)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_default())
            .collect()
    })
}
