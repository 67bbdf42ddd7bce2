//! The model file's matrices, borrowed where they lie. Nothing is copied or rearranged: the file's
//! pages are shared by all processes and loaded when they are first read.

use safetensors::SafeTensors;

use crate::error::EncoderError;
use crate::shape::{DIMENSIONS, LAYERS, PAIRS, ROWS, WIDE, WIDE_PAIRS};

/// Numbers as the bytes of the file, which are little-endian on every processor.
pub(crate) type Floats<const COUNT: usize> = [[u8; 4]; COUNT];

/// Everything the model learnt.
pub(crate) struct Weights {
    pub(crate) words: Table,
    pub(crate) positions: Table,
    pub(crate) kinds: Table,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

/// Rows to look up, each with its scale.
pub(crate) struct Table {
    rows: &'static [[u8; DIMENSIONS]],
    scales: &'static [[u8; 4]],
}

/// The weights that a part of the inputs meets: for each two of its values, two int8 weights of each row.
pub(crate) type Block = [[u8; 2 * ROWS]; PAIRS];

/// `output[r] = scale[r] * (row[r] · input) + bias[r]`. All blocks of the first rows come first, one for
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
