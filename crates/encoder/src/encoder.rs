//! The encoder.

use std::sync::{LazyLock, Mutex};
use std::thread::available_parallelism;

use crate::error::EncoderError;
use crate::forward::{Scratch, forward, forward_on_two_threads};
use crate::kernel::Processor;
use crate::pages::release_pages;
use crate::tokens::Vocabulary;
use crate::vector::Vector;
use crate::weights::Weights;

/// The kind of a text, which determines how many tokens are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// A request.
    Query,
    /// Name and description of a tool; see [`crate::document_text`].
    Document,
    /// Server and name of a tool; see [`crate::short_text`].
    Short,
}

impl TextKind {
    /// The maximum number of tokens. The model was tuned with these limits.
    fn max_tokens(self) -> usize {
        match self {
            Self::Query | Self::Document => 96,
            Self::Short => 32,
        }
    }
}

/// Encodes texts as vectors. It borrows the weights from the program file, so creating one only parses the file header
/// and indexes the vocabulary. An encoder can be shared between threads.
pub struct Encoder {
    weights: Weights,
    vocabulary: Vocabulary,
    processor: Processor,
    /// The embedded weights, unless other weights are used.
    embedded: Option<&'static [u8]>,
    /// Pool of scratch buffers.
    scratches: Mutex<Vec<Scratch>>,
}

/// Maximum number of pooled scratch buffers, up to 1.8 MB each. Further concurrent texts allocate their own.
const POOLED_SCRATCHES: usize = 2;

/// Minimum number of tokens of a request that justify the start-up time of a second thread.
const MIN_SPLIT_TOKENS: usize = 8;

/// Whether this process can run two threads in parallel.
static HAS_TWO_CPUS: LazyLock<bool> =
    LazyLock::new(|| available_parallelism().is_ok_and(|number| number.get() > 1));

impl Encoder {
    /// Creates an encoder with the embedded weights.
    ///
    /// # Errors
    ///
    /// Fails only if the embedded data is damaged.
    pub fn embedded() -> Result<Self, EncoderError> {
        let weights = pegboard_encoder_data::WEIGHTS;
        let mut encoder = Self::from_parts(weights, pegboard_encoder_data::VOCABULARY)?;
        encoder.embedded = Some(weights);
        Ok(encoder)
    }

    /// Creates an encoder with other weights of the same shape.
    ///
    /// # Errors
    ///
    /// Fails if the weights or the vocabulary do not have the expected format and size.
    pub fn from_parts(
        weights: &'static [u8],
        vocabulary: &'static str,
    ) -> Result<Self, EncoderError> {
        let weights = Weights::read(weights)?;
        let vocabulary = Vocabulary::read(vocabulary);
        if vocabulary.len() != weights.words.len() {
            return Err(EncoderError::Vocabulary {
                entries: vocabulary.len(),
                rows: weights.words.len(),
            });
        }
        Ok(Self {
            weights,
            vocabulary,
            processor: Processor::detected(),
            embedded: None,
            scratches: Mutex::default(),
        })
    }

    /// Disables instructions that only some processors have. The encoder is slower and gives the same bytes.
    #[must_use]
    pub fn portable(mut self) -> Self {
        self.processor = Processor::portable();
        self
    }

    /// Encodes a text, which may be blank. A long request uses a second thread, because a user waits for it.
    pub fn encode(&self, text: &str, kind: TextKind) -> Vector {
        let ids = self.token_ids(text, kind);
        let (weights, processor) = (&self.weights, self.processor);
        let mut scratch = self.take_scratch();
        let is_split = kind == TextKind::Query && ids.len() >= MIN_SPLIT_TOKENS && *HAS_TWO_CPUS;
        let split = is_split.then(|| {
            let mut other = self.take_scratch();
            let vector =
                forward_on_two_threads(weights, processor, &ids, [&mut scratch, &mut other]);
            self.return_scratch(other);
            vector
        });
        let vector = split.flatten();
        let vector = vector.unwrap_or_else(|| forward(weights, processor, &ids, &mut scratch));
        self.return_scratch(scratch);
        vector
    }

    fn take_scratch(&self) -> Scratch {
        let kept = self
            .scratches
            .lock()
            .ok()
            .and_then(|mut scratches| scratches.pop());
        kept.unwrap_or_default()
    }

    fn return_scratch(&self, scratch: Scratch) {
        if let Ok(mut scratches) = self.scratches.lock()
            && scratches.len() < POOLED_SCRATCHES
        {
            scratches.push(scratch);
        }
    }

    /// Releases the scratch buffers and, where the system supports it, the pages of the weights. The next text is a
    /// little slower, because they are loaded again.
    pub fn release_memory(&self) {
        if let Ok(mut scratches) = self.scratches.lock() {
            *scratches = Vec::new();
        }
        if let Some(weights) = self.embedded {
            release_pages(weights);
        }
    }

    /// Tokenizes a text, including the `[CLS]` and `[SEP]` tokens.
    pub fn token_ids(&self, text: &str, kind: TextKind) -> Vec<u16> {
        self.vocabulary.token_ids(text, kind.max_tokens())
    }

    /// Identifies the embedded weights and the arithmetic. Only vectors with the same fingerprint may be compared.
    pub fn fingerprint() -> &'static str {
        FINGERPRINT
    }
}

/// A counter of changes to the arithmetic and the input texts, and the hash of the model file.
const FINGERPRINT: &str = "3-bcda076aec256edf53031229df6991be6533dad2333626fc68deb29d48e52740";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_find_02_the_fingerprint_names_the_model() {
        let (_, hash) = Encoder::fingerprint().split_once('-').unwrap();
        assert_eq!(hash, pegboard_encoder_data::FINGERPRINT);
    }

    #[test]
    fn an_encoder_is_shared_between_threads() {
        fn check<Shared: Send + Sync>() {}
        check::<Encoder>();
    }
}
