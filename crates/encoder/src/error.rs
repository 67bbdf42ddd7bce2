//! Errors of creating an encoder.

/// The weights or the vocabulary do not fit this encoder.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    /// The weights are not in the safetensors format.
    #[error("invalid encoder weights: {0}. Use an unmodified model file.")]
    Format(#[from] safetensors::SafeTensorError),
    /// A tensor has the wrong size.
    #[error(
        "tensor `{tensor}` of the encoder weights has {bytes} bytes instead of {expected}. Use the model file for this version."
    )]
    Shape {
        /// The name of the tensor.
        tensor: String,
        /// The actual number of bytes.
        bytes: usize,
        /// The expected number of bytes.
        expected: usize,
    },
    /// The vocabulary does not match the weights.
    #[error(
        "the encoder vocabulary has {entries} entries, but the weights have {rows} rows. Use the files of the same model."
    )]
    Vocabulary {
        /// Number of entries of the vocabulary.
        entries: usize,
        /// Number of rows of the embedding table.
        rows: usize,
    },
}
