//! The encoder: a text in, a vector out.

use std::sync::{LazyLock, Mutex};
use std::thread::available_parallelism;

use crate::error::EncoderError;
use crate::forward::{Scratch, forward, forward_on_two_threads};
use crate::kernel::Processor;
use crate::pages::release_pages;
use crate::tokens::Vocabulary;
use crate::vector::Vector;
use crate::weights::Weights;

/// What kind of text is encoded. It decides how much of the text counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// A request.
    Query,
    /// What a tool does, see [`crate::document_text`].
    Document,
    /// What a tool is called, see [`crate::short_text`].
    Short,
}

impl TextKind {
    /// The number of tokens that count. The model was tuned with these limits.
    fn most_tokens(self) -> usize {
        match self {
            Self::Query | Self::Document => 96,
            Self::Short => 32,
        }
    }
}

/// Turns texts into vectors. It borrows the weights where they lie, so that making one costs a
/// look at the file's header and an index of the vocabulary. One encoder serves any number of
/// threads.
pub struct Encoder {
    weights: Weights,
    vocabulary: Vocabulary,
    processor: Processor,
    /// The program's own data, where it is the weights.
    embedded: Option<&'static [u8]>,
    /// Scratch that texts were encoded in, for the next ones.
    scratches: Mutex<Vec<Scratch>>,
}

/// Scratch that is kept, up to 1.8 MB for each; more texts at once make their own.
const POOLED_SCRATCHES: usize = 2;

/// Tokens of a request that are worth a second thread, which takes a while to begin.
const MIN_SPLIT_TOKENS: usize = 8;

/// Whether this process may run two threads at once.
static HAS_TWO_CPUS: LazyLock<bool> =
    LazyLock::new(|| available_parallelism().is_ok_and(|number| number.get() > 1));

impl Encoder {
    /// The encoder whose weights are part of the program.
    pub fn embedded() -> Result<Self, EncoderError> {
        let weights = pegboard_encoder_data::WEIGHTS;
        let mut encoder = Self::from_parts(weights, pegboard_encoder_data::VOCABULARY)?;
        encoder.embedded = Some(weights);
        Ok(encoder)
    }

    /// An encoder with other weights of the same shape.
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

    /// The same encoder without the instructions that only some processors have. It is slower and
    /// gives the same bytes.
    #[must_use]
    pub fn portable(mut self) -> Self {
        self.processor = Processor::portable();
        self
    }

    /// The vector of a text. A blank text has one, too. Somebody waits for that of a request, so a long one is shared
    /// with a second thread.
    pub fn encode(&self, text: &str, kind: TextKind) -> Vector {
        let ids = self.token_ids(text, kind);
        let (weights, processor) = (&self.weights, self.processor);
        let mut scratch = self.take_scratch();
        let is_shared = kind == TextKind::Query && ids.len() >= MIN_SPLIT_TOKENS && *HAS_TWO_CPUS;
        let shared = is_shared.then(|| {
            let mut other = self.take_scratch();
            let vector =
                forward_on_two_threads(weights, processor, &ids, [&mut scratch, &mut other]);
            self.return_scratch(other);
            vector
        });
        let vector = shared.flatten();
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

    /// Gives back the memory that encoding filled: room for texts and, where the system allows it, the pages of the
    /// weights. The next text costs a little more, because they are read again.
    pub fn release_memory(&self) {
        if let Ok(mut scratches) = self.scratches.lock() {
            *scratches = Vec::new();
        }
        if let Some(weights) = self.embedded {
            release_pages(weights);
        }
    }

    /// The vocabulary entries that a text is read as, the first and last mark included.
    pub fn token_ids(&self, text: &str, kind: TextKind) -> Vec<u16> {
        self.vocabulary.token_ids(text, kind.most_tokens())
    }

    /// Identifies the embedded weights and the way they are computed with. Vectors may only be
    /// compared with vectors of the same fingerprint.
    pub fn fingerprint() -> &'static str {
        FINGERPRINT
    }
}

/// The number counts changes of the arithmetic and of the texts; the rest is the model file's hash.
const FINGERPRINT: &str = "3-76ba53e726f04fd4e8b517d1e6d4f2ba3a1c6e16befc5bf6cfcbabbadf46699b";

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
