//! The weights, borrowed from the model file. Nothing is copied or rearranged: the pages of the file are shared by all
//! processes and loaded on first access.

use safetensors::SafeTensors;

use crate::error::EncoderError;
use crate::shape::{DIMENSIONS, LAYERS, PAIRS, ROWS, WIDE, WIDE_PAIRS};

/// Floats as bytes of the file, always little-endian.
pub(crate) type Floats<const COUNT: usize> = [[u8; 4]; COUNT];

/// All parameters of the model.
pub(crate) struct Weights {
    pub(crate) words: Table,
    pub(crate) positions: Table,
    pub(crate) kinds: Table,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

/// An embedding table with a scale per row.
pub(crate) struct Table {
    rows: &'static [[u8; DIMENSIONS]],
    scales: &'static [[u8; 4]],
}

/// The weights for one part of the inputs: for each pair of inputs, two int8 weights of each row.
pub(crate) type Block = [[u8; 2 * ROWS]; PAIRS];

/// A linear layer: `output[r] = scale[r] * (row[r] · input) + bias[r]`. The blocks of the first rows come first, one for
/// each part of the inputs.
pub(crate) struct Linear<const IN: usize, const OUT: usize> {
    pub(crate) blocks: &'static [Block],
    pub(crate) scales: &'static Floats<OUT>,
    pub(crate) biases: &'static Floats<OUT>,
}

pub(crate) struct Norm {
    pub(crate) weights: &'static Floats<DIMENSIONS>,
    pub(crate) biases: &'static Floats<DIMENSIONS>,
}

pub(crate) struct Layer {
    pub(crate) query: Linear<PAIRS, DIMENSIONS>,
    pub(crate) key: Linear<PAIRS, DIMENSIONS>,
    pub(crate) value: Linear<PAIRS, DIMENSIONS>,
    pub(crate) attended: Linear<PAIRS, DIMENSIONS>,
    pub(crate) attended_norm: Norm,
    pub(crate) widen: Linear<PAIRS, WIDE>,
    pub(crate) narrow: Linear<WIDE_PAIRS, DIMENSIONS>,
    pub(crate) norm: Norm,
}

impl Table {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A row and its scale.
    pub(crate) fn row(&self, index: usize) -> Option<(&'static [u8; DIMENSIONS], f32)> {
        let scale = self.scales.get(index)?;
        Some((self.rows.get(index)?, f32::from_le_bytes(*scale)))
    }
}

impl Weights {
    pub(crate) fn read(file: &'static [u8]) -> Result<Self, EncoderError> {
        let file = File(SafeTensors::deserialize(file)?);
        let layer = |number| file.layer(&format!("encoder.layer.{number}"));
        Ok(Self {
            words: file.table("embeddings.word_embeddings")?,
            positions: file.table("embeddings.position_embeddings")?,
            kinds: file.table("embeddings.token_type_embeddings")?,
            norm: file.norm("embeddings.LayerNorm")?,
            layers: (0..LAYERS).map(layer).collect::<Result<_, _>>()?,
        })
    }
}

struct File(SafeTensors<'static>);

impl File {
    fn layer(&self, name: &str) -> Result<Layer, EncoderError> {
        Ok(Layer {
            query: self.linear(&format!("{name}.attention.self.query"))?,
            key: self.linear(&format!("{name}.attention.self.key"))?,
            value: self.linear(&format!("{name}.attention.self.value"))?,
            attended: self.linear(&format!("{name}.attention.output.dense"))?,
            attended_norm: self.norm(&format!("{name}.attention.output.LayerNorm"))?,
            widen: self.linear(&format!("{name}.intermediate.dense"))?,
            narrow: self.linear(&format!("{name}.output.dense"))?,
            norm: self.norm(&format!("{name}.output.LayerNorm"))?,
        })
    }

    fn table(&self, name: &str) -> Result<Table, EncoderError> {
        let (scales, _) = self.bytes(&format!("{name}.scale"))?.as_chunks();
        let weights = format!("{name}.weight");
        let bytes = self.bytes(&weights)?;
        let (rows, rest) = bytes.as_chunks();
        if rows.len() != scales.len() || !rest.is_empty() {
            return Err(wrong_size(&weights, bytes, scales.len() * DIMENSIONS));
        }
        Ok(Table { rows, scales })
    }

    fn linear<const IN: usize, const OUT: usize>(
        &self,
        name: &str,
    ) -> Result<Linear<IN, OUT>, EncoderError> {
        let weights = format!("{name}.weight");
        let bytes = self.bytes(&weights)?;
        if bytes.len() != 2 * IN * OUT {
            return Err(wrong_size(&weights, bytes, 2 * IN * OUT));
        }
        Ok(Linear {
            blocks: bytes.as_chunks().0.as_chunks().0,
            scales: self.floats(&format!("{name}.scale"))?,
            biases: self.floats(&format!("{name}.bias"))?,
        })
    }

    fn norm(&self, name: &str) -> Result<Norm, EncoderError> {
        Ok(Norm {
            weights: self.floats(&format!("{name}.weight"))?,
            biases: self.floats(&format!("{name}.bias"))?,
        })
    }

    fn floats<const COUNT: usize>(
        &self,
        name: &str,
    ) -> Result<&'static Floats<COUNT>, EncoderError> {
        let bytes = self.bytes(name)?;
        let floats = bytes.as_chunks().0.try_into();
        floats.map_err(|_| wrong_size(name, bytes, 4 * COUNT))
    }

    fn bytes(&self, name: &str) -> Result<&'static [u8], EncoderError> {
        Ok(self.0.tensor(name)?.data())
    }
}

fn wrong_size(tensor: &str, bytes: &[u8], expected: usize) -> EncoderError {
    EncoderError::Shape {
        tensor: tensor.to_owned(),
        bytes: bytes.len(),
        expected,
    }
}
