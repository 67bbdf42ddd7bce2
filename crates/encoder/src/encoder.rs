//! The encoder: a text in, a vector out.

use std::sync::{LazyLock, Mutex};
use std::thread::available_parallelism;

use crate::error::EncoderError;
use crate::forward::{Room, forward, forward_by_two};
use crate::kernel::Processor;
use crate::pages::give_back;
use crate::tokens::Vocabulary;
use crate::vector::Vector;
use crate::weights::Weights;

/// What kind of text is encoded. It decides how much of the text counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// A request.
    Query,
    /// What a tool does, see [`crate::document_text`].
    Document,
    /// What a tool is called, see [`crate::short_text`].
    Short,
}

impl Text {
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
    /// Room that texts were encoded in, for the next ones.
    rooms: Mutex<Vec<Room>>,
}

/// Room that is kept, up to 1.8 MB for each; more texts at once make their own.
const ROOMS: usize = 2;

/// Tokens of a request that are worth a second thread, which takes a while to begin.
const SHARED_TOKENS: usize = 8;

/// Whether this process may run two threads at once.
static BY_TWO: LazyLock<bool> =
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
            rooms: Mutex::default(),
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
    pub fn encode(&self, text: &str, kind: Text) -> Vector {
        let ids = self.token_ids(text, kind);
        let (weights, processor) = (&self.weights, self.processor);
        let mut room = self.take_room();
        let is_shared = kind == Text::Query && ids.len() >= SHARED_TOKENS && *BY_TWO;
        let shared = is_shared.then(|| {
            let mut other = self.take_room();
            let vector = forward_by_two(weights, processor, &ids, [&mut room, &mut other]);
            self.keep_room(other);
            vector
        });
        let vector = shared.flatten();
        let vector = vector.unwrap_or_else(|| forward(weights, processor, &ids, &mut room));
        self.keep_room(room);
        vector
    }

    fn take_room(&self) -> Room {
        let kept = self.rooms.lock().ok().and_then(|mut rooms| rooms.pop());
        kept.unwrap_or_default()
    }

    fn keep_room(&self, room: Room) {
        if let Ok(mut rooms) = self.rooms.lock()
            && rooms.len() < ROOMS
        {
            rooms.push(room);
        }
    }

    /// Gives back the memory that encoding filled: room for texts and, where the system allows it, the pages of the
    /// weights. The next text costs a little more, because they are read again.
    pub fn rest(&self) {
        if let Ok(mut rooms) = self.rooms.lock() {
            *rooms = Vec::new();
        }
        if let Some(weights) = self.embedded {
            give_back(weights);
        }
    }

    /// The vocabulary entries that a text is read as, the first and last mark included.
    pub fn token_ids(&self, text: &str, kind: Text) -> Vec<u16> {
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
