//! A file of computed vectors, so that a second run over the same texts does not encode them again.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Mutex;

use pegboard_encoder::{DIMENSIONS, Vector};

/// The hash of a model, a token limit and a text.
type Key = [u8; 32];

/// The size of a record: the key, then the numbers, little-endian.
const RECORD: usize = size_of::<Key>() + DIMENSIONS * size_of::<f32>();

/// Vectors by text. Without a file they are kept for this run only.
pub(super) struct VectorFile {
    model: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: HashMap<Key, Vector>,
    file: Option<File>,
}

impl VectorFile {
    /// Reads the vectors of earlier runs. A record that was cut off by a stopped run is ignored.
    pub(super) fn open(path: Option<&Path>, model: &'static str) -> io::Result<Self> {
        let mut state = State::default();
        if let Some(path) = path {
            let mut file = OpenOptions::new()
                .create(true)
                .read(true)
                .append(true)
                .open(path)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let records = bytes.chunks_exact(RECORD);
            file.set_len((bytes.len() - records.remainder().len()) as u64)?;
            state.known.extend(records.filter_map(parse));
            state.file = Some(file);
        }
        let state = Mutex::new(state);
        Ok(Self { model, state })
    }

    pub(super) fn get_or_compute(
        &self,
        limit: &str,
        text: &str,
        compute: impl FnOnce() -> Vector,
    ) -> Vector {
        let mut hasher = blake3::Hasher::new();
        for part in [self.model, limit, text] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        let key = *hasher.finalize().as_bytes();
        let known = |state: &mut State| state.known.get(&key).cloned();
        if let Some(vector) = self.state.lock().ok().as_deref_mut().and_then(known) {
            return vector;
        }
        let vector = compute();
        if let Ok(mut state) = self.state.lock() {
            if let Some(file) = &mut state.file {
                let numbers = vector.as_slice().iter().flat_map(|n| n.to_le_bytes());
                let record: Vec<u8> = key.into_iter().chain(numbers).collect();
                // The file only saves time; a failure costs the next run that time.
                let _ = file.write_all(&record);
            }
            state.known.insert(key, vector.clone());
        }
        vector
    }
}

fn parse(record: &[u8]) -> Option<(Key, Vector)> {
    let (key, numbers) = record.split_first_chunk()?;
    let (numbers, _) = numbers.as_chunks();
    let numbers: Vec<f32> = numbers.iter().map(|n| f32::from_le_bytes(*n)).collect();
    Some((*key, Vector::from_slice(&numbers)?))
}
