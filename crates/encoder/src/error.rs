//! Why an encoder could not be made.

/// The weights or the vocabulary are not those of this encoder.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    /// The weights are not in the safetensors format.
    #[error("the encoder's weights cannot be read: {0}. Use an unchanged model file.")]
    Format(#[from] safetensors::SafeTensorError),
    /// A matrix or vector has other numbers of rows or columns than the encoder computes with.
    #[error(
        "`{tensor}` in the encoder's weights has {bytes} bytes where {expected} belong. Use the model file that this version was made for."
    )]
    Shape {
        /// The name of the matrix or vector.
        tensor: String,
        /// How many bytes were found.
        bytes: usize,
        /// How many bytes belong there.
        expected: usize,
    },
    /// The vocabulary and the weights do not belong together.
    #[error(
        "the encoder's vocabulary has {entries} entries and its weights have {rows} rows for them. Use the two files of one model."
    )]
    Vocabulary {
        /// The entries of the vocabulary.
        entries: usize,
        /// The rows of the embedding table.
        rows: usize,
    },
}
