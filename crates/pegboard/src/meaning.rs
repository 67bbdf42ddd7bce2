//! The embedded sentence encoder behind the hub's `Encoder` trait.

use std::fmt;
use std::sync::{Arc, OnceLock};

use pegboard_catalog::ToolVectors;
use pegboard_encoder::{
    PackedVector, TextKind, Vector, document_text, score_each, score_pairs, server_text, short_text,
};
use pegboard_hub::{Encoder, EncoderInput};

/// Returns the encoder; its weights are loaded on first use.
pub(crate) fn encoder() -> Option<Arc<dyn Encoder>> {
    Some(Arc::new(EmbeddedEncoder(OnceLock::new())))
}

struct EmbeddedEncoder(OnceLock<Option<pegboard_encoder::Encoder>>);

impl EmbeddedEncoder {
    /// Encodes a text. Returns `None` only if the embedded weights are damaged; all tools then get the same vector, so
    /// that words alone decide the ranking.
    fn vector(&self, text: &str, kind: TextKind) -> Option<Vector> {
        let encoder = self.0.get_or_init(|| {
            pegboard_encoder::Encoder::embedded()
                .inspect_err(
                    |error| tracing::error!(target: "pegboard", "no search by meaning: {error}"),
                )
                .ok()
        });
        Some(encoder.as_ref()?.encode(text, kind))
    }

    fn packed(&self, text: &str, kind: TextKind) -> [u8; PackedVector::BYTES] {
        match self.vector(text, kind) {
            Some(vector) => PackedVector::from(&vector).to_bytes(),
            None => [0; PackedVector::BYTES],
        }
    }
}

impl Encoder for EmbeddedEncoder {
    fn model(&self) -> &str {
        pegboard_encoder::Encoder::fingerprint()
    }

    fn query(&self, text: &str) -> Vec<f32> {
        let vector = self.vector(text, TextKind::Query);
        vector.map_or_else(Vec::new, |vector| vector.as_slice().to_vec())
    }

    fn tool(&self, tool: &EncoderInput) -> Vec<u8> {
        let server = Some(tool.server.as_str()).filter(|server| !server.is_empty());
        let document = document_text(&tool.name, &tool.description);
        let short = short_text(server, &tool.name);
        let document = self.packed(&document, TextKind::Document);
        [document, self.packed(&short, TextKind::Short)].concat()
    }

    fn tool_bytes(&self) -> usize {
        2 * PackedVector::BYTES
    }

    fn server(&self, name: &str, description: &str) -> Option<Vec<u8>> {
        let description = Some(description.trim()).filter(|text| !text.is_empty())?;
        let text = server_text(name, description);
        let vector = self.packed(&text, TextKind::Document);
        Some([vector, [0; PackedVector::BYTES]].concat())
    }

    fn similarity(&self, tools: Vec<u8>, server: Option<&[u8]>) -> Arc<dyn ToolVectors> {
        let mut vectors = Vectors::default();
        for tool in tools.chunks_exact(self.tool_bytes()) {
            let (document, short) = tool.split_at(PackedVector::BYTES);
            let packed = (
                PackedVector::from_bytes(document),
                PackedVector::from_bytes(short),
            );
            // Stored vectors are sealed, so this does not happen; skipping one tool would shift all others.
            let (Some(document), Some(short)) = packed else {
                return Arc::new(Vectors::default());
            };
            vectors.tools.push([document, short]);
        }
        let of_server = server.and_then(|bytes| bytes.first_chunk::<{ PackedVector::BYTES }>());
        vectors.server = match of_server {
            Some(bytes) => PackedVector::from_bytes(bytes),
            // A server without a description is represented by its tools.
            None => mean(&vectors.tools),
        };
        Arc::new(vectors)
    }

    fn release_memory(&self) {
        if let Some(Some(encoder)) = self.0.get() {
            encoder.release_memory();
        }
    }

    fn pack(&self, query: &[f32]) -> Vec<u8> {
        let vector = Vector::from_slice(query);
        vector.map_or_else(Vec::new, |vector| {
            PackedVector::from(&vector).to_bytes().into()
        })
    }

    fn cosine(&self, query: &[f32], packed: &[u8]) -> Option<f32> {
        Some(PackedVector::from_bytes(packed)?.dot(&Vector::from_slice(query)?))
    }
}

#[derive(Default)]
struct Vectors {
    /// The document vector and the short vector of each tool.
    tools: Vec<[PackedVector; 2]>,
    server: Option<PackedVector>,
}

/// Returns the normalized sum of all document vectors.
fn mean(tools: &[[PackedVector; 2]]) -> Option<PackedVector> {
    let mut sum = vec![0.0; pegboard_encoder::DIMENSIONS];
    for [document, _] in tools {
        sum.iter_mut()
            .zip(document.numbers())
            .for_each(|(sum, number)| *sum += number);
    }
    let is_some = !tools.is_empty();
    is_some
        .then(|| Vector::from_slice(&sum))
        .flatten()
        .map(|sum| PackedVector::from(&sum))
}

impl ToolVectors for Vectors {
    fn similarity(&self, query: &[f32], document: &mut [f32], short: &mut [f32]) {
        score_pairs(&self.tools, query, document, short);
    }

    fn server_similarity(&self, query: &[f32]) -> Option<f32> {
        let server = self.server.as_ref()?;
        let mut cosine = f32::NAN;
        score_each(
            std::slice::from_ref(server),
            query,
            std::slice::from_mut(&mut cosine),
        );
        (!cosine.is_nan()).then_some(cosine)
    }
}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vectors({} tools)", self.tools.len())
    }
}
